"""What PyTorch is told of the kernels in `triton_kernels`: operators with their gradients, for graphs and compilers.

Each public function is what a module of this room calls on CUDA in place of plain PyTorch, and computes the same.
"""

from __future__ import annotations

# pyright: reportIndexIssue=false, reportPrivateImportUsage=false
# A kernel in Triton is called with its grid in brackets.
from typing import Any

import torch
from torch import Tensor, nn

from heedful.model.masks import Intervals

_PROGRAMS = 528
"""Of kernels that sum over rows: four for each multiprocessor of an H200."""
_LOG2_E = 1.4426950408889634


def has_kernels(x: Tensor) -> bool:
    """Whether a tensor is computed with by kernels of our own: on CUDA, unless in float64, which is for proofs."""
    return x.is_cuda and x.dtype != torch.float64


def attend_to_intervals(q: Tensor, k: Tensor, v: Tensor, intervals: Intervals, *, dropout: float) -> Tensor:
    """`interval_attention.plain_interval_attention`."""
    seed = _seed(q) if dropout else intervals.first.new_zeros(1).long()
    bounds = intervals.first, intervals.end, intervals.first_query, intervals.end_query
    return _attention(q, k, v, *bounds, seed, dropout)[0]


def add_and_norm(x: Tensor, s: Tensor, norm: nn.LayerNorm, *, dropout: float) -> Tensor:
    """LayerNorm(x + Dropout(s)), of the type of ``x``."""
    return _add_and_norm(x, s, norm.weight, norm.bias, _seed(x), dropout, norm.eps)


def linear_relu(x: Tensor, linear: nn.Linear) -> Tensor:
    """max(0, xW + b)."""
    kind = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else linear.weight.dtype
    return _linear_relu(x.to(kind), linear.weight.to(kind), linear.bias.to(kind))


def _seed(x: Tensor) -> Tensor:
    """Drawn on the device, and so anew at each replay of a captured graph."""
    return torch.randint(1 << 62, (1,), device=x.device)


