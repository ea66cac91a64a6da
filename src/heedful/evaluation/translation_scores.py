"""Scores of whole test sets, each with the signature that says how it was computed, and all that outputs alone tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.errors import MissingExtraError
from heedful.evaluation.counts import Counted, bleu_counts, system_counts
from heedful.evaluation.paper_bleu import NAME as PAPER_BLEU
from heedful.evaluation.paper_bleu import paper_bleu_counts
from heedful.evaluation.sentences import Extremes, System, TestSet, extremes
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
class SystemReport:
    """Scores of the whole test set, and sentences to look at."""

    sentences: int
    scores: list[Score]
    left_out: dict[str, str]
    """The scores that could not be computed, and why."""
    notes: list[str]
    """What may be wrong with the outputs."""
    length_ratio: float
    examples: Extremes


def bleu(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU of detokenised, cased text, with sacreBLEU's defaults.

    >>> score = bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
    >>> round(score.value, 2), score.signature.partition("|version")[0]
    (53.73, 'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp')
    """
    counted = bleu_counts(outputs, references)
    return Score(counted.name, counted.value, counted.signature)


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
    language: str,
    examples: int = 5,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> SystemReport:
    """BLEU, paper-style BLEU, chrF and TER with their intervals, the ratio of lengths, and the extremes."""
    counts = system_counts(outputs, test.references)
    counted, left_out = [counts.bleu], {}
    try:
        counted.append(paper_bleu_counts(outputs, test.references, language=language))
    except MissingExtraError as missing:
        left_out[PAPER_BLEU] = str(missing)
    counted += [counts.chrf, counts.ter]
    return SystemReport(
        sentences=len(outputs),
        scores=[with_interval(score, resamples=resamples, seed=seed) for score in counted],
        left_out=left_out,
        notes=_notes(outputs, test.references),
        length_ratio=length_ratio(counts.bleu),
        examples=extremes(test, System(outputs, counts.chrf), count=examples),
    )


def _notes(outputs: Sequence[str], references: Sequence[str]) -> list[str]:
    tokenised, usual = (sum(line.endswith(" .") for line in lines) for lines in (outputs, references))
    if tokenised <= usual + len(outputs) * _TOKENISED_SHARE:
        return []
    return [
        f"{tokenised:,} outputs end in a space and a full stop, and {usual:,} references do: outputs must be "
        "detokenised, or their scores mean nothing"
    ]
