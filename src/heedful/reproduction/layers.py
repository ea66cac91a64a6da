"""Table 1's layers, each from ``[batch, n, d]`` to the same; for comparison alone, no model is built of them.

Attention is the model's own. As the table counts it, it has no projections: queries, keys and values are the input.
With the four projections of a real layer 8 · n · d² operations come on top, so that a whole attention layer never does
fewer operations than a recurrent one; the table's crossing at n = d is that of attention itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

from heedful.model.attention_kernels import Attend, equation_1, fused, restricted
from heedful.model.multi_head_attention import MultiHeadAttention

HEADS = 8
NEIGHBOURHOOD, KERNEL = 64, 3
"""r and k of the table."""


@dataclass(frozen=True)
class LayerKind:
    """A row of the table; the formulas are the paper's."""

    name: str
    complexity: str
    operations: Callable[[int, int], float]
    """The formula with n and d put in: multiplications, less a constant factor."""
    sequential: str
    path: str
    layer: Callable[[int, int], nn.Module]
    """The layer of size d, which stands at this depth (from 0) of a stack."""
    attend: Attend | None = None
    dilated: bool = False
    """Whether a layer's connections depend on its depth."""


class _Attention(nn.Module):
    """Attention of positions to each other, without projections."""

    def __init__(self, attend: Attend) -> None:
        super().__init__()
        self._attend = attend

    def forward(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (HEADS, -1))
        return self._attend(heads, heads, heads, None)[0].flatten(-2)


class ProjectedAttention(nn.Module):
    """A whole attention layer, for stacks that learn."""

    def __init__(self, d: int, attend: Attend) -> None:
        super().__init__()
        self._attention = MultiHeadAttention(d_model=d, num_heads=HEADS, attend=attend)

    def forward(self, x: Tensor) -> Tensor:
        return self._attention(x, x, x)[0]


class _Recurrent(nn.Module):
    """h_t = tanh(W h_{t−1} + U x_t): cuDNN's on a GPU."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self._cells = nn.RNN(d, d, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self._cells(x)[0]


class _Convolution(nn.Module):
    """A window of k positions, ``dilation`` apart, that ends at each position, as in a decoder.

    Around each position, a dilated stack could not reach everything: some ways would lead past the ends.
    """

    def __init__(self, d: int, *, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        self._before = (KERNEL - 1) * dilation
        self._convolution = nn.Conv1d(d, d, KERNEL, dilation=dilation, groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        return self._convolution(F.pad(x.transpose(1, 2), (self._before, 0))).transpose(1, 2)


class _SeparableConvolution(nn.Module):
    """A convolution within each dimension, then a product over all dimensions at each position."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self._depthwise, self._pointwise = _Convolution(d, groups=d), nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        return self._pointwise(self._depthwise(x))


def _attention_kind(name: str, attend: Attend) -> LayerKind:
    return LayerKind(name, "n² · d", lambda n, d: n * n * d, "1", "1", lambda d, depth: _Attention(attend), attend)


_near = partial(restricted, neighbourhood=NEIGHBOURHOOD)

KINDS: tuple[LayerKind, ...] = (
    _attention_kind("self-attention", equation_1),
    _attention_kind("self-attention, fused", fused),
    LayerKind(
        *("restricted attention", "r · n · d", lambda n, d: NEIGHBOURHOOD * n * d, "1", "n / r"),
        lambda d, depth: _Attention(_near),
        _near,
    ),
    LayerKind("recurrent", "n · d²", lambda n, d: n * d * d, "n", "n", lambda d, depth: _Recurrent(d)),
    LayerKind(
        *("convolution", "k · n · d²", lambda n, d: KERNEL * n * d * d, "1", "n / k"),
        lambda d, depth: _Convolution(d),
    ),
    LayerKind(
        *("dilated convolution", "k · n · d²", lambda n, d: KERNEL * n * d * d, "1", "log_k n"),
        lambda d, depth: _Convolution(d, dilation=KERNEL**depth),
        dilated=True,
    ),
    LayerKind(
        *("separable convolution", "k · n · d + n · d²", lambda n, d: KERNEL * n * d + n * d * d, "1", "n / k"),
        lambda d, depth: _SeparableConvolution(d),
    ),
)
