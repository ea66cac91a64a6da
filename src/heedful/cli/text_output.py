"""Files of text that a command writes: whole or not at all, and never over something unasked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO

from heedful.errors import TextError

COMPRESSED = (".gz", ".xz", ".zst")


def require_writable(path: Path, *, overwrite: bool) -> None:
    """Raise now what writing would raise after hours of work."""
    if path.suffix in COMPRESSED:
        raise TextError(
            f"--output {path}: text is written uncompressed; give a name that does not end in {path.suffix}"
        )
    if path.is_dir():
        raise TextError(f"--output {path} is a folder; a file is needed")
    if path.exists() and not overwrite:
        raise TextError(f"--output {path} is there already; --overwrite replaces it")
    if not path.absolute().parent.is_dir():
        raise TextError(f"--output {path}: there is no folder {path.absolute().parent}")


@contextlib.contextmanager
def new_text(path: Path) -> Iterator[Callable[[str], None]]:
    """A function that writes a line; the file takes its place when the block ends, and not after an error."""
    beside = path.with_name(path.name + ".writing")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            yield lambda line: _write(file, line)
        beside.replace(path)
    except OSError as error:
        raise TextError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)


def _write(file: TextIO, line: str) -> None:
    file.write(line + "\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Replace a text file in one move."""
    with new_text(path) as write:
        for line in lines:
            write(line)
