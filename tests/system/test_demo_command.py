"""``heedful demo`` as a user meets it: the whole chain, stopped anywhere and started again; and the real thing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from tests.commands import heedful

from heedful.cli.training_display import DemoDisplay
from heedful.config import Config
from heedful.demo import plan, results, stages
from heedful.demo.plan import DemoPlan
from heedful.presets import resolve
from heedful.runs.descriptions import MODEL
from heedful.training import events

STEPS = 24
SETTINGS = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "training.warmup_steps=10"),
    *(f"training.steps={STEPS}", "training.checkpoint_steps=8", "training.validation_steps=12", "training.log_steps=4"),
    *("data.vocab_size=400", "search.beam_size=2", "search.max_extra_length=2"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same demo with little text, a small model and few steps."""
    for name, pairs in (("TRAIN", 200), ("VALID", 20), ("TEST", 24)):
        monkeypatch.setattr(plan, name, pairs)
    monkeypatch.setattr(stages, "configuration", configuration)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def configuration(made: DemoPlan, *settings: str) -> Config:
    config = resolve(name="demo", settings=[*SETTINGS, *settings])
    return replace(config, training=replace(config.training, seed=made.seed, minutes=made.training_minutes or 0.0))


def demo(folder: Path, *arguments: str) -> int:
    """The exit code of the command."""
    return heedful("demo", "--output", folder, *arguments)


