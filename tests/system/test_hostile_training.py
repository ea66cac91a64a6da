"""What nobody means to do to a training run, and what it must not do then: a case for each cause that was found."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.training_toys import write_toy

from heedful.cli.main import main
from heedful.errors import TrainingError
from heedful.presets import resolve
from heedful.search.model_search import greedy_translations
from heedful.training import events, machine
from heedful.training.batches import StepBatch
from heedful.training.loop import train
from heedful.training.metrics import Validation
from heedful.training.setup import Task
from heedful.training.step import Trainer

SMALL = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.source_tokens=256", "training.target_tokens=256", "training.warmup_steps=10", "training.steps=12"),
    *("training.validation_steps=4", "training.checkpoint_steps=4", "training.log_steps=4", "training.samples=2"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"), task="copy", pairs=300, valid=30)


def run(corpus: Path, output: Path, *changes: str, **options: object) -> list[events.Event]:
    seen: list[events.Event] = []
    task = Task(config=resolve(name="tiny", settings=[*SMALL, *changes]), data=corpus, run=output, device="cpu")
    task = replace(task, **options)  # pyright: ignore[reportArgumentType]
    train(task, report=seen.append, translate=greedy_translations)
    return seen


def everything(folder: Path) -> dict[str, bytes]:
    """The contents of every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


PATIENT = ("training.learning_rate_scale=1e-30", "training.steps=400", "training.patience=2")


