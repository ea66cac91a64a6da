"""What `prepare` did, in numbers: report.json, and the facts behind the table that the command prints.

docs/formats.md describes every field. Nothing here depends on the clock or the machine: the same input gives the same
report to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heedful.text.cleaning import RULES, Ledger, Rules

RARE = 10
"""A subword seen less often than this in training is called rare."""
UNSEEN_CHARACTERS = 50
"""Characters listed, most frequent first."""


class SideCounts:
    """Counts of one side of a split: characters, subwords, lengths."""

    def __init__(self, vocab_size: int) -> None:
        self.characters = np.zeros(0x110000, np.int64)
        self.subwords = np.zeros(vocab_size, np.int64)
        self.lengths = np.zeros(1, np.int64)
        self.bytes = 0

    def add(self, texts: Sequence[str], raw: Sequence[bytes], *, dtype: type[np.unsignedinteger]) -> None:
        text = "".join(texts)
        self.bytes += len(text) if text.isascii() else len(text.encode("utf-8"))
        codes = _codes(text)
        counts = np.bincount(codes) if len(codes) else np.zeros(0, np.int64)
        self.characters[: len(counts)] += counts
        self.subwords += np.bincount(np.frombuffer(b"".join(raw), dtype), minlength=len(self.subwords))
        tokens = np.fromiter(map(len, raw), np.int64, len(raw)) // np.dtype(dtype).itemsize + 1
        found = np.bincount(tokens, minlength=len(self.lengths))
        found[: len(self.lengths)] += self.lengths
        self.lengths = found


def lengths_report(lengths: np.ndarray) -> dict[str, Any]:
    """Statistics of token counts (END included) out of how often each occurs."""
    pairs = int(lengths.sum())
    if not pairs:
        return {"tokens": 0, "mean": 0.0, "median": 0, "p95": 0, "p99": 0, "longest": 0, "histogram": {}}
    tokens = int((lengths * np.arange(len(lengths))).sum())
    below = np.cumsum(lengths)
    quantiles = {name: int(np.searchsorted(below, share * pairs)) for name, share in
                 (("median", 0.5), ("p95", 0.95), ("p99", 0.99))}  # fmt: skip
    longest = int(np.flatnonzero(lengths)[-1])
    histogram: dict[str, int] = {}
    low, high = 1, 4
    while low <= longest:
        histogram[f"{low}-{high}"] = int(lengths[low : high + 1].sum())
        low, high = high + 1, high * 2
    return {"tokens": tokens, "mean": round(tokens / pairs, 2), **quantiles, "longest": longest, "histogram": histogram}


def rules_report(ledger: Ledger, rules: Rules) -> dict[str, Any]:
    """Every rule in its order: whether it judged, how many pairs it removed, and samples."""
    return {
        name: {
            "about": about,
            "on": rules.judges(name),
            "removed": ledger.removed[name].count,
            "samples": ledger.removed[name].samples,
        }
        for name, about in RULES.items()
    }


def vocabulary_report(train: SideCounts, valid: SideCounts | None, *, trained: dict[str, Any]) -> dict[str, Any]:
    """How well the vocabulary covers one side."""
    tokens = int(train.subwords.sum())
    entry: dict[str, Any] = {
        **trained,
        "used": int((train.subwords > 0).sum()),
        "rare": int(((train.subwords > 0) & (train.subwords < RARE)).sum()),
        "bytes_per_subword": round(train.bytes / max(1, tokens), 2),
    }
    if valid is not None:
        seen = int(valid.subwords[train.subwords > 0].sum())
        entry["validation_coverage"] = round(seen / max(1, int(valid.subwords.sum())), 6)
    return entry


def characters_report(train: SideCounts, valid: SideCounts | None) -> dict[str, Any]:
    """The characters of one side, and those of the validation text that training never shows."""
    entry: dict[str, Any] = {"distinct": int((train.characters > 0).sum())}
    if valid is None:
        return entry
    unseen = np.flatnonzero((valid.characters > 0) & (train.characters == 0))
    by_count = unseen[np.argsort(-valid.characters[unseen], kind="stable")]
    entry["validation_unseen"] = len(unseen)
    entry["validation_unseen_samples"] = [
        {"character": chr(code), "code": f"U+{code:04X}", "count": int(valid.characters[code])}
        for code in by_count[:UNSEEN_CHARACTERS]
    ]
    return entry


def _codes(text: str) -> np.ndarray:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
