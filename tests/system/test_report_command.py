"""``heedful report`` as a user meets it, and the commands that it prints, carried out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from tests.commands import heedful
from tests.pages import Page
from tests.trained_toys import train_toy

from heedful.report.repetition import prepare_command, train_command
from heedful.runs.checkpoints import read_checkpoint
from heedful.runs.record import run_record
from heedful.translation.translator import Translator

SETTINGS = ("training.validation_steps=20", "training.samples=1", "training.log_steps=10", "model.positions=learned")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"), steps=40, settings=SETTINGS)


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def reported(*arguments: object) -> int:
    return heedful("report", *arguments)


def test_the_scores_are_those_of_the_validation_text(
    trained: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reported(run, "--json", "--quiet", "--examples", 2) == 0
    out, err = capsys.readouterr()
    assert err == ""
    facts = json.loads(out)
    sources, references = ((trained.parent / f"valid.{side}").read_text().splitlines() for side in ("source", "target"))
    outputs = Translator.load(run, device="cpu").translate(sources)
    values = {score["name"]: score["value"] for score in facts["scores"]}
    assert values["BLEU"] == pytest.approx(BLEU().corpus_score(outputs, [references]).score)
    assert facts["report"] == str(run / "report.html")
    assert facts["problems"] == []
    page = Page((run / "report.html").read_text(encoding="utf-8"))
    assert f"{values['BLEU']:.1f} BLEU" in page.text
    assert "the text that the run was watched with" in page.text
    by_chrf = sorted(CHRF().sentence_score(o, [r]).score for o, r in zip(outputs, references, strict=True))
    shown = [float(number) for number in re.findall(r"line [\d,]+, chrF ([\d.]+)", page.text)]
    assert len(shown) == 6
    assert shown[:2] == pytest.approx(by_chrf[::-1][:2], abs=0.06)
    assert shown[-2:] == pytest.approx(by_chrf[:2], abs=0.06)
    assert [one for one in page.elements if one[1].get("class") == "map"] != []
    assert len([one for one in page.elements if one[1].get("class") == "positions"]) == 2  # learned, of each side


def test_other_text_and_another_checkpoint_can_be_scored(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = run.parent / "test.en", run.parent / "test.de"
    for path in texts:
        path.write_text("ba da\n\nfa ga ka\n")
    checkpoint = sorted((run / "checkpoints").iterdir())[0]
    page = run.parent / "new" / "page.html"
    arguments = ["--source", texts[0], "--reference", texts[1], "--model", checkpoint, "--output", page, "--greedy"]
    assert reported(run, *arguments) == 0
    assert capsys.readouterr().out == f"{page} is written\n"
    text = Page(page.read_text(encoding="utf-8")).text
    assert "3 sentences: test.en and test.de" in text
    assert f"run/checkpoints/{checkpoint.name}, step 10" in text
    assert str(run.parent) not in text
    assert "the text that the run was watched with" not in text
    assert "greedy: the most probable subword each time" in text
    assert "No attention is shown: attention is shown for one sentence: the text is empty" in text


def test_without_a_corpus_or_a_checkpoint_there_is_a_page_without_scores(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = json.loads((run / "run.json").read_text())
    stored["data"]["folder"] = str(run / "gone")
    (run / "run.json").write_text(json.dumps(stored))
    assert reported(run, "--quiet") == 0
    out = capsys.readouterr().out
    assert f"there is no folder {run / 'gone'}" in out
    assert "note: no scores: the corpus that the run was trained on is not there" in out
    shutil.rmtree(run / "checkpoints")
    shutil.rmtree(run / "averaged")
    source = run / "source.txt"
    source.write_text("ba\n")
    assert reported(run, "--overwrite", "--source", source, "--reference", source) == 2
    assert "has no checkpoint yet" in capsys.readouterr().err
    assert "No text was translated: the corpus" in Page((run / "report.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "run.json"], "--reference is missing"),
        (["--reference", "run.json"], "--source is missing"),
        (["--examples", "-1"], "--examples -1: must be at least 0"),
        (["--language", "xx"], "--language xx: Moses' tokenizer has rules for"),
        (["--model", "/elsewhere"], "--model /elsewhere is not of the run"),
        (["--model", "checkpoints/step-7"], "there is no folder"),
        (["--no-scores", "--model", "run"], "--no-scores translates nothing"),
        (["--length-penalty", "-1"], "--length-penalty -1: must be at least 0"),
    ],
    ids=str,
)
def test_mistakes_are_named(
    run: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    assert reported(run, *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (run / "report.html").exists()


def test_a_page_is_not_overwritten_unasked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(run, "--no-scores") == 0
    before = (run / "report.html").read_bytes()
    assert reported(run, "--no-scores") == 2
    assert "report.html is there already; give another name, or --overwrite" in capsys.readouterr().err
    assert (run / "report.html").read_bytes() == before


def words_of(command: str) -> list[str]:
    """What a shell would hand to heedful."""
    script = f'heedful() {{ printf "%s\\0" "$@"; }}\n{command}'
    return subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout.split("\0")[:-1]


def test_the_commands_on_the_page_make_the_same_corpus_and_the_same_model(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carried_out(command: str) -> None:
        arguments = words_of(command)
        monkeypatch.setattr(sys, "argv", ["/usr/bin/heedful", *arguments])
        assert heedful(*arguments, "--quiet") == 0

    record = run_record(trained)
    assert record.corpus is not None
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    carried_out(prepare_command(record.corpus.manifest, output=str(corpus)))
    assert (corpus / "manifest.json").read_bytes() == (record.corpus.folder / "manifest.json").read_bytes()
    command = train_command(record).replace(str(trained), str(run)).replace(str(record.corpus.folder), str(corpus))
    carried_out(command)
    ours, theirs = (read_checkpoint(folder / "averaged", optimizer=False).model for folder in (trained, run))
    assert ours.keys() == theirs.keys()
    for name, weights in ours.items():
        assert torch.equal(weights, theirs[name]), name
    described = json.loads((run / "run.json").read_text())
    assert described["command"] == {"words": ["heedful", *words_of(command)], "folder": str(Path.cwd())}
    assert described["environment"]["python"] == sys.version.split()[0]
    assert described["environment"]["packages"]["torch"] == torch.__version__
    assert json.loads((trained / "run.json").read_text())["command"] is None  # nobody typed it
