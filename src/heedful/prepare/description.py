"""What a prepared corpus holds (`heedful data`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from heedful.data import noise
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.manifest import SIDES, check_files, read_manifest
from heedful.prepare.encoding import lengths_report
from heedful.text.closed_vocabulary import load_vocabulary


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
    subwords = {side: load_vocabulary(corpus.folder / getattr(vocabularies, side).folder) for side in SIDES}
    draws = noise.bits(noise.key("samples", seed), np.arange(count)) % np.uint64(len(corpus))
    found: list[dict[str, Any]] = []
    for pair in draws.astype(np.int64):
        text, line = corpus.origin(int(pair))
        texts = {side: subwords[side].pieces(getattr(corpus, side).ids(np.array([pair]))[0]) for side in SIDES}
        found.append({"corpus": text, "line": line, **texts})
    return found