@pytest.mark.parametrize(
    ("settings", "why", "more"),
    [
        (PATIENT, "2 validations in a row brought nothing better", "training.patience=3"),
        (("training.minutes=0.002", "training.steps=100000"), "0.002 minutes are over", "training.minutes=0.004"),
        ((), "all 12 steps are done", "training.steps=13"),
    ],
    ids=["patience", "minutes", "steps"],
)
def test_resuming_a_finished_run_says_so_and_changes_nothing_until_more_is_allowed(
    settings: tuple[str, ...], why: str, more: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hundredths = itertools.count()  # each look at the clock takes one, however busy the machine is
    clock = SimpleNamespace(monotonic=lambda: next(hundredths) / 100)
    monkeypatch.setattr("heedful.training.metrics.time", clock)
    ended = run(corpus, tmp_path / "run", *settings)[-1]
    assert isinstance(ended, events.Ended)
    before = everything(tmp_path / "run")
    for _ in range(2):
        (seen,) = run(corpus, tmp_path / "run", *settings, resume=True)
        assert isinstance(seen, events.Ended)
        assert seen == replace(ended, state="finished", why=why, averaged=[], minutes=seen.minutes)
        assert seen.minutes == pytest.approx(ended.minutes, abs=0.001)
        assert everything(tmp_path / "run") == before
    longer = run(corpus, tmp_path / "run", *settings, more, resume=True)[-1]
    assert isinstance(longer, events.Ended)
    assert longer.step > ended.step


def test_a_run_stopped_before_its_average_makes_it_when_resumed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> list[int]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("heedful.training.loop.write_average", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(corpus, tmp_path / "run")
    ended = run(corpus, tmp_path / "run", resume=True)[-1]
    assert isinstance(ended, events.Ended)
    assert ended.averaged == [4, 8, 12]
    assert (tmp_path / "run" / "averaged" / "model.safetensors").is_file()


def test_a_validation_that_is_not_a_number_is_never_the_best(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Validation._losses
    calls: list[int] = []

    def losses(self: Validation, *arguments: object) -> tuple[float, float, int]:
        loss, plain, tokens = measured(self, *arguments)  # pyright: ignore
        calls.append(1)
        return (loss, plain, tokens) if len(calls) > 1 else (float("nan"), float("nan"), tokens)

    monkeypatch.setattr(Validation, "_losses", losses)
    seen = run(corpus, tmp_path / "run")
    validated = [event for event in seen if isinstance(event, events.Validated)]
    assert [event.is_best for event in validated] == [False, True, True]
    assert json.loads((tmp_path / "run" / "status.json").read_text())["best"]["step"] == 12


def test_a_validation_text_without_pairs_is_said_and_not_used(corpus: Path, tmp_path: Path) -> None:
    """Corpora of earlier versions may have one; `prepare` refuses it now."""
    data = shutil.copytree(corpus, tmp_path / "corpus")
    manifest = json.loads((data / "manifest.json").read_text())
    split = manifest["splits"]["valid"]
    split["pairs"] = 0
    for side in ("source", "target"):
        split[side] |= {"ids": 0, "longest": 0, "shards": []}
    manifest["files"] = {name: entry for name, entry in manifest["files"].items() if not name.startswith("valid/")}
    for path in (data / "valid").iterdir():
        path.write_bytes(b"")
        manifest["files"][f"valid/{path.name}"] = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    (data / "manifest.json").write_text(json.dumps(manifest))
    seen = run(data, tmp_path / "run")
    assert [event.text for event in seen if isinstance(event, events.Warned)] == [
        f"the validation text of {data} has no pairs: nothing is validated"
    ]
    assert not any(isinstance(event, events.Validated) for event in seen)
    with pytest.raises(TrainingError, match=r"training\.patience = 2 needs validation"):
        run(data, tmp_path / "other", "training.patience=2")


def test_a_run_that_needs_more_memory_than_there_is_says_so_with_its_figures(corpus: Path, tmp_path: Path) -> None:
    """In a process of its own, whose memory ends at 4 GB: less than one matrix of this model."""
    large = [f"--set={name}" for name in ("model.d_model=1024", "model.d_ff=2000000", "training.validation_steps=0")]
    words = [sys.executable, "-m", "heedful", "train", str(corpus), "--preset", "big", "--device", "cpu", *large]
    told = subprocess.run(
        ["bash", "-c", f"ulimit -v 4000000; exec {' '.join(words)} --threads 1 --output {tmp_path / 'run'}"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2, told.stderr
    assert re.search(r"out of memory \(\d+ bytes more were asked for, 3.8 GiB is all that there may be\)", told.stderr)
    assert "raise training.micro_batches above 1" in told.stderr
    assert "Traceback" not in told.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 64 bytes."),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_memory_that_ends_in_the_middle_of_a_run_leaves_its_checkpoints_and_the_reason(
    error: Exception, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "device_memory", lambda _: 5 << 30)
    stepped = Trainer.step

    def step(self: Trainer, batch: StepBatch) -> torch.Tensor:
        if batch.step == 7:
            raise error
        return stepped(self, batch)

    monkeypatch.setattr(Trainer, "step", step)
    with pytest.raises(TrainingError, match=r"out of memory \(.*5\.0 GiB is all .* above 1 and --resume"):
        run(corpus, tmp_path / "run")
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert (status["state"], status["why"].partition(" (")[0]) == ("failed", "out of memory")
    assert (tmp_path / "run" / "checkpoints" / "step-00000004").is_dir()


@pytest.mark.parametrize("command", ["train", "plan"])
@pytest.mark.parametrize(
    "setting",
    ["training.minutes=inf", "training.micro_batches=1000000000", "training.steps=1" + "0" * 30, "training.seed=-1"],
)
def test_numbers_that_cannot_be_meant_end_at_once(
    command: str, setting: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What may be is said by config.py; here: that nothing is begun with what may not."""
    output = ["--output", str(tmp_path / "run")] if command == "train" else ["--accelerator", "H100"]
    with pytest.raises(SystemExit) as left:
        main([command, str(corpus), "--preset", "tiny", "--set", setting, *output])
    assert left.value.code == 2
    assert setting.partition("=")[0] in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("threads", ["-7", "0", "1.5", "inf"])
def test_threads_that_cannot_be_are_refused(
    threads: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["train", str(corpus), "--preset", "tiny", "--threads", threads, "--output", str(tmp_path / "run")])
    assert left.value.code == 2
    assert "--threads" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def broken_states() -> dict[str, Callable[[dict[str, Any]], object]]:
    return {
        "empty": lambda state: "",
        "no JSON": lambda state: "{",
        "no hashes": lambda state: json.dumps({**state, "files": {}}),
        "another step": lambda state: json.dumps({**state, "step": 11}),
        "nested": lambda state: "[" * 200_000,
        "no progress": lambda state: json.dumps({**state, "state": {}}),
        "progress of another type": lambda state: json.dumps({**state, "state": {"progress": {"step": "12"}}}),
    }


@pytest.mark.parametrize("how", broken_states())
def test_a_newest_checkpoint_that_cannot_be_read_gives_way_to_the_one_before(
    how: str, corpus: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "run")
    weights = (tmp_path / "run" / "checkpoints" / "step-00000012" / "model.safetensors").read_bytes()
    path = tmp_path / "run" / "checkpoints" / "step-00000012" / "state.json"
    path.write_text(str(broken_states()[how](json.loads(path.read_text()))))
    seen = run(corpus, tmp_path / "run", resume=True)
    warned = [event.text for event in seen if isinstance(event, events.Warned)]
    assert any("using the one before" in text for text in warned)
    assert isinstance(seen[-1], events.Ended)
    assert seen[-1].step == 12
    assert path.with_name("model.safetensors").read_bytes() == weights, "steps 9 to 12 were taken again"
