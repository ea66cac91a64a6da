"""What is killed resumes as if nothing had happened: real processes, SIGKILL at random moments, bits compared.

What nobody kills is trained in the test's own process, which saves it the start; that the bits are those of another
process is part of what is shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands import run_here
from tests.training_toys import write_toy

from heedful.runs.descriptions import MODEL, OPTIMIZER
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
    "training.steps": 120,
    "training.warmup_steps": 50,
    "training.checkpoint_steps": 15,
    "training.checkpoint_minutes": 0,
    "training.validation_steps": 20,
    "training.log_steps": 7,
    "training.micro_batches": 2,
    "training.keep_last": 3,
    "training.average_last": 3,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"), task="reverse", pairs=600, valid=40)


def arguments(corpus: Path, run: Path, *extra: str, **changes: object) -> list[str]:
    settings = {**SETTINGS, **{name.replace("__", "."): value for name, value in changes.items()}}
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["train", str(corpus), "--preset", "tiny", "--output", str(run), *flags, "--threads", "1", *extra]


def command(corpus: Path, run: Path, *extra: str) -> list[str]:
    return [sys.executable, "-m", "heedful", *arguments(corpus, run, *extra)]


def completed(words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment}
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=300, env=environment)


def fingerprint(run: Path) -> dict[str, object]:
    """Every bit that must repeat: checkpoints, the average, metrics without their clocks, the best and its step."""
    digests = {
        str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
        for pattern in (f"checkpoints/*/{MODEL}", f"checkpoints/*/{OPTIMIZER}", f"averaged/{MODEL}")
        for path in sorted(run.glob(pattern))
    }
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("wall", None)
    status = json.loads((run / "status.json").read_text())
    state = json.loads((entries(run)[-1].folder / "state.json").read_text())["state"]["progress"]
    state.pop("minutes")
    return {"files": digests, "metrics": lines, "best": status["best"], "progress": state}


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of one process that nobody stops, and all that this said, the modules that it loaded among it."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    result = completed(command(corpus, run), PYTHONPROFILEIMPORTTIME="1")
    assert result.returncode == 0, result.stderr
    return run, result.stderr


@pytest.fixture(scope="module")
def uninterrupted(whole: tuple[Path, str]) -> dict[str, object]:
    return fingerprint(whole[0])


def test_training_loads_no_compiler(whole: tuple[Path, str]) -> None:
    """It takes as long as torch itself to load, and a run has no use for it."""
    loaded = re.findall(r"\| +([\w.]+)$", whole[1], flags=re.MULTILINE)
    assert "torch" in loaded
    assert not [name for name in loaded if name.split(".")[:2] == ["torch", "_dynamo"] or name == "sympy"]


def run_with_kills(corpus: Path, run: Path, *, kills: int, seed: int) -> int:
    """Start, kill -9 at a random moment, resume, and so on; then let it finish. Returns how often it was killed."""
    draw = random.Random(seed)
    killed = 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for attempt in range(kills):
        words = command(corpus, run, *(["--resume"] if attempt else []))
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        assert process.stderr is not None
        # Mostly a few lines after training has begun, so that a kill falls into a step, a validation or a checkpoint
        # however fast the machine is; now and then while the process is still starting.
        if draw.random() < 0.8:
            for line in process.stderr:
                if line.startswith("ends after"):
                    break
            for _ in range(draw.randrange(4)):
                process.stderr.readline()
            time.sleep(draw.uniform(0, 0.05))
        else:
            time.sleep(draw.uniform(0, 1))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
    final = completed(command(corpus, run, "--resume"))
    assert final.returncode == 0, final.stderr
    return killed


def test_a_run_killed_ten_times_ends_with_the_same_bits(
    corpus: Path, uninterrupted: dict[str, object], tmp_path: Path
) -> None:
    killed = run_with_kills(corpus, tmp_path / "run", kills=10, seed=1)
    assert killed == 10
    assert fingerprint(tmp_path / "run") == uninterrupted


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_five_more_runs_killed_ten_times_each_end_with_the_same_bits(
    corpus: Path, uninterrupted: dict[str, object], tmp_path: Path, seed: int
) -> None:
    assert run_with_kills(corpus, tmp_path / "run", kills=10, seed=100 + seed) == 10
    assert fingerprint(tmp_path / "run") == uninterrupted


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_says_how_to_go_on_and_changes_no_bit(
    corpus: Path,
    uninterrupted: dict[str, object],
    tmp_path: Path,
    number: signal.Signals,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(command(corpus, run), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step 7/"):
            break
    process.send_signal(number)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume goes on" in rest
    assert "Traceback" not in rest
    again = f"heedful train {corpus} --output {run} --threads 1 --resume"
    assert f"to go on:\n  {again}\n" in rest
    status = json.loads((run / "status.json").read_text())
    assert status["state"] == "interrupted"
    assert entries(run)[-1].step == status["step"] < 120
    assert run_here(capsys, *again.split()[1:])[0] == 0
    assert fingerprint(run) == uninterrupted


def test_resume_without_a_checkpoint_starts_afresh_and_says_so(
    corpus: Path, uninterrupted: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run_here(capsys, *arguments(corpus, tmp_path / "run", "--resume"))
    assert code == 0
    assert "nothing to resume" in errors
    assert fingerprint(tmp_path / "run") == uninterrupted


def test_damaged_foreign_and_existing_runs_are_refused_or_repaired(
    corpus: Path, uninterrupted: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert run_here(capsys, *arguments(corpus, run, training__steps=75))[0] == 0

    code, _, again = run_here(capsys, *arguments(corpus, run))
    assert code == 2
    assert "--resume goes on with it, --overwrite starts anew" in again

    code, _, other = run_here(capsys, *arguments(corpus, run, "--resume", model__d_ff=128, training__seed=9))
    assert code == 2
    assert "model.d_ff: 64 there, 128 now" in other
    assert "training.seed: 1 there, 9 now" in other

    newest = entries(run)[-1].folder
    weights = newest / MODEL
    damaged = bytearray(weights.read_bytes())
    damaged[-5] ^= 1
    weights.write_bytes(damaged)
    code, _, repaired = run_here(capsys, *arguments(corpus, run, "--resume"))
    assert code == 0, repaired
    assert f"{weights} is damaged" in repaired
    assert "using the one before" in repaired
    assert "changed since the run began: training.steps: 75 there, 120 now" in repaired
    # The 75 steps were a run's end, so their checkpoint and last line belong to another schedule; the weights do not.
    files = fingerprint(run)["files"]
    assert files == uninterrupted["files"]


def test_a_full_disk_keeps_the_last_good_checkpoint(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quota on file size stands for the full disk: the second checkpoint cannot be written."""
    run = tmp_path / "run"
    assert run_here(capsys, *arguments(corpus, run, training__steps=15))[0] == 0
    before = {path: path.read_bytes() for path in run.glob("checkpoints/*/*")}
    words = " ".join(command(corpus, run, "--resume"))
    full = subprocess.run(
        ["bash", "-c", f"ulimit -f 20; trap '' XFSZ; exec {words}"], check=False, capture_output=True, text=True
    )
    assert full.returncode == 2, full.stderr
    assert "could not be written" in full.stderr
    assert "the earlier checkpoints are untouched" in full.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert not list(run.glob("checkpoints/.*"))
    assert run_here(capsys, *arguments(corpus, run, "--resume"))[0] == 0
