"""A short probe of how fast this machine trains a model: a few real steps over real batches, rehearsed.

Everything is what `heedful train` would build, so what it would refuse is refused here. But nothing is captured, and a
CPU gets only a few sentences of a step. What is measured is a rate in operations a second, which scales to any number
of tokens; the update, which does not grow with them, is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from heedful.config import Config
from heedful.data.micro_batches import micro_batches
from heedful.planning.checks import Speed
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import World
from heedful.training.flops import batch_flops, peak_flops
from heedful.training.machine import device_name
from heedful.training.setup import Task, prepared_run

STEPS = 3
"""Steps that are timed, after one that is not."""
CPU_FLOPS = 4e10
"""What a step on a CPU may take: about a second on a few cores."""
_MOST_STEPS = 200
"""Whole steps that are timed at most."""
_MATRIX = {"cpu": 1024, "cuda": 8192}
"""Size of the square matrices whose product says what a device can do at most."""


def probed_speed(data: Path, config: Config, *, device: torch.device) -> Speed:
    """Time a few steps on this device; raises what training would."""
    task = Task(config=config, data=data, run=Path())
    prepared = prepared_run(task, device=device, world=World(), translate=lambda *_: [], report=lambda _: None)
    trainer, batches = prepared.trainer, prepared.batches
    sizes = {"model": config.model, "vocab_size": trainer.model.embedding.weight.size(0)}
    seconds, flops, tokens = 0.0, 0.0, 0
    for step in range(1, STEPS + 2):
        batch = _part(batches, step, on_cpu=device.type == "cpu", **sizes)
        took = seconds_of(lambda batch=batch: trainer.rehearse(batch), device)
        update = seconds_of(lambda batch=batch: trainer.rehearse(replace(batch, micro_batches=[])), device)
        if step > 1:  # the first one pays for starting up
            seconds += max(took - update, 1e-6)
            flops += batch_flops(**sizes, lengths=batches.corpus.lengths.of(batch.pairs))
            tokens += batch.target_tokens
    name, most, rate = device_name(device), matmul_flops(device, trainer.precision.dtype), flops / seconds
    about = (
        f"a probe here ({name}): {STEPS} steps of {tokens // STEPS:,} target tokens, nothing captured, "
        f"{rate / most:.0%} of what a large matrix product reached; scaled in proportion to the work, and no time lost "
        "between processes"
    )
    return Speed(rate, peak_flops(name) or most, about)


def timed_steps(data: Path, config: Config, *, device: torch.device, enough: float) -> tuple[int, float]:
    """Target tokens and seconds of some whole steps on this device, updates included; raises what training would.

    ``enough``: seconds after which there are no more.
    """
    task = Task(config=config, data=data, run=Path(), auto_micro_batches=True)
    prepared = prepared_run(task, device=device, world=World(), translate=lambda *_: [], report=lambda _: None)
    tokens, seconds = 0, 0.0
    for step in range(1, _MOST_STEPS + 1):
        batch = prepared.batches.step(step)
        took = seconds_of(lambda batch=batch: prepared.trainer.rehearse(batch), device)
        if step > STEPS:  # the first ones pay for starting up
            tokens, seconds = tokens + batch.target_tokens, seconds + took
        if tokens and seconds > enough:
            break
    return tokens, seconds


def _part(batches: Batches, step: int, *, on_cpu: bool, **sizes) -> StepBatch:
    """A step's first micro-batch; on a CPU as many of its pairs as are done in about a second."""
    lengths, whole = batches.corpus.lengths, batches.schedule.batch(step - 1)
    pairs = next(part for part in micro_batches(whole, count=batches.micro_batches, lengths=lengths) if len(part))
    if on_cpu:
        each = [batch_flops(**sizes, lengths=lengths.of(pairs[i : i + 1])) for i in range(min(len(pairs), 4096))]
        pairs = pairs[: max(1, int(np.searchsorted(np.cumsum(each), CPU_FLOPS)))]
    source_tokens, target_tokens = lengths.of(pairs).totals
    return StepBatch(step, [batches.micro_batch(0, pairs)], target_tokens, source_tokens, pairs)


def matmul_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of a large matrix product, the best of a few."""
    size = _MATRIX[device.type]
    matrix = torch.ones(size, size, device=device, dtype=dtype)
    return 2 * size**3 / min(seconds_of(lambda: torch.mm(matrix, matrix), device) for _ in range(4))


def seconds_of(work: Callable[[], object], device: torch.device) -> float:
    """How long work takes until it has ended on the device too."""
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began
