"""What `heedful train` itself says of its speed, run as a user would run it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rivals.engine import Sizes

from heedful.runs.descriptions import read_run
from heedful.runs.metrics import read_metrics

SOURCE = Path(__file__).parent.parent / "src"


class CommandError(Exception):
    """The command failed."""


@dataclass(frozen=True)
class CommandRun:
    """The windows of a run, each of some steps between two lines of its metrics, once everything was captured."""

    parameters: int
    speeds: list[float]
    """Target tokens a second."""
    milliseconds: list[float]
    """A step."""
    memory_gib: float
    loss: float
    seconds: float
    """Of the whole command, from its start to its end."""

    @property
    def speed(self) -> float:
        return statistics.median(self.speeds)


def command_run(
    corpus: Path,
    output: Path,
    *,
    preset: str,
    sizes: Sizes,
    device: str,
    tokens: int,
    steps: int,
    windows: int = 10,
    limit: float = 240.0,
) -> CommandRun:
    """Train for so many steps; the windows of the second half are what counts."""
    window = max(1, steps // (2 * windows))
    model = {"d_model": sizes.d_model, "d_ff": sizes.d_ff, "num_heads": sizes.num_heads, "dropout": 0.1}
    model |= {"encoder_layers": sizes.layers, "decoder_layers": sizes.layers}
    training = {"source_tokens": tokens, "target_tokens": tokens, "steps": steps, "log_steps": window}
    training |= {"validation_steps": 0, "checkpoint_minutes": 0, "average_last": 1, "keep_last": 1}
    settings = [f"model.{name}={value}" for name, value in model.items()]
    settings += [f"training.{name}={value}" for name, value in training.items()]
    command = [sys.executable, "-m", "heedful", "train", str(corpus), "--preset", preset, "--output", str(output)]
    command += ["--device", device, "--quiet", *(word for setting in settings for word in ("--set", setting))]
    paths = [str(SOURCE), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    print(" ".join(command), flush=True)
    began = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise CommandError(f"took more than {limit:.0f} seconds") from None
    seconds = time.perf_counter() - began
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:], flush=True)
        raise CommandError(f"ended with status {done.returncode}: {(done.stderr.strip() or '?').splitlines()[-1]}")
    lines = [line for line in read_metrics(output).train if line.step > steps // 2]
    speeds = [line.wall.tokens_per_second for line in lines]
    return CommandRun(
        parameters=read_run(output).parameters,
        speeds=speeds,
        milliseconds=[1e3 * line.target_tokens / window / speed for line, speed in zip(lines, speeds, strict=True)],
        memory_gib=max(line.wall.memory_gib or 0.0 for line in lines),
        loss=lines[-1].loss,
        seconds=seconds,
    )
