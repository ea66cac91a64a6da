"""Which device computes, in which precision, and how CUDA is given its work: for training and search alike."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from heedful.errors import HeedfulError

WARM_UP = 2
"""Runs before a capture: the first compiles kernels, the second allocates as the captured one will."""


def chosen_device(wanted: str, *, error: type[HeedfulError]) -> torch.device:
    """The device asked for: auto (a GPU if there is one), cpu, cuda or cuda:N."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError:
        device = torch.device("meta")
    if device.type not in ("cpu", "cuda"):
        raise error(f"--device {wanted}: must be auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise error(f"--device {wanted}: this machine has no CUDA device that torch can use")
    return device


def computes_in_half(wanted: str, device: torch.device, *, error: type[HeedfulError], setting: str) -> bool:
    """Whether products are computed in bfloat16: where that is asked for or, with ``auto``, on CUDA."""
    if wanted == "bfloat16" and device.type != "cuda":
        raise error(
            f"{setting} = bfloat16 needs CUDA (such products kill the process on some CPUs): take auto or float32"
        )
    return wanted == "bfloat16" or (wanted == "auto" and device.type == "cuda")


def has_kernels(x: Tensor) -> bool:
    """Whether a tensor is computed with by kernels of our own: on CUDA, unless in float64, which is for proofs."""
    return x.is_cuda and x.dtype != torch.float64


def current(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """A block in which this device, if it is a GPU, is the one that kernels, streams and events are meant for."""
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


class Captures:
    """Captures CUDA graphs of work on tensors that stay where they are: one call instead of hundreds.

    The graphs are replayed one after another, and so can share their working memory.
    """

    def __init__(self) -> None:
        # One stream and one pool for all captures: memory that one graph has freed serves the next only on the same
        # stream. With a stream each, 32 graphs of the base model's training held 137 GiB instead of 17.
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
        torch.cuda.empty_cache()  # what the warm-up held is of no use to a graph's own pool
        graph = torch.cuda.CUDAGraph()
        # thread_local: a thread that makes the next batches goes on copying meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            work()
        self._pool = self._pool or graph.pool()
        for tensor, value in zip(keep, before, strict=True):
            tensor.copy_(value)
        return graph.replay
