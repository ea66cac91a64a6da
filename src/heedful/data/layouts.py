"""The ids of a micro-batch in two layouts: padded rectangles, and one packed line of tokens with offsets.

Both hold the same tokens: the encoder sees a sentence and END, the decoder is given START and the sentence, and must
say the sentence and END. What fills the rest is PAD, which the loss leaves out. An empty micro-batch is a
rectangle of no rows, or a packed line of PAD; its ``tokens`` is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heedful.data.corpus import Corpus, Lengths, Side
from heedful.data.micro_batches import Shape
from heedful.errors import BatchError
from heedful.symbols import END, PAD, START


@dataclass(frozen=True, eq=False)
class PaddedIds:
    """Rows are sentences; shorter ones end in PAD. All arrays are int32."""

    source: np.ndarray
    """[B, S]"""
    target_input: np.ndarray
    """[B, T]"""
    target_output: np.ndarray
    """[B, T]"""
    tokens: int
    """Target tokens that count in the loss."""


@dataclass(frozen=True, eq=False)
class PackedIds:
    """All sentences in one line; sentence i of a side is ``[offsets[i] : offsets[i + 1]]``. All arrays are int32.

    After the sentences comes padding: sequences of PAD, none longer than ``max_length``, so that every token belongs to
    a sequence. One may be empty on one side and not on the other: attention over no keys must give 0, as
    `torch.nn.attention.varlen` does, forward and backward. The remaining offsets
    repeat the last one, the size of the line.
    """

    source: np.ndarray
    target_input: np.ndarray
    target_output: np.ndarray
    source_offsets: np.ndarray
    target_offsets: np.ndarray
    max_length: int
    sequences: int
    """Real sentences; padding comes after them."""
    tokens: int
    """Target tokens that count in the loss."""


def padded_ids(corpus: Corpus, pairs: np.ndarray) -> PaddedIds:
    """The pairs as rectangles, as wide as the longest of each side."""
    source, source_lengths = corpus.source.ids(pairs)
    target, target_lengths = corpus.target.ids(pairs)
    return PaddedIds(
        source=_rows(source, source_lengths, last=END),
        target_input=_rows(target, target_lengths, first=START),
        target_output=_rows(target, target_lengths, last=END),
        tokens=int(target_lengths.sum()) + len(pairs),
    )


def packed_ids(corpus: Corpus, pairs: np.ndarray, *, shape: Shape) -> PackedIds:
    """The pairs in one line of exactly the shape's sizes."""
    source, source_offsets = _line(corpus.source, pairs, size=shape.source_tokens, last=END)
    target_output, target_offsets = _line(corpus.target, pairs, size=shape.target_tokens, last=END)
    target_input = np.full_like(target_output, PAD)
    tokens = int(target_offsets[-1])
    # What goes in is what comes out one place later.
    target_input[1:tokens] = target_output[: max(0, tokens - 1)]
    target_input[target_offsets[:-1]] = START
    paddings = _padding_count(shape, source=int(source_offsets[-1]), target=tokens)
    return PackedIds(
        source,
        target_input,
        target_output,
        _all_offsets(source_offsets, paddings, size=shape.source_tokens, entries=shape.sequences + 1),
        _all_offsets(target_offsets, paddings, size=shape.target_tokens, entries=shape.sequences + 1),
        max_length=shape.max_length,
        sequences=len(pairs),
        tokens=tokens,
    )


def shape_of(pairs: np.ndarray, *, lengths: Lengths, among: Sequence[Shape]) -> Shape:
    """The first shape that holds the pairs; ``lengths`` are those of the whole corpus."""
    here = lengths.of(pairs)
    longest, totals = here.longest, here.totals
    for shape in among:
        fits = totals[0] <= shape.source_tokens and totals[1] <= shape.target_tokens and longest <= shape.max_length
        if fits and len(pairs) + _padding_count(shape, source=totals[0], target=totals[1]) <= shape.sequences:
            return shape
    sizes = f"{len(pairs)} pairs, {totals[0]} and {totals[1]} tokens, the longest {longest}"
    raise BatchError(f"no shape holds {sizes}: the shapes were made for another schedule")


def _padding_count(shape: Shape, *, source: int, target: int) -> int:
    rest = max(shape.source_tokens - source, shape.target_tokens - target)
    return -(-rest // shape.max_length)


def _all_offsets(offsets: np.ndarray, paddings: int, *, size: int, entries: int) -> np.ndarray:
    """The sentences' offsets, those of padding (the rest dealt evenly), and the last one repeated."""
    begin = int(offsets[-1])
    ends = begin + (np.arange(1, paddings + 1) * (size - begin)) // max(1, paddings)
    known = np.concatenate((offsets, ends))
    assert len(known) <= entries, "the shape has too few sequences for these pairs"
    return np.concatenate((known, np.full(entries - len(known), size))).astype(np.int32)


def _line(side: Side, pairs: np.ndarray, *, size: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """The sentences one after the other, each closed by ``last``, then PAD; and the sentences' offsets."""
    ids, lengths = side.ids(pairs)
    offsets = np.concatenate(([0], np.cumsum(lengths + 1)))
    line = np.full(size, PAD, np.int32)
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
