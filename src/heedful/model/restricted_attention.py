"""Section 4, Table 1's last row: self-attention restricted to a neighbourhood of r around each position.

Position i attends to the positions j of its own sequence with |i − j| ≤ r / 2 (and j ≤ i in the decoder). The sequence
is cut into blocks; each block of queries meets only the keys that any of its queries may reach, so that time and
memory grow as n · r and never as n².
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from heedful.errors import ShapeError
from heedful.model.masks import AttentionPattern, Packed, Padded

_SMALLEST_BLOCK = 32
"""Queries in a block at least; smaller ones spend their time on bookkeeping."""


def restricted_attention(
    q_BHLK: Tensor,
    k_BHLK: Tensor,
    v_BHLE: Tensor,
    pattern: AttentionPattern | None = None,
    *,
    neighbourhood: int,
    dropout: float = 0.0,
) -> Tensor:
    """Equation 1 over each position's neighbourhood, ``[..., heads, length, d_v]``. A packed batch has no batch axis.

    >>> q = k = torch.zeros(1, 1, 5, 2)
    >>> v = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).reshape(1, 1, 5, 1)
    >>> restricted_attention(q, k, v, neighbourhood=2).flatten()  # each the mean of itself and its two neighbours
    tensor([1.5000, 2.0000, 3.0000, 4.0000, 4.5000])
    """
    length = q_BHLK.size(-2)
    if k_BHLK.size(-2) != length:
        raise ShapeError(f"{length} queries and {k_BHLK.size(-2)} keys: a neighbourhood needs q and k of one sequence")
    if neighbourhood < 1:
        raise ShapeError(f"neighbourhood {neighbourhood}: must be at least 1")
    reach = min(neighbourhood // 2, length)
    block = max(reach, min(_SMALLEST_BLOCK, length))
    count = -(-length // block)
    fill = count * block - length
    # Blocks join the batch axis, [batch · blocks, heads, block, size]: the shape the fused kernel takes.
    queries = _blocks_first(F.pad(q_BHLK, (0, 0, 0, fill)).unflatten(-2, (count, block)))
    keys, values = (_blocks_first(_windows(x, block=block, reach=reach, fill=fill)) for x in (k_BHLK, v_BHLE))
    mask = _window_mask(pattern, length, block=block, reach=reach, fill=fill, device=q_BHLK.device)
    mask = mask.expand(*q_BHLK.shape[:-3], *mask.shape[-3:]).flatten(0, -3)[:, None]
    output = F.scaled_dot_product_attention(queries, keys, values, mask, dropout)
    output = output.unflatten(0, (*q_BHLK.shape[:-3], count)).transpose(-4, -3)
    return output.flatten(-3, -2)[..., :length, :]


def _windows(x_BHLK: Tensor, *, block: int, reach: int, fill: int) -> Tensor:
    """For each block, what lies in it and within reach of it: ``[..., heads, blocks, block + 2 · reach, size]``."""
    padded = F.pad(x_BHLK, (0, 0, reach, reach + fill))
    return padded.unfold(-2, block + 2 * reach, block).transpose(-2, -1)


def _blocks_first(x: Tensor) -> Tensor:
    """``[..., heads, blocks, block, size]`` as ``[(...) · blocks, heads, block, size]``."""
    return x.transpose(-4, -3).flatten(0, -4)


def _window_mask(
    pattern: AttentionPattern | None, length: int, *, block: int, reach: int, fill: int, device: torch.device
) -> Tensor:
    """``[(batch,) blocks, block, block + 2 · reach]``: within reach, within the sequence, not later if causal."""
    query = torch.arange(block, device=device)[:, None]
    key = torch.arange(block + 2 * reach, device=device)[None, :] - reach
    near = (query - key).abs() <= reach
    if pattern is not None and pattern.causal:
        near = near & (key <= query)
    if pattern is None:
        owner = torch.zeros(length, dtype=torch.long, device=device)
        query_owner, key_owner = owner, owner
    elif isinstance(pattern.keys, Packed):
        query_owner, key_owner = pattern.keys.sequence, pattern.keys.sequence
    else:
        assert isinstance(pattern.keys, Padded), "a layout is padded or packed"
        key_owner = torch.where(pattern.keys.real, 0, -1)
        query_owner = torch.zeros_like(key_owner)
    queries = F.pad(query_owner, (0, fill)).unflatten(-1, (-1, block))
    keys = F.pad(key_owner, (reach, reach + fill), value=-1).unfold(-1, block + 2 * reach, block)
    return near & (queries[..., :, None] == keys[..., None, :])
