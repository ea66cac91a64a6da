"""Is one system better than another, or was it the luck of the test set? Two answers from paired draws.

Paired bootstrap resampling (Koehn, 2004): other test sets are imagined by drawing sentences with replacement, the same
ones for both systems. Approximate randomisation (Riezler and Maxwell, 2005): if the two were equally good, exchanging
their outputs of any sentence would change nothing; how often does chance alone make the difference as large as it is?

Both are products of a random matrix of whole numbers with the rows of counts, so every sum is exact in float64 and
the draws, made in blocks, never need more than some tens of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heedful.errors import ScoreError
from heedful.evaluation.counts import Counted

RESAMPLES = 1_000
TRIALS = 10_000
SEED = 12345
"""What sacreBLEU draws with as well."""
BLOCK = 1 << 20
"""Entries of a random matrix at a time."""
LEVEL = 0.05
"""A p-value below this is called significant."""
_ROUNDING = 1e-9
"""Differences nearer than this are equal: they come from the same counts, added in another order."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """Where the middle 95 % of the resamples lie."""

    low: float
    high: float


@dataclass(frozen=True)
class Bootstrap:
    """What paired bootstrap resampling says; a difference is B − A."""

    interval_a: ConfidenceInterval
    interval_b: ConfidenceInterval
    interval_difference: ConfidenceInterval
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

    def better(self) -> Literal["A", "B"] | None:
        """Which one is better, if approximate randomisation lets it be said."""
        if self.randomisation_p_value >= LEVEL:
            return None
        return "B" if (self.difference > 0) != self.lower_is_better else "A"


def comparisons(
    a: Sequence[Counted], b: Sequence[Counted], *, resamples: int = RESAMPLES, trials: int = TRIALS, seed: int = SEED
) -> list[Comparison]:
    """Two systems by each of their scores, with both tests."""
    return [
        Comparison(
            name=own.name,
            signature=own.signature,
            lower_is_better=own.lower_is_better,
            a=own.value,
            b=other.value,
            difference=other.value - own.value,
            bootstrap=paired_bootstrap(own, other, resamples=resamples, seed=seed),
            randomisation_p_value=approximate_randomisation(own, other, trials=trials, seed=seed),
        )
        for own, other in zip(a, b, strict=True)
    ]


def paired_bootstrap(a: Counted, b: Counted, *, resamples: int = RESAMPLES, seed: int = SEED) -> Bootstrap:
    """Both systems on the same imagined test sets."""
    _require_comparable(a, b)
    drawn_a, drawn_b = (system.scores(bootstrap_sums(system.rows, resamples=resamples, seed=seed)) for system in (a, b))
    differences = drawn_b - drawn_a
    better = -differences if a.lower_is_better else differences
    wins = np.where(np.abs(better) <= _ROUNDING, 0.5, better > 0)
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
    # Each sentence changes sides with a probability of one half.
    random, sizes = np.random.default_rng(seed), _block_sizes(trials, len(a.rows), "trials")
    moved = np.concatenate([exchanged(random, size, len(a.rows)) @ (b.rows - a.rows) for size in sizes])
    by_chance = b.scores(b.rows.sum(axis=0) - moved) - a.scores(a.rows.sum(axis=0) + moved)
    return _p_value(np.abs(by_chance), b.value - a.value)


def _p_value(by_chance: np.ndarray, measured: float) -> float:
    """The share of draws as large as the measured difference, itself among them, so that it is never 0."""
    as_large = int(np.count_nonzero(by_chance >= abs(measured) - _ROUNDING))
    return (as_large + 1) / (len(by_chance) + 1)


def _require_comparable(a: Counted, b: Counted) -> None:
    assert a.signature == b.signature, "two systems are compared by one score"
    if len(a.rows) != len(b.rows):
        raise ScoreError(f"one system has {len(a.rows):,} outputs and the other {len(b.rows):,}: they must be paired")


def interval(drawn: np.ndarray) -> ConfidenceInterval:
    """The 2.5th and the 97.5th percentile."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return ConfidenceInterval(float(low), float(high))


def bootstrap_sums(rows: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Sums of as many rows as there are, drawn with replacement, [resamples, counts].

    The same number of rows and the same seed draw the same sentences, whatever the counts: that pairs two systems.
    """
    random, sizes = np.random.default_rng(seed), _block_sizes(resamples, len(rows), "resamples")
    return np.concatenate([times_drawn(random, size, len(rows)) @ rows for size in sizes])


def times_drawn(random: np.random.Generator, resamples: int, sentences: int) -> np.ndarray:
    """How often each sentence is in each resample, [resamples, sentences]."""
    drawn = random.choice(sentences, size=(resamples, sentences), replace=True)
    places = drawn + sentences * np.arange(resamples)[:, None]
    return np.bincount(places.ravel(), minlength=resamples * sentences).reshape(resamples, sentences).astype(float)


def exchanged(random: np.random.Generator, trials: int, sentences: int) -> np.ndarray:
    """1 where a sentence changes sides, else 0, [trials, sentences]."""
    return random.integers(2, size=(trials, sentences), dtype=bool).astype(float)


def _block_sizes(draws: int, sentences: int, name: str) -> Iterator[int]:
    if draws < 1:
        raise ScoreError(f"{draws} {name}: must be at least 1")
    at_once = max(1, BLOCK // sentences)
    for begin in range(0, draws, at_once):
        yield min(at_once, draws - begin)
