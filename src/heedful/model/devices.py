"""Which device computes, in which precision, and how it is given its work: for training and search alike."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.errors import HeedfulError

_Model = TypeVar("_Model", bound=nn.Module)
WARM_UP = 2
"""Runs before a capture: the first compiles kernels, the second allocates as the captured one will."""
_PACKED_FOR = 256
"""Rows that oneDNN is told to expect. It is as fast with 16 for all that is more than one row."""


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


class Linear(nn.Linear):
    """A linear map of which some rows can be taken alone."""

    def part(self, x: Tensor, rows: slice) -> Tensor:
        """What these rows of the matrix make of ``x``."""
        return F.linear(x, self.weight[rows], self.bias[rows] if self.bias is not None else None)


class PackedLinear(Linear):
    """The same on a CPU for a matrix that does not change any more: a copy lies in memory as oneDNN wants it.

    Its products with 2 to 16 rows take half of the time, with hundreds four fifths. One row is faster without it, if
    a wide matrix is turned.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__(weight.size(1), weight.size(0), bias=False, device="meta")
        turned = weight.t().contiguous().t() if self.out_features > self.in_features else weight
        self.weight = nn.Parameter(turned, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self._packed: dict[tuple[int | None, int | None], tuple[Tensor, Tensor | None]] = {}

    def forward(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.part(x, slice(None))

    def part(self, x: Tensor, rows: slice) -> Tensor:
        """What these rows of the matrix make of ``x``; they are packed when they are first asked for."""
        if x.numel() == self.in_features:
            return super().part(x, rows)
        key = rows.start, rows.stop
        if key not in self._packed:
            packed = torch.ops.mkldnn._reorder_linear_weight(self.weight[rows].contiguous(), _PACKED_FOR)
            self._packed[key] = packed, self.bias[rows] if self.bias is not None else None
        return torch.ops.mkldnn._linear_pointwise(x, *self._packed[key], "none", [], "")


def can_pack(weight: Tensor) -> bool:
    """Whether oneDNN's products are there for a matrix like this one, and were found to be faster."""
    known = platform.machine() in ("x86_64", "AMD64") and torch.backends.mkldnn.is_available()
    known = known and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # private, so it may go
    return known and weight.device.type == "cpu" and weight.dtype == torch.float32


def with_packed_matrices(model: _Model) -> _Model:
    """The model with its linear maps packed, where that can be: for one that is not trained any more."""
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and not isinstance(module, PackedLinear) and can_pack(module.weight):
            model.set_submodule(name, PackedLinear(module.weight.detach(), module.bias.detach()))
    return model
