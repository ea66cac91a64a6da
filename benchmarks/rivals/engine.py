"""What every toolkit is asked, and what it answers: plain data, so that it can cross to another environment.

This module and `worker` run under every toolkit's own Python and packages: they import the standard library alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

PAD, START, END = 0, 1, 2
"""heedful's control ids, which real weights were trained with."""
FIRST_WORD = 4
"""No toolkit has a control id from here on."""


@dataclass(frozen=True)
class Sizes:
    """A model of the paper's shape, one matrix for source, target and output."""

    layers: int
    d_model: int
    d_ff: int
    num_heads: int
    vocab_size: int


@dataclass(frozen=True)
class Search:
    """How to decode: exactly so many steps, or until the sentences end by themselves."""

    beam_size: int
    batch: int
    """Sentences decoded together."""
    forced_steps: int = 0
    """If not 0: the decoder takes exactly so many steps for each sentence; the last may give the end symbol."""
    max_extra_length: int = 50
    length_penalty: float = 0.6


@dataclass(frozen=True)
class Engine:
    """A toolkit with a model in it."""

    parameters: int
    versions: dict[str, str]
    decode: Callable[[list[list[int]], Search], list[list[int]]]
    """Sources (words, without control ids) to the ids of the best hypothesis of each, one for each step."""


def batches(sources: Sequence[list[int]], size: int) -> Iterator[list[int]]:
    """The places of similar lengths together, longest first."""
    order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]


def in_order(found: dict[int, list[int]]) -> list[list[int]]:
    """What was found for each place, by place."""
    return [found[place] for place in range(len(found))]
