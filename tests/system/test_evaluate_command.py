"""``heedful evaluate`` and ``heedful compare`` as a user meets them, with a model that is only pretended."""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from tests.commands import heedful
from tests.training_toys import write_toy

from heedful.cli.model_options import ModelOptions
from heedful.presets import resolve
from heedful.runs.descriptions import Languages
from heedful.search.model_search import greedy_translations
from heedful.search.options import SearchOptions
from heedful.training.loop import train
from heedful.training.setup import Task
from heedful.translation.translator import Translator

SOURCES = ["a dog runs", "two men talk", "the house is red-white", "a child sleeps", "it rains"]
REFERENCES = ["ein Hund läuft", "zwei Männer reden", "das Haus ist rot-weiß", "ein Kind schläft", "es regnet"]
GOOD = ["ein Hund läuft", "zwei Männer sprechen", "das Haus ist rot-weiß", "ein Kind schläft", "es regnet"]
BAD = ["ein Hund", "zwei Frauen sprechen", "das Haus ist rot", "Kind schläft", "xyz"]


@dataclass(frozen=True)
class Translation:
    text: str
    ids: list[int]


@dataclass(frozen=True)
class Scored:
    log_probability: float
    tokens: int


class PretendedModel(Translator):
    """Says what it was given to say, two subwords a word; finds every subword of a reference as likely as 1 in 8."""

    saved = SimpleNamespace(description=SimpleNamespace(languages=Languages("en", "fr")))

    device = "cpu"
    engine = "torch"  # pyright: ignore
    options = SearchOptions(beam_size=3)  # pyright: ignore

    def __init__(self, said: list[str]) -> None:
        self.said = dict(zip(SOURCES, said, strict=True))

    def hypotheses(self, lines: Iterable[str], options: Any, **_: Any) -> Iterator[list[Translation]]:  # pyright: ignore
        assert options == SearchOptions(beam_size=3)
        for line in lines:
            yield [Translation(self.said[line], [3] * 2 * len(self.said[line].split())), Translation("worse", [3])]

    def scores(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:  # pyright: ignore
        for source, reference in pairs:
            assert reference == dict(zip(SOURCES, REFERENCES, strict=True))[source]
            tokens = 2 * len(reference.split()) + 1
            yield Scored(tokens * math.log(1 / 8), tokens)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test set, two systems' outputs, files that are no good, and the folders of two models."""
    texts = {"test.en": SOURCES, "test.de": REFERENCES, "good.out": GOOD, "bad.out": BAD, "short.de": REFERENCES[:4]}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "test.de.gz").write_bytes(gzip.compress((tmp_path / "test.de").read_bytes()))
    (tmp_path / "empty.de").write_bytes(b"")
    (tmp_path / "binary.de").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (tmp_path / "zeros.de").write_bytes(b"a\nb\n\x00\x00\nd\ne\n")
    said = {"good-run": list(GOOD), "bad-run": BAD}
    for name in said:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(ModelOptions, "translator", lambda self: PretendedModel(said[self.model]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(*arguments: str) -> int:
    return heedful("evaluate", *arguments)


def test_a_file_is_scored_and_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluated("--hypothesis", "bad.out", "--reference", "test.de.gz", "--source", "test.en") == 0
    out, err = capsys.readouterr()
    metric = BLEU()
    score = metric.corpus_score(BAD, [REFERENCES]).score
    line = next(line for line in out.splitlines() if line.startswith("BLEU "))
    assert line.split()[1] == f"{score:.2f}"
    assert line.rstrip().endswith(str(metric.get_signature()))
    assert "TER (lower is better)" in out
    assert "the worst 5 by chrF" in out
    worst = out.split("by chrF\n")[1].splitlines()
    assert worst[0] == "line 5, chrF 0.0"
    assert [line.split(maxsplit=1) for line in worst[1:4]] == [
        ["source", "it rains"],
        ["reference", "es regnet"],
        ["output", "xyz"],
    ]
    assert "perplexity" not in out
    assert "speed" not in out
    assert err == ""


def test_the_paper_style_bleu_is_explained_or_its_extra_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sacremoses", reason="an extra: pip install 'heedful[moses]'")
    arguments = ["--hypothesis", "good.out", "--reference", "test.de", "--examples", "0"]
    evaluated(*arguments)
    out = capsys.readouterr().out
    assert "tok:moses-de+hyphens" in out
    assert "is the same formula over other words" in out
    evaluated(*arguments, "--language", "fr")
    assert "tok:moses-fr+hyphens" in capsys.readouterr().out
    Path("reference").write_bytes(Path("test.de").read_bytes())  # a name that tells nothing: the model's languages do
    for system, told in (
        (("--hypothesis", "good.out"), "--language tells it"),
        (("--model", "good-run"), "tok:moses-fr"),
    ):
        evaluated(*system, "--source", "test.en", "--reference", "reference", "--examples", "0", "--quiet")
        assert told in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    evaluated(*arguments)
    out = capsys.readouterr().out
    assert "pip install 'heedful[moses]'" in out
    assert "is the same formula over other words" not in out


def test_a_model_is_translated_scored_and_saved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "good-run", "--source", "test.en", "--reference", "test.de", "--output", "new.out"]
    assert evaluated(*arguments, "--json", "--quiet") == 0
    facts = json.loads(capsys.readouterr().out)
    # A line end inside a translation may not shift the lines after it.
    assert (folder / "new.out").read_text(encoding="utf-8").splitlines() == GOOD
    assert facts["scores"][0]["value"] == pytest.approx(BLEU().corpus_score(GOOD, [REFERENCES]).score)
    low, high = facts["scores"][0]["interval"]["low"], facts["scores"][0]["interval"]["high"]
    assert low <= facts["scores"][0]["value"] <= high
    words = sum(len(line.split()) for line in REFERENCES)
    assert facts["perplexity"]["per_subword"] == pytest.approx(8)
    assert facts["perplexity"]["per_word"] == pytest.approx(8 ** ((2 * words + 5) / (words + 5)))
    speed = facts["speed"]
    assert speed["device"] == "cpu"
    said = sum(2 * len(line.split()) + 1 for line in GOOD)
    assert speed["target_tokens_per_second"] / speed["sentences_per_second"] == pytest.approx(said / 5)
    assert facts["examples"]["worst"][0]["output"] == "zwei Männer sprechen"
    assert facts["length_ratio"] == pytest.approx(1)
    assert evaluated("--hypothesis", "new.out", "--reference", "test.de", "--json") == 0
    assert json.loads(capsys.readouterr().out)["scores"] == facts["scores"]


def test_a_model_is_shown_with_perplexity_and_speed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluated("--model", "good-run", "--source", "test.en", "--reference", "test.de") == 0
    out = capsys.readouterr().out
    assert "perplexity    8.00 a subword, " in out
    assert "target tokens/s on cpu" in out


def test_nothing_is_overwritten_unasked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "bad-run", "--source", "test.en", "--reference", "test.de", "--output", "good.out"]
    assert evaluated(*arguments) == 2
    assert "good.out is there already; give another name, or --overwrite to replace it" in capsys.readouterr().err
    assert (folder / "good.out").read_text(encoding="utf-8").splitlines() == GOOD
    assert evaluated(*arguments, "--overwrite", "--quiet") == 0
    assert (folder / "good.out").read_text(encoding="utf-8").splitlines() == BAD


