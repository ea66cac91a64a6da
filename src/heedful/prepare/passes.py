"""The two passes over the text: read, clean and put aside; then encode, judge lengths and store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data.corpus_writer import SplitWriter
from heedful.data.manifest import StoredFile, StoredSplit
from heedful.errors import TextError
from heedful.prepare.report import SideCounts
from heedful.prepare.request import Progress, Request
from heedful.prepare.spool import Spool
from heedful.prepare.vocabulary import Vocabularies
from heedful.text.bpe_dropout import RandomCuts
from heedful.text.cleaning import Cleaner, Ledger, Rules, clean_lines, length_verdicts, pair_hashes
from heedful.text.pairs import ParallelText, pair_blocks
from heedful.text.reading import BadLine, line_blocks, refuse
from heedful.text.subwords import Subwords

CHARACTERS_PER_TOKEN = 64
"""A side of more than this many characters for each token allowed is too long before its subwords are counted:
learning subwords from, say, a megabyte without a space would take minutes."""


@dataclass
class Gathered:
    """A split after the first pass."""

    corpora: tuple[ParallelText, ...]
    spool: Spool
    hashes: np.ndarray
    ledger: Ledger
    read: list[int]


@dataclass
class Encoded:
    """A split after the second pass."""

    stored: StoredSplit
    files: dict[str, StoredFile]
    kept: list[int]
    counts: dict[str, SideCounts]


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


def gathered_text(
    request: Request,
    *,
    corpora: tuple[ParallelText, ...],
    spool: Spool,
    rules: Rules,
    tell: Progress,
    validation: Gathered | None = None,
) -> Gathered:
    """The first pass: read, clean, hash, put aside. Given the validation text, its lines are left out."""
    ledger, read = Ledger(seed=request.seed), [0] * len(corpora)
    bad_line: BadLine = refuse if request.on_bad_line == "error" else lambda *_: None
    cleaner = Cleaner(rules, ledger=ledger)
    if validation is not None:
        excluded = _excluded(request, bad_line)
        cleaner = Cleaner(rules, ledger=ledger, validation=_sides(validation.spool), excluded=excluded)
    hashes: list[bytes] = []
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
    return Gathered(corpora, spool, np.frombuffer(b"".join(hashes), np.uint64).reshape(-1, 2), ledger, read)


def _sides(spool: Spool) -> tuple[set[str], set[str]]:
    sources: set[str] = set()
    targets: set[str] = set()
    for block in spool.blocks():
        sources.update(block.sources)
        targets.update(block.targets)
    return sources, targets


def _excluded(request: Request, bad_line: BadLine) -> set[str]:
    """Every line of the files to exclude; of a line with tabs (a test set as TSV) also its fields."""
    found: set[str] = set()
    for path in request.exclude:
        for lines in line_blocks(path, on_bad_line=bad_line):
            for line in clean_lines(lines):
                if line:
                    found.add(line)
                    found.update(map(str.strip, line.split("\t")))
    return found


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


def encoded_text(
    gathered: Gathered,
    *,
    kept: np.ndarray,
    vocabularies: Vocabularies,
    rules: Rules,
    folder: Path,
    split: str,
    tell: Progress,
    again: Again | None = None,
) -> Encoded:
    """The second pass: encode, judge lengths, store, count. ``again``: store other cuts instead of the plain one."""
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
            texts = {side: _at(texts[side], stay) for side in sides}
            plain = {side: _at(raw[side], stay) for side in sides}
            for copy in again.copies(texts, plain, dtype) if again else (plain,):
                for side in sides:
                    counts[side].add(texts[side], copy[side], dtype=dtype)
                writer.add(**copy, lines=block.lines[places][stay], corpora=np.full(len(stay), block.corpus))
            per_corpus[block.corpus] += len(stay)
            tell("encoding" if split == "train" else "encoding validation", start, gathered.spool.pairs)
        stored = writer.close()
    return Encoded(stored, writer.files, per_corpus, counts)


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
