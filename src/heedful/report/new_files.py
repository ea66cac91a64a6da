"""Files for people: never in place of another unasked, and under their name only once they are whole."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from heedful.errors import ReportError


def require_free(path: Path, *, overwrite: bool) -> None:
    """Raise where a file is in the way, before any work is done for it."""
    if path.is_dir():
        raise ReportError(f"{path} is a folder; give the name of a file in it")
    if path.exists() and not overwrite:
        raise ReportError(f"{path} exists; give another name, or --overwrite to replace it")


def written(path: Path, content: bytes, *, overwrite: bool) -> Path:
    """Write a file, and the folders it is in; returns its path."""
    require_free(path, overwrite=overwrite)
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_bytes(content)
        hidden.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            hidden.unlink()
        raise ReportError(f"{path} cannot be written: {error.strerror}") from None
    return path
