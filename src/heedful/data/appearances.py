"""How often each pair comes in an epoch: weight w means ⌊w⌋ times, and once more in a share w - ⌊w⌋ of the epochs.

Which pairs come once more is a systematic sample: the pairs of one weight stand in a line sorted by length, and the
epoch takes them at even distances from a random start. So each pair has the same chance, and the lengths of the sample
are nearly the same each epoch. The sample's k-th pair lies in a known stretch of the line; the longest lengths there
bound it, whatever the epoch. That is what lets the number of batches be fixed in advance.

This module does not know of batches.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from heedful.data import noise
from heedful.data.corpus import Lengths


class Appearances:
    """All appearances of an epoch, numbered; which pair stands behind a number may change with the epoch."""

    def __init__(self, lengths: Lengths, *, weights: np.ndarray | None) -> None:
        self._lengths = lengths
        self._whole: np.ndarray | None = None
        self._samples: list[_Sample] = []
        if weights is not None and not np.all(weights == 1):
            self._whole = np.repeat(np.arange(len(lengths), dtype=np.uint32), weights.astype(np.int64))
            self._samples = [_Sample(weights, share, lengths) for share in np.unique(weights % 1).tolist() if share > 0]

    def __len__(self) -> int:
        whole = len(self._lengths) if self._whole is None else len(self._whole)
        return whole + sum(sample.size for sample in self._samples)

    @cached_property
    def bounds(self) -> Lengths:
        """Tokens that each appearance has at most, whatever the epoch."""
        if self._whole is None:
            return self._lengths
        parts = [self._lengths.of(self._whole), *(sample.bounds for sample in self._samples)]
        return Lengths(np.concatenate([p.source for p in parts]), np.concatenate([p.target for p in parts]))

    def pairs(self, appearances: np.ndarray, *, seed: int, epoch: int) -> np.ndarray:
        """The pairs behind the appearances in this epoch."""
        if self._whole is None:
            return appearances
        drawn = [sample.pairs(noise.key("sample", number, seed, epoch)) for number, sample in enumerate(self._samples)]
        return np.concatenate([self._whole, *drawn])[appearances]


class _Sample:
    """A share of the pairs of one fractional weight."""

    def __init__(self, weights: np.ndarray, share: float, lengths: Lengths) -> None:
        members = np.flatnonzero(weights % 1 == share).astype(np.uint32)
        self._line = members[np.lexsort((members, lengths.target[members], lengths.source[members]))]
        self.size = max(1, round(share * len(members)))
        self._lengths = lengths.of(self._line)
        self._cells = self._lengths.source.astype(np.int64) << 32 | self._lengths.target

    @cached_property
    def bounds(self) -> Lengths:
        # The k-th of the sample lies at (k + u) * distance with 0 <= u < 1, rounded down.
        count = len(self._line)
        first = np.arange(self.size, dtype=np.int64) * count // self.size
        last = np.minimum(count, -(-np.arange(1, self.size + 1, dtype=np.int64) * count // self.size) + 1)
        return Lengths(*(_window_maxima(side, first, last) for side in (self._lengths.source, self._lengths.target)))

    def pairs(self, key: np.uint64) -> np.ndarray:
        # Pairs of equal length change places, so that neighbours in the line are not bound to the same epochs.
        order = np.lexsort((noise.bits(key, self._line), self._cells))
        count = len(self._line)
        places = ((np.arange(self.size) + noise.fraction(key)) * (count / self.size)).astype(np.int64)
        return self._line[order[np.minimum(places, count - 1)]]


def _window_maxima(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """max(values[first:last]) for each window; the windows are in order and of nearly one size."""
    # reduceat takes pairs (first, last) and gives the maximum at each even place.
    padded = np.append(values, values[-1:])
    return np.maximum.reduceat(padded, np.stack((first, last), axis=1).ravel())[::2]
