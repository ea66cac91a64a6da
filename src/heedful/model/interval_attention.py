"""Equation 1 on packed sentences: every query sees one interval of keys, and one kernel serves every case.

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

import torch
from torch import Tensor
from torch.nn import functional as F

from heedful.model.cuda_sublayers import attend_to_intervals
from heedful.model.devices import has_kernels
from heedful.model.masks import Intervals


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
