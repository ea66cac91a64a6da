"""Which sentences to look at: the worst, the middling and the best of one system, and where two differ most.

Sentences are ordered by chrF, which unlike BLEU says something of a single sentence; equal ones stay in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heedful.evaluation.counts import Counted


@dataclass(frozen=True)
class TestSet:
    """What was to be translated, if it is known, and how it should be."""

    __test__ = False  # pytest takes a name like this for a test

    references: Sequence[str]
    sources: Sequence[str] | None = None

    def source(self, place: int) -> str | None:
        """The source of a sentence, counted from 0."""
        return None if self.sources is None else self.sources[place]


@dataclass(frozen=True)
class System:
    """The outputs of a system and their chrF, counted for each sentence."""

    outputs: Sequence[str]
    chrf: Counted

    @property
    def scores(self) -> np.ndarray:
        """The chrF of each sentence."""
        return self.chrf.scores(self.chrf.rows)


@dataclass(frozen=True)
class ShownSentence:
    """A translation to look at; lines are counted from 1."""

    line: int
    chrf: float
    source: str | None
    reference: str
    output: str


@dataclass(frozen=True)
class TwoOutputs:
    """A sentence that two systems translate differently; lines are counted from 1."""

    line: int
    chrf_a: float
    chrf_b: float
    source: str | None
    reference: str
    output_a: str
    output_b: str


@dataclass(frozen=True)
class Extremes:
    """The ends and the middle of a test set, each from the worst to the best of it."""

    worst: list[ShownSentence]
    median: list[ShownSentence]
    best: list[ShownSentence]


@dataclass(frozen=True)
class Leads:
    """Where two systems differ most, the widest lead first."""

    a: list[TwoOutputs]
    b: list[TwoOutputs]


def extremes(test: TestSet, system: System, *, count: int) -> Extremes:
    """So many sentences, or all if there are fewer, from each end of the order and from its middle."""
    scores = system.scores
    order = np.argsort(scores, kind="stable")
    count = min(count, len(order))
    middle = (len(order) - count) // 2

    def shown(places: np.ndarray) -> list[ShownSentence]:
        return [
            ShownSentence(i + 1, float(scores[i]), test.source(i), test.references[i], system.outputs[i])
            for i in map(int, places)
        ]

    return Extremes(
        worst=shown(order[:count]),
        median=shown(order[middle : middle + count]),
        best=shown(order[len(order) - count :]),
    )


def leads(test: TestSet, a: System, b: System, *, count: int) -> Leads:
    """The sentences, at most so many, at which A leads by most, and those at which B does."""
    scores_a, scores_b = a.scores, b.scores

    def shown(lead: np.ndarray) -> list[TwoOutputs]:
        places = [int(i) for i in np.argsort(-lead, kind="stable") if lead[i] > 0]
        return [
            TwoOutputs(
                line=i + 1,
                chrf_a=float(scores_a[i]),
                chrf_b=float(scores_b[i]),
                source=test.source(i),
                reference=test.references[i],
                output_a=a.outputs[i],
                output_b=b.outputs[i],
            )
            for i in places[:count]
        ]

    return Leads(a=shown(scores_a - scores_b), b=shown(scores_b - scores_a))
