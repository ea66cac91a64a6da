"""The first pass: read, clean, hash, and put the clean text aside.

It waits on disk for the second pass (`encoding`), so that it need not fit into memory, nor be read and cleaned twice.
It lives in the hidden folder and is gone when the corpus is complete.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful.background import Report
from heedful.errors import TextError
from heedful.files import json_value, without_compression
from heedful.prepare.request import Request
from heedful.text.cleaning import Cleaner, Ledger, Rules, clean_line, pair_hashes
from heedful.text.pairs import ParallelText, pair_blocks
from heedful.text.reading import BadLine, line_blocks, refuse

_CHARACTERS_PER_TOKEN = 64
"""A side of more than this many characters for each token allowed is too long before its subwords are counted:
learning subwords from, say, a megabyte without a space would take minutes."""


_JSON_ENDINGS = {".jsonl", ".ndjson", ".json"}
"""A file to exclude that is called so holds one JSON value a line."""
_HEADER = struct.Struct("<IIQQ")


@dataclass(frozen=True)
class SpoolBlock:
    """Some clean pairs of one corpus."""

    corpus: int
    sources: list[str]
    targets: list[str]
    lines: np.ndarray


class Spool(contextlib.AbstractContextManager["Spool"]):
    """Written once from front to back, read any number of times."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.pairs = 0
        self.source_bytes = self.target_bytes = 0

    def add(self, *, corpus: int, sources: Sequence[str], targets: Sequence[str], lines: np.ndarray) -> None:
        if not sources:
            return
        source, target = ("".join(texts).encode("utf-8") for texts in (sources, targets))
        self._file.write(_HEADER.pack(corpus, len(sources), len(source), len(target)))
        # Lengths instead of separators: a text may hold any character, line ends too.
        for texts in (sources, targets):
            self._file.write(np.fromiter(map(len, texts), np.uint32, len(texts)).tobytes())
        self._file.write(lines.astype(np.uint32).tobytes())
        self._file.write(source)
        self._file.write(target)
        self.pairs += len(sources)
        self.source_bytes += len(source)
        self.target_bytes += len(target)

    def blocks(self) -> Iterator[SpoolBlock]:
        self._file.flush()
        with self._path.open("rb") as file:
            while header := file.read(_HEADER.size):
                corpus, size, source_bytes, target_bytes = _HEADER.unpack(header)
                counts = np.frombuffer(file.read(12 * size), np.uint32).reshape(3, size)
                source, target = (file.read(count).decode("utf-8") for count in (source_bytes, target_bytes))
                yield SpoolBlock(corpus, _slices(source, counts[0]), _slices(target, counts[1]), counts[2])

    def remove(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _slices(text: str, lengths: np.ndarray) -> list[str]:
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    return [text[start:end] for start, end in itertools.pairwise([0, *ends])]


@dataclass
class Gathered:
    """A split after the first pass."""

    corpora: tuple[ParallelText, ...]
    spool: Spool
    hashes: np.ndarray
    ledger: Ledger
    read: list[int]
    exclusions: tuple[Exclusion, ...] = ()


@dataclass(frozen=True)
class Exclusion:
    """A file whose text must not be trained on, and how much of it stood in the training text."""

    path: Path
    texts: int
    found: int


def gathered_text(
    request: Request,
    *,
    corpora: tuple[ParallelText, ...],
    spool: Spool,
    rules: Rules,
    tell: Report,
    validation: Gathered | None = None,
) -> Gathered:
    """The first pass: read, clean, hash, put aside. Given the validation text, its lines are left out."""
    ledger, read = Ledger(seed=request.seed), [0] * len(corpora)
    bad_line: BadLine = refuse if request.on_bad_line == "error" else lambda *_: None
    cleaner, excluded = Cleaner(rules, ledger=ledger), {}
    if validation is not None:
        excluded = {path: _excluded_texts(path, bad_line) for path in request.exclude}
        everything: set[str] = set().union(*excluded.values())
        cleaner = Cleaner(rules, ledger=ledger, validation=_sides(validation.spool), excluded=everything)
    hashes: list[bytes] = []
    longest = rules.max_length * _CHARACTERS_PER_TOKEN if rules.judges("too-long") else None
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
    exclusions = tuple(Exclusion(path, len(texts), len(texts & cleaner.excluded)) for path, texts in excluded.items())
    pairs = np.frombuffer(b"".join(hashes), np.uint64).reshape(-1, 2)
    return Gathered(corpora, spool, pairs, ledger, read, exclusions)


def _sides(spool: Spool) -> tuple[set[str], set[str]]:
    sources: set[str] = set()
    targets: set[str] = set()
    for block in spool.blocks():
        sources.update(block.sources)
        targets.update(block.targets)
    return sources, targets


def _excluded_texts(path: Path, bad_line: BadLine) -> set[str]:
    """Every text of a file to exclude, whatever kind of file it is; one without any would exclude nothing."""
    is_json = without_compression(path).suffix.lower() in _JSON_ENDINGS
    found: set[str] = set()
    done = 0
    for lines in line_blocks(path, on_bad_line=bad_line):
        for number, line in enumerate(lines, start=done + 1):
            if line and not line.isspace():
                texts = _texts(line, is_json=is_json)
                if texts is None:
                    bad_line(path, number, f"not JSON, as {path.suffix} says it is")
                found.update(map(clean_line, texts or ()))
        done += len(lines)
    found.discard("")
    if not found:
        raise TextError(f"--exclude {path} holds no text: it would exclude nothing")
    return found


def _texts(line: str, *, is_json: bool) -> list[str] | None:
    """The line, and its fields where it has tabs, or every text in it where it is JSON; None where it should be."""
    if is_json or line.lstrip()[:1] in {"{", "["}:
        try:
            value = json_value(line)
        except ValueError:
            if is_json:
                return None
        else:
            return [*([] if is_json else [line]), *_json_texts(value)]
    return [line, *line.split("\t")]


def _json_texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, however deep."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


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
