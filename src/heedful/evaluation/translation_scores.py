"""Scores of whole test sets, each with the signature that says how it was computed, and the sentences to look at.

The worst, the middling and the best of one system, and where two differ most: sentences are ordered by chrF, which
unlike BLEU says something of a single sentence; equal ones stay in their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heedful.errors import MissingExtraError, ScoreError
from heedful.evaluation.counts import PAPER_BLEU, Counted, SystemCounts, paper_bleu_counts, system_counts
from heedful.evaluation.significance import RESAMPLES, SEED, ConfidenceInterval, bootstrap_sums, interval

_TOKENISED_SHARE = 0.1
"""How many more outputs than references must look tokenised to be suspicious."""


@dataclass(frozen=True)
class Score:
    """A number and how it came about."""

    name: str
    value: float
    signature: str
    interval: ConfidenceInterval | None = None
    lower_is_better: bool = False


@dataclass(frozen=True)
class TestSet:
    """What was to be translated, if it is known, and how it should be."""

    __test__ = False  # pytest takes a name like this for a test

    references: Sequence[str]
    sources: Sequence[str] | None = None

    def texts(self, place: int) -> tuple[str | None, str]:
        """Source and reference of a sentence, counted from 0."""
        return None if self.sources is None else self.sources[place], self.references[place]


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


@dataclass(frozen=True)
class SystemReport:
    """Scores of the whole test set, and sentences to look at."""

    sentences: int
    scores: list[Score]
    left_out: dict[str, str]
    """The scores that could not be computed, and why."""
    notes: list[str]
    """What may be wrong with the outputs."""
    length_ratio: float | None
    """None of what is no text."""
    examples: Extremes


def with_interval(counted: Counted, *, resamples: int = RESAMPLES, seed: int = SEED) -> Score:
    """A score and the 95 % interval of what other sentences of the same kind would have given."""
    drawn = counted.scores(bootstrap_sums(counted.rows, resamples=resamples, seed=seed))
    return Score(counted.name, counted.value, counted.signature, interval(drawn), counted.lower_is_better)


def length_ratio(bleu: Counted) -> float:
    """Words of the outputs for each word of the references, from the counts of a BLEU; 0 without any reference."""
    output_length, reference_length = bleu.rows[:, 0].sum(), bleu.rows[:, 1].sum()
    return float(output_length / reference_length) if reference_length else 0.0


def perplexity(negative_log_likelihood: float, count: float) -> float:
    """exp of the mean negative log-likelihood; infinity where that is too large for a number.

    >>> round(perplexity(3 * math.log(7), 3), 6)
    7.0
    """
    mean = negative_log_likelihood / max(count, 1)
    return math.exp(mean) if mean < 700 else math.inf


def system_report(
    test: TestSet,
    outputs: Sequence[str],
    *,
    language: str | None,
    examples: int = 5,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> SystemReport:
    """BLEU, paper-style BLEU, chrF and TER with their intervals, the ratio of lengths, and the extremes."""
    counts = system_counts(outputs, test.references)
    counted, left_out = [counts.bleu], {}
    try:
        counted.append(paper_bleu_counts(outputs, test.references, language=language))
    except (MissingExtraError, ScoreError) as missing:
        left_out[PAPER_BLEU] = str(missing)
    counted += [counts.chrf, counts.ter]
    return SystemReport(
        sentences=len(outputs),
        scores=[with_interval(score, resamples=resamples, seed=seed) for score in counted],
        left_out=left_out,
        notes=_notes(outputs, test.references),
        length_ratio=length_ratio(counts.bleu),
        examples=extremes(test, outputs, counts.chrf, count=examples),
    )


def extremes(test: TestSet, outputs: Sequence[str], chrf: Counted, *, count: int) -> Extremes:
    """So many sentences, or all if there are fewer, from each end of the order by chrF and from its middle."""
    scores = chrf.sentence_scores
    order: list[int] = np.argsort(scores, kind="stable").tolist()
    count = min(count, len(order))
    middle = (len(order) - count) // 2

    def shown(begin: int) -> list[ShownSentence]:
        return [ShownSentence(i + 1, scores[i], *test.texts(i), outputs[i]) for i in order[begin : begin + count]]

    return Extremes(worst=shown(0), median=shown(middle), best=shown(len(order) - count))


def leads(test: TestSet, a: SystemCounts, b: SystemCounts, *, count: int) -> Leads:
    """The sentences, at most so many, at which A leads by most, and those at which B does."""
    scores_a, scores_b = a.chrf.sentence_scores, b.chrf.sentence_scores
    lead = np.subtract(scores_a, scores_b)

    def shown(lead: np.ndarray) -> list[TwoOutputs]:
        places: list[int] = [i for i in np.argsort(-lead, kind="stable").tolist() if lead[i] > 0]
        return [
            TwoOutputs(i + 1, scores_a[i], scores_b[i], *test.texts(i), a.outputs[i], b.outputs[i])
            for i in places[:count]
        ]

    return Leads(a=shown(lead), b=shown(-lead))


def _notes(outputs: Sequence[str], references: Sequence[str]) -> list[str]:
    tokenised, usual = (sum(line.endswith(" .") for line in lines) for lines in (outputs, references))
    if tokenised <= usual + len(outputs) * _TOKENISED_SHARE:
        return []
    return [
        f"{tokenised:,} outputs end in a space and a full stop, and {usual:,} references do: outputs must be "
        "detokenised, or their scores mean nothing"
    ]