@torch.library.custom_op("heedful::interval_attention", mutates_args=())
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    first: Tensor,
    end: Tensor,
    first_query: Tensor,
    end_query: Tensor,
    seed: Tensor,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """The outputs, and each query's normaliser (the base-2 logarithm of its softmax's denominator)."""
    from heedful.model import triton_kernels

    q, k, v = _rows(q), _rows(k), _rows(v)
    output = q.new_empty(q.size(0), q.size(1), v.size(-1))
    normaliser = q.new_empty(q.size(0), q.size(1), dtype=torch.float32)
    tile = _tiles(q, v)["forward"]
    triton_kernels.attention[(-(-q.size(0) // tile["ROWS"]), q.size(1))](
        q, k, v, output, normaliser, first, end, seed,
        *_strides(q, k, v), q.size(0), q.size(-1) ** -0.5 * _LOG2_E, dropout,
        **_head_sizes(q, v, dropout), **tile,
    )  # fmt: skip
    return output, normaliser


@_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    output = q.new_empty(q.size(0), q.size(1), v.size(-1))
    return output, q.new_empty(q.size(0), q.size(1), dtype=torch.float32)


@torch.library.custom_op("heedful::interval_attention_gradients", mutates_args=())
def _attention_gradients(
    d_output: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    output: Tensor,
    normaliser: Tensor,
    first: Tensor,
    end: Tensor,
    first_query: Tensor,
    end_query: Tensor,
    seed: Tensor,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    from heedful.model import triton_kernels

    q, k, v, d_output = _rows(q), _rows(k), _rows(v), d_output.contiguous()
    d_q, d_k, d_v = (x.new_empty(x.shape) for x in (q, k, v))
    delta = torch.empty_like(normaliser)
    strides, sizes, tiles = _strides(q, k, v), _head_sizes(q, v, dropout), _tiles(q, v)
    factor = q.size(-1) ** -0.5
    tile = tiles["queries"]
    triton_kernels.attention_query_gradients[(-(-q.size(0) // tile["ROWS"]), q.size(1))](
        q, k, v, output, normaliser, first, end, seed, d_output, d_q, delta,
        *strides, q.size(0), factor * _LOG2_E, factor, dropout, **sizes, **tile,
    )  # fmt: skip
    tile = tiles["keys"]
    triton_kernels.attention_key_value_gradients[(-(-k.size(0) // tile["COLUMNS"]), q.size(1))](
        q, k, v, normaliser, first, end, first_query, end_query, seed, d_output, delta, d_k, d_v,
        *strides, q.size(0), k.size(0), factor * _LOG2_E, factor, dropout, **sizes, **tile,
    )  # fmt: skip
    return d_q, d_k, d_v


@_attention_gradients.register_fake
def _(_: Tensor, q: Tensor, k: Tensor, v: Tensor, *__: Any) -> tuple[Tensor, Tensor, Tensor]:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _keep_attention(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.dropout = inputs
    ctx.save_for_backward(*tensors[:3], *output, *tensors[3:])


def _attention_backward(ctx: Any, d_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    return *_attention_gradients(d_output, *ctx.saved_tensors, ctx.dropout), None, None, None, None, None, None


_attention.register_autograd(_attention_backward, setup_context=_keep_attention)


def _rows(x: Tensor) -> Tensor:
    """A tensor whose last axis lies in one piece: a view of a larger matrix does, and is read where it is."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _strides(q: Tensor, k: Tensor, v: Tensor) -> list[int]:
    return [stride for x in (q, k, v) for stride in x.stride()[:2]]


def _head_sizes(q: Tensor, v: Tensor, dropout: float) -> dict[str, Any]:
    d_k, d_v = q.size(-1), v.size(-1)
    return {
        "HEADS": q.size(1),
        "D_K": d_k,
        "D_V": d_v,
        "PADDED_K": _padded(d_k),
        "PADDED_V": _padded(d_v),
        "DROPOUT": dropout > 0,
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


@torch.library.custom_op("heedful::add_and_norm", mutates_args=())
def _add_and_norm(
    x: Tensor, s: Tensor, weight: Tensor, bias: Tensor, seed: Tensor, dropout: float, epsilon: float
) -> Tensor:
    from heedful.model import triton_kernels

    x, s, y = x.contiguous(), s.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
    count = x.numel() // x.size(-1)
    triton_kernels.add_and_norm[(-(-count // 4),)](
        x, s, weight, bias, y, seed, count, dropout, epsilon, **_row_sizes(x, dropout), ROWS=4, num_warps=4
    )
    return y


@_add_and_norm.register_fake
def _(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("heedful::add_and_norm_gradients", mutates_args=())
def _norm_gradients(
    d_y: Tensor, x: Tensor, s: Tensor, weight: Tensor, seed: Tensor, dropout: float, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Of x, of s, and of weight and bias, ``[2, d_model]``."""
    from heedful.model import triton_kernels

    x, s, d_y = x.contiguous(), s.contiguous(), d_y.contiguous()
    d_x, d_s = torch.empty_like(x), torch.empty_like(s)
    count = x.numel() // x.size(-1)
    rows = 2 if x.size(-1) > 512 else 4
    programs = max(1, min(_PROGRAMS, -(-count // rows)))
    parts = x.new_empty(2, programs, x.size(-1), dtype=torch.float32)
    triton_kernels.add_and_norm_gradients[(programs,)](
        x, s, weight, d_y, d_x, d_s, parts[0], parts[1], seed, count, dropout, epsilon,
        **_row_sizes(x, dropout), ROWS=rows, num_warps=4,
    )  # fmt: skip
    return d_x, d_s, parts.sum(1)


@_norm_gradients.register_fake
def _(d_y: Tensor, x: Tensor, s: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    same = torch.contiguous_format
    return (
        torch.empty_like(x, memory_format=same),
        torch.empty_like(s, memory_format=same),
        x.new_empty(2, x.size(-1), dtype=torch.float32),
    )


def _keep_norm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, s, weight, _, seed, ctx.dropout, ctx.epsilon = inputs
    ctx.save_for_backward(x, s, weight, seed)


def _norm_backward(ctx: Any, d_y: Tensor) -> tuple[Tensor | None, ...]:
    d_x, d_s, both = _norm_gradients(d_y, *ctx.saved_tensors, ctx.dropout, ctx.epsilon)
    return d_x, d_s, both[0], both[1], None, None, None


_add_and_norm.register_autograd(_norm_backward, setup_context=_keep_norm)


def _row_sizes(x: Tensor, dropout: float) -> dict[str, Any]:
    size = x.size(-1)
    return {"SIZE": size, "PADDED": max(16, 1 << (size - 1).bit_length()), "DROPOUT": dropout > 0}


@torch.library.custom_op("heedful::linear_relu", mutates_args=())
def _linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, xW + b) with the ReLU in the product's own kernel."""
    return torch._addmm_activation(bias, x.flatten(0, -2), weight.t()).unflatten(0, x.shape[:-1])


@_linear_relu.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.size(0))


@torch.library.custom_op("heedful::relu_gradient", mutates_args=())
def _relu_gradient(d_h: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient before the ReLU, and its sum over all positions, which is the bias's."""
    from heedful.model import triton_kernels

    d_h, h = d_h.contiguous(), h.contiguous()
    size, d_sum = h.size(-1), torch.empty_like(h)
    count = h.numel() // size
    programs = max(1, min(66, -(-count // 16)))
    parts = h.new_empty(programs, size, dtype=torch.float32)
    triton_kernels.relu_gradient[(programs, -(-size // 128))](
        d_h, h, d_sum, parts, count, SIZE=size, COLUMNS=128, ROWS=16, num_warps=4
    )
    return d_sum, parts.sum(0)


@_relu_gradient.register_fake
def _(d_h: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(h), h.new_empty(h.size(-1), dtype=torch.float32)


def _keep_relu(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], inputs[1], output)


def _relu_backward(ctx: Any, d_h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, weight, h = ctx.saved_tensors
    d_sum, d_bias = _relu_gradient(d_h, h)
    d_sum = d_sum.flatten(0, -2)
    return (d_sum @ weight).view_as(x), d_sum.t() @ x.flatten(0, -2), d_bias.to(h.dtype)


_linear_relu.register_autograd(_relu_backward, setup_context=_keep_relu)
