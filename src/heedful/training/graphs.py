"""Captured CUDA graphs: a step's thousand kernels launched by one call.

A small model's kernels are shorter than the time a Python program needs to launch them, and even the base model's
barely longer. A graph is captured for each shape of a micro-batch when it first comes, after the shape has been run
twice so that everything is compiled and allocated; from then on a step copies its ids into the graph's own buffers and
replays it. Dropout is drawn from the generator's seed at each replay, so it stays a function of (seed, step,
micro-batch).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.model.devices import WARM_UP, Captures
from heedful.model.masks import Packed
from heedful.training.batches import MicroBatch, packed_micro_batch


class GraphedMicroBatches:
    """``add(micro, target_tokens)``, captured once for each shape."""

    def __init__(self, add: Callable[[MicroBatch, int | Tensor], None], *, line: Tensor) -> None:
        """``line`` is all that ``add`` adds to."""
        self._add, self._line = add, line
        self._captured: dict[tuple[int, ...], _Captured] = {}
        self._capture = Captures()

    def __call__(self, micro: MicroBatch, target_tokens: int) -> None:
        shape = _shape(micro)
        if shape not in self._captured:
            self._captured[shape] = self._new(micro)
        graph = self._captured[shape]
        for mine, given in zip(_tensors(graph.micro), _tensors(micro), strict=True):
            mine.copy_(given)
        graph.target_tokens.fill_(float(target_tokens))
        graph.replay()

    def _new(self, micro: MicroBatch) -> _Captured:
        """Capture the shape of a micro-batch. What earlier ones have added stays; so does the random seed."""
        seed = torch.cuda.initial_seed()
        copies = [tensor.clone() for tensor in _tensors(micro)]
        mine = packed_micro_batch(micro.index, copies, max_length=micro.source_layout.max_length)
        tokens = torch.ones((), device=micro.source.device)
        replay = self._capture(lambda: self._add(mine, tokens), keep=[self._line])
        torch.cuda.manual_seed(seed)
        return _Captured(replay, mine, tokens)


class GraphedUpdate:
    """``update()``, captured at its third call: the first makes the optimiser's state."""

    def __init__(self, update: Callable[[], None]) -> None:
        self._update = update
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        self._calls += 1
        if self._calls <= WARM_UP:
            self._update()
            return
        if self._graph is None:
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._update()
            self._graph = graph
        self._graph.replay()


@dataclass(frozen=True, eq=False)
class _Captured:
    replay: Callable[[], None]
    micro: MicroBatch
    """The buffers that the graph reads."""
    target_tokens: Tensor


def _tensors(micro: MicroBatch) -> list[Tensor]:
    assert isinstance(micro.source_layout, Packed), "graphs are captured for packed batches"
    assert isinstance(micro.target_layout, Packed), "graphs are captured for packed batches"
    offsets = [micro.source_layout.offsets, micro.target_layout.offsets]
    return [micro.source, micro.target_input, micro.target_output, *offsets]


def _shape(micro: MicroBatch) -> tuple[int, ...]:
    return (*(tensor.numel() for tensor in _tensors(micro)), micro.source_layout.max_length)
