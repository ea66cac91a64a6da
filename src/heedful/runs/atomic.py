"""Files and folders that are there whole or not at all: written beside, synced, renamed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRITING = ".writing"
"""What the name of an unfinished file or folder ends in."""


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file in one move."""
    beside = path.with_name(path.name + WRITING)
    with beside.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


@contextlib.contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """A folder to fill that takes its place when the block ends; after an error nothing of it is left."""
    beside = place.with_name("." + place.name + WRITING)
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for path in [*beside.iterdir(), beside]:
            sync(path)
        replaced = place.with_name("." + place.name + ".replaced")
        if place.exists():
            shutil.rmtree(replaced, ignore_errors=True)
            place.rename(replaced)
        beside.rename(place)
        sync(place.parent)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut."""
    with contextlib.suppress(PermissionError, IsADirectoryError):  # a folder cannot be opened on Windows
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256(path: Path) -> str:
    """The hash of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
