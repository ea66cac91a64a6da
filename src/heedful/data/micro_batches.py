"""A step's batch dealt into micro-batches of nearly equal token counts on both sides.

The batch is halved, and the halves again. Seen as a ring of sentence pairs, it always has an arc with exactly half of
the source tokens and half of the target tokens (cut through sentences if need be): slide an arc with half of the
source once around; averaged over the way it has half of the target, so somewhere it has exactly half. The ends of
that arc are moved to the nearest edge of a sentence, so a half is off by at most the longest sentence.
Arcs keep neighbours together, so micro-batches stay alike in length.

This module does not know of processes; rank r of R takes micro-batches r, r + R, ….
"""

from __future__ import annotations

import numpy as np

from heedful.data.corpus import Lengths


def micro_batches(pairs: np.ndarray, *, count: int, lengths: Lengths) -> list[np.ndarray]:
    """The batch in ``count`` micro-batches, some empty where it has fewer pairs; ``lengths``: of the whole corpus."""
    if count == 1:
        return [pairs]
    larger = -(-count // 2)
    inside = _arc(lengths.of(pairs), share=larger / count)
    first = micro_batches(pairs[inside], count=larger, lengths=lengths)
    return first + micro_batches(pairs[~inside], count=count - larger, lengths=lengths)


def _arc(lengths: Lengths, *, share: float) -> np.ndarray:
    """Which places of the ring lie in an arc with this share of the source and of the target."""
    size = len(lengths)
    if not size:
        return np.zeros(0, bool)
    s, t = (np.concatenate(([0.0], np.cumsum(side))) for side in (lengths.source, lengths.target))
    around = np.concatenate((s, s[1:] + s[-1]))
    target_around = np.concatenate((t, t[1:] + t[-1]))
    width = share * s[-1]
    # The arc's target is piecewise linear in its start: it bends where either end meets a sentence's edge.
    starts = np.unique(np.concatenate((s, (s - width) % s[-1], [s[-1]])))
    surplus = (
        np.interp(starts + width, around, target_around) - np.interp(starts, around, target_around) - share * t[-1]
    )
    below = np.flatnonzero((surplus[:-1] <= 0) != (surplus[1:] <= 0))
    if len(below):
        i = below[0]
        start = starts[i] + (starts[i + 1] - starts[i]) * surplus[i] / (surplus[i] - surplus[i + 1])
    else:  # everywhere the same, up to rounding
        start = starts[np.abs(surplus).argmin()]
    begin, end = _nearest(around, float(start)), _nearest(around, float(start + width))
    inside = np.zeros(size, bool)
    inside[np.arange(begin, end) % size] = True
    return inside


def _nearest(edges: np.ndarray, position: float) -> int:
    after = min(int(np.searchsorted(edges, position)), len(edges) - 1)
    before = max(after - 1, 0)
    return before if position - edges[before] < edges[after] - position else after


def most_tokens(budget: int, *, micro_batches: int, longest: int) -> int:
    """Tokens that one of so many micro-batches can have on a side, given the batch's budget and longest sentence."""
    return min(budget, -(-budget // micro_batches) + _excess(micro_batches, longest))


def _excess(micro_batches: int, longest: int) -> int:
    """Tokens that a micro-batch may have beyond its fair share: each halving errs by at most the longest pair."""

    def worst(count: int, excess: float) -> float:
        if count == 1:
            return excess
        larger = -(-count // 2)
        return max(worst(part, excess * part / count + longest) for part in (larger, count - larger))

    return int(worst(micro_batches, 0.0)) + 1 if micro_batches > 1 else 0
