"""Files of text that a command writes: whole or not at all, and never over something unasked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Replace a text file in one move."""
    beside = path.with_name(path.name + ".writing")
    try:
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        raise TextError(f"{path} cannot be written: {error.strerror or error}") from None
