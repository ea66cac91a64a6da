"""The second pass: the subwords, given or learned from the clean text, and the text encoded by them and stored."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from heedful.background import Report
from heedful.config import DataConfig
from heedful.data import noise
from heedful.data.corpus import SplitWriter
from heedful.data.manifest import SIDES, IntegerType, StoredFile, StoredSplit, TextRecord
from heedful.errors import SubwordError
from heedful.prepare.augmenting import Augmentation, Versions, neighbours, versions_of
from heedful.prepare.gathering import Gathered, Sides, Spool, SpoolBlock
from heedful.prepare.request import Request
from heedful.tasks import TRANSLATION, Task
from heedful.text.bpe_dropout import RandomCuts
from heedful.text.cleaning import Ledger, Rules, length_verdicts
from heedful.text.closed_vocabulary import ClosedVocabulary, Vocabulary, load_vocabulary
from heedful.text.subwords import FILE_NAME, Subwords, sensible_vocab_size, tag_of

_SAMPLE_BYTES = 100_000_000
"""The vocabulary is learned from at most so much text."""
_RARE = 10
"""A subword seen less often than this in training is called rare."""
_UNSEEN_CHARACTERS = 50
"""Characters listed, most frequent first."""
_MANY = 2
"""Times the subwords that suit a text, above which there is a note."""
_SHARED = "tokenizer"
_SEPARATE = {"source": "source-tokenizer", "target": "target-tokenizer"}


@dataclass(frozen=True)
class Vocabularies:
    """The subwords of both sides, which are one object when they are shared."""

    sides: dict[str, Vocabulary]
    trained: dict[str, Any]
    """How they came to be, for the report."""
    notes: list[str] = field(default_factory=list)

    def with_tags(self, names: Sequence[str]) -> Vocabularies:
        """These with tags for the source; one that is shared is still shared."""
        source = self.sides["source"]
        if not names or not isinstance(source, Subwords):
            return self
        tagged = source.with_tags(names)
        notes = [*self.notes]
        if tagged is not source and "reused_from" in self.trained:
            notes.append(f"{self.trained['reused_from']} has no such tag: --init cannot take a model with its subwords")
        return Vocabularies({"source": tagged, "target": tagged if self.shared else self.sides["target"]},
                            self.trained, notes)  # fmt: skip

    def tag_bytes(self, name: str) -> bytes:
        """The id of a tag of the source as it is stored; nothing where there is no name."""
        return np.array([self.sides["source"].tags[tag_of(name)]], self.id_type).tobytes() if name else b""

    @property
    def shared(self) -> bool:
        return self.sides["source"] is self.sides["target"]

    @property
    def folders(self) -> dict[str, str]:
        return dict.fromkeys(SIDES, _SHARED) if self.shared else _SEPARATE

    @property
    def id_type(self) -> IntegerType:
        return "uint16" if all(subwords.dtype is np.uint16 for subwords in self.sides.values()) else "uint32"


def given_vocabularies(folder: Path, *, task: Task = TRANSLATION) -> Vocabularies:
    """The subwords of a tokenizer folder or of a prepared corpus, which must be for the same task."""
    trained = {"reused_from": str(folder)}
    if not os.path.isdir(folder):  # noqa: PTH112 (Path.is_dir raises for a name that is too long)
        raise SubwordError(f"there is no folder {folder} to take a vocabulary from")
    if all((folder / name / FILE_NAME).is_file() for name in _SEPARATE.values()):
        sides: dict[str, Vocabulary] = {side: load_vocabulary(folder / name) for side, name in _SEPARATE.items()}
    else:
        shared = Subwords.load(folder / _SHARED if (folder / _SHARED / FILE_NAME).is_file() else folder)
        sides = {"source": shared, "target": shared}
    if isinstance(sides["target"], ClosedVocabulary) != bool(task.target_vocabulary):
        raise SubwordError(f"the vocabulary of {folder} is not one for {task.name}: give that of a corpus for the same")
    return Vocabularies(sides, trained)


def new_vocabularies(
    request: Request,
    spool: Spool,
    kept: np.ndarray,
    *,
    augmentation: Augmentation | None,
    reached: Callable[[int], None],
) -> Vocabularies:
    """Subwords learned from the pairs that are kept and their versions, or from a seeded sample where they are many."""
    pairs, total_bytes = int(kept.sum()), sum(spool.bytes.values())
    kept_bytes = total_bytes * pairs // max(1, spool.pairs)
    share = min(1.0, request.sample_pairs / max(1, pairs), _SAMPLE_BYTES / max(1, kept_bytes))
    chosen, notes = kept, []
    if share < 1:
        drawn = noise.bits(noise.key("vocabulary sample", request.seed), np.arange(spool.pairs))
        chosen = kept & (drawn < np.uint64(share * 2.0**64))
        notes = [f"subwords learned from a sample of {chosen.sum():,} of {pairs:,} pairs"]
    trained = {"trained_on_pairs": int(chosen.sum()), "sampled": share < 1}

    def learned(what: str, *sides: str) -> Subwords:
        lines = _lines(spool, chosen, sides=sides, augmentation=augmentation, reached=reached)
        tags = len(request.all_tags) if "source" in sides else 0  # which will be added, and count too
        size = request.vocab_size and request.vocab_size - tags
        return _learned(lines, size, sum(spool.bytes[side] for side in sides), notes, what)

    if request.task.target_vocabulary is not None:
        target = request.task.target_vocabulary(
            _lines(spool, kept, sides=("target",), augmentation=None, reached=reached)
        )
        return Vocabularies({"source": learned("the source vocabulary", "source"), "target": target}, trained, notes)
    if request.separate_vocabularies:
        return Vocabularies({side: learned(f"the {side} vocabulary", side) for side in SIDES}, trained, notes)
    return Vocabularies(dict.fromkeys(SIDES, learned("the vocabulary", *SIDES)), trained, notes)


def _learned(lines: Iterator[str], asked: int | None, text_bytes: int, notes: list[str], what: str) -> Subwords:
    sensible = sensible_vocab_size(text_bytes, at_most=asked or DataConfig.vocab_size)
    size = asked or sensible
    if asked is None and sensible < DataConfig.vocab_size:
        notes.append(
            f"{text_bytes / 1e6:,.1f} MB of text: {what} gets {sensible:,} subwords (--vocab-size decides otherwise)"
        )
    elif asked is not None and _MANY * sensible < asked:
        notes.append(
            f"{asked:,} subwords are many for {text_bytes / 1e6:,.1f} MB of text; {sensible:,} would be sensible"
        )
    subwords = Subwords.train(lines, vocab_size=size)
    if subwords.vocab_size < size:
        notes.append(f"{what} has only {subwords.vocab_size:,} subwords: the text offers no more that occur twice")
    return subwords


def _lines(
    spool: Spool,
    chosen: np.ndarray,
    *,
    sides: tuple[str, ...],
    augmentation: Augmentation | None,
    reached: Callable[[int], None],
) -> Iterator[str]:
    for here, block in spool.placed_blocks():
        block_chosen = block.at(np.flatnonzero(chosen[here]))
        versions = [versions_of(block_chosen, augmentation).block] if augmentation else []
        for some, side in itertools.product((block_chosen, *versions), sides):
            yield from some.texts[side]
        reached(here.stop)


class SideCounts:
    """Counts of one side of a split: characters, subwords, lengths."""

    def __init__(self, vocab_size: int) -> None:
        self.characters = np.zeros(0x110000, np.int64)
        self.subwords = np.zeros(vocab_size, np.int64)
        self.lengths = np.zeros(1, np.int64)
        self.bytes = 0

    def add_characters(self, texts: Sequence[str]) -> None:
        text = "".join(texts)
        codes, width = (text.encode("ascii"), np.uint8) if text.isascii() else (text.encode("utf-32-le"), np.uint32)
        counts = np.bincount(np.frombuffer(codes, width))
        self.characters[: len(counts)] += counts

    def add(self, texts: Sequence[str], raw: Sequence[bytes], *, dtype: np.dtype) -> None:
        self.bytes += sum(len(text) if text.isascii() else len(text.encode("utf-8")) for text in texts)
        self.subwords += np.bincount(np.frombuffer(b"".join(raw), dtype), minlength=len(self.subwords))
        tokens = np.fromiter(map(len, raw), np.int64, len(raw)) // dtype.itemsize + 1
        found = np.bincount(tokens, minlength=len(self.lengths))
        found[: len(self.lengths)] += self.lengths
        self.lengths = found


@dataclass
class Encoded:
    """A split after the second pass."""

    stored: StoredSplit
    files: dict[str, StoredFile]
    texts: tuple[TextRecord, ...]
    counts: dict[str, SideCounts]
    added: Ledger
    """The versions by their kinds."""

    @property
    def kept(self) -> int:
        """Pairs, each counted once however often it is stored, without versions."""
        return sum(text.kept for text in self.texts)


@dataclass(frozen=True)
class _Encoder:
    """What makes ids out of texts, and takes them."""

    vocabularies: Vocabularies
    rules: Rules
    cuts: dict[str, RandomCuts] | None
    writer: SplitWriter
    counts: dict[str, SideCounts]
    dtype: np.dtype
    leads: Sequence[bytes]
    """For each corpus the ids that stand before its sources: its tag's, or none."""

    def plain(self, block: SpoolBlock) -> tuple[dict[str, list[bytes]], Sides]:
        """The ids of both sides, cut as usual, and the tokens of each pair."""
        raw = {side: self._ids(own, block, side) for side, own in self.vocabularies.sides.items()}
        source, target = (np.fromiter(map(len, raw[side]), np.int64, len(block)) for side in SIDES)
        return raw, (source // self.dtype.itemsize + 1, target // self.dtype.itemsize + 1)

    def write(self, block: SpoolBlock, raw: dict[str, list[bytes]]) -> None:
        """Store and count pairs, their words cut anew where that was asked for, unless that makes them too long."""
        most = (self.rules.max_length - 1) * self.dtype.itemsize
        for side, own in (self.cuts or {}).items():
            both = zip(self._ids(own, block, side), raw[side], strict=True)
            raw = raw | {side: [ids if len(ids) <= most else usual for ids, usual in both]}
        for side in SIDES:
            self.counts[side].add(block.texts[side], raw[side], dtype=self.dtype)
        self.writer.add(**raw, lines=block.lines, corpora=np.full(len(block), block.corpus))

    def _ids(self, vocabulary: Vocabulary | RandomCuts, block: SpoolBlock, side: str) -> list[bytes]:
        raw = vocabulary.encode_raw(block.texts[side])
        if self.dtype != vocabulary.dtype:
            raw = [np.frombuffer(ids, vocabulary.dtype).astype(self.dtype).tobytes() for ids in raw]
        tag = self.leads[block.corpus] if side == "source" else b""
        return [tag + ids for ids in raw] if tag else raw


def encoded_text(
    gathered: Gathered,
    *,
    kept: np.ndarray,
    duplicates: np.ndarray,
    vocabularies: Vocabularies,
    rules: Rules,
    folder: Path,
    split: str,
    tell: Report,
    copies: int = 1,
    cuts: dict[str, RandomCuts] | None = None,
    augmentation: Augmentation | None = None,
) -> Encoded:
    """The second pass: encode, judge lengths, store, count. ``cuts``: ``copies`` of these, not the plain one."""
    counts = {side: SideCounts(subwords.vocab_size) for side, subwords in vocabularies.sides.items()}
    per_corpus, dtype = [0] * len(gathered.corpora), np.dtype(vocabularies.id_type)
    writer = SplitWriter(folder, split=split, id_type=dtype)
    leads = [vocabularies.tag_bytes(text.tag if split == "train" else "") for text in gathered.corpora]
    encoder = _Encoder(vocabularies, rules, cuts, writer, counts, dtype, leads)
    added = Ledger(seed=augmentation.seed, rules=augmentation.rates) if augmentation else Ledger(seed=0, rules=())
    before: SpoolBlock | None = None
    for here, whole in gathered.spool.placed_blocks():
        told: dict[str, Any] = {"ledger": gathered.ledger, "corpus": gathered.corpora[whole.corpus].name}
        whole.tell(rule="duplicate", places=np.flatnonzero(duplicates[here]), **told)
        block = whole.at(np.flatnonzero(kept[here]))
        plain, tokens = encoder.plain(block)
        stays = np.ones(len(block), bool)
        for rule, places in length_verdicts(*tokens, rules=rules).items():
            stays[places] = False
            block.tell(rule=rule, places=places, sizes=tokens, unit="tokens", **told)
        block = block.at(np.flatnonzero(stays))
        plain = {side: list(itertools.compress(raw, stays)) for side, raw in plain.items()}
        for side in SIDES:
            counts[side].add_characters(block.texts[side])
        for copy in range(copies):
            encoder.write(block, plain)
            if augmentation:
                _write_versions(
                    versions_of(block, augmentation, before=before, copy=copy), encoder, added, told["corpus"]
                )
        before = neighbours(before, block) if augmentation else None
        per_corpus[block.corpus] += len(block)
        tell("encoding" if split == "train" else "encoding validation", here.stop, gathered.spool.pairs)
    records = tuple(
        TextRecord(text.name, text.weight, read, kept, text.kind, tuple(map(str, text.paths)), text.fields, text.tag)
        for text, read, kept in zip(gathered.corpora, gathered.read, per_corpus, strict=True)
    )
    return Encoded(writer.close(), writer.files, records, counts, added)


def _write_versions(versions: Versions, encoder: _Encoder, added: Ledger, corpus: str) -> None:
    """Store the versions that are not too long, and count them by their kinds."""
    plain, tokens = encoder.plain(versions.block)
    stays = np.ones(len(versions.kinds), bool)
    for places in length_verdicts(*tokens, rules=encoder.rules).values():
        stays[places] = False
    versions = versions.at(np.flatnonzero(stays))
    encoder.write(versions.block, {side: list(itertools.compress(raw, stays)) for side, raw in plain.items()})
    block = versions.block
    for kind, pair, line in zip(versions.kinds, block.pairs, block.lines.tolist(), strict=True):
        added.add(kind, *pair, corpus=corpus, line=line)


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
