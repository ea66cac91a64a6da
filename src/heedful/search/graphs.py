"""Captured CUDA graphs of work on tensors that stay where they are: one call instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

WARM_UP = 2


class Captures:
    """Captures graphs that are replayed one after another, and so can share their working memory."""

    def __init__(self) -> None:
        # Memory that one graph has freed serves the next only on the same stream and in the same pool.
        self._stream = torch.cuda.Stream()
        self._pool: Any = None

    def __call__(self, work: Callable[[], None], *, keep: Sequence[Tensor]) -> Callable[[], None]:
        """``work`` as a graph, not done yet. ``keep``: what it changes and must not have changed on return."""
        before = [tensor.clone() for tensor in keep]
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            for _ in range(WARM_UP):
                work()
        torch.cuda.current_stream().wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            work()
        self._pool = self._pool or graph.pool()
        for tensor, value in zip(keep, before, strict=True):
            tensor.copy_(value)
        return graph.replay
