"""The models that come with heedful are the ones that were measured: pinned bytes, pinned words, a complete card.

What to write into ``PINNED`` for a new model, and whether its sentences are safe to pin, says

    python -m tests.system.test_bundled_models NAME "A sentence." "Another."
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
import torch

import heedful
from heedful.files import sha256
from heedful.runs.folder import DEFAULT_MODEL, bundled_models
from heedful.search.options import SearchOptions
from heedful.symbols import END, START
from heedful.text.profile import PROFILE
from heedful.translation.translator import Translation, Translator

MOST_BYTES = 24_000_000
HEADINGS = ("Data", "Licences", "Commands", "Scores", "What it is bad at")
MARGIN = 0.1
"""Natural logarithms by which each chosen subword is ahead of the next. Another processor's rounding moves a
log-probability by some 1e-4: what is so far ahead stays ahead."""


@dataclass(frozen=True)
class Pinned:
    """What a released model is and says."""

    sha256: str
    """Of its weights."""
    profile_sha256: str
    sentences: dict[str, str] = field(default_factory=dict)


PINNED: dict[str, Pinned] = {
    "de-en-small": Pinned(
        "abe02e7f1712d883aed488ecbfc6baabba78d80e10fd592f3c9ca6842a930883",
        "ab2228be2de6d964019842f36238f1de44be942b4c48aca146a29e4b80f95ce1",
        {
            "Wo ist der nächste Bahnhof?": "Where's the nearest station?",
            "Die Kanzlerin wies Forderungen nach vorgezogenen Wahlen zurück.": (
                "The chancellor rejected calls for early elections."
            ),
            "Könnte ich bitte die Rechnung haben?": "Could I have the bill, please?",
            "Biegen Sie an der zweiten Ampel links ab.": "Turn left at the second traffic light.",
            "Das ist der schönste Strand, den ich je gesehen habe.": "This is the most beautiful beach I've ever seen.",
            "Sie sind seit zwanzig Jahren verheiratet.": "They have been married for twenty years.",
        },
    ),
    "en-de-small": Pinned(
        "3c5cd1db4f15e59642c3bbe8a95fd9ad8ec36b691da8e8ee56c29d9ec650cc8f",
        "3c1f3e9e1f7069c76bbbe73b96dd28f1ca0949181f76a5561701e896ce416208",
        {
            "Where is the nearest station?": "Wo ist der nächste Bahnhof?",
            "I have never been so tired in my life.": "Ich war noch nie so müde in meinem Leben.",
            "He has been learning German for three years, but he still makes mistakes.": (
                "Er lernt seit drei Jahren Deutsch, aber er macht immer noch Fehler."
            ),
            "I am allergic to nuts.": "Ich bin allergisch gegen Nüsse.",
            "The children are playing football in the garden.": "Die Kinder spielen im Garten Fußball.",
            "Could I have the bill, please?": "Könnte ich bitte die Rechnung haben?",
            "The chancellor rejected calls for an early election.": (
                "Die Kanzlerin hat die Forderung nach einer vorgezogenen Wahl abgelehnt."
            ),
        },
    ),
}

MODELS = bundled_models()
each_model = pytest.mark.parametrize("name", list(MODELS))


def weights_of(name: str) -> Path:
    return MODELS[name] / "averaged" / "model.safetensors"


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(inner)


def least_margin(translator: Translator, sentence: str, translation: Translation) -> float:
    """How far the subwords of a translation are ahead of the next best, computed without cache or search."""
    source = translator.saved.source_subwords.encode([sentence])[0].tolist()
    given, expected = [START, *translation.ids], [*translation.ids, END]
    with torch.no_grad():
        logits = translator.model(torch.tensor([[*source, END]]), torch.tensor([given]))[0]
    log_probabilities = logits.double().log_softmax(-1)
    chosen = log_probabilities[range(len(expected)), expected]
    log_probabilities[range(len(expected)), expected] = -torch.inf
    return float((chosen - log_probabilities.amax(-1)).min())


def greedy(translator: Translator, sentences: Iterable[str]) -> list[Translation]:
    return [found[0] for found in translator.hypotheses(sentences, SearchOptions(method="greedy"))]


def test_those_that_are_pinned_are_those_that_are_there_and_one_is_the_default() -> None:
    assert set(PINNED) == set(MODELS)
    assert DEFAULT_MODEL in MODELS


@each_model
def test_its_weights_are_the_ones_that_were_released(name: str) -> None:
    assert sha256(weights_of(name)) == PINNED[name].sha256
    assert sha256(MODELS[name] / PROFILE) == PINNED[name].profile_sha256


@each_model
def test_it_says_what_it_said_when_it_was_released(name: str) -> None:
    pinned = PINNED[name].sentences
    assert len(pinned) >= 3
    translator = heedful.load(name, device="cpu")
    found = dict(zip(pinned, greedy(translator, pinned), strict=True))
    assert {sentence: translation.text for sentence, translation in found.items()} == pinned
    assert dict(zip(pinned, translator.translate(list(pinned)), strict=True)) == pinned, "beam search finds the same"
    for sentence, translation in found.items():
        assert least_margin(translator, sentence, translation) >= MARGIN, f"another processor may differ on: {sentence}"


@each_model
def test_it_is_small_enough_and_holds_nothing_else(name: str) -> None:
    files = [path for path in MODELS[name].rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    kinds = {path.relative_to(MODELS[name]).as_posix() for path in files if path.suffix != ".png"}
    subwords = {kind for kind in kinds if kind.endswith("tokenizer/tokenizer.json")}
    assert subwords
    assert kinds - subwords == {"README.md", "run.json", PROFILE, "averaged/model.safetensors", "averaged/state.json"}


@each_model
def test_its_card_is_complete(name: str) -> None:
    card = (MODELS[name] / "README.md").read_text(encoding="utf-8")
    assert card.startswith(f"# {name}")
    headings = re.findall(r"^#+ (.*)$", card, flags=re.MULTILINE)
    for wanted in HEADINGS:
        assert [heading for heading in headings if heading.startswith(wanted)], f"the card has no heading {wanted}"


@each_model
def test_it_names_no_place_on_the_machine_it_was_trained_on(name: str) -> None:
    for path in MODELS[name].rglob("*.json"):
        if path.name in {"tokenizer.json", PROFILE}:  # which have subwords and characters
            continue
        for text in strings(json.loads(path.read_text(encoding="utf-8"))):
            for word in text.split():
                assert not PurePosixPath(word).is_absolute(), f"{path.name}: {text}"
                assert not PureWindowsPath(word).is_absolute(), f"{path.name}: {text}"


def print_pins(name: str, *sentences: str) -> None:
    """What to pin of a model, with how safe each sentence is."""
    translator = heedful.load(name, device="cpu")
    print(f'"{name}": Pinned("{sha256(weights_of(name))}", "{sha256(MODELS[name] / PROFILE)}", {{')
    searched = translator.translate(sentences)
    for sentence, found, best in zip(sentences, greedy(translator, sentences), searched, strict=True):
        margin = least_margin(translator, sentence, found)
        unsafe = "" if margin >= MARGIN else " is too small"
        differs = "" if found.text == best else f", and beam search says {best}"
        text = f"{json.dumps(sentence)}: {json.dumps(found.text, ensure_ascii=False)}"
        print(f"    {text},  # margin {margin:.2f}{unsafe}{differs}")
    print("}),")


if __name__ == "__main__":
    print_pins(*sys.argv[1:])
