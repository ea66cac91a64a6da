"""Random draws of sentences, summed: the bootstrap's resamples and the randomisation's exchanges.

Both are products of a random matrix of whole numbers with the rows of counts, so every sum is exact in float64 and
the draws, made in blocks, never need more than some tens of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heedful.errors import ScoreError

RESAMPLES = 1_000
TRIALS = 10_000
SEED = 12345
"""What sacreBLEU draws with as well."""
BLOCK = 1 << 20
"""Entries of a random matrix at a time."""


@dataclass(frozen=True)
class Interval:
    """Where the middle 95 % of the resamples lie."""

    low: float
    high: float


def interval(drawn: np.ndarray) -> Interval:
    """The 2.5th and the 97.5th percentile."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(float(low), float(high))


def bootstrap_sums(rows: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Sums of as many rows as there are, drawn with replacement, [resamples, counts].

    The same number of rows and the same seed draw the same sentences, whatever the counts: that pairs two systems.
    """
    random = np.random.default_rng(seed)
    sums = [times_drawn(random, size, len(rows)) @ rows for size in _block_sizes(resamples, len(rows), "resamples")]
    return np.concatenate(sums)


def exchange_sums(rows_a: np.ndarray, rows_b: np.ndarray, *, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of two systems after each sentence changed sides with a probability of one half, [trials, counts] each."""
    random = np.random.default_rng(seed)
    sizes = _block_sizes(trials, len(rows_a), "trials")
    moved = np.concatenate([exchanged(random, size, len(rows_a)) @ (rows_b - rows_a) for size in sizes])
    return rows_a.sum(axis=0) + moved, rows_b.sum(axis=0) - moved


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
