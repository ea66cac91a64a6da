"""Pairs of texts out of files: two aligned files, a TSV file, or JSON lines with two named fields.

A pair's line number is its line in the file, counted from 1, so that it can be found again. Every pair comes, in
order; one that cannot be read is refused or, if the user chose so, comes as None in its place.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from heedful.background import in_background
from heedful.errors import TextError
from heedful.files import json_value
from heedful.text.reading import BadLine, line_blocks, refuse


@dataclass(frozen=True)
class ParallelText:
    """Raw text in two languages: where it lies, and how often its pairs come in an epoch."""

    kind: Literal["files", "tsv", "jsonl", "trees"]
    paths: tuple[Path, ...]
    fields: tuple[str, ...] = ()
    """The source's and the target's: their names in JSON lines; their columns, from 1, in TSV of more than two."""
    weight: float = 1.0
    tag: str = ""
    """The name of what stands before its sources where a model shall know where they come from: ``bt``."""

    @property
    def name(self) -> str:
        files = " | ".join(map(str, self.paths))
        return f"{files} ({', '.join(self.fields)})" if self.fields else files


def two_files(source: Path, target: Path, weight: float = 1.0) -> ParallelText:
    """Line n of one file belongs to line n of the other."""
    return ParallelText("files", (source, target), weight=weight)


def tsv(path: Path, weight: float = 1.0, columns: tuple[int, int] | None = None) -> ParallelText:
    """Two fields a line with one tab between them, or the fields of two columns, from 1; no quoting."""
    return ParallelText("tsv", (path,), tuple(map(str, columns or ())), weight)


def trees(path: Path, weight: float = 1.0) -> ParallelText:
    """Trees in brackets, which `heedful.parsing` reads: words and their parse."""
    return ParallelText("trees", (path,), weight=weight)


def json_lines(path: Path, source_field: str, target_field: str, weight: float = 1.0) -> ParallelText:
    """One JSON object a line; two of its fields are the pair."""
    return ParallelText("jsonl", (path,), (source_field, target_field), weight)


@dataclass(frozen=True)
class PairBlock:
    """Some pairs in a row."""

    first_line: int
    source: list[str | None]
    target: list[str | None]


def pair_blocks(text: ParallelText, *, on_bad_line: BadLine = refuse) -> Iterator[PairBlock]:
    """All pairs of a text, in order, in blocks."""
    if text.kind == "files":
        return _aligned_pairs(text.paths, on_bad_line)
    pair_of = functools.partial(_tsv_pair if text.kind == "tsv" else _json_pair, fields=text.fields)
    return _pairs_of_lines(text.paths[0], pair_of, on_bad_line)


def _aligned_pairs(paths: Sequence[Path], on_bad_line: BadLine) -> Iterator[PairBlock]:
    sides = [in_background(line_blocks(path, on_bad_line=on_bad_line)) for path in paths]
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
                f"{paths[0]} has {counts[0]:,} lines and {paths[1]} has {counts[1]:,}: "
                "the files of a pair must have the same number of lines"
            )
        size = min(len(source), len(target))
        yield PairBlock(first, source[:size], target[:size])
        source, target, first = source[size:], target[size:], first + size


def _pairs_of_lines(
    path: Path, pair_of: Callable[[str], tuple[str, str] | str], on_bad_line: BadLine
) -> Iterator[PairBlock]:
    first = 1
    for lines in in_background(line_blocks(path, on_bad_line=on_bad_line)):
        block = PairBlock(first, [], [])
        for number, line in enumerate(lines, start=first):
            # An empty line is an empty pair, which cleaning counts.
            pair = (None, None) if line is None else pair_of(line) if line.strip() else ("", "")
            if isinstance(pair, str):
                on_bad_line(path, number, pair)
                pair = (None, None)
            block.source.append(pair[0])
            block.target.append(pair[1])
        yield block
        first += len(lines)


def _tsv_pair(line: str, *, fields: Sequence[str]) -> tuple[str, str] | str:
    """The pair, or what is wrong with the line; ``fields``: its columns, where they are not all."""
    found = line.split("\t")
    count = f"{len(found)} field{'s' * (len(found) != 1)}"
    if not fields:
        if len(found) == 2:
            return found[0], found[1]
        cure = "; --columns 1,2 takes the first two" if len(found) > 2 else ""
        return f"{count} where two with one tab between them are needed{cure}"
    source, target = map(int, fields)
    if max(source, target) > len(found):
        return f"{count}, which --columns {source},{target} goes beyond"
    return found[source - 1], found[target - 1]


def _json_pair(line: str, *, fields: Sequence[str]) -> tuple[str, str] | str:
    """The pair, or what is wrong with the line."""
    try:
        record = json_value(line)
    except ValueError as error:
        return f"not JSON: {error}"
    if not isinstance(record, dict):
        return f"a JSON {type(record).__name__} where an object is needed"
    texts: list[str] = []
    for field in fields:
        if field not in record:
            return f'no field "{field}"; there are {", ".join(sorted(record))[:200] or "none"}'
        text = record[field]
        if not isinstance(text, str):
            shown = {dict: "an object", list: "a list"}.get(type(text)) or json.dumps(text)[:40]
            return f'field "{field}" is {shown}, not text'
        if "\0" in text:
            return f'field "{field}" holds a NUL character, which no text has'
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            return f'field "{field}" holds half of a surrogate pair, which is no character'
        texts.append(text)
    return texts[0], texts[1]
