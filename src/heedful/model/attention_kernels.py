"""Four ways to compute Equation 1, and the one place where one of them is chosen.

A kernel takes queries, keys and values of all heads with the heads next to last, ``[..., length, heads, size]``, and
who may attend to whom: a boolean tensor, an `AttentionPattern`, or None for everything. It returns the outputs in the
same order of axes and the weights, or None where it never forms them.

| kernel      | layout          | device, precision | weights | dropout | memory        |
|-------------|-----------------|-------------------|---------|---------|---------------|
| equation_1  | padded, packed  | any               | yes     | yes     | n²            |
| fused       | padded          | any               | no      | yes     | n² (the mask) |
| restricted  | padded, packed  | any               | no      | yes     | n · r         |
| varlen      | packed          | CUDA, bf16/fp16   | no      | no      | n             |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from heedful.config import ModelConfig
from heedful.errors import KernelError
from heedful.model.masks import AttentionPattern, Packed, boolean_mask
from heedful.model.restricted_attention import restricted_attention
from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention

Where = Tensor | AttentionPattern | None
Attend = Callable[..., tuple[Tensor, Tensor | None]]
"""``attend(q, k, v, where, dropout=p) -> (output, weights or None)``."""

VARLEN_MAX_HEAD = 256
"""The packed kernel takes heads up to this size, and only multiples of 8."""
VARLEN_MAX_SEQUENCES = 65_535
"""Sequences that the packed kernel takes at once: a CUDA grid has no more places along the axis it counts them on."""


def equation_1(q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
    """Equation 1 as printed, weights included; both layouts."""
    q, k, v = _heads_first(q, k, v)
    output, weights = scaled_dot_product_attention(q, k, v, _dense(where), dropout=dropout)
    return output.transpose(-3, -2), weights


def fused(q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0) -> tuple[Tensor, None]:
    """PyTorch's fused kernel on a padded batch."""
    if isinstance(where, AttentionPattern) and isinstance(where.queries, Packed):
        raise KernelError("the fused kernel takes padded batches; a packed one needs varlen, or equation_1")
    q, k, v = _heads_first(q, k, v)
    return F.scaled_dot_product_attention(q, k, v, _dense(where), dropout).transpose(-3, -2), None


def restricted(
    q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0, neighbourhood: int
) -> tuple[Tensor, None]:
    """Section 4: self-attention to a neighbourhood, in memory linear in the length; both layouts."""
    if isinstance(where, Tensor):
        raise KernelError("restricted attention takes no mask tensor: a mask of length × length is what it avoids")
    q, k, v = _heads_first(q, k, v)
    output = restricted_attention(q, k, v, where, neighbourhood=neighbourhood, dropout=dropout)
    return output.transpose(-3, -2), None


def varlen(
    q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0, neighbourhood: int = 0
) -> tuple[Tensor, None]:
    """PyTorch's kernel for packed batches: no filling, no mask, on CUDA in half precision.

    It wants one head size for q, k and v, a multiple of 8: smaller ones are filled with zeros, which change neither
    the products nor, with the scale passed explicitly, the weights.
    """
    from torch.nn.attention.varlen import varlen_attn

    if dropout:
        raise KernelError("the packed kernel has no dropout on the attention weights; use padded batches")
    if q.device.type != "cuda" or q.dtype not in (torch.bfloat16, torch.float16):
        raise KernelError(f"the packed kernel runs on CUDA in bf16 or fp16, not on {q.device.type} in {q.dtype}")
    if not (isinstance(where, AttentionPattern) and isinstance(where.queries, Packed)):
        raise KernelError("the packed kernel needs a packed batch with its offsets")
    assert isinstance(where.keys, Packed), "queries and keys are in the same layout"
    d_k, d_v = q.size(-1), v.size(-1)
    size = varlen_head_size(d_k, d_v)
    reach = neighbourhood // 2 if neighbourhood else -1
    output = varlen_attn(
        F.pad(q, (0, size - d_k)) if d_k < size else q,
        F.pad(k, (0, size - d_k)) if d_k < size else k,
        F.pad(v, (0, size - d_v)) if d_v < size else v,
        where.queries.offsets,
        where.keys.offsets,
        where.queries.max_length,
        where.keys.max_length,
        scale=d_k**-0.5,
        window_size=(reach, 0 if where.causal else reach),
    )
    assert isinstance(output, Tensor), "varlen_attn returns a tensor unless asked for more"
    return output[..., :d_v], None


