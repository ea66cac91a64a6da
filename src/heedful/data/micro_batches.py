"""A step's batch dealt into micro-batches, and the ids of one, padded or packed.

The batch is halved, and the halves again. Seen as a ring of sentence pairs, it always has an arc with exactly half of
the source tokens and half of the target tokens (cut through sentences if need be): slide an arc with half of the
source once around; averaged over the way it has half of the target, so somewhere it has exactly half. The ends of
that arc are moved to the nearest edge of a sentence, so a half is off by at most the longest sentence.
Arcs keep neighbours together, so micro-batches stay alike in length.

There are two layouts: padded rectangles, and one packed line of tokens with offsets. Both hold the same tokens: the
encoder sees a sentence and END, the decoder is given START and the sentence, and must say the sentence and END. What
fills the rest is PAD, which the loss leaves out. An empty micro-batch is a rectangle of no rows, or a packed line of
PAD.

This module does not know of processes; rank r of R takes micro-batches r, r + R, ….
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heedful.data.corpus import Corpus, Lengths, Side
from heedful.symbols import END, PAD, START

_ALIGNMENT = 128
"""Packed lines are a multiple of this: what matrix kernels like."""


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
    """Tokens that one of so many micro-batches can have on a side, given the batch's budget and longest sentence.

    That is its fair share and an excess: each halving errs by at most the longest sentence.
    """

    def excess(count: int, before: float = 0.0) -> float:
        if count == 1:
            return before
        larger = -(-count // 2)
        return max(excess(part, before * part / count + longest) for part in (larger, count - larger))

    if micro_batches == 1:
        return budget
    return min(budget, -(-budget // micro_batches) + int(excess(micro_batches)) + 1)


class PaddedIds(NamedTuple):
    """Rows are sentences; shorter ones end in PAD. The source is [B, S], the others [B, T], all int32."""

    source: np.ndarray
    target_input: np.ndarray
    target_output: np.ndarray


class PackedIds(NamedTuple):
    """All sentences in one line; sentence i of a side is ``[offsets[i] : offsets[i + 1]]``. All arrays are int32.

    After the sentences comes PAD, which belongs to none, up to the next of a few sizes (`packed_size`): each pair of
    sizes costs the capture of a CUDA graph. The remaining offsets repeat the last one.
    """

    source: np.ndarray
    target_input: np.ndarray
    target_output: np.ndarray
    source_offsets: np.ndarray
    target_offsets: np.ndarray


def padded_ids(corpus: Corpus, pairs: np.ndarray) -> PaddedIds:
    """The pairs as rectangles, as wide as the longest of each side."""
    source, source_lengths = corpus.source.ids(pairs)
    target, target_lengths = corpus.target.ids(pairs)
    return PaddedIds(
        source=_rows(source, source_lengths, last=END),
        target_input=_rows(target, target_lengths, first=START),
        target_output=_rows(target, target_lengths, last=END),
    )


def packed_ids(corpus: Corpus, pairs: np.ndarray) -> PackedIds:
    """The pairs in one line of each side."""
    source, source_offsets = _line(corpus.source, pairs, last=END)
    target_output, target_offsets = _line(corpus.target, pairs, last=END)
    target_input = np.full_like(target_output, PAD)
    tokens = int(target_offsets[len(pairs)])
    # What goes in is what comes out one place later.
    target_input[1:tokens] = target_output[: max(0, tokens - 1)]
    target_input[target_offsets[: len(pairs)]] = START
    entries = min(len(source), len(target_output)) + 1  # every sentence has a token on each side
    source_offsets, target_offsets = (
        np.pad(offsets, (0, entries - len(offsets)), mode="edge").astype(np.int32)
        for offsets in (source_offsets, target_offsets)
    )
    return PackedIds(source, target_input, target_output, source_offsets, target_offsets)


def packed_size(tokens: int) -> int:
    """The next size that a packed line may have: of 16 to 32 steps to the next power of two, and no less than 128.

    >>> packed_size(23_534), packed_size(100), packed_size(25_600)
    (23552, 128, 25600)
    """
    step = max(_ALIGNMENT, 1 << max(0, (tokens - 1).bit_length() - 6))
    return max(1, -(-tokens // step)) * step


def _line(side: Side, pairs: np.ndarray, *, last: int) -> tuple[np.ndarray, np.ndarray]:
    """The sentences one after the other, each closed by ``last``, then PAD; and the sentences' offsets."""
    ids, lengths = side.ids(pairs)
    offsets = np.concatenate(([0], np.cumsum(lengths + 1)))
    line = np.full(packed_size(int(offsets[-1])), PAD, np.int32)
    ends = offsets[1:] - 1
    inside = np.ones(int(offsets[-1]), bool)
    inside[ends] = False
    line[: len(inside)][inside] = ids
    line[ends] = last
    return line, offsets


def _rows(ids: np.ndarray, lengths: np.ndarray, *, first: int | None = None, last: int | None = None) -> np.ndarray:
    """Sentences as rows with one control id before or after each."""
    width = int(lengths.max(initial=0)) + 1
    rows = np.full((len(lengths), width), PAD, np.int32)
    shift = 0 if first is None else 1
    columns = np.arange(width)
    rows[(columns >= shift) & (columns < lengths[:, None] + shift)] = ids
    if first is not None:
        rows[:, 0] = first
    if last is not None:
        rows[np.arange(len(lengths)), lengths] = last
    return rows