MODEL = ["--model", "good-run", "--source", "test.en"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hypothesis", "good.out", "--reference", "short.de"], "short.de has 4 lines and good.out has 5: line n of"),
        (["--hypothesis", "good.out", "--reference", "empty.de"], "empty.de is empty"),
        (["--hypothesis", "binary.de", "--reference", "test.de"], "binary.de, line 1: not UTF-8: byte 0x89"),
        (["--hypothesis", "zeros.de", "--reference", "test.de"], "zeros.de, line 3: a NUL character"),
        (["--hypothesis", "none.out", "--reference", "test.de"], "there is no file none.out"),
        (["--hypothesis", "good-run", "--reference", "test.de"], "good-run is a folder, not a text file"),
        (["--hypothesis", "good.out", "--reference", "none.de"], "there is no file none.de"),
        ([*MODEL, "--reference", "short.de"], "short.de has 4 lines and test.en has 5"),
        (["--reference", "test.de"], "neither was given of --model and --hypothesis"),
        ([*MODEL, "--hypothesis", "good.out", "--reference", "test.de"], "both were given of --model and"),
        (["--model", "good-run", "--reference", "test.de"], "--model was given without --source"),
        (["--hypothesis", "good.out", "--reference", "test.de", "--output", "x"], "--output was given without --model"),
        ([*MODEL, "--reference", "test.de", "--output", "x.gz"], "text is written uncompressed"),
        ([*MODEL, "--reference", "test.de", "--output", "good-run"], "good-run is a folder; give the name of a file"),
        ([*MODEL, "--reference", "test.de", "--output", "no/x"], "there is no folder"),
        ([*MODEL, "--reference", "test.de", "--resamples", "0"], "--resamples 0: must be at least 1"),
        ([*MODEL, "--reference", "test.de", "--examples", "-1"], "--examples -1: must be at least 0"),
        ([*MODEL, "--reference", "test.de", "--language", "deutsch"], "--language deutsch: Moses' tokenizer has rules"),
    ],
)
def test_a_mistake_is_a_message_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = sorted(folder.iterdir())
    assert evaluated(*arguments) == 2
    out, err = capsys.readouterr()
    assert err.startswith("error: ")
    assert message in err
    assert out == ""
    assert sorted(folder.iterdir()) == before


