"""Before step 1: can the largest batch be computed? If not, into how many micro-batches must a step be cut?"""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import torch

from heedful.errors import BatchError, TrainingError
from heedful.model.attention_kernels import VARLEN_MAX_SEQUENCES
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import agree
from heedful.training.events import Reporter, Warned
from heedful.training.flops import WORKING_MEMORIES_OF_GRAPHS
from heedful.training.step import Trainer

MOST = 1024
"""Micro-batches beyond which there is no point in trying."""

TOO_LARGE = "does not fit into memory"
TOO_MANY = f"has more sentences than the packed attention kernel takes at once ({VARLEN_MAX_SEQUENCES:,})"


def fine_enough(trainer: Trainer, batches: Batches, *, automatic: bool, report: Reporter) -> int:
    """Into how many micro-batches to cut the steps so that they can be computed on the GPU.

    Where the number they are cut into does not do: an error that says which does or, if it is to be found
    automatically, that one. The first epoch's batches are looked at; others hardly differ.
    """
    obstacle = _obstacle(trainer, batches) if trainer.precision.device.type == "cuda" else None
    if obstacle is None:
        return batches.micro_batches
    count = 2 * batches.micro_batches
    while _obstacle(trainer, batches.recut(count)):
        count *= 2
        if count > MOST:
            raise TrainingError(f"the largest batch {obstacle}, and with {MOST} micro-batches it still does not do")
    advice = f"training.micro_batches = {count}"
    if not automatic:
        raise TrainingError(
            f"the largest batch {obstacle} with training.micro_batches = {batches.micro_batches}; {advice} is fine "
            "enough (--auto-micro-batches takes it by itself)"
        )
    report(Warned(f"the largest batch {obstacle}; taking {advice}"))
    return count


def _obstacle(trainer: Trainer, batches: Batches) -> str | None:
    """What is wrong with the largest batches in any of the processes; None where nothing is."""
    too_many = too_large = False
    try:
        _fullest(batches)
        too_large = not _fits(trainer, batches)
    except BatchError:
        too_many = True
    found = agree(trainer.world, trainer.precision.device, any_has_too_many=too_many, any_has_too_large=too_large)
    if found["any_has_too_many"]:
        return TOO_MANY
    return TOO_LARGE if found["any_has_too_large"] else None


def _fits(trainer: Trainer, batches: Batches) -> bool:
    """Whether a step with the largest micro-batch can be computed, and captured if it is to be."""
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
    return not trainer.captures or WORKING_MEMORIES_OF_GRAPHS * working <= torch.cuda.mem_get_info(device)[0]


def _largest(batches: Batches) -> StepBatch:
    """The first micro-batch of the step that would be the widest if its rows were padded.

    Packed micro-batches of one class of lengths are all of the same size, and the widest is of the longest class.
    """
    plan, lengths = batches.schedule.epoch(0), batches.corpus.lengths
    sampled = _sampled(len(plan))
    widths = [lengths.of(pairs).longest * len(pairs) for pairs in map(plan.batch, sampled)]
    step = batches.step(int(sampled[int(np.argmax(widths))]) + 1)
    return dataclasses.replace(step, micro_batches=step.micro_batches[:1])


def _fullest(batches: Batches) -> StepBatch:
    """The step with the most sentences."""
    plan = batches.schedule.epoch(0)
    return batches.step(int(np.diff(plan.cuts)[plan.order].argmax()) + 1)


def _sampled(size: int, *, most: int = 2000) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(int))
