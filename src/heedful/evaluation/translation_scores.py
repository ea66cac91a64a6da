"""Scores of whole test sets, each with the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.evaluation.counts import Counted, bleu_counts
from heedful.evaluation.resampling import RESAMPLES, SEED, Interval, bootstrap_sums, interval


@dataclass(frozen=True)
class Score:
    """A number and how it came about."""

    name: str
    value: float
    signature: str
    interval: Interval | None = None
    lower_is_better: bool = False


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
