"""Several processes are one: the same weights whatever their number, one stop for all, and a lost one comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tests.commands import run_here
from tests.training_toys import write_toy
from torch import Tensor

from heedful.runs.checkpoints import read_checkpoint
from heedful.runs.folder import entries

SETTINGS = {
    "model.d_model": 32,
    "model.d_ff": 64,
    "model.num_heads": 2,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "model.dropout": 0.2,
    "training.source_tokens": 256,
    "training.target_tokens": 256,
    "training.steps": 60,
    "training.warmup_steps": 50,
    # Gentle enough that rounding stays rounding: at five times this rate it grows to a hundredth in sixty steps.
    "training.learning_rate_scale": 0.1,
    "training.checkpoint_steps": 10,
    "training.checkpoint_minutes": 0,
    "training.validation_steps": 30,
    "training.log_steps": 5,
    "training.micro_batches": 4,
}
# One thread in each process; a worker that prints nothing for want of a terminal must not hide behind a buffer either.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"), task="reverse", pairs=600, valid=40)


def arguments(corpus: Path, run: Path, **changes: object) -> list[str]:
    settings = {**SETTINGS, **{name.replace("__", "."): value for name, value in changes.items()}}
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    same = ["--preset", "tiny", "--device", "cpu", "--threads", "1"]
    return ["train", str(corpus), "--output", str(run), *same, *flags]


def command(corpus: Path, run: Path, *, processes: int, restarts: int = 0, **changes: object) -> list[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    launcher += ["--max-restarts", str(restarts), "-m", "heedful"]
    return [*launcher, *arguments(corpus, run, **changes)]


def finished(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=200, env=ENVIRONMENT)


def trained(corpus: Path, run: Path, *, processes: int) -> Path:
    result = finished(command(corpus, run, processes=processes))
    assert result.returncode == 0, result.stderr
    return run


@pytest.fixture(scope="module")
def by_two(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run of two processes."""
    return trained(corpus, tmp_path_factory.mktemp("runs") / "two", processes=2)


def final_weights(run: Path) -> dict[str, Tensor]:
    last = entries(run)[-1]
    assert last.step == SETTINGS["training.steps"]
    return read_checkpoint(last.folder).model


