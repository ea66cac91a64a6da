"""What goes into a search and what comes out of it: ids, whatever computes. Needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from heedful.search.options import SearchOptions
    from heedful.search.required import Term


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence to be translated."""

    number: int
    """Its place in the input: its samples depend on it, and nothing else."""
    source: np.ndarray
    """Ids, without control ids."""
    prefix: tuple[int, ...] = ()
    """Words that the output begins with."""
    required: tuple[Term, ...] = ()
    """What the output must hold, in this order."""
    avoided: tuple[int, ...] = ()
    """Words that an output which must hold something does not say."""
    begins: int = 0
    """The state of the search's constraint in which the output begins: `heedful.search.spelling.BEGIN`, or another."""
    n_best: int | None = None
    """Hypotheses that are wanted, if not as many as the options say."""
    limit: int | None = None
    """The most words of the output, if fewer than the options allow."""


@dataclass(frozen=True)
class Hypothesis:
    """A finished output."""

    ids: np.ndarray
    """Its words, without control ids."""
    log_probability: float
    """Of the words and the end symbol."""
    score: float
    """The log-probability divided by the length penalty: what hypotheses are ranked by."""
    rows: np.ndarray
    """The beam in which each position was computed, the start symbol's first."""


def with_freed(
    decode: Callable[[Sequence[Sentence], SearchOptions], Iterator[tuple[Sentence, list[Hypothesis]]]],
    sentences: Sequence[Sentence],
    options: SearchOptions,
) -> Iterator[tuple[Sentence, list[Hypothesis]]]:
    """What is decoded for each sentence, without what its output must hold where no output can hold that."""
    yield from decode([sentence for sentence in sentences if not sentence.required], options)
    stuck: dict[int, Sentence] = {}
    for sentence, hypotheses in decode([sentence for sentence in sentences if sentence.required], options):
        if hypotheses:
            yield sentence, hypotheses
        else:
            stuck[sentence.number] = sentence
    freed = [replace(sentence, required=()) for sentence in stuck.values()]
    yield from ((stuck[sentence.number], hypotheses) for sentence, hypotheses in decode(freed, options))
