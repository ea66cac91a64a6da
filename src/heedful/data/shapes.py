"""The handful of static shapes that every packed batch has one of, so that compiled code is compiled that often.

A class is a longest sequence (a power of two). A batch whose longest side is ℓ may hold only so many pairs
(`most_pairs`), which the batching respects; with the token budgets this bounds everything in a piece. The bounds hold
for every batch of every epoch: tests look for a counter-example.
"""

from __future__ import annotations

from dataclasses import dataclass

ALIGNMENT = 128
"""Token buffers are a multiple of this: what matrix kernels like."""
MOST_CLASSES = 8
SHORTEST_CLASS = 16
CROWDING = 8
"""A batch may hold this many times the pairs it would hold if all were as long as its longest: almost never reached."""


@dataclass(frozen=True)
class Shape:
    """Every size in a packed piece."""

    max_length: int
    """No sequence is longer, on either side."""
    source_tokens: int
    target_tokens: int
    sequences: int
    """Sequences, fillers included; offsets have one entry more."""


def length_classes(longest: int) -> list[int]:
    """The longest-sequence classes for a corpus: at most eight powers of two, the last not below ``longest``.

    >>> length_classes(100), length_classes(16)
    ([16, 32, 64, 128], [16])
    """
    last = max(SHORTEST_CLASS, 1 << (longest - 1).bit_length())
    classes = [1 << power for power in range(SHORTEST_CLASS.bit_length() - 1, last.bit_length())]
    return classes[-MOST_CLASSES:]


def most_pairs(max_length: int, *, budget: int) -> int:
    """The pairs that a batch with a sequence of this class may hold."""
    return max(1, CROWDING * budget // max_length)


def shapes(longest: int, *, source_budget: int, target_budget: int, micro_batches: int = 1) -> list[Shape]:
    """Every shape that a piece can have, smallest sequences first."""
    found: list[Shape] = []
    for length in length_classes(longest):
        room = min(length, longest)
        source, target = (
            _aligned(min(budget, -(-budget // micro_batches) + _excess(micro_batches, room)))
            for budget in (source_budget, target_budget)
        )
        pairs = most_pairs(length, budget=max(source_budget, target_budget))
        fillers = -(-max(source, target) // length)
        found.append(Shape(length, source, target, min(pairs, source, target) + fillers))
    return found


def _excess(micro_batches: int, longest: int) -> int:
    """Tokens that a piece may have beyond its fair share: each halving errs by at most the longest pair."""

    def worst(pieces: int, excess: float) -> float:
        if pieces == 1:
            return excess
        larger = -(-pieces // 2)
        return max(worst(part, excess * part / pieces + longest) for part in (larger, pieces - larger))

    return int(worst(micro_batches, 0.0)) + 1 if micro_batches > 1 else 0


def _aligned(tokens: int) -> int:
    return -(-tokens // ALIGNMENT) * ALIGNMENT
