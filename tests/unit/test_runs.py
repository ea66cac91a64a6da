"""Runs as they lie on a disk: going on, done, killed, broken."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heedful.cli.main import main
from heedful.errors import ReportError
from heedful.runs.lists import Best, Run, runs_below
from heedful.runs.metrics import (
    Sample,
    SkippedLine,
    TrainLine,
    ValidationLine,
    ValidationWall,
    Wall,
    append_line,
    read_metrics,
)

DESCRIPTION = {
    "format": "heedful run",
    "format_version": 1,
    "heedful": "0.1.0",
    "preset": "tiny",
    "config": {"model": {"d_model": 128, "d_ff": 512, "encoder_layers": 2, "decoder_layers": 3}},
    "data": {"folder": "data", "manifest_sha256": "0"},
    "vocabularies": {key: {"folder": "tokenizer", "size": 1000, "sha256": "0"} for key in ("source", "target")},
    "parameters": 1234,
    "vocab_size": 1000,
    "source_vocab_size": None,
    "started": "2026-11-15T09:00:00+00:00",
}
STATUS = {
    "state": "finished",
    "step": 200,
    "steps": 200,
    "best": {"step": 150, "metric": "bleu", "value": 31.5},
    "why": "",
    "minutes": 2.5,
    "updated": "2026-11-15T09:02:30+00:00",
    "pid": 1,
    "host": "elsewhere",
}


def written(folder: Path, *, run: Any = None, status: Any = None, metrics: str | None = None) -> Path:
    """A run folder; text is written as it is, anything else as JSON over the usual fields."""
    folder.mkdir(parents=True)
    for name, value, usual in (("run.json", run, DESCRIPTION), ("status.json", status, STATUS)):
        text = value if isinstance(value, str) else json.dumps({**usual, **(value or {})})
        (folder / name).write_text(text, encoding="utf-8")
    lines = [{"kind": "train", "step": step, "loss": 9.0 - step / 100} for step in (50, 100, 200)]
    text = "".join(json.dumps(line) + "\n" for line in lines) if metrics is None else metrics
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")
    return folder


def only(folder: Path) -> Run:
    (run,) = runs_below(folder)
    return run


def test_a_run_is_described_by_its_files(tmp_path: Path) -> None:
    run = only(written(tmp_path / "a"))
    assert run == Run(
        folder=str(tmp_path / "a"),
        state="finished",
        why="",
        model="tiny",
        parameters=1234,
        step=200,
        steps=200,
        loss=7.0,
        best=Best(150, "bleu", 31.5),
        minutes=2.5,
        written="2026-11-15T09:02:30+00:00",
        problems=(),
    )


def test_without_a_preset_the_sizes_are_named(tmp_path: Path) -> None:
    assert only(written(tmp_path / "a", run={"preset": None})).model == "2+3 layers, 128, 512"


def test_a_running_process_that_is_gone_was_killed(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    here = platform.node()
    cases = {
        "alive": ({"state": "running", "pid": os.getpid(), "host": here}, "running"),
        "gone": ({"state": "running", "pid": child.pid, "host": here}, "killed"),
        "gone-elsewhere": ({"state": "running", "pid": child.pid, "host": "another-host"}, "running"),
        "no-such-number": ({"state": "running", "pid": 2**70, "host": here}, "killed"),
        "finished": ({"state": "finished", "pid": child.pid, "host": here}, "finished"),
        "interrupted": ({"state": "interrupted", "pid": child.pid, "host": here}, "interrupted"),
        "odd": ({"state": "dreaming"}, "unknown"),
    }
    for name, (status, _) in cases.items():
        written(tmp_path / name, status=status)
    states = {Path(run.folder).name: run.state for run in runs_below(tmp_path)}
    assert states == {name: state for name, (_, state) in cases.items()}


def test_runs_are_found_at_any_depth_and_nothing_inside_a_run_is_one(tmp_path: Path) -> None:
    written(tmp_path / "x" / "y" / "deep")
    written(tmp_path / "flat")
    written(tmp_path / "flat" / "checkpoints" / "copy")
    (tmp_path / "no-run").mkdir()
    (tmp_path / "no-run" / "run.json").write_text('{"format": "something else"}')
    assert [run.folder for run in runs_below(tmp_path)] == [str(tmp_path / "flat"), str(tmp_path / "x/y/deep")]


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"run": "{"}, "run.json is damaged, or not JSON"),
        ({"run": {"format_version": 2}}, "run.json is of format version 2"),
        ({"status": "[1]"}, "status.json holds no JSON object"),
        ({"status": {"step": "many"}}, "status.json: step is 'many', not a whole number"),
        ({"status": {"best": 3}}, "status.json: best is 3, not an object"),
        ({"metrics": '{"kind": "train", "step": 1}\nnonsense\n'}, "metrics.jsonl, line 2: not JSON"),
        ({"metrics": "[]\n"}, "metrics.jsonl, line 1: not an object with a step"),
        ({"metrics": "\x00\x00\n"}, "metrics.jsonl, line 1: not JSON"),
    ],
    ids=str,
)
def test_a_broken_file_is_named_and_the_run_listed(tmp_path: Path, broken: dict[str, Any], named: str) -> None:
    written(tmp_path / "sound")
    written(tmp_path / "broken", **broken)
    found = {Path(run.folder).name: run for run in runs_below(tmp_path)}
    assert not found["sound"].problems
    (problem,) = found["broken"].problems
    assert named in problem


def test_files_that_are_not_there_yet_are_no_problem(tmp_path: Path) -> None:
    folder = written(tmp_path / "a")
    (folder / "status.json").unlink()
    (folder / "metrics.jsonl").unlink()
    run = only(tmp_path)
    assert (run.state, run.step, run.loss, run.best, run.problems) == ("unknown", None, None, None, ())
    assert run.written is not None


def test_a_line_that_is_being_written_is_no_problem(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", metrics='{"kind": "train", "step": 1, "loss": 5.0}\n{"kind": "train", "st')
    metrics = read_metrics(folder)
    assert len(metrics.train) == 1
    assert not metrics.problems


# As version 0.1.0 wrote them.
TRAIN_TEXT = (
    '{"kind": "train", "step": 50, "loss": 6.5, "negative_log_likelihood": 6.25, "perplexity": 518.0, '
    '"learning_rate": 0.001, "gradient_norm": 1.5, "target_tokens": 900, "skipped": 1, "wall": {"seconds": 12.5, '
    '"tokens_per_second": 1000.0, "peak_share": null, "memory_gib": 0.5}}'
)
VALIDATION_TEXT = (
    '{"kind": "validation", "step": 50, "loss": 5.0, "smoothed_loss": 5.5, "perplexity": 148.4, '
    '"perplexity_per_word": Infinity, "bleu": null, "bleu_signature": null, '
    '"samples": [{"source": "Größe", "reference": "size", "output": ""}], "wall": {"seconds": 1.5}}'
)
SKIPPED_TEXT = '{"kind": "skipped", "step": 7, "lines": ["a.en:3", "a.en:9"]}'
TRAIN = TrainLine(50, 6.5, 6.25, 518.0, 0.001, 1.5, 900, 1, Wall(12.5, 1000.0, None, 0.5))
VALIDATION = ValidationLine(
    50, 5.0, 5.5, 148.4, math.inf, None, None, (Sample("Größe", "size", ""),), ValidationWall(1.5)
)


def test_a_line_of_metrics_is_written_and_read_as_it_always_was(tmp_path: Path) -> None:
    for line in (TRAIN, VALIDATION, SkippedLine(7, ("a.en:3", "a.en:9"))):
        append_line(tmp_path, line)
    written_lines = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert written_lines == [TRAIN_TEXT, VALIDATION_TEXT, SKIPPED_TEXT]
    metrics = read_metrics(tmp_path)
    assert (metrics.train, metrics.validation, metrics.problems) == ((TRAIN,), (VALIDATION,), ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"kind": "train", "step": 1, "loss": "low"}', "line 1: loss is 'low', not a number"),
        ('{"kind": "train", "step": 1, "wall": 5}', "line 1: wall is 5, not an object"),
        ('{"kind": "validation", "step": 1, "samples": [{"output": 3}]}', "line 1: samples[0].output is 3, not text"),
        ('{"kind": "train", "step": true}', "line 1: not an object with a step"),
        ('{"kind": "train", "step": 1e3}', "line 1: not an object with a step"),
        ("[" * 200_000, "line 1: not JSON"),
        ('{"step": ' + "9" * 5000 + "}", "line 1: not JSON"),
    ],
)
def test_a_line_of_the_wrong_type_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(text + "\n" + TRAIN_TEXT + "\n")
    metrics = read_metrics(tmp_path)
    assert metrics.train == (TRAIN,)
    assert metrics.problems == (f"{tmp_path / 'metrics.jsonl'}, {problem}",)


def test_the_command_prints_a_table_and_names_what_is_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "good")
    written(tmp_path / "stopped", status={"state": "interrupted", "why": "Ctrl-C at step 200"})
    written(tmp_path / "gone", status={"state": "running", "pid": 2**70, "host": platform.node()})
    written(tmp_path / "bad", run="{")
    main_quietly("runs", str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    good = next(line for line in lines if line.startswith(str(tmp_path / "good")))
    assert " ".join(good.split()[1:]).startswith("tiny finished 200 of 200 7.000 bleu 31.5 at 150 2.5 ")
    assert any("stopped: Ctrl-C at step 200" in line for line in lines)
    assert any("gone: its process is gone; --resume goes on" in line for line in lines)
    assert any(line.startswith("note: ") and "bad/run.json is damaged, or not JSON" in line for line in lines)


def test_in_a_usual_terminal_each_run_has_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.cli.terminal._WIDTH_WITHOUT_TERMINAL", 80)
    monkeypatch.chdir(tmp_path)
    status = {"state": "finished", "step": 1898, "steps": 1899}
    written(Path("first"), status=status)
    written(Path("second"), status=status)
    main_quietly("runs")
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "state", "step", "loss", "best", "minutes", "written"]
    assert [line.split()[0] for line in lines] == ["first", "second"]
    assert all("finished  1,898 of 1,899" in line and "…" not in line for line in lines)


def test_the_command_gives_json_that_any_program_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "a", metrics='{"kind": "train", "step": 1, "loss": NaN}\n')
    main_quietly("runs", str(tmp_path), "--json")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    (run,) = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert run["loss"] is None
    assert run["best"] == {"step": 150, "metric": "bleu", "value": 31.5}


def test_without_a_folder_the_runs_are_those_of_the_current_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    main_quietly("runs")
    assert "\nmine " in capsys.readouterr().out


def test_no_runs_and_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_quietly("runs", str(tmp_path))
    assert capsys.readouterr().out.startswith("no runs below")
    with pytest.raises(ReportError, match="there is no folder"):
        runs_below(tmp_path / "nowhere")
    with pytest.raises(SystemExit, match="2"):
        main(["runs", str(tmp_path / "nowhere")])


def main_quietly(*arguments: str) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(list(arguments))
