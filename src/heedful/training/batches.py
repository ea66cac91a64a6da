"""The batches of a run as tensors on their device, the next ones made while this one is computed.

The global batch of a step is a pure function of (corpus, seed, step, budgets); it is cut into M micro-batches, and of
R processes the r-th takes the micro-batches r, r + R, …. Nothing here has a state that a resumed run would need.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.background import in_background
from heedful.config import TrainingConfig
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.micro_batches import micro_batches, packed_ids, padded_ids
from heedful.model.masks import Layout, Packed, padded_layout
from heedful.training.distributed import World

_AHEAD = 4
"""Batches made before they are asked for."""


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """One micro-batch on its device."""

    index: int
    """Its number within the step: with the seed and the step it fixes the dropout."""
    source: Tensor
    target_input: Tensor
    target_output: Tensor
    source_layout: Layout
    target_layout: Layout


@dataclass(frozen=True, eq=False)
class StepBatch:
    """What one process computes in one step."""

    step: int
    micro_batches: list[MicroBatch]
    target_tokens: int
    """Of the whole global batch: what every process divides by."""
    source_tokens: int
    pairs: np.ndarray


class Batches:
    """The batches of one split in the layout that the model's attention takes."""

    def __init__(
        self,
        corpus: Corpus,
        training: TrainingConfig,
        *,
        layout: str,
        device: torch.device,
        world: World,
        longest: int = 0,
        seed: int | None = None,
    ) -> None:
        self.corpus, self._device, self._world = corpus, device, world
        self._layout = layout
        self.schedule = Schedule.of(corpus, training, seed=seed)
        self.longest = max(longest, corpus.lengths.longest)
        self.micro_batches = training.micro_batches

    def recut(self, count: int) -> Batches:
        """The same global batches in so many micro-batches."""
        other = copy.copy(self)
        other.micro_batches = count
        return other

    def step(self, step: int) -> StepBatch:
        """The batch of a step, steps counted from 1."""
        pairs = self.schedule.batch(step - 1)
        lengths = self.corpus.lengths
        cut = micro_batches(pairs, count=self.micro_batches, lengths=lengths)
        source_tokens, target_tokens = lengths.of(pairs).totals
        mine = range(self._world.rank, self.micro_batches, self._world.size)
        return StepBatch(
            step,
            [self.micro_batch(index, cut[index]) for index in mine if len(cut[index])],
            target_tokens=target_tokens,
            source_tokens=source_tokens,
            pairs=pairs,
        )

    def micro_batch(self, index: int, pairs: np.ndarray) -> MicroBatch:
        """These pairs on their device."""
        if self._layout == "padded":
            source, given, wanted = map(self._sent, padded_ids(self.corpus, pairs))
            return MicroBatch(index, source, given, wanted, padded_layout(source), padded_layout(given))
        return packed_micro_batch(index, map(self._sent, packed_ids(self.corpus, pairs)), max_length=self.longest)

    def _sent(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.to(self._device)


def packed_micro_batch(index: int, tensors: Iterable[Tensor], *, max_length: int) -> MicroBatch:
    """A micro-batch of source, target input, target output, and the offsets of both sides."""
    source, given, wanted, source_offsets, target_offsets = tensors
    source_layout = Packed(source_offsets, tokens=len(source), max_length=max_length)
    target_layout = Packed(target_offsets, tokens=len(given), max_length=max_length)
    return MicroBatch(index, source, given, wanted, source_layout, target_layout)


def prefetched(batches: Batches, *, first: int, last: int) -> Generator[StepBatch, None, None]:
    """The batches of the steps from ``first`` to ``last``, made in a thread of their own."""
    return in_background((batches.step(step) for step in range(first, last + 1)), ahead=_AHEAD, name="batches")
