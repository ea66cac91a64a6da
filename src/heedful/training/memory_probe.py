"""Before step 1: does the largest batch fit? If not, into how many micro-batches must a step be cut?"""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import torch

from heedful.errors import TrainingError
from heedful.training.batches import Batches, Piece, StepBatch
from heedful.training.distributed import agreed
from heedful.training.events import Reporter, Warned
from heedful.training.setup import Prepared
from heedful.training.step import Trainer

MOST = 1024
"""Micro-batches beyond which there is no point in trying."""


def require_memory(prepared: Prepared, *, report: Reporter) -> Prepared:
    """The run, if its largest batch fits into the GPU's memory; else one cut finer, or an error that says how fine."""
    trainer, task = prepared.trainer, prepared.task
    if trainer.precision.device.type != "cuda":
        return prepared
    if _fits(trainer, prepared.batches):
        return prepared
    count = task.config.training.micro_batches * 2
    while count <= MOST:
        batches = _cut_finer(prepared, count)
        if _fits(trainer, batches):
            break
        count *= 2
    else:
        raise TrainingError("not even one sentence at a time fits into the memory of this device")
    advice = f"training.micro_batches = {count}"
    if not task.auto_micro_batches:
        now = task.config.training.micro_batches
        raise TrainingError(
            f"the largest batch does not fit into memory with training.micro_batches = {now}; it does with {advice} "
            "(--auto-micro-batches takes it by itself)"
        )
    report(Warned(f"the largest batch does not fit into memory; taking {advice}"))
    config = dataclasses.replace(task.config, training=dataclasses.replace(task.config.training, micro_batches=count))
    trainer.config = config
    return dataclasses.replace(
        prepared, task=dataclasses.replace(task, config=config), batches=_cut_finer(prepared, count)
    )


def _cut_finer(prepared: Prepared, count: int) -> Batches:
    training = dataclasses.replace(prepared.task.config.training, micro_batches=count)
    trainer = prepared.trainer
    return Batches(
        prepared.batches.corpus,
        training,
        layout=trainer.model.attention.layout,
        device=trainer.precision.device,
        world=trainer.world,
        longest=prepared.batches.longest,
    )


def _fits(trainer: Trainer, batches: Batches) -> bool:
    """Whether the largest piece can go forward, backward and through the optimiser, in every process."""
    fits = True
    try:
        trainer.rehearse(_largest(batches))
    except torch.OutOfMemoryError:
        fits = False
    gc.collect()
    torch.cuda.empty_cache()
    return not agreed(trainer.world, trainer.precision.device, any_too_large=not fits)["any_too_large"]


def _largest(batches: Batches) -> StepBatch:
    """A step of one piece: the fullest of the shape with the longest sentences, or of padded rows the widest."""
    plan = batches.schedule.epoch(0)
    tokens = batches.corpus.source_tokens, batches.corpus.target_tokens
    widths = [
        max(int(side[pairs].max()) for side in tokens) * len(pairs)
        for pairs in (plan.batch(index) for index in _sampled(len(plan)))
    ]
    index = int(_sampled(len(plan))[int(np.argmax(widths))])
    step = batches.step(index + 1)
    pieces: list[Piece] = step.pieces[:1]
    return dataclasses.replace(step, pieces=pieces)


def _sampled(size: int, *, most: int = 2000) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(int))
