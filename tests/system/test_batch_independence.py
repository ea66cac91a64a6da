"""A sentence's translation does not depend on what is translated beside it: all of Multi30k's validation set."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import heedful
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.presets import resolve
from heedful.search.model_search import greedy_translations
from heedful.text.pairs import two_files
from heedful.training.loop import train
from heedful.training.setup import Task

SETTINGS = [
    *("model.d_model=128", "model.d_ff=512", "model.encoder_layers=2", "model.decoder_layers=2", "model.dropout=0.1"),
    *("training.source_tokens=2048", "training.target_tokens=2048", "training.warmup_steps=200", "training.steps=400"),
    *("training.validation_steps=0", "training.average_last=1", "training.learning_rate_scale=1"),
]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(multi30k: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned a little German: enough that its outputs end, and differ from one another."""
    folder = tmp_path_factory.mktemp("multi30k")
    files = two_files(multi30k / "train.en.gz", multi30k / "train.de.gz")
    prepare(Request(corpora=(files,), vocab_size=4000), output=folder / "corpus")
    config = resolve(name="multi30k", settings=SETTINGS)
    request = Task(config=config, data=folder / "corpus", run=folder / "run", device="cpu")
    train(request, report=lambda event: None, translate=greedy_translations)
    return folder / "run"


@pytest.fixture(scope="module")
def sources(multi30k: Path) -> list[str]:
    with gzip.open(multi30k / "val.en.gz", "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def translations(run: Path, lines: list[str], *, precision: str, batch_size: int) -> list[tuple[str, float]]:
    translator = heedful.load(run, device="cpu", precision=precision, batch_size=batch_size)
    return [(best[0].text, best[0].score) for best in translator.hypotheses(lines)]


def among_other_batch_mates(run: Path, lines: list[str], *, precision: str) -> dict[str, list[tuple[str, float]]]:
    """The same sentences alone, in other batches, and shuffled."""
    order = np.random.default_rng(1).permutation(len(lines))
    shuffled = translations(run, [lines[place] for place in order], precision=precision, batch_size=64)
    results = {
        f"batches of {size}": translations(run, lines, precision=precision, batch_size=size) for size in (1, 2, 64, 500)
    }
    return {**results, "shuffled": [shuffled[place] for place in np.argsort(order)]}


def test_in_float64_every_translation_is_the_same(run: Path, sources: list[str]) -> None:
    assert len(sources) == 1014
    results = among_other_batch_mates(run, sources, precision="float64")
    alone = [text for text, _ in results["batches of 1"]]
    assert len(set(alone)) > 300
    for name, found in results.items():
        assert [text for text, _ in found] == alone, name


def test_in_float32_only_ties_differ(run: Path, sources: list[str]) -> None:
    results = among_other_batch_mates(run, sources, precision="float32")
    alone = results["batches of 1"]
    for name, found in results.items():
        differing = [(a, b) for a, b in zip(found, alone, strict=True) if a[0] != b[0]]
        for (text, score), (other, other_score) in differing:
            print(f"{name}: {score - other_score:+.1e}  {text!r}  {other!r}")
            assert abs(score - other_score) < 1e-4
        assert len(differing) <= 0.002 * len(sources), f"{name}: {len(differing)} differ"