def test_two_files_or_models_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for a, b in (("bad.out", "good.out"), ("bad-run", "good.out"), ("bad-run", "good-run")):
        arguments = ["--source", "test.en", "--reference", "test.de", "--trials", "500", "--quiet", "--json"]
        assert heedful("compare", a, b, *arguments) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts.pop("a"), facts.pop("b")) == (a, b)
        results.append(facts)
    assert results[0] == results[1] == results[2]
    bleu, chrf, ter = results[0]["comparisons"]
    assert bleu["difference"] == pytest.approx(
        BLEU().corpus_score(GOOD, [REFERENCES]).score - BLEU().corpus_score(BAD, [REFERENCES]).score
    )
    assert ter["difference"] < 0 < chrf["difference"]
    # Five sentences differ, and all 2 of 32 exchanges that give as large a difference are about 1 in 16.
    assert ter["randomisation_p_value"] == pytest.approx(1 / 16, abs=0.04)
    assert ter["better"] is None
    assert results[0]["examples"]["a"] == []
    assert results[0]["examples"]["b"][0]["output_a"] == "xyz"
    assert len(results[0]["examples"]["b"]) == 3


def test_a_comparison_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful("compare", "bad.out", "good.out", "--reference", "test.de", "--source", "test.en") == 0
    out = capsys.readouterr().out
    assert out.startswith("A  bad.out\nB  good.out\n5 sentences of test.de\n")
    assert "p randomisation" in out
    assert "[" in out
    assert "where A leads" not in out
    assert "where B leads most by chrF\nline 5, chrF A 0.0, B 100.0" in out
    assert heedful("compare", "bad.out", "bad.out", "--reference", "test.de") == 0
    assert "leads" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bad.out", "none.out", "--reference", "test.de"], "there is no file none.out"),
        (["bad.out", "short.de", "--reference", "test.de"], "test.de has 5 lines and short.de has 4"),
        (["bad.out", "good-run", "--reference", "test.de"], "good-run is a model, and --source was not"),
        (["empty.de", "good.out", "--reference", "test.de"], "empty.de is empty"),
        (["binary.de", "good.out", "--reference", "test.de"], "binary.de, line 1: not UTF-8"),
        (["bad.out", "good.out", "--reference", "test.de", "--model", "x"], "Unknown option: --model"),
        (["bad.out", "good.out", "--reference", "test.de", "--trials", "0"], "--trials 0: must be at least 1"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert heedful("compare", *arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""


def test_a_real_model_is_evaluated_and_compared_with_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_toy(tmp_path, task="copy", pairs=200, valid=12)
    monkeypatch.chdir(tmp_path)
    sizes = ["d_model=16", "d_ff=32", "num_heads=2", "encoder_layers=1", "decoder_layers=1"]
    times = ["steps=3", "validation_steps=0", "checkpoint_steps=3", "source_tokens=256", "target_tokens=256"]
    settings = [f"model.{size}" for size in sizes] + [f"training.{time}" for time in times]
    config = resolve(name="tiny", settings=settings)
    task = Task(config=config, data=corpus, run=Path("run"), preset="tiny", device="cpu")
    train(task, report=lambda _: None, translate=greedy_translations)
    files = ["--source", "valid.source", "--reference", "valid.target", "--quiet", "--json"]
    search = ["--beam-size", "2", "--max-length", "8"]
    assert evaluated("--model", "run", *files, *search, "--output", "out") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["search"]["beam_size"] == 2
    assert heedful("score", "--model", "run", *files[:2], "--target", "valid.target", "--json", "--quiet") == 0
    whole = json.loads(capsys.readouterr().out.splitlines()[-1])["whole"]
    assert facts["perplexity"]["per_subword"] == pytest.approx(whole["perplexity"])
    assert facts["perplexity"]["per_word"] == pytest.approx(whole["perplexity_per_word"])
    assert (
        heedful("translate", "--model", "run", "--input", "valid.source", "--output", "out2", *search, "--quiet") == 0
    )
    assert (tmp_path / "out").read_text(encoding="utf-8") == (tmp_path / "out2").read_text(encoding="utf-8")
    assert heedful("compare", "run", "out", *files, *search, "--resamples", "20", "--trials", "20") == 0
    rows = json.loads(capsys.readouterr().out)["comparisons"]
    assert [row["randomisation_p_value"] for row in rows] == [1, 1, 1]
