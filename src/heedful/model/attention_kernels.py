"""Four ways to compute Equation 1, and the one place where one of them is chosen.

A kernel takes queries, keys and values of all heads with the heads next to last, ``[..., length, heads, size]``, and
who may attend to whom: a boolean tensor, an `AttentionPattern`, or None for everything. It returns the outputs in the
same order of axes and the weights, or None where it never forms them.

| kernel      | layout          | device, precision | weights | dropout | memory        |
|-------------|-----------------|-------------------|---------|---------|---------------|
| equation_1  | padded, packed  | any               | yes     | yes     | n²            |
| fused       | padded          | any               | no      | yes     | n² (the mask) |
| restricted  | padded, packed  | any               | no      | yes     | n · r         |
| interval    | packed          | any, for CUDA     | no      | yes     | n on CUDA     |

In a packed batch the keys that a query may attend to stand side by side: the encoder's are its sentence, the decoder's
its sentence up to itself, the source's the sentence that is translated, a neighbourhood's a window of its sentence. So
two numbers a query say it all, ``first`` and ``end``, and neither grows from one query to the next. A tile of the
kernel is a few dozen tokens, of several sentences at once; it walks the keys from its first query's ``first`` to its
last query's ``end`` and leaves out what a query does not see.

It is written by hand because nothing that there is does this: PyTorch's packed kernel and FlashAttention spend a tile
of 64 or 128 on each sentence, of which most of a sentence of 27 is empty, and know neither dropout on packed batches
nor float32; FlexAttention, once planned, is about as fast, but plans its blocks anew for each batch, 0.7 ms where the
kernel takes 0.06 (benchmarks/results/training_h200_2026-11-16.md).
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
from heedful.model.cuda_sublayers import attend_to_intervals
from heedful.model.devices import has_kernels
from heedful.model.masks import AttentionPattern, Intervals, Packed, boolean_mask
from heedful.model.restricted_attention import restricted_attention
from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention

Where = Tensor | AttentionPattern | None
Attend = Callable[..., tuple[Tensor, Tensor | None]]
"""``attend(q, k, v, where, dropout=p) -> (output, weights or None)``."""


def equation_1(q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
    """Equation 1 as printed, weights included; both layouts."""
    q, k, v = _heads_first(q, k, v)
    output, weights = scaled_dot_product_attention(q, k, v, _dense(where), dropout=dropout)
    return output.transpose(-3, -2), weights


def fused(q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0) -> tuple[Tensor, None]:
    """PyTorch's fused kernel on a padded batch."""
    if isinstance(where, AttentionPattern) and isinstance(where.queries, Packed):
        raise KernelError("the fused kernel takes padded batches; a packed one needs interval, or equation_1")
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


def interval(q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0) -> tuple[Tensor, None]:
    """Our own kernel for packed batches, on CUDA; elsewhere its equation in plain PyTorch."""
    if not isinstance(where, AttentionPattern) or where.intervals is None:
        raise KernelError("the interval kernel needs a packed batch with its offsets")
    return interval_attention(q, k, v, where.intervals, dropout=dropout), None


def plain_interval_attention(
    q_NHK: Tensor, k_MHK: Tensor, v_MHE: Tensor, intervals: Intervals, *, dropout: float = 0.0
) -> Tensor:
    """The equation in plain PyTorch, ``[queries, heads, d_v]``: what the kernel must compute, and its CPU form."""
    column = torch.arange(k_MHK.size(0), device=q_NHK.device)
    seen = (column >= intervals.first[:, None]) & (column < intervals.end[:, None])
    scores = torch.einsum("nhk,mhk->hnm", q_NHK, k_MHK) * q_NHK.size(-1) ** -0.5
    # A query that sees nothing has no weights at all, not equal ones.
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, 0.0)
    return torch.einsum("hnm,mhe->nhe", F.dropout(weights, dropout), v_MHE)


def interval_attention(
    q_NHK: Tensor, k_MHK: Tensor, v_MHE: Tensor, intervals: Intervals, *, dropout: float = 0.0
) -> Tensor:
    """Equation 1 over each query's interval, ``[queries, heads, d_v]``: by the kernel on CUDA, else plainly."""
    if not has_kernels(q_NHK):
        return plain_interval_attention(q_NHK, k_MHK, v_MHE, intervals, dropout=dropout)
    return attend_to_intervals(q_NHK, k_MHK, v_MHE, intervals, dropout=dropout)


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


def choose_attention(config: ModelConfig, *, device: torch.device | str) -> AttentionChoice:
    """The fastest exact way to train this model on this device."""
    if torch.device(device).type != "cuda":
        return padded_attention(config, why=f"on {torch.device(device).type}")
    why = "CUDA" + (f", neighbourhood {config.neighbourhood}" if config.neighbourhood else "")
    return AttentionChoice("packed", "interval", why, interval, interval)


def padded_attention(config: ModelConfig, *, why: str = "padded batches") -> AttentionChoice:
    """The fastest exact way for batches in rows, as a CPU and a search take them."""
    r = config.neighbourhood
    if not r:
        return AttentionChoice("padded", "fused", why, fused, fused)
    within = partial(restricted, neighbourhood=r)
    return AttentionChoice("padded", "restricted", f"{why}, neighbourhood {r}", within, fused)


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
