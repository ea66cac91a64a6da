"""Section 3.2.1, Equation 1: Attention(Q, K, V) = softmax(QKᵀ / √d_k) V."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from heedful.errors import ShapeError
from heedful.model.masks import boolean_mask


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The weighted sum of the values for each query, and the weights.

    ``q`` is ``[..., queries, d_k]``, ``k`` ``[..., keys, d_k]``, ``v`` ``[..., keys, d_v]``. The mask is True or 1
    where a query may attend to a key, and broadcasts to ``[..., queries, keys]``. A query that may attend to nothing
    gets zeros. ``dropout`` is applied to the weights.

    The query (2, 0) fits the first key far better than the second, so its output is close to the first value:

    >>> q = torch.tensor([[2.0, 0.0]])
    >>> k = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> v = torch.tensor([[10.0], [20.0]])
    >>> output, weights = scaled_dot_product_attention(q, k, v)
    >>> weights  # softmax of (4 / √2, 0)
    tensor([[0.9442, 0.0558]])
    >>> output  # 0.9442 · 10 + 0.0558 · 20
    tensor([[10.5581]])
    """
    _check_shapes(q, k, v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        mask = _fitting(boolean_mask(mask), scores)
        # The paper sets illegal scores to -∞. The most negative finite number gives the same weights, exact zeros,
        # without the 0/0 of a row in which everything is illegal; the second fill makes such a row zeros.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    dropped = F.dropout(weights, dropout) if dropout else weights
    return dropped @ v, weights


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    if min(q.dim(), k.dim(), v.dim()) < 2:
        raise ShapeError(
            f"q, k and v are {list(q.shape)}, {list(k.shape)} and {list(v.shape)}: each needs a length and a size at "
            "its end, [..., length, size]"
        )
    if q.size(-1) != k.size(-1):
        raise ShapeError(f"q has vectors of {q.size(-1)} and k of {k.size(-1)}: both must be of the one size d_k")
    if k.size(-2) != v.size(-2):
        raise ShapeError(f"k has {k.size(-2)} positions and v {v.size(-2)}: each key needs its value")
    if not (_broadcast(q.shape[:-2], k.shape[:-2]) and _broadcast(k.shape[:-2], v.shape[:-2])):
        raise ShapeError(f"q, k and v are {list(q.shape)}, {list(k.shape)} and {list(v.shape)}: batch and heads differ")


def _fitting(mask: Tensor, scores: Tensor) -> Tensor:
    if mask.dim() > scores.dim() or not _broadcast(mask.shape, scores.shape):
        raise ShapeError(
            f"the mask is {list(mask.shape)}, but must broadcast to the scores, {list(scores.shape)}: "
            "[..., queries, keys], with 1 where all share a value"
        )
    return mask


def _broadcast(some: torch.Size, other: torch.Size) -> bool:
    return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(some), reversed(other), strict=False))
