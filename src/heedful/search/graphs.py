"""A captured CUDA graph of something that works on tensors that stay where they are: one call instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

WARM_UP = 2


def captured(work: Callable[[], None], *, keep: Sequence[Tensor]) -> Callable[[], None]:
    """``work`` as a graph, not done yet. ``keep``: what it changes and must not have changed when this returns."""
    before = [tensor.clone() for tensor in keep]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        work()
    for tensor, value in zip(keep, before, strict=True):
        tensor.copy_(value)
    return graph.replay
