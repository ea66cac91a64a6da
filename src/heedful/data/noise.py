"""Randomness as a pure function: the same numbers for the same key, on every machine and with every numpy.

numpy keeps the right to change what its generators draw from release to release, and a resumed run must see the
batches it would have seen. So the numbers here are SplitMix64's: a hash of (key, position), with no state.
"""

from __future__ import annotations

import hashlib

import numpy as np

_STEP, _MIX_1, _MIX_2 = (
    np.uint64(constant) for constant in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def key(*parts: int | str) -> np.uint64:
    """One key out of several numbers and words; different parts give unrelated keys."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def bits(key: np.uint64, positions: np.ndarray) -> np.ndarray:
    """64 random bits for each position (uint64)."""
    with np.errstate(over="ignore"):
        z = positions.astype(np.uint64)
        z *= _STEP
        z += key
        z ^= z >> np.uint64(30)
        z *= _MIX_1
        z ^= z >> np.uint64(27)
        z *= _MIX_2
        z ^= z >> np.uint64(31)
    return z


def permutation(key: np.uint64, size: int) -> np.ndarray:
    """The numbers 0 … size - 1 in random order."""
    return np.argsort(bits(key, np.arange(size)), kind="stable")


def fraction(key: np.uint64) -> float:
    """One number in [0, 1)."""
    return float(bits(key, np.zeros(1))[0] >> np.uint64(11)) / (1 << 53)
