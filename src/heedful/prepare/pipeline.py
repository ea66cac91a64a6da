"""`prepare`: read → clean → learn subwords → encode → store, in two passes that never hold the corpus in memory.

The first pass reads and cleans and puts the text aside on disk; the second encodes it. Between the two, duplicates are
found by their hashes and the vocabulary is learned from what is left.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful import __version__
from heedful.data.corpus_writer import SplitWriter, file_entry, write_json, write_manifest
from heedful.data.folder import new_folder
from heedful.errors import TextError
from heedful.prepare.report import (
    SideCounts,
    characters_report,
    lengths_report,
    rules_report,
    vocabulary_report,
)
from heedful.prepare.request import Progress, Request
from heedful.prepare.spool import Spool
from heedful.prepare.vocabulary import Vocabularies, given_vocabularies, new_vocabularies
from heedful.text.cleaning import Cleaner, Ledger, Rules, clean_lines, first_of_each, length_verdicts, pair_hashes
from heedful.text.pairs import Corpus, pair_blocks
from heedful.text.reading import BadLine, line_blocks, refuse
from heedful.text.subwords import Subwords

CHARACTERS_PER_TOKEN = 64
"""A side of more than this many characters for each token allowed is too long before its subwords are counted: learning
subwords from, say, a megabyte without a space would take minutes."""


def prepare(
    request: Request, *, output: Path, overwrite: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Make the prepared corpus ``output`` and return its report."""
    tell = progress or (lambda *_: None)
    ready = given_vocabularies(request.tokenizer) if request.tokenizer else None
    with new_folder(output, overwrite=overwrite) as folder:
        validation = _gathered(
            request, request.validation, folder / "validation.spool", _validation_rules(request), tell
        )
        first = _gathered(request, request.corpora, folder / "train.spool", request.rules, tell, validation)
        kept = first_of_each(first.hashes) if request.rules.judges("duplicate") else np.ones(first.spool.pairs, bool)
        vocabularies = ready or new_vocabularies(
            request, first.spool, kept, reached=lambda done: tell("learning subwords from", done, first.spool.pairs)
        )
        tell("learning subwords from", first.spool.pairs, first.spool.pairs)
        splits = {"train": _encoded(first, kept, vocabularies, request.rules, folder, "train", tell)}
        if request.validation:
            everything = np.ones(validation.spool.pairs, bool)
            splits["valid"] = _encoded(
                validation, everything, vocabularies, _validation_rules(request), folder, "valid", tell
            )
        for gathered in (first, validation):
            gathered.spool.remove()
        report = _report(request, first, validation, vocabularies, splits)
        _finish(folder, request, report, vocabularies, splits)
    return report


@dataclass
class _Gathered:
    """A split after the first pass."""

    corpora: tuple[Corpus, ...]
    spool: Spool
    hashes: np.ndarray
    ledger: Ledger
    read: list[int]


@dataclass
class _Encoded:
    """A split after the second pass."""

    entry: dict[str, Any]
    files: dict[str, Any]
    kept: list[int]
    counts: dict[str, SideCounts]


def _validation_rules(request: Request) -> Rules:
    """Validation text is taken as it is; only what cannot be used is left out."""
    keep = frozenset({"identical", "validation", "excluded", "duplicate", "ratio"}) | (request.rules.keep & {"empty"})
    return Rules(keep=keep, max_length=request.rules.max_length, max_ratio=request.rules.max_ratio)


def _gathered(
    request: Request,
    corpora: tuple[Corpus, ...],
    path: Path,
    rules: Rules,
    tell: Progress,
    validation: _Gathered | None = None,
) -> _Gathered:
    """The first pass: read, clean, hash, put aside."""
    ledger, spool, read = Ledger(seed=request.seed), Spool(path), [0] * len(corpora)
    cleaner = _cleaner(request, rules, ledger, validation)
    hashes: list[bytes] = []
    bad_line: BadLine = refuse if request.on_bad_line == "error" else lambda *_: None
    longest = rules.max_length * CHARACTERS_PER_TOKEN if rules.judges("too-long") else None
    for number, corpus in enumerate(corpora):
        for block in pair_blocks(corpus, on_bad_line=bad_line):
            sources, targets, lines = cleaner.kept(block, corpus=corpus.name)
            if longest is not None and max(map(len, sources + targets), default=0) > longest:
                sources, targets, lines = _shorter(sources, targets, lines, longest, ledger, corpus.name)
            spool.add(corpus=number, sources=sources, targets=targets, lines=lines)
            if rules.judges("duplicate"):
                hashes.append(pair_hashes(sources, targets))
            read[number] += len(block.source)
            tell("reading" if validation else "reading validation", sum(read), None)
        if not read[number]:
            raise TextError(f"{corpus.name} is empty")
    return _Gathered(corpora, spool, np.frombuffer(b"".join(hashes), np.uint64).reshape(-1, 2), ledger, read)


def _cleaner(request: Request, rules: Rules, ledger: Ledger, validation: _Gathered | None) -> Cleaner:
    if validation is None:
        return Cleaner(rules, ledger=ledger)
    sources: set[str] = set()
    targets: set[str] = set()
    for block in validation.spool.blocks():
        sources.update(block.sources)
        targets.update(block.targets)
    excluded: set[str] = set()
    for path in request.exclude:
        for lines in line_blocks(path):
            excluded.update(line for line in clean_lines(lines) if line)
    return Cleaner(rules, ledger=ledger, validation=(sources, targets), excluded=excluded)


