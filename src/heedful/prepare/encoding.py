"""The second pass: the subwords, given or learned from the clean text, and the text encoded by them and stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heedful.background import Report
from heedful.config import DataConfig
from heedful.data import noise
from heedful.data.corpus import SplitWriter
from heedful.data.manifest import IntegerType, StoredFile, StoredSplit, TextRecord
from heedful.errors import SubwordError
from heedful.prepare.gathering import Gathered, Spool
from heedful.prepare.report import SideCounts
from heedful.prepare.request import SAMPLE_BYTES, Request
from heedful.text.bpe_dropout import RandomCuts
from heedful.text.cleaning import Ledger, Rules, length_verdicts
from heedful.text.subwords import FILE_NAME, Subwords, sensible_vocab_size

_SHARED = "tokenizer"
_SEPARATE = {"source": "source-tokenizer", "target": "target-tokenizer"}


@dataclass(frozen=True)
class Vocabularies:
    """The subwords of both sides, which are one object when they are shared."""

    source: Subwords
    target: Subwords
    trained: dict[str, Any]
    """How they came to be, for the report."""
    notes: list[str] = field(default_factory=list)

    @property
    def folders(self) -> dict[str, str]:
        return {"source": _SHARED, "target": _SHARED} if self.source is self.target else dict(_SEPARATE)

    def of(self, side: Literal["source", "target"]) -> Subwords:
        """The subwords of this side."""
        return self.source if side == "source" else self.target

    @property
    def id_type(self) -> type[np.uint16] | type[np.uint32]:
        return np.uint16 if self.source.dtype is self.target.dtype is np.uint16 else np.uint32

    @property
    def id_type_name(self) -> IntegerType:
        return "uint16" if self.id_type is np.uint16 else "uint32"


def given_vocabularies(folder: Path) -> Vocabularies:
    """The subwords of a tokenizer folder or of a prepared corpus."""
    trained = {"reused_from": str(folder)}
    if not os.path.isdir(folder):  # noqa: PTH112 (Path.is_dir raises for a name that is too long)
        raise SubwordError(f"there is no folder {folder} to take a vocabulary from")
    if all((folder / name / FILE_NAME).is_file() for name in _SEPARATE.values()):
        source, target = (Subwords.load(folder / name) for name in _SEPARATE.values())
        return Vocabularies(source, target, trained)
    shared = Subwords.load(folder / _SHARED if (folder / _SHARED / FILE_NAME).is_file() else folder)
    return Vocabularies(shared, shared, trained)


def new_vocabularies(
    request: Request, spool: Spool, kept: np.ndarray, *, reached: Callable[[int], None]
) -> Vocabularies:
    """Subwords learned from the pairs that are kept, or from a seeded sample of them where they are many."""
    pairs, total_bytes = int(kept.sum()), spool.source_bytes + spool.target_bytes
    share = min(
        1.0, request.sample_pairs / max(1, pairs), SAMPLE_BYTES / max(1, total_bytes * pairs // max(1, spool.pairs))
    )
    chosen = kept & _sampled(spool.pairs, share=share, seed=request.seed)
    trained = {"trained_on_pairs": int(chosen.sum()), "sampled": share < 1}
    notes = [f"subwords learned from a sample of {chosen.sum():,} of {pairs:,} pairs"] if share < 1 else []
    if request.separate_vocabularies:
        sizes = spool.source_bytes, spool.target_bytes
        both = []
        for side, size in zip(_SEPARATE, sizes, strict=True):
            lines = _lines(spool, chosen, sides=(side,), reached=reached)
            both.append(_learned(lines, request.vocab_size, size, notes, f"the {side} vocabulary"))
        return Vocabularies(both[0], both[1], trained, notes)
    lines = _lines(spool, chosen, sides=("source", "target"), reached=reached)
    shared = _learned(lines, request.vocab_size, total_bytes, notes, "the vocabulary")
    return Vocabularies(shared, shared, trained, notes)


def _learned(lines: Iterator[str], asked: int | None, text_bytes: int, notes: list[str], what: str) -> Subwords:
    sensible = sensible_vocab_size(text_bytes, at_most=asked or DataConfig.vocab_size)
    size = asked or sensible
    if asked is None and sensible < DataConfig.vocab_size:
        notes.append(
            f"{text_bytes / 1e6:,.1f} MB of text are little: {what} gets {sensible:,} subwords instead of "
            f"{DataConfig.vocab_size:,} (--vocab-size decides otherwise)"
        )
    elif asked is not None and sensible < asked:
        notes.append(
            f"{asked:,} subwords are many for {text_bytes / 1e6:,.1f} MB of text; {sensible:,} would be sensible"
        )
    subwords = Subwords.train(lines, vocab_size=size)
    if subwords.vocab_size < size:
        notes.append(f"{what} has only {subwords.vocab_size:,} subwords: the text offers no more that occur twice")
    return subwords


def _sampled(size: int, *, share: float, seed: int) -> np.ndarray:
    """Each place with probability ``share``."""
    if share >= 1:
        return np.ones(size, bool)
    return noise.bits(noise.key("vocabulary sample", seed), np.arange(size)) < np.uint64(share * 2.0**64)


def _lines(
    spool: Spool, chosen: np.ndarray, *, sides: tuple[str, ...], reached: Callable[[int], None]
) -> Iterator[str]:
    start = 0
    for block in spool.blocks():
        mask = chosen[start : start + len(block.sources)]
        for side in sides:
            texts = block.sources if side == "source" else block.targets
            for place in np.flatnonzero(mask).tolist():
                yield texts[place]
        start += len(block.sources)
        reached(start)


@dataclass
class Encoded:
    """A split after the second pass."""

    stored: StoredSplit
    files: dict[str, StoredFile]
    texts: tuple[TextRecord, ...]
    counts: dict[str, SideCounts]

    @property
    def kept(self) -> int:
        """Pairs, each counted once however often it is stored."""
        return sum(text.kept for text in self.texts)


class Again:
    """The training text once more and again, with BPE-dropout."""

    def __init__(self, request: Request, vocabularies: Vocabularies) -> None:
        self._count, self._longest = request.copies, request.rules.max_length
        sides = {"source": vocabularies.source, "target": vocabularies.target}
        self._cuts = {
            side: RandomCuts(subwords, dropout=request.bpe_dropout, seed=2 * request.seed + number)
            for number, (side, subwords) in enumerate(sides.items())
        }

    def copies(
        self, texts: dict[str, list[str]], plain: dict[str, list[bytes]], dtype: type[np.unsignedinteger]
    ) -> Iterator[dict[str, list[bytes]]]:
        """Each copy of some pairs; a side that random cuts make too long is cut as usual."""
        most = (self._longest - 1) * np.dtype(dtype).itemsize
        for _ in range(self._count):
            yield {
                side: [
                    ids if len(ids) <= most else usual
                    for ids, usual in zip(_raw(self._cuts[side], texts[side], dtype), plain[side], strict=True)
                ]
                for side in texts
            }


def encoded_text(
    gathered: Gathered,
    *,
    kept: np.ndarray,
    vocabularies: Vocabularies,
    rules: Rules,
    folder: Path,
    split: str,
    tell: Report,
    again: Again | None = None,
) -> Encoded:
    """The second pass: encode, judge lengths, store, count. ``again``: store other cuts instead of the plain one."""
    sides: dict[str, Subwords] = {"source": vocabularies.source, "target": vocabularies.target}
    counts = {side: SideCounts(subwords.vocab_size) for side, subwords in sides.items()}
    per_corpus, start, dtype = [0] * len(gathered.corpora), 0, vocabularies.id_type
    writer = SplitWriter(folder, split=split, id_type=dtype)
    for block in gathered.spool.blocks():
        name = gathered.corpora[block.corpus].name
        here = kept[start : start + len(block.sources)]
        start += len(block.sources)
        for place in np.flatnonzero(~here).tolist():
            gathered.ledger.remove(
                "duplicate", block.sources[place], block.targets[place], corpus=name, line=int(block.lines[place])
            )
        places = np.flatnonzero(here)
        texts = {"source": _at(block.sources, places), "target": _at(block.targets, places)}
        raw = {side: _raw(subwords, texts[side], dtype) for side, subwords in sides.items()}
        stay = _judged(texts, raw, block.lines[places], rules, gathered.ledger, name, dtype)
        texts = {side: _at(texts[side], stay) for side in sides}
        plain = {side: _at(raw[side], stay) for side in sides}
        for copy in again.copies(texts, plain, dtype) if again else (plain,):
            for side in sides:
                counts[side].add(texts[side], copy[side], dtype=dtype)
            writer.add(**copy, lines=block.lines[places][stay], corpora=np.full(len(stay), block.corpus))
        per_corpus[block.corpus] += len(stay)
        tell("encoding" if split == "train" else "encoding validation", start, gathered.spool.pairs)
    stored = writer.close()
    records = tuple(
        TextRecord(text.name, text.weight, read, kept, text.kind, tuple(map(str, text.paths)), text.fields)
        for text, read, kept in zip(gathered.corpora, gathered.read, per_corpus, strict=True)
    )
    return Encoded(stored, writer.files, records, counts)


def _judged(
    texts: dict[str, list[str]],
    raw: dict[str, list[bytes]],
    lines: np.ndarray,
    rules: Rules,
    ledger: Ledger,
    corpus: str,
    dtype: type[np.unsignedinteger],
) -> np.ndarray:
    """The places that the rules about token counts leave."""
    width = np.dtype(dtype).itemsize
    tokens = [np.fromiter(map(len, raw[side]), np.int64, len(lines)) // width + 1 for side in ("source", "target")]
    stay = np.ones(len(lines), bool)
    for rule, places in length_verdicts(*tokens, rules=rules).items():
        stay[places] = False
        for place in places.tolist():
            why = f"{tokens[0][place]:,} and {tokens[1][place]:,} tokens"
            pair = texts["source"][place], texts["target"][place]
            ledger.remove(rule, *pair, corpus=corpus, line=int(lines[place]), why=why)
    return np.flatnonzero(stay)


def _raw(subwords: Subwords | RandomCuts, texts: list[str], dtype: type[np.unsignedinteger]) -> list[bytes]:
    raw = subwords.encode_raw(texts)
    if subwords.dtype is dtype:
        return raw
    return [np.frombuffer(ids, subwords.dtype).astype(dtype).tobytes() for ids in raw]


def _at(items: list[Any], places: np.ndarray) -> list[Any]:
    return items if len(places) == len(items) else [items[place] for place in places.tolist()]
