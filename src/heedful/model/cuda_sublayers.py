"""Sub-layers of packed sentences on CUDA, forwards and backwards by hand, from products and our own kernels.

LayerNorm(x + Dropout(Sublayer(x))) is one function here, so that its gradient makes no pass too many: the last product
adds onto the residual's gradient, those of queries, keys and values are written side by side, and biases are summed
where their gradients pass anyway. `stacks` computes the same in plain PyTorch, which tests/gpu compares. Nothing has to
be compiled but the kernels in `triton_kernels`.
"""

from __future__ import annotations

# pyright: reportIndexIssue=false, reportPrivateImportUsage=false
# A kernel in Triton is called with its grid in brackets.
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd import Function

from heedful.model.masks import Intervals

if TYPE_CHECKING:  # they call functions of this module themselves
    from heedful.model.feed_forward import PositionwiseFeedForward
    from heedful.model.multi_head_attention import MultiHeadAttention

_PROGRAMS = 1056
"""Of kernels that sum over rows: eight for each multiprocessor of an H200."""
_ROWS = 2
"""Vectors that a program normalises at once."""
_LOG2_E = 1.4426950408889634


class _Noise(NamedTuple):
    """Dropout: how much, and the seed that both ways draw it from."""

    share: float
    seed: Tensor


def attention_sublayer(
    x_ND: Tensor,
    memory_MD: Tensor,
    attention: MultiHeadAttention,
    norm: nn.LayerNorm,
    intervals: Intervals,
    *,
    dropout: float,
) -> Tensor:
    """LayerNorm(x + Dropout(MultiHead(x, memory, memory))), of the type of ``x``; ``memory`` may be ``x`` itself."""
    weights_dropout = attention.dropout if attention.training else 0.0
    return _AttentionSublayer.apply(
        x_ND,
        None if memory_MD is x_ND else memory_MD,
        *(attention.w_qkv.weight, attention.w_qkv.bias, attention.w_o.weight, attention.w_o.bias),
        *(norm.weight, norm.bias),
        (attention.num_heads, attention.rows, norm.eps),
        intervals,
        _noise(x_ND, weights_dropout),
        _noise(x_ND, dropout),
    )


def feed_forward_sublayer(
    x: Tensor, feed_forward: PositionwiseFeedForward, norm: nn.LayerNorm, *, dropout: float
) -> Tensor:
    """LayerNorm(x + Dropout(FFN(x))), of the type of ``x``."""
    w_1, w_2 = feed_forward.w_1, feed_forward.w_2
    parameters = (w_1.weight, w_1.bias, w_2.weight, w_2.bias, norm.weight, norm.bias)
    return _FeedForwardSublayer.apply(x, *parameters, norm.eps, _noise(x, dropout))


def add_and_norm(x: Tensor, s: Tensor, norm: nn.LayerNorm) -> Tensor:
    """LayerNorm(x + s), of the type of ``x``: without dropout or gradient, for a search."""
    return _normalised(x, s, norm.weight, norm.bias, norm.eps, _Noise(0.0, x))[0]


def linear_relu(x: Tensor, linear: nn.Linear) -> Tensor:
    """max(0, xW + b) with the ReLU in the product's own kernel: without a gradient, for a search."""
    kind = _product_type(x)
    flat = torch._addmm_activation(linear.bias.to(kind), x.to(kind).flatten(0, -2), linear.weight.to(kind).t())
    return flat.unflatten(0, x.shape[:-1])


def attend_to_intervals(q: Tensor, k: Tensor, v: Tensor, intervals: Intervals, *, dropout: float) -> Tensor:
    """`attention_kernels.plain_interval_attention`, with its gradient."""
    return _Attention.apply(q.contiguous(), k.contiguous(), v.contiguous(), intervals, _noise(q, dropout))