def without_key_biases(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Adding the same to every score changes no softmax, so the true gradient of b^K is zero; what is computed is
    rounding, and Adam makes full steps of it. They change no output, and differ in every sum of another order."""
    others = {name: value for name, value in weights.items() if not name.endswith("w_qkv.bias")}
    for name in weights.keys() - others.keys():
        query, _, value = weights[name].chunk(3)
        others |= {f"{name} (query)": query, f"{name} (value)": value}
    return others


def difference(run: Path, other: Path) -> float:
    """The largest difference of a parameter between two runs' last weights, relative to its length."""
    ours, theirs = without_key_biases(final_weights(run)), without_key_biases(final_weights(other))
    assert set(ours) == set(theirs)
    return max(float((ours[name] - theirs[name]).norm() / theirs[name].norm().clamp(min=1e-3)) for name in ours)


def losses(run: Path) -> list[tuple[str, int, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(line["kind"], line["step"], line["loss"]) for line in lines]


def wait_for_step(run: Path, step: int, *, seconds: float = 120) -> None:
    """Until a step has been written down."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (run / "metrics.jsonl").exists() and any(done >= step for _, done, _ in losses_so_far(run)):
            return
        time.sleep(0.02)
    raise AssertionError(f"no step {step} in {seconds} seconds")


def losses_so_far(run: Path) -> list[tuple[str, int, float]]:
    whole = [line for line in (run / "metrics.jsonl").read_text().splitlines(keepends=True) if line.endswith("\n")]
    lines = [json.loads(line) for line in whole]
    return [(line["kind"], line["step"], line["loss"]) for line in lines]


def workers(launcher: int) -> list[int]:
    """The processes that a launcher has started, in the order of their ranks."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    found: dict[int, int] = {}
    for child in map(int, children):
        try:
            environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for entry in environment:
            if entry.startswith(b"RANK="):
                found[int(entry[5:])] = child
    return [found[rank] for rank in sorted(found)]


def require_same(run: Path, by_two: Path) -> None:
    assert difference(run, by_two) < 1e-4
    ours, theirs = losses(run), losses(by_two)
    assert [line[:2] for line in ours] == [line[:2] for line in theirs]
    assert [line[2] for line in ours] == pytest.approx([line[2] for line in theirs], rel=1e-4)


def test_one_process_learns_what_two_learn(
    corpus: Path, by_two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """This one, which no launcher has started."""
    assert run_here(capsys, *arguments(corpus, tmp_path / "run"))[0] == 0
    require_same(tmp_path / "run", by_two)


def test_four_processes_learn_what_two_learn(corpus: Path, by_two: Path, tmp_path: Path) -> None:
    require_same(trained(corpus, tmp_path / "run", processes=4), by_two)


def test_processes_foresee_the_same_end(corpus: Path, tmp_path: Path) -> None:
    linear = {"training__decay": "linear", "training__minutes": 0.05, "training__steps": 100_000}
    done = finished(command(corpus, tmp_path / "run", processes=2, **linear))
    assert done.returncode == 0, done.stderr
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert status["state"] == "finished", status["why"]
    assert 0.9 * status["steps"] <= status["step"] <= status["steps"], "the minutes may be over a step before that end"
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    rates = [line["learning_rate"] for line in lines if line["kind"] == "train"]
    assert rates[-1] < 0.2 * max(rates)


def test_fewer_micro_batches_than_processes_are_a_clear_error(corpus: Path, tmp_path: Path) -> None:
    result = finished(command(corpus, tmp_path / "run", processes=2, training__micro_batches=1))
    assert result.returncode != 0
    assert "training.micro_batches = 1 leaves some of the 2 processes without work: set it to 2" in result.stderr
    assert "Traceback" not in result.stderr.partition("torch/distributed")[0]
    assert not (tmp_path / "run").exists()


def test_a_signal_to_the_launcher_stops_all_processes_with_a_checkpoint(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = command(corpus, run, processes=2, training__steps=100_000, training__checkpoint_steps=0)
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    wait_for_step(run, 10)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert "--resume goes on" in errors
    status = json.loads((run / "status.json").read_text())
    assert status["state"] == "interrupted"
    assert entries(run)[-1].step == status["step"] >= 10
    assert read_checkpoint(entries(run)[-1].folder).step == status["step"]


def killed_and_finished(corpus: Path, run: Path, *, rank: int, step: int) -> None:
    """Kill one worker once a step is done; the launcher starts them all again and the run ends."""
    words = command(corpus, run, processes=2, restarts=3)
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        wait_for_step(run, step)
        os.kill(workers(process.pid)[rank], signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert json.loads((run / "status.json").read_text())["state"] == "finished"


def test_a_killed_worker_is_restarted_and_the_run_ends_with_the_same_weights(
    corpus: Path, by_two: Path, tmp_path: Path
) -> None:
    killed_and_finished(corpus, tmp_path / "run", rank=1, step=25)
    assert difference(tmp_path / "run", by_two) == 0
    assert losses(tmp_path / "run") == losses(by_two)


@pytest.mark.long
@pytest.mark.parametrize("time_", range(5))
def test_five_killed_workers_in_a_row_are_restarted(corpus: Path, by_two: Path, tmp_path: Path, time_: int) -> None:
    killed_and_finished(corpus, tmp_path / "run", rank=time_ % 2, step=5 + 10 * time_)
    assert difference(tmp_path / "run", by_two) == 0
    assert losses(tmp_path / "run") == losses(by_two)


def test_the_test_would_see_a_difference(by_two: Path) -> None:
    first, last = read_checkpoint(entries(by_two)[-2].folder).model, final_weights(by_two)
    assert any(not torch.allclose(first[name], last[name], rtol=1e-3) for name in last)
