"""Chance that is the same on every machine: everything is drawn from `random.Random.random`, which Python pins."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Rng:
    """Draws that depend on the seed and the index alone."""

    def __init__(self, seed: int, index: int) -> None:
        # A text is hashed by SHA-512 inside, so near seeds have nothing in common.
        self._random = random.Random(f"heedful demo {seed} {index}").random

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self._random() * len(items))]

    def weighted(self, weights: Mapping[str, float]) -> str:
        """A key, as often as its weight says."""
        rest = self._random() * sum(weights.values())
        for key, weight in weights.items():
            rest -= weight
            if rest < 0:
                return key
        return [*weights][-1]  # rounding alone leads here