class _AttentionSublayer(Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any,
        x: Tensor,
        memory: Tensor | None,
        w_qkv: Tensor,
        b_qkv: Tensor,
        w_o: Tensor,
        b_o: Tensor,
        w_norm: Tensor,
        b_norm: Tensor,
        sizes: tuple[int, list[int], float],
        intervals: Intervals,
        weights_noise: _Noise,
        noise: _Noise,
    ) -> Tensor:
        (heads, rows, epsilon), kind = sizes, _product_type(x)
        x_half, w_qkv, b_qkv, w_o, b_o = (tensor.to(kind) for tensor in (x, w_qkv, b_qkv, w_o, b_o))
        memory_half = None if memory is None else memory.to(kind)
        if memory_half is None:
            projected = (torch.addmm(b_qkv, x_half, w_qkv.t()),)
        else:
            of_q = rows[0]
            queries = torch.addmm(b_qkv[:of_q], x_half, w_qkv[:of_q].t())
            projected = (queries, torch.addmm(b_qkv[of_q:], memory_half, w_qkv[of_q:].t()))
        output, normaliser = _attend(*_heads(projected, heads, rows), intervals, weights_noise)
        s = torch.addmm(b_o, output.flatten(1), w_o.t())
        y, statistics = _normalised(x, s, w_norm, b_norm, epsilon, noise)
        ctx.save_for_backward(x, x_half, memory_half, w_qkv, w_o, w_norm, output, normaliser, s, statistics, *projected)
        ctx.rest = heads, rows, intervals, weights_noise, noise, memory
        return y

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x, x_half, memory_half, w_qkv, w_o, w_norm, output, normaliser, s, statistics, *projected = ctx.saved_tensors
        heads, rows, intervals, weights_noise, noise, memory = ctx.rest
        d_x, d_s, sums = _norm_gradients(d_y, x, s, w_norm, statistics, noise)
        d_output, d_w_o = (d_s @ w_o).view_as(output), _single(d_s.t(), output.flatten(1))
        d_projected = tuple(map(torch.empty_like, projected))
        inputs, into = _heads(tuple(projected), heads, rows), _heads(d_projected, heads, rows)
        _write_attention_gradients(d_output, *inputs, output, normaliser, intervals, weights_noise, into=into)
        d_biases = torch.cat([_column_sums(gradient) for gradient in d_projected])
        if memory_half is None:
            d_memory, d_w_qkv = None, _single(d_projected[0].t(), x_half)
            d_x = _added(d_x, d_projected[0], w_qkv)
        else:
            of_q, (d_queries, d_rest) = rows[0], d_projected
            d_memory = (d_rest @ w_qkv[of_q:]).to(memory.dtype)
            d_w_qkv = torch.cat([_single(d_queries.t(), x_half), _single(d_rest.t(), memory_half)])
            d_x = _added(d_x, d_queries, w_qkv[:of_q])
        return d_x, d_memory, d_w_qkv, d_biases, d_w_o, sums[2], sums[0], sums[1], None, None, None, None


class _FeedForwardSublayer(Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any,
        x: Tensor,
        w_1: Tensor,
        b_1: Tensor,
        w_2: Tensor,
        b_2: Tensor,
        w_norm: Tensor,
        b_norm: Tensor,
        epsilon: float,
        noise: _Noise,
    ) -> Tensor:
        x_half, w_1, b_1, w_2, b_2 = (tensor.to(_product_type(x)) for tensor in (x, w_1, b_1, w_2, b_2))
        h = torch._addmm_activation(b_1, x_half, w_1.t())
        s = torch.addmm(b_2, h, w_2.t())
        y, statistics = _normalised(x, s, w_norm, b_norm, epsilon, noise)
        ctx.save_for_backward(x, x_half, w_1, w_2, w_norm, h, s, statistics)
        ctx.noise = noise
        return y

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x, x_half, w_1, w_2, w_norm, h, s, statistics = ctx.saved_tensors
        d_x, d_s, sums = _norm_gradients(d_y, x, s, w_norm, statistics, ctx.noise)
        d_w_2, d_h = _single(d_s.t(), h), d_s @ w_2
        d_b_1 = _column_sums(d_h, where_positive=h)  # and from here on d_h is the gradient before the ReLU
        d_w_1, d_x = _single(d_h.t(), x_half), _added(d_x, d_h, w_1)
        return d_x, d_w_1, d_b_1, d_w_2, sums[2], sums[0], sums[1], None, None


