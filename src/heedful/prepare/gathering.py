"""The first pass: read, clean, hash, and put the clean text aside.

It waits on disk for the second pass (`encoding`), so that it need not fit into memory, nor be read and cleaned twice.
It lives in the hidden folder and is gone when the corpus is complete.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from heedful.background import Report
from heedful.data.manifest import SIDES
from heedful.errors import TextError
from heedful.files import json_value, without_compression
from heedful.prepare.request import Request
from heedful.text.cleaning import Cleaner, Ledger, Rules, clean_line, pair_hashes
from heedful.text.pairs import ParallelText
from heedful.text.reading import BadLine, line_blocks

_CHARACTERS_PER_TOKEN = 64
"""A side of more than this many characters for each token allowed is too long before its subwords are counted:
learning subwords from, say, a megabyte without a space would take minutes."""
_JSON_ENDINGS = {".jsonl", ".ndjson", ".json"}
"""A file to exclude that is called so holds one JSON value a line."""
_HEADER = struct.Struct("<IIQQ")
Sides = tuple[np.ndarray, np.ndarray]
"""A number for each pair, of its source and of its target."""


@dataclass(frozen=True)
class SpoolBlock:
    """Some clean pairs of one corpus: their texts by side, and the lines they stood in."""

    corpus: int
    texts: dict[str, list[str]]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def characters(self) -> Sides:
        source, target = (np.fromiter(map(len, self.texts[side]), np.int64, len(self)) for side in SIDES)
        return source, target

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        return zip(self.texts["source"], self.texts["target"], strict=True)

    def at(self, places: np.ndarray) -> SpoolBlock:
        """The pairs at these places alone."""
        if len(places) == len(self):
            return self
        texts = {side: [texts[place] for place in places.tolist()] for side, texts in self.texts.items()}
        return SpoolBlock(self.corpus, texts, self.lines[places])

    def tell(
        self, ledger: Ledger, rule: str, places: np.ndarray, *, corpus: str, sizes: Sides | None = None, unit: str = ""
    ) -> None:
        """Tell the ledger that a rule removes the pairs at these places, and by which sizes of both sides."""
        for place in places.tolist():
            source, target = (texts[place] for texts in self.texts.values())
            why = " and ".join(f"{size[place]:,}" for size in sizes) + f" {unit}" if sizes else ""
            ledger.add(rule, source, target, corpus=corpus, line=int(self.lines[place]), why=why)


class Spool(contextlib.AbstractContextManager["Spool"]):
    """Written once from front to back, read any number of times."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.pairs = 0
        self.bytes: dict[str, int] = dict.fromkeys(SIDES, 0)

    def add(self, block: SpoolBlock) -> None:
        if not len(block):
            return
        joined = ["".join(block.texts[side]).encode("utf-8") for side in SIDES]
        self._file.write(_HEADER.pack(block.corpus, len(block), *map(len, joined)))
        # Lengths instead of separators: a text may hold any character, line ends too.
        for numbers in (*block.characters, block.lines):
            self._file.write(numbers.astype(np.uint32).tobytes())
        for side, text in zip(SIDES, joined, strict=True):
            self._file.write(text)
            self.bytes[side] += len(text)
        self.pairs += len(block)

    def blocks(self) -> Iterator[SpoolBlock]:
        self._file.flush()
        with self._path.open("rb") as file:
            while header := file.read(_HEADER.size):
                corpus, size, source_bytes, target_bytes = _HEADER.unpack(header)
                counts = np.frombuffer(file.read(12 * size), np.uint32).reshape(3, size)
                texts: dict[str, list[str]] = {}
                for side, count, lengths in zip(SIDES, (source_bytes, target_bytes), counts, strict=False):
                    text, ends = file.read(count).decode("utf-8"), np.cumsum(lengths, dtype=np.int64).tolist()
                    texts[side] = [text[start:end] for start, end in itertools.pairwise([0, *ends])]
                yield SpoolBlock(corpus, texts, counts[2])

    def placed_blocks(self) -> Iterator[tuple[slice, SpoolBlock]]:
        """The same, each with its place among all pairs."""
        start = 0
        for block in self.blocks():
            yield slice(start, start + len(block)), block
            start += len(block)

    def chosen(self, places: np.ndarray) -> Iterator[tuple[np.ndarray, SpoolBlock]]:
        """The pairs at these places among all, which are in order, each block with its own places."""
        for here, block in self.placed_blocks():
            own = places[slice(*np.searchsorted(places, [here.start, here.stop]))]
            if len(own):
                yield own, block.at(own - here.start)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


@dataclass
class Gathered:
    """A split after the first pass."""

    corpora: tuple[ParallelText, ...]
    spool: Spool
    hashes: np.ndarray
    ledger: Ledger
    read: list[int]
    exclusions: list[dict[str, Any]]
    """For the report: each file whose text must not be trained on, and how much of it stood in the training text."""
    excluded: frozenset[str] = frozenset()
    """All text of those files."""


def gathered_text(
    corpora: tuple[ParallelText, ...],
    request: Request,
    *,
    spool: Spool,
    rules: Rules,
    tell: Report,
    validation: Gathered | None = None,
) -> Gathered:
    """The first pass: read, clean, hash, put aside. Training text is given the validation text, and its lines, and
    those that are to be excluded, are left out."""
    ledger, read = Ledger(seed=request.seed), [0] * len(corpora)
    known: dict[str, set[str]] = {side: set() for side in SIDES}
    for block in validation.spool.blocks() if validation else ():
        for side in SIDES:
            known[side].update(block.texts[side])
    excluded = {path: _excluded_texts(path, request.bad_line) for path in (request.exclude if validation else ())}
    everything: frozenset[str] = frozenset().union(*excluded.values())
    cleaner = Cleaner(rules, ledger=ledger, validation=(known["source"], known["target"]), excluded=everything)
    hashes: list[bytes] = []
    longest = rules.max_length * _CHARACTERS_PER_TOKEN if rules.judges("too-long") else np.inf
    for number, corpus in enumerate(corpora):
        for pairs in request.task.pair_blocks(corpus, on_bad_line=request.bad_line):
            sources, targets, lines = cleaner.kept(pairs, corpus=corpus.name)
            block = SpoolBlock(number, {"source": sources, "target": targets}, lines)
            too_long = np.maximum(*block.characters) > longest
            block.tell(ledger, "too-long", np.flatnonzero(too_long), corpus=corpus.name, sizes=block.characters,
                       unit="characters")  # fmt: skip
            block = block.at(np.flatnonzero(~too_long))
            spool.add(block)
            if rules.judges("duplicate"):
                hashes.append(pair_hashes(*block.texts.values()))
            read[number] += len(pairs.source)
            tell("reading" if validation else "reading validation", sum(read), None)
        if not read[number]:
            raise TextError(f"{corpus.name} is empty")
    exclusions = [
        {"file": str(path), "texts": len(texts), "found": len(texts & cleaner.excluded)}
        for path, texts in excluded.items()
    ]
    found = np.frombuffer(b"".join(hashes), np.uint64).reshape(-1, 2)
    return Gathered(corpora, spool, found, ledger, read, exclusions, everything)


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