def varlen_head_size(d_k: int, d_v: int) -> int:
    """The one head size the packed kernel computes with."""
    return -(-max(d_k, d_v) // 8) * 8


@dataclass(frozen=True)
class AttentionChoice:
    """How a model computes attention: what the user is shown at the start of a run."""

    layout: str
    """``packed`` or ``padded``: the batches this choice takes."""
    kernel: str
    why: str
    self_attend: Attend
    cross_attend: Attend

    def __str__(self) -> str:
        return f"{self.layout} batches, {self.kernel} attention ({self.why})"


EQUATION_1 = AttentionChoice("padded or packed", "equation-1", "as printed, with weights", equation_1, equation_1)
"""The choice that also returns every weight, for pictures and proofs."""


def choose_attention(config: ModelConfig, *, device: torch.device | str, half_precision: bool) -> AttentionChoice:
    """The fastest exact way to compute this model's attention on this device."""
    why_padded = _why_padded(config, torch.device(device), half_precision=half_precision)
    r = config.neighbourhood
    if why_padded is None:
        size, filled = varlen_head_size(config.key_size, config.value_size), ""
        if (config.key_size, config.value_size) != (size, size):
            filled = f", heads filled up to {size}"
        why = "CUDA, half precision" + filled + (f", neighbourhood {r}" if r else "")
        return AttentionChoice("packed", "varlen", why, partial(varlen, neighbourhood=r) if r else varlen, varlen)
    if r:
        why = f"{why_padded}, neighbourhood {r}"
        return AttentionChoice("padded", "restricted", why, partial(restricted, neighbourhood=r), fused)
    return AttentionChoice("padded", "fused", why_padded, fused, fused)


def equation_1_choice(config: ModelConfig) -> AttentionChoice:
    """Equation 1 with weights, for this model; a neighbourhood becomes part of the mask."""
    if not config.neighbourhood:
        return EQUATION_1
    within = partial(_equation_1_within, neighbourhood=config.neighbourhood)
    return AttentionChoice(EQUATION_1.layout, EQUATION_1.kernel, EQUATION_1.why, within, equation_1)


def _equation_1_within(
    q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0, neighbourhood: int
) -> tuple[Tensor, Tensor]:
    index = torch.arange(k.size(-3), device=k.device)
    near = (index[:, None] - index[None, :]).abs() <= neighbourhood // 2
    mask = _dense(where)
    return equation_1(q, k, v, near if mask is None else mask & near, dropout=dropout)


def _why_padded(config: ModelConfig, device: torch.device, *, half_precision: bool) -> str | None:
    """Why the packed kernel cannot be used; None where it can."""
    if device.type != "cuda":
        return f"on {device.type}"
    if not half_precision:
        return "CUDA in full precision; the packed kernel takes half precision only"
    if config.attention_dropout:
        return "CUDA; attention_dropout is set, which the packed kernel does not have"
    if varlen_head_size(config.key_size, config.value_size) > VARLEN_MAX_HEAD:
        return f"CUDA; heads of {max(config.key_size, config.value_size)} exceed the packed kernel's {VARLEN_MAX_HEAD}"
    return None


def _heads_first(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(tensor.transpose(-3, -2) for tensor in tensors)


def _dense(where: Where) -> Tensor | None:
    """``where`` as a boolean tensor that broadcasts over the heads."""
    if where is None:
        return None
    if isinstance(where, AttentionPattern):
        return where.mask
    mask = boolean_mask(where)
    return mask[:, None] if mask.dim() == 3 else mask
