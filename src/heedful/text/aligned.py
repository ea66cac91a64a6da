"""Whole text files that belong together line by line: a test set and what was made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from heedful.errors import TextError
from heedful.text.reading import line_blocks, require_readable


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, plain or compressed, one after the other; a binary one is refused."""
    require_readable(path)
    done = 0
    for block in line_blocks(path, on_bad_line=_refuse):
        for number, line in enumerate(block, start=done + 1):
            assert line is not None, "a bad line has been refused"
            if "\0" in line:
                _refuse(path, number, "a NUL character, which no text has")
            yield line
        done += len(block)


def read_lines(path: Path) -> list[str]:
    """All of them at once; a file without lines is refused."""
    lines = list(text_lines(path))
    if not lines:
        raise TextError(f"{path} is empty")
    return lines


def require_aligned(files: Sequence[tuple[Path, Sequence[str]]]) -> None:
    """Every file has as many lines as the first."""
    (first, lines), *others = files
    for path, other in others:
        if len(other) != len(lines):
            raise TextError(
                f"{first} has {len(lines):,} lines and {path} has {len(other):,}: line n of one must belong to line n "
                "of the other"
            )


def _refuse(path: Path, line: int, reason: str) -> None:
    raise TextError(f"{path}, line {line}: {reason}; a text file in UTF-8 is needed, plain or .gz, .xz or .zst")
