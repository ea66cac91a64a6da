"""What `prepare` did, in numbers (report.json), and what a prepared corpus holds (`heedful data`).

docs/formats.md describes every field. Nothing here depends on the clock or the machine: the same input gives the same
report to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data import noise
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.manifest import SIDES, check_files, read_manifest
from heedful.text.cleaning import RULES, Ledger, Rules
from heedful.text.subwords import Subwords

_RARE = 10
"""A subword seen less often than this in training is called rare."""
_UNSEEN_CHARACTERS = 50
"""Characters listed, most frequent first."""


class SideCounts:
    """Counts of one side of a split: characters, subwords, lengths."""

    def __init__(self, vocab_size: int) -> None:
        self.characters = np.zeros(0x110000, np.int64)
        self.subwords = np.zeros(vocab_size, np.int64)
        self.lengths = np.zeros(1, np.int64)
        self.bytes = 0

    def add(self, texts: Sequence[str], raw: Sequence[bytes], *, dtype: np.dtype) -> None:
        text = "".join(texts)
        self.bytes += len(text) if text.isascii() else len(text.encode("utf-8"))
        codes, width = (text.encode("ascii"), np.uint8) if text.isascii() else (text.encode("utf-32-le"), np.uint32)
        counts = np.bincount(np.frombuffer(codes, width))
        self.characters[: len(counts)] += counts
        self.subwords += np.bincount(np.frombuffer(b"".join(raw), dtype), minlength=len(self.subwords))
        tokens = np.fromiter(map(len, raw), np.int64, len(raw)) // dtype.itemsize + 1
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
        "rare": int(((train.subwords > 0) & (train.subwords < _RARE)).sum()),
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
        for code in by_count[:_UNSEEN_CHARACTERS]
    ]
    return entry


def described(folder: Path, *, samples: int, seed: int, verify: bool) -> dict[str, Any]:
    """Sizes, lengths, and some pairs with their subwords."""
    manifest = read_manifest(folder)
    check_files(folder, manifest, contents=verify)
    splits: dict[str, Any] = {}
    for name in manifest.splits:
        corpus = Corpus(folder, name, verify=False)
        lengths = {side: lengths_report(np.bincount(getattr(corpus.lengths, side))) for side in SIDES}
        splits[name] = {"pairs": len(corpus), "lengths": lengths}
    return {
        "folder": str(folder),
        "bytes": sum(stored.bytes for stored in manifest.files.values()),
        "files": len(manifest.files),
        "verified": verify,
        "vocabularies": {side: getattr(manifest.vocabularies, side).size for side in SIDES},
        "shared_vocabulary": manifest.vocabularies.shared,
        "splits": splits,
        "samples": _samples(Corpus(folder, verify=False), count=samples, seed=seed),
    }


def fill(folder: Path, *, tokens: int, seed: int) -> dict[str, Any]:
    """How full the batches of one epoch are when a batch holds at most ``tokens`` on each side."""
    corpus = Corpus(folder, verify=False)
    lengths = corpus.lengths
    schedule = Schedule(lengths, source_budget=tokens, target_budget=tokens, seed=seed, weights=corpus.weights)
    plan = schedule.epoch(0)
    rows: list[tuple[int, int, int, int]] = []
    for index in range(len(plan)):
        pairs = plan.batch(index)
        here = lengths.of(pairs)
        rows.append((len(pairs), *here.totals, len(pairs) * int(here.source.max() + here.target.max())))
    pairs, s, t, places = np.array(rows).T
    return {
        "tokens": tokens,
        "steps_per_epoch": schedule.steps_per_epoch,
        "pairs": {"mean": float(pairs.mean()), "least": int(pairs.min()), "most": int(pairs.max())},
        "padded": float((s.sum() + t.sum()) / places.sum()),
        "fuller": float(np.maximum(s, t).mean() / tokens),
        "source": float(s.mean() / tokens),
        "target": float(t.mean() / tokens),
    }


def _samples(corpus: Corpus, *, count: int, seed: int) -> list[dict[str, Any]]:
    if not count:
        return []
    vocabularies = corpus.manifest.vocabularies
    subwords = {side: Subwords.load(corpus.folder / getattr(vocabularies, side).folder) for side in SIDES}
    draws = noise.bits(noise.key("samples", seed), np.arange(count)) % np.uint64(len(corpus))
    found: list[dict[str, Any]] = []
    for pair in draws.astype(np.int64):
        origin = corpus.origin(int(pair))
        texts = {side: subwords[side].pieces(getattr(corpus, side).ids(np.array([pair]))[0]) for side in SIDES}
        found.append({"corpus": origin.corpus, "line": origin.line, **texts})
    return found
