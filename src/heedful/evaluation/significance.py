"""Is one system better than another, or was it the luck of the test set? Two answers from paired draws.

Paired bootstrap resampling (Koehn, 2004): other test sets are imagined by drawing sentences with replacement, the same
ones for both systems. Approximate randomisation (Riezler and Maxwell, 2005): if the two were equally good, exchanging
their outputs of any sentence would change nothing; how often does chance alone make the difference as large as it is?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heedful.errors import ScoreError
from heedful.evaluation.counts import Counted, SystemCounts
from heedful.evaluation.resampling import RESAMPLES, SEED, TRIALS, Interval, bootstrap_sums, exchange_sums, interval

LEVEL = 0.05
"""A p-value below this is called significant."""
ROUNDING = 1e-9
"""Differences nearer than this are equal: they come from the same counts, added in another order."""


@dataclass(frozen=True)
class Bootstrap:
    """What paired bootstrap resampling says; a difference is B − A."""

    interval_a: Interval
    interval_b: Interval
    interval_difference: Interval
    b_wins: float
    """The share of resamples in which B is better than A; a tie counts half."""
    p_value: float
    """Two-sided: how often a resample's difference strays from their mean by as much as the measured difference."""


@dataclass(frozen=True)
class Comparison:
    """Two systems by one score; a difference is B − A."""

    name: str
    signature: str
    lower_is_better: bool
    a: float
    b: float
    difference: float
    bootstrap: Bootstrap
    randomisation_p_value: float
    """Two-sided."""

    def better(self, *, level: float = LEVEL) -> Literal["A", "B"] | None:
        """Which one is better, if approximate randomisation lets it be said at this level."""
        if self.randomisation_p_value >= level:
            return None
        return "B" if (self.difference > 0) != self.lower_is_better else "A"


def comparisons(
    a: SystemCounts, b: SystemCounts, *, resamples: int = RESAMPLES, trials: int = TRIALS, seed: int = SEED
) -> list[Comparison]:
    """Two systems by BLEU, chrF and TER."""
    pairs = ((a.bleu, b.bleu), (a.chrf, b.chrf), (a.ter, b.ter))
    return [compared(*pair, resamples=resamples, trials=trials, seed=seed) for pair in pairs]


def compared(
    a: Counted, b: Counted, *, resamples: int = RESAMPLES, trials: int = TRIALS, seed: int = SEED
) -> Comparison:
    """Two systems by one score, with both tests."""
    return Comparison(
        name=a.name,
        signature=a.signature,
        lower_is_better=a.lower_is_better,
        a=a.value,
        b=b.value,
        difference=b.value - a.value,
        bootstrap=paired_bootstrap(a, b, resamples=resamples, seed=seed),
        randomisation_p_value=approximate_randomisation(a, b, trials=trials, seed=seed),
    )


def paired_bootstrap(a: Counted, b: Counted, *, resamples: int = RESAMPLES, seed: int = SEED) -> Bootstrap:
    """Both systems on the same imagined test sets."""
    _require_comparable(a, b)
    drawn_a, drawn_b = (system.scores(bootstrap_sums(system.rows, resamples=resamples, seed=seed)) for system in (a, b))
    differences = drawn_b - drawn_a
    better = -differences if a.lower_is_better else differences
    wins = np.where(np.abs(better) <= ROUNDING, 0.5, better > 0)
    strayed = np.abs(differences - differences.mean())
    return Bootstrap(
        interval_a=interval(drawn_a),
        interval_b=interval(drawn_b),
        interval_difference=interval(differences),
        b_wins=float(wins.mean()),
        p_value=_p_value(strayed, b.value - a.value),
    )


def approximate_randomisation(a: Counted, b: Counted, *, trials: int = TRIALS, seed: int = SEED) -> float:
    """The two-sided p-value: how often chance alone makes a difference as large as the measured one."""
    _require_comparable(a, b)
    sums_a, sums_b = exchange_sums(a.rows, b.rows, trials=trials, seed=seed)
    return _p_value(np.abs(b.scores(sums_b) - a.scores(sums_a)), b.value - a.value)


def _p_value(by_chance: np.ndarray, measured: float) -> float:
    """The share of draws as large as the measured difference, itself among them, so that it is never 0."""
    as_large = int(np.count_nonzero(by_chance >= abs(measured) - ROUNDING))
    return (as_large + 1) / (len(by_chance) + 1)


def _require_comparable(a: Counted, b: Counted) -> None:
    assert a.signature == b.signature, "two systems are compared by one score"
    if len(a.rows) != len(b.rows):
        raise ScoreError(f"one system has {len(a.rows):,} outputs and the other {len(b.rows):,}: they must be paired")
