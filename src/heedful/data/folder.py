"""A folder that appears whole or not at all.

It is written beside its place under a hidden name and renamed when complete. Ctrl-C or an error removes the hidden
folder; one left by a killed process is recognised by its free lock and removed at the next start.
This module does not know what is in the folder, except the name of the file that says a folder is ours to replace.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from heedful.errors import CorpusError

try:
    import fcntl
except ImportError:  # Windows: a stale folder cannot be told from a busy one and is left alone
    fcntl = None

from heedful.data.manifest import MANIFEST

_LOCK = ".lock"


@contextlib.contextmanager
def new_folder(place: Path, *, overwrite: bool) -> Iterator[Path]:
    """A temporary folder to fill; when the block ends without an error it stands at ``place``."""
    place = Path(place).absolute()
    hidden, replaced = place.with_name(f".{place.name}.preparing"), place.with_name(f".{place.name}.replaced")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(place, hidden, replaced)
        _require_writable(place, overwrite=overwrite)
        hidden.mkdir()
    except OSError as error:
        raise CorpusError(f"{place} cannot be made: {error.strerror}") from None
    lock = (hidden / _LOCK).open("w")
    try:
        _take(lock)
        yield hidden
        lock.close()
        (hidden / _LOCK).unlink()
        for folder in [hidden, *(path for path in hidden.rglob("*") if path.is_dir())]:
            sync_folder(folder)
        if place.exists():
            place.rename(replaced)
        hidden.rename(place)
        sync_folder(place.parent)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        lock.close()
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut; those in the folders inside it are not its names."""
    with contextlib.suppress(OSError):  # some file systems refuse to sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _require_writable(place: Path, *, overwrite: bool) -> None:
    if place.exists() and not place.is_dir():
        raise CorpusError(f"{place} is a file; give the name of a folder that does not exist yet")
    if not place.is_dir() or not any(place.iterdir()):
        return
    if not (place / MANIFEST).is_file():
        raise CorpusError(f"{place} holds other files and is not a prepared corpus: give another folder")
    if not overwrite:
        raise CorpusError(f"{place} is there already; --overwrite replaces it")


def _clear_leftovers(place: Path, hidden: Path, replaced: Path) -> None:
    if replaced.exists():  # killed between the two renames
        if place.exists():
            shutil.rmtree(replaced)
        else:
            replaced.rename(place)
    if not hidden.exists():
        return
    if not _is_free(hidden / _LOCK):
        raise CorpusError(f"another process is preparing {place} (its folder is {hidden})")
    shutil.rmtree(hidden)


def _take(lock: IO[str]) -> None:
    if fcntl is not None:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_free(path: Path) -> bool:
    if not path.exists():
        return True
    if fcntl is None:
        return False
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