def fingerprint(folder: Path) -> dict[str, Any]:
    """Everything that must be the same however often the demo was stopped."""
    facts = json.loads((folder / "results.json").read_text())
    facts["training"].pop("minutes")
    digest = hashlib.sha256((folder / "run" / "averaged" / MODEL).read_bytes()).hexdigest()
    return {"facts": facts, "weights": digest, "outputs": (folder / "test.out").read_text()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        for name, pairs in (("TRAIN", 200), ("VALID", 20), ("TEST", 24)):
            patch.setattr(plan, name, pairs)
        patch.setattr(stages, "configuration", configuration)
        assert demo(folder, "--quiet") == 0
    return folder


def test_the_results_are_those_of_the_files(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo(whole, "--quiet", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    outputs = (whole / "test.out").read_text().splitlines()
    references = (whole / "text" / "test.de").read_text().splitlines()
    assert len(outputs) == len(references) == facts["pairs"]["test"] == 24
    bleu, chrf = facts["scores"]
    assert bleu["value"] == pytest.approx(sacrebleu.corpus_bleu(outputs, [references], force=True).score)
    assert chrf["value"] == pytest.approx(sacrebleu.corpus_chrf(outputs, [references]).score)
    assert bleu["signature"].startswith("nrefs:1|case:mixed")
    right = [output == reference for output, reference in zip(outputs, references, strict=True)]
    assert facts["exact_matches"] == sum(right) / 24
    assert facts["training"]["step"] == facts["training"]["steps"] == STEPS
    assert 0 <= facts["alignment"]["error_rate"] <= 1
    assert facts["alignment"]["layer"] == 1 + facts["alignment"]["by_layer"].index(min(facts["alignment"]["by_layer"]))
    assert facts["report"] == str(whole / "report.html")
    assert len(facts["examples"]) + len(facts["worst"]) == 10


def test_the_page_says_what_it_is_and_needs_nothing_else(whole: Path) -> None:
    page = (whole / "report.html").read_text(encoding="utf-8")
    assert "text that is generated" in page
    assert "nothing about real text" in page
    assert "<img" not in page  # a picture of pixels would be white in the dark
    assert page.count('<figure class="chart') >= 5
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    facts = json.loads((whole / "results.json").read_text())
    assert f"{facts['scores'][0]['value']:.1f}" in page
    assert f"{facts['alignment']['error_rate']:.3f}" in page
    (picture,) = re.findall(r'<svg class="map".*?</svg>', page, flags=re.DOTALL)
    assert picture.count("stroke: var(--mark)") == len(facts["pictured"]["links"]) > 0
    assert all(0.5 < sum(row) <= 1.01 for row in facts["pictured"]["weights"])  # the rest looks at the end
    assert page.count("<td>") >= 20
    assert "heedful attention --model" in page


def test_a_person_is_told_scores_sentences_and_what_to_try(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo(whole) == 0
    told = capsys.readouterr()
    for stage in ("generated text is there", "prepared already", "trained already", "scored already"):
        assert stage in told.err
    assert "All of this text is generated" in told.out
    assert "alignment error rate" in told.out
    assert f"{whole / 'report.html'} shows all of it" in told.out
    assert told.out.count("  → ") == 4
    for words in re.findall(r"^heedful (.* --model .*/demo/run .*)$", told.out, flags=re.MULTILINE):
        assert heedful(*shlex.split(words), "--threads", "1") == 0
    assert (whole / "attention.html").is_file()


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def stop_text(patch: pytest.MonkeyPatch) -> None:
    def half_written(folder: Path, **_: object) -> None:
        (folder / "train.en").write_text("half of it")
        raise KeyboardInterrupt

    patch.setattr(stages, "write_demo_text", half_written)


def stop_preparing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("heedful.prepare.pipeline.encoded_text", interrupted)


def stop_before_training(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("heedful.training.setup.write_run", interrupted)


def stop_training(patch: pytest.MonkeyPatch) -> None:
    shown = DemoDisplay.__call__

    def call(self: DemoDisplay, event: events.Event) -> None:
        shown(self, event)
        if isinstance(event, events.Stepped) and event.line.step == 13:
            os.kill(os.getpid(), signal.SIGINT)

    patch.setattr(DemoDisplay, "__call__", call)


def stop_averaging(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("heedful.training.loop.write_average", interrupted)


def stop_scoring(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(results, "alignment_score", interrupted)


def test_stopped_at_every_stage_it_goes_on_to_the_same_end(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    stops = [stop_text, stop_preparing, stop_before_training, stop_training, stop_averaging, stop_scoring]
    told: dict[Callable[..., None], str] = {}
    for stop in stops:
        done = modified(folder)
        with pytest.MonkeyPatch.context() as patch:
            stop(patch)
            assert demo(folder) == 130
        assert {path: time for path, time in modified(folder).items() if path in done} == done
        told[stop] = capsys.readouterr().err
        assert "stopped; the same command goes on from here" in told[stop]
        assert "Traceback" not in told[stop]
    assert demo(folder) == 0
    assert "the generated text is there already" in told[stop_before_training]
    assert "it has been prepared already" in told[stop_training]
    assert re.search(r"going on from step 1[34]\b", told[stop_averaging])
    assert f"going on from step {STEPS}" in told[stop_scoring]
    assert "trained already" in capsys.readouterr().err
    assert fingerprint(folder) == fingerprint(whole)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda text: (text / "test.de").unlink(), "No such file"),
        (lambda text: (text / "valid.align").write_text("0-0\n"), "its files have 20, 20, 1 lines"),
        (lambda text: (text / "test.en").write_bytes(b"\xff\n"), "can't decode"),
        (lambda text: (text / "test.align").write_text("0:0\n" * 24), "test.align, line 1: '0:0' is no link"),
    ],
)
def test_text_that_was_changed_is_named(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object], problem: str
) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(whole, folder)
    (folder / "results.json").write_text("{}")
    damage(folder / "text")
    assert demo(folder, "--quiet") == 2
    assert problem in capsys.readouterr().err


def test_results_that_were_changed_are_measured_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(whole, folder)
    facts = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps({**facts, "scores": [{"name": "BLEU"}]}))
    assert demo(folder, "--quiet") == 0
    assert fingerprint(folder) == fingerprint(whole)


def modified(folder: Path) -> dict[Path, int]:
    """When the files of the stages that are done were written."""
    return {path: path.stat().st_mtime_ns for part in ("text", "corpus") for path in folder.glob(f"{part}/*")}


def test_what_time_has_cut_short_goes_on_when_there_is_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    monkeypatch.setattr(stages, "configuration", lambda made: configuration(made, "training.steps=1000000"))
    assert demo(folder, "--minutes", "0.02", "--quiet") == 0
    told = capsys.readouterr().out
    step = json.loads((folder / "results.json").read_text())["training"]["step"]
    assert f"cut short at step {step:,} of 1,000,000" in told
    assert demo(folder, "--minutes", "0.02", "--quiet", "--json") == 0
    assert json.loads(capsys.readouterr().out)["training"]["step"] == step
    monkeypatch.setattr(stages, "configuration", lambda made: configuration(made, f"training.steps={step + 5}"))
    assert demo(folder, "--minutes", "4", "--quiet", "--json") == 0
    told = capsys.readouterr()
    assert "changed since the run began: training.minutes" in told.err
    assert json.loads(told.out)["training"]["step"] == step + 5


def test_overwriting_starts_anew_and_another_seed_has_the_same_text(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    stop_preparing(monkeypatch)
    assert demo(folder, "--quiet", "--seed", "2") == 130
    text = folder / "text" / "train.de"
    assert text.read_text() == (whole / "text" / "train.de").read_text()
    text.write_text("another")
    assert demo(folder, "--quiet", "--overwrite") == 130
    assert json.loads((folder / "demo.json").read_text())["seed"] == 1
    assert text.read_text() == (whole / "text" / "train.de").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "3"], "holds a demo with seed 1, and --seed 3 was given"),
        (["--minutes", "0"], "--minutes 0: must be above 0"),
        (["--threads", "0"], "--threads 0: must be at least 1"),
        (["--device", "abacus", "--overwrite"], "device abacus: must be auto, cpu, cuda or cuda:N"),
    ],
)
def test_mistakes_are_messages(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan.start_demo(tmp_path / "demo", seed=1, minutes=4)
    assert demo(tmp_path / "demo", *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.long
def test_the_real_thing_translates_unseen_sentences_and_finds_the_true_links(tmp_path: Path) -> None:
    """Another process, without this file's small sizes; with time enough not to be cut short on a busy machine."""
    command = [sys.executable, "-m", "heedful", "demo", "--output", str(tmp_path / "demo"), "--json", "--minutes", "60"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["training"]["step"] == facts["training"]["steps"]
    assert facts["scores"][0]["value"] >= 90
    assert facts["alignment"]["error_rate"] <= 0.25 < facts["alignment"]["diagonal"]
