"""Before step 1: can the largest batch be computed? If not, into how many micro-batches must a step be cut?"""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import torch

from heedful.errors import BatchError, TrainingError
from heedful.model.attention_kernels import VARLEN_MAX_SEQUENCES
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import agreed
from heedful.training.events import Reporter, Warned
from heedful.training.setup import Prepared
from heedful.training.step import Trainer

MOST = 1024
"""Micro-batches beyond which there is no point in trying."""
CAPTURE = 2
"""Working memories that capturing takes: the graphs' own stays theirs while the next shape is warmed up."""

TOO_LARGE = "does not fit into memory"
TOO_MANY = f"has more sentences than the packed attention kernel takes at once ({VARLEN_MAX_SEQUENCES:,})"


def require_memory(prepared: Prepared, *, report: Reporter) -> Prepared:
    """The run, if its largest batches can be computed on the GPU; else one cut finer, or an error that says how fine.

    The first epoch's batches are looked at; others hardly differ.
    """
    trainer, task = prepared.trainer, prepared.task
    if trainer.precision.device.type != "cuda":
        return prepared
    obstacle = _obstacle(trainer, prepared.batches)
    if obstacle is None:
        return prepared
    now = task.config.training.micro_batches
    count = 2 * now
    while _obstacle(trainer, prepared.batches.recut(count)):
        count *= 2
        if count > MOST:
            raise TrainingError(f"the largest batch {obstacle}, and with {MOST} micro-batches it still does not do")
    advice = f"training.micro_batches = {count}"
    if not task.auto_micro_batches:
        raise TrainingError(
            f"the largest batch {obstacle} with training.micro_batches = {now}; {advice} is fine enough "
            "(--auto-micro-batches takes it by itself)"
        )
    report(Warned(f"the largest batch {obstacle}; taking {advice}"))
    return _cut_finer(prepared, count)


def _cut_finer(prepared: Prepared, count: int) -> Prepared:
    """The same run with so many micro-batches."""
    config, validation = prepared.task.config, prepared.validation
    config = dataclasses.replace(config, training=dataclasses.replace(config.training, micro_batches=count))
    prepared.trainer.config = config
    if validation is not None:
        validation = dataclasses.replace(validation, batches=validation.batches.recut(count))
    task = dataclasses.replace(prepared.task, config=config)
    return dataclasses.replace(prepared, task=task, batches=prepared.batches.recut(count), validation=validation)


def _obstacle(trainer: Trainer, batches: Batches) -> str | None:
    """What is wrong with the largest batches in any of the processes; None where nothing is."""
    too_many = too_large = False
    try:
        _fullest(batches)
        too_large = not _fits(trainer, batches)
    except BatchError:
        too_many = True
    found = agreed(trainer.world, trainer.precision.device, any_has_too_many=too_many, any_has_too_large=too_large)
    if found["any_has_too_many"]:
        return TOO_MANY
    return TOO_LARGE if found["any_has_too_large"] else None


def _fits(trainer: Trainer, batches: Batches) -> bool:
    """Whether the largest micro-batch can be computed, forward and backward, updated with, and captured if it is to be."""
    device = trainer.precision.device
    torch.cuda.reset_peak_memory_stats(device)
    working: int | None = None
    try:
        trainer.rehearse(_largest(batches))
        working = torch.cuda.max_memory_reserved(device) - torch.cuda.memory_allocated(device)
    except torch.OutOfMemoryError:
        pass
    gc.collect()
    torch.cuda.empty_cache()
    if working is None:
        return False
    return not trainer.captures or CAPTURE * working <= torch.cuda.mem_get_info(device)[0]


def _largest(batches: Batches) -> StepBatch:
    """A step of one micro-batch: the fullest of the shape with the longest sentences, or of padded rows the widest."""
    plan = batches.schedule.epoch(0)
    lengths = batches.corpus.lengths
    widths = [lengths.of(pairs).longest * len(pairs) for pairs in (plan.batch(index) for index in _sampled(len(plan)))]
    index = int(_sampled(len(plan))[int(np.argmax(widths))])
    step = batches.step(index + 1)
    return dataclasses.replace(step, micro_batches=step.micro_batches[:1])


def _fullest(batches: Batches) -> StepBatch:
    """The step with the most sentences."""
    plan = batches.schedule.epoch(0)
    return batches.step(int(np.diff(plan.cuts)[plan.order].argmax()) + 1)


def _sampled(size: int, *, most: int = 2000) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(int))
