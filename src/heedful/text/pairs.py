"""Pairs of texts out of files: two aligned files, a TSV file, or JSON lines with two named fields.

A pair's line number is its line in the file, counted from 1, so that it can be found again. Every pair comes, in
order; one that cannot be read is refused or, if the user chose so, comes as None in its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import TextError
from heedful.text.reading import BadLine, in_background, line_blocks, refuse


@dataclass(frozen=True)
class TwoFiles:
    """Line n of one file belongs to line n of the other."""

    source: Path
    target: Path
    weight: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.source} | {self.target}"

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.source, self.target


@dataclass(frozen=True)
class Tsv:
    """Two fields a line with one tab between them; no quoting."""

    path: Path
    weight: float = 1.0

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)


@dataclass(frozen=True)
class JsonLines:
    """One JSON object a line; two of its fields are the pair."""

    path: Path
    source_field: str
    target_field: str
    weight: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.path} ({self.source_field}, {self.target_field})"

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)


Corpus = TwoFiles | Tsv | JsonLines


@dataclass(frozen=True)
class PairBlock:
    """Some pairs in a row."""

    first_line: int
    source: list[str | None]
    target: list[str | None]


def pair_blocks(corpus: Corpus, *, on_bad_line: BadLine = refuse) -> Iterator[PairBlock]:
    """All pairs of a corpus, in order, in blocks."""
    if isinstance(corpus, TwoFiles):
        return _two_files(corpus, on_bad_line)
    if isinstance(corpus, Tsv):
        return _one_file(corpus.path, _tsv_pair, on_bad_line)
    return _one_file(corpus.path, lambda line: _json_pair(line, corpus), on_bad_line)


def _two_files(corpus: TwoFiles, on_bad_line: BadLine) -> Iterator[PairBlock]:
    sides = [in_background(line_blocks(path, on_bad_line=on_bad_line)) for path in (corpus.source, corpus.target)]
    source: list[str | None] = []
    target: list[str | None] = []
    first = 1
    while True:
        source = source or next(sides[0], [])
        target = target or next(sides[1], [])
        if not source and not target:
            return
        if not source or not target:
            # The rest of the longer file is read too: the message is worth it.
            left = len(source), len(target)
            counts = [first - 1 + left[number] + sum(map(len, side)) for number, side in enumerate(sides)]
            raise TextError(
                f"{corpus.source} has {counts[0]:,} lines and {corpus.target} has {counts[1]:,}: "
                "the files of a pair must have the same number of lines"
            )
        size = min(len(source), len(target))
        yield PairBlock(first, source[:size], target[:size])
        source, target, first = source[size:], target[size:], first + size


def _one_file(path: Path, pair_of: Callable[[str], tuple[str, str] | str], on_bad_line: BadLine) -> Iterator[PairBlock]:
    first = 1
    for lines in in_background(line_blocks(path, on_bad_line=on_bad_line)):
        block = PairBlock(first, [], [])
        for number, line in enumerate(lines, start=first):
            pair = (None, None) if line is None else pair_of(line)
            if isinstance(pair, str):
                on_bad_line(path, number, pair)
                pair = (None, None)
            block.source.append(pair[0])
            block.target.append(pair[1])
        yield block
        first += len(lines)


def _tsv_pair(line: str) -> tuple[str, str] | str:
    fields = line.split("\t")
    if len(fields) != 2:
        return f"{len(fields)} field{'s' * (len(fields) != 1)} where two with one tab between them are needed"
    return fields[0], fields[1]


def _json_pair(line: str, corpus: JsonLines) -> tuple[str, str] | str:
    """The pair, or what is wrong with the line."""
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(record, dict):
        return f"a JSON {type(record).__name__} where an object is needed"
    texts: list[str] = []
    for field in (corpus.source_field, corpus.target_field):
        if field not in record:
            return f'no field "{field}"; there are {", ".join(sorted(record)) or "none"}'
        text = record[field]
        if not isinstance(text, str):
            return f'field "{field}" is {json.dumps(text)[:40]}, not text'
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            return f'field "{field}" holds half of a surrogate pair, which is no character'
        texts.append(text)
    return texts[0], texts[1]