class _Attention(Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, intervals: Intervals, noise: _Noise
    ) -> Tensor:
        output, normaliser = _attend(q, k, v, intervals, noise)
        ctx.save_for_backward(q, k, v, output, normaliser)
        ctx.rest = intervals, noise
        return output

    @staticmethod
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        d_q, d_k, d_v = map(torch.empty_like, ctx.saved_tensors[:3])
        _write_attention_gradients(d_output.contiguous(), *ctx.saved_tensors, *ctx.rest, into=(d_q, d_k, d_v))
        return d_q, d_k, d_v, None, None


def _noise(x: Tensor, dropout: float) -> _Noise:
    """With a seed drawn on the device, and so anew at each replay of a captured graph."""
    return _Noise(dropout, torch.randint(1 << 62, (1,), device=x.device) if dropout else x)


def _product_type(x: Tensor) -> torch.dtype:
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype


def _heads(projected: tuple[Tensor, ...], heads: int, rows: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, ``[length, heads, size]``, as views of what stands side by side."""
    if len(projected) == 1:
        q, k, v = projected[0].split(rows, dim=-1)
    else:
        q, (k, v) = projected[0], projected[1].split(rows[1:], dim=-1)
    q, k, v = (part.unflatten(-1, (heads, -1)) for part in (q, k, v))
    return q, k, v


def _single(a: Tensor, b: Tensor) -> Tensor:
    """A product in float32, whatever its factors: the gradient of a matrix."""
    return a @ b if a.dtype == torch.float32 else torch.mm(a, b, out_dtype=torch.float32)


def _added(total: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """``total`` + a b; where the types allow it by the product itself and in place."""
    return total.addmm_(a, b) if total.dtype == a.dtype else total + a @ b


def _attend(q: Tensor, k: Tensor, v: Tensor, intervals: Intervals, noise: _Noise) -> tuple[Tensor, Tensor]:
    """The outputs, and each query's normaliser (the base-2 logarithm of its softmax's denominator)."""
    from heedful.model import triton_kernels

    output = q.new_empty(q.size(0), q.size(1), v.size(-1))
    normaliser = q.new_empty(q.size(0), q.size(1), dtype=torch.float32)
    tile = _tiles(q, v)["forward"]
    triton_kernels.attention[(-(-q.size(0) // tile["ROWS"]), q.size(1))](
        q, k, v, output, normaliser, intervals.first, intervals.end, noise.seed,
        *_strides(q, k, v), q.size(0), q.size(-1) ** -0.5 * _LOG2_E, noise.share,
        **_head_sizes(q, v, noise), **tile,
    )  # fmt: skip
    return output, normaliser


def _write_attention_gradients(
    d_output: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    output: Tensor,
    normaliser: Tensor,
    intervals: Intervals,
    noise: _Noise,
    *,
    into: tuple[Tensor, Tensor, Tensor],
) -> None:
    """``into``: of queries, keys and values, each lying as what it is the gradient of."""
    from heedful.model import triton_kernels

    (d_q, d_k, d_v), delta = into, torch.empty_like(normaliser)
    assert _strides(q, k, v) == _strides(d_q, d_k, d_v), "a gradient lies as what it is the gradient of"
    strides, sizes, tiles = _strides(q, k, v), _head_sizes(q, v, noise), _tiles(q, v)
    factor, (first, end) = q.size(-1) ** -0.5, (intervals.first, intervals.end)
    tile = tiles["queries"]
    triton_kernels.attention_query_gradients[(-(-q.size(0) // tile["ROWS"]), q.size(1))](
        q, k, v, output, normaliser, first, end, noise.seed, d_output, d_q, delta,
        *strides, q.size(0), factor * _LOG2_E, factor, noise.share, **sizes, **tile,
    )  # fmt: skip
    tile = tiles["keys"]
    triton_kernels.attention_key_value_gradients[(-(-k.size(0) // tile["COLUMNS"]), q.size(1))](
        q, k, v, normaliser, first, end, intervals.first_query, intervals.end_query, noise.seed, d_output, delta,
        d_k, d_v, *strides, q.size(0), k.size(0), factor * _LOG2_E, factor, noise.share, **sizes, **tile,
    )  # fmt: skip


def _strides(q: Tensor, k: Tensor, v: Tensor) -> list[int]:
    return [stride for x in (q, k, v) for stride in x.stride()[:2]]


def _head_sizes(q: Tensor, v: Tensor, noise: _Noise) -> dict[str, Any]:
    d_k, d_v = q.size(-1), v.size(-1)
    return {
        "HEADS": q.size(1),
        "D_K": d_k,
        "D_V": d_v,
        "PADDED_K": _padded(d_k),
        "PADDED_V": _padded(d_v),
        "DROPOUT": noise.share > 0,
        "PRECISION": "ieee" if q.dtype == torch.float32 else "tf32",
    }


def _padded(size: int) -> int:
    """Matrix units take powers of two from 16."""
    return max(16, 1 << (size - 1).bit_length())


def _tiles(q: Tensor, v: Tensor) -> dict[str, dict[str, int]]:
    """Queries and keys that a program handles at once, and its warps: what was fastest on an H200 (docs/log.md)."""
    size = max(_padded(q.size(-1)), _padded(v.size(-1)))
    if size > 128 or q.dtype == torch.float32:
        edge = 32 if size <= 128 else 16
        small = {"ROWS": edge, "COLUMNS": edge, "num_warps": 4, "num_stages": 1}
        return {"forward": small, "queries": small, "keys": small}
    return {
        "forward": {"ROWS": 64, "COLUMNS": 32, "num_warps": 4, "num_stages": 3},
        "queries": {"ROWS": 64, "COLUMNS": 32, "num_warps": 4, "num_stages": 3},
        "keys": {"ROWS": 32, "COLUMNS": 32, "num_warps": 1 if size <= 64 else 4, "num_stages": 2},
    }


def _normalised(
    x: Tensor, s: Tensor, weight: Tensor, bias: Tensor, epsilon: float, noise: _Noise
) -> tuple[Tensor, Tensor]:
    """LayerNorm(x + Dropout(s)), and each row's mean and one over its deviation, ``[2, rows]``."""
    from heedful.model import triton_kernels

    x, s = x.contiguous(), s.contiguous()
    y, count = torch.empty_like(x), x.numel() // x.size(-1)
    statistics = x.new_empty(2, count, dtype=torch.float32)
    triton_kernels.add_and_norm[(-(-count // _ROWS),)](
        x, s, weight, bias, y, statistics, noise.seed, count, noise.share, epsilon,
        **_row_sizes(x, noise), ROWS=_ROWS, num_warps=2,
    )  # fmt: skip
    return y, statistics


def _norm_gradients(
    d_y: Tensor, x: Tensor, s: Tensor, weight: Tensor, statistics: Tensor, noise: _Noise
) -> tuple[Tensor, Tensor, Tensor]:
    """Of x, of s, and ``[3, d_model]``: of weight and bias, and the sum over all rows of s's."""
    from heedful.model import triton_kernels

    x, d_y = x.contiguous(), d_y.contiguous()
    d_x, d_s = torch.empty_like(x), torch.empty_like(s)
    count = x.numel() // x.size(-1)
    programs = max(1, min(_PROGRAMS, -(-count // _ROWS)))
    parts = x.new_empty(3, programs, x.size(-1), dtype=torch.float32)
    triton_kernels.add_and_norm_gradients[(programs,)](
        x, s, weight, statistics, d_y, d_x, d_s, *parts, noise.seed, count, noise.share,
        **_row_sizes(x, noise), ROWS=_ROWS, num_warps=2,
    )  # fmt: skip
    return d_x, d_s, parts.sum(1)


def _row_sizes(x: Tensor, noise: _Noise) -> dict[str, Any]:
    return {"SIZE": x.size(-1), "PADDED": _padded(x.size(-1)), "DROPOUT": noise.share > 0}


def _column_sums(gradient: Tensor, *, where_positive: Tensor | None = None) -> Tensor:
    """The sum over all rows, which is a bias's gradient; ``where_positive`` sets the others to 0 first, in place."""
    from heedful.model import triton_kernels

    count, size = gradient.shape
    programs = max(1, min(66, -(-count // 16)))
    parts = gradient.new_empty(programs, size, dtype=torch.float32)
    triton_kernels.column_sums[(programs, -(-size // 128))](
        gradient, gradient if where_positive is None else where_positive, parts, count,
        SIZE=size, COLUMNS=128, ROWS=16, GATED=where_positive is not None, num_warps=4,
    )  # fmt: skip
    return parts.sum(0)