def _shorter(
    sources: list[str], targets: list[str], lines: np.ndarray, longest: int, ledger: Ledger, corpus: str
) -> tuple[list[str], list[str], np.ndarray]:
    stay: list[int] = []
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if max(len(source), len(target)) <= longest:
            stay.append(place)
        else:
            why = f"{len(source):,} and {len(target):,} characters"
            ledger.remove("too-long", source, target, corpus=corpus, line=int(lines[place]), why=why)
    return [sources[place] for place in stay], [targets[place] for place in stay], lines[stay]


def _encoded(
    gathered: _Gathered,
    kept: np.ndarray,
    vocabularies: Vocabularies,
    rules: Rules,
    folder: Path,
    split: str,
    tell: Progress,
) -> _Encoded:
    """The second pass: encode, judge lengths, store, count."""
    sides: dict[str, Subwords] = {"source": vocabularies.source, "target": vocabularies.target}
    counts = {side: SideCounts(subwords.vocab_size) for side, subwords in sides.items()}
    per_corpus, start, dtype = [0] * len(gathered.corpora), 0, vocabularies.id_type
    with SplitWriter(folder, split=split, id_type=dtype) as writer:
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
            for side in sides:
                texts[side], raw[side] = _at(texts[side], stay), _at(raw[side], stay)
                counts[side].add(texts[side], raw[side], dtype=dtype)
            lines = block.lines[places][stay]
            writer.add(**raw, lines=lines, corpora=np.full(len(stay), block.corpus))
            per_corpus[block.corpus] += len(stay)
            tell("encoding" if split == "train" else "encoding validation", start, gathered.spool.pairs)
        entry = writer.close()
    return _Encoded(entry, writer.files, per_corpus, counts)


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


def _raw(subwords: Subwords, texts: list[str], dtype: type[np.unsignedinteger]) -> list[bytes]:
    raw = subwords.encode_raw(texts)
    if subwords.dtype is dtype:
        return raw
    return [np.frombuffer(ids, subwords.dtype).astype(dtype).tobytes() for ids in raw]


def _at(items: list[Any], places: np.ndarray) -> list[Any]:
    return items if len(places) == len(items) else [items[place] for place in places.tolist()]


def _report(
    request: Request, first: _Gathered, validation: _Gathered, vocabularies: Vocabularies, splits: dict[str, _Encoded]
) -> dict[str, Any]:
    train, valid = splits["train"], splits.get("valid")
    kept = sum(train.kept)
    if not kept:
        found = ", ".join(f"{name} {entry.count:,}" for name, entry in first.ledger.removed.items() if entry.count)
        raise TextError(f"none of {sum(first.read):,} pairs is left after cleaning: {found or 'the files are empty'}")
    report: dict[str, Any] = {
        "heedful": __version__,
        "pairs": {"read": sum(first.read), "kept": kept},
        "corpora": _corpora(first, train),
        "rules": rules_report(first.ledger, request.rules),
        "vocabulary": {},
        "lengths": {},
        "characters": {},
    }
    for side in ("source", "target"):
        size = {"size": (vocabularies.source if side == "source" else vocabularies.target).vocab_size}
        counts = train.counts[side], valid.counts[side] if valid else None
        report["vocabulary"][side] = vocabulary_report(*counts, trained=size | vocabularies.trained)
        report["lengths"][side] = lengths_report(counts[0].lengths)
        report["characters"][side] = characters_report(*counts)
    report["vocabulary"]["shared"] = vocabularies.source is vocabularies.target
    if valid:
        report["validation"] = {
            "pairs": {"read": sum(validation.read), "kept": sum(valid.kept)},
            "corpora": _corpora(validation, valid),
            "rules": rules_report(validation.ledger, _validation_rules(request)),
            "lengths": {side: lengths_report(valid.counts[side].lengths) for side in ("source", "target")},
        }
    report["notes"] = list(vocabularies.notes)
    return report


def _corpora(gathered: _Gathered, encoded: _Encoded) -> list[dict[str, Any]]:
    return [
        {"name": corpus.name, "weight": corpus.weight, "read": read, "kept": kept}
        for corpus, read, kept in zip(gathered.corpora, gathered.read, encoded.kept, strict=True)
    ]


def _finish(
    folder: Path, request: Request, report: dict[str, Any], vocabularies: Vocabularies, splits: dict[str, _Encoded]
) -> None:
    """The small files; the manifest last."""
    files: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    for side, name in vocabularies.folders.items():
        subwords = vocabularies.source if side == "source" else vocabularies.target
        path = subwords.save(folder / name)
        files[f"{name}/{path.name}"] = file_entry(path)
        entries[side] = {"folder": name, "size": subwords.vocab_size, "sha256": subwords.sha256}
    files["report.json"] = write_json(folder, "report.json", report)
    for split in splits.values():
        files |= split.files
    manifest = {
        "heedful": __version__,
        "id_type": np.dtype(vocabularies.id_type).name,
        "vocabularies": entries,
        "configuration": request.describe(),
        "corpora": report["corpora"],
        "validation": report.get("validation", {}).get("corpora", []),
        "splits": {name: split.entry for name, split in splits.items()},
        "files": files,
    }
    write_manifest(folder, manifest)
    gc.collect()  # nothing may hold an open file of the hidden folder when it is renamed
