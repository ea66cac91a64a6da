"""Section 3.2.3: who may attend to whom.

A batch of sequences lies in memory in one of two layouts. *Padded*: one row a sequence, ``[batch, length]``, with a
boolean tensor that marks the real tokens. *Packed*: all tokens of all sequences one after the other, ``[tokens]``,
with the offsets at which sequences begin. Everything position-wise works on both without knowing which it is; only
attention asks, through an `AttentionPattern`.

True always means "may attend". This module knows nothing of heads, scores or kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.errors import MaskError
from heedful.symbols import PAD


@dataclass(frozen=True)
class Padded:
    """Sequences in rows, ``[batch, length]``, each padded on its right."""

    real: Tensor
    """[batch, length] boolean: True for a token of the sequence, False for padding."""

    @property
    def max_length(self) -> int:
        return self.real.size(1)

    def spread(self, table_LD: Tensor) -> Tensor:
        """The rows of a table of positions, one for each column of the batch."""
        return table_LD[: self.max_length]


@dataclass(frozen=True)
class Packed:
    """Sequences one after the other, ``[tokens]``, without padding between them.

    Offsets may end in repetitions of the last one, and tokens may go on after it: padding that belongs to no sequence,
    sees nothing and is seen by nobody. So shapes can be the same from batch to batch.
    """

    offsets: Tensor
    """[sequences + 1] int32: sequence s is the tokens from ``offsets[s]`` up to ``offsets[s + 1]``."""
    tokens: int
    """Length of the packed axis; the last offset or more."""
    max_length: int
    """No sequence is longer. A plain number, so that no kernel has to wait for the device to learn it."""

    @property
    def sequence(self) -> Tensor:
        """[tokens]: the number of the sequence each token belongs to; that of padding is one too high."""
        index = torch.arange(self.tokens, device=self.offsets.device, dtype=self.offsets.dtype)
        return torch.searchsorted(self.offsets[1:].contiguous(), index, right=True)

    @property
    def positions(self) -> Tensor:
        """[tokens]: each token's position within its sequence."""
        index = torch.arange(self.tokens, device=self.offsets.device)
        return (index - self.offsets[self.sequence]).clamp(max=self.max_length - 1)  # padding may be longer

    def spread(self, table_LD: Tensor) -> Tensor:
        """The rows of a table of positions, one for each token."""
        return table_LD[self.positions]


Layout = Padded | Packed


@dataclass(frozen=True, eq=False)
class Intervals:
    """Which keys each query of a packed batch sees: one interval each; all int32, none ever falling."""

    first: Tensor
    """[queries]: the first key."""
    end: Tensor
    """[queries]: the key after the last; equal to ``first``, or below it, where there is none."""
    first_query: Tensor
    """[keys]: the first query that sees this key or a later one."""
    end_query: Tensor
    """[keys]: the query after the last that sees this key or an earlier one."""


def packed_intervals(queries: Packed, keys: Packed, *, causal: bool = False, neighbourhood: int = 0) -> Intervals:
    """The intervals of sequences that belong together by their number.

    >>> both = Packed(torch.tensor([0, 2, 5], dtype=torch.int32), tokens=5, max_length=3)
    >>> packed_intervals(both, both, causal=True).first.tolist()
    [0, 0, 2, 2, 2]
    >>> packed_intervals(both, both, causal=True).end.tolist()
    [1, 2, 3, 4, 5]
    """
    query_owner, key_owner = queries.sequence, keys.sequence
    last = len(queries.offsets) - 1
    first, end = keys.offsets[query_owner], keys.offsets[(query_owner + 1).clamp(max=last)]
    first_query, end_query = queries.offsets[key_owner], queries.offsets[(key_owner + 1).clamp(max=last)]
    if causal or neighbourhood:
        index = torch.arange(queries.tokens, device=first.device, dtype=first.dtype)
        reach = neighbourhood // 2 if neighbourhood else queries.tokens
        later = 0 if causal else reach
        first, end = torch.maximum(first, index - reach), torch.minimum(end, index + later + 1)
        first_query, end_query = torch.maximum(first_query, index - later), torch.minimum(end_query, index + reach + 1)
    return Intervals(first, end, first_query, end_query)


@dataclass(frozen=True)
class AttentionPattern:
    """Which keys each query may attend to: those of its own sequence and, if causal, none that come later."""

    queries: Layout
    keys: Layout
    causal: bool = False
    intervals: Intervals | None = None
    """The same for a packed batch, made once for all layers."""

    @property
    def mask(self) -> Tensor:
        """The pattern as a boolean tensor: padded ``[batch, 1, queries or 1, keys]``, packed ``[queries, keys]``.

        It grows with the product of the lengths; kernels that avoid that read the layouts instead. Not kept, since
        making it again costs nothing beside a layer.
        """
        if isinstance(self.queries, Padded) and isinstance(self.keys, Padded):
            mask = self.keys.real[:, None, None, :]
            return mask & causal_mask(self.keys.max_length, device=mask.device) if self.causal else mask
        assert isinstance(self.queries, Packed), "queries and keys are in the same layout"
        assert isinstance(self.keys, Packed), "queries and keys are in the same layout"
        owner = self.queries.sequence[:, None]
        mask = (owner == self.keys.sequence[None, :]) & (owner < len(self.queries.offsets) - 1)
        return mask & causal_mask(self.keys.tokens, device=mask.device) if self.causal else mask


def padded_layout(ids: Tensor) -> Padded:
    """The layout of padded ids: everything but `PAD` is real."""
    return Padded(ids != PAD)


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Position i may attend to positions up to and including i.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def boolean_mask(mask: Tensor) -> Tensor:
    """The mask as booleans: True or 1 may attend, False or 0 may not. Anything else is refused."""
    if mask.dtype == torch.bool:
        return mask
    if mask.is_floating_point() or mask.is_complex():
        raise MaskError(
            f"the mask is of {mask.dtype}: whether its numbers are added to the scores or mean yes and no cannot be "
            "seen. Give booleans, True where a query may attend to a key: `mask > 0` for a mask of ones and zeros, "
            "`mask == 0` for one of 0 and -inf"
        )
    if not ((mask == 0) | (mask == 1)).all():
        raise MaskError(f"the mask is of {mask.dtype} and holds numbers other than 0 (may not) and 1 (may attend)")
    return mask.bool()
