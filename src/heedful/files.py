"""Files and folders that are there whole or not at all, and files of others, read with care.

What is written is written beside its place under a hidden name, synced, and renamed; after an error nothing of it is
left. What is read may be of any size, type or depth: the readers here say what is wrong with it, in the error that the
caller names, and never run out of memory or wait for a pipe. Needs no torch; knows nothing of runs or corpora.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from heedful.errors import HeedfulError
from heedful.typed import typed

try:
    import fcntl
except ImportError:  # Windows: there are no locks, and what a killed process left cannot be told from a busy one's
    fcntl = None

T = TypeVar("T")
COMPRESSED = (".gz", ".xz", ".zst")
"""What the name of a compressed text ends in."""
_MOST_JSON_BYTES = 1 << 28
"""A description of anything is smaller; a larger file is not one."""
_ErrorType = type[HeedfulError]
"""What the caller wants raised."""
LOCK = ".lock"
"""Lies in a folder that a process is writing."""
_UNFINISHED = re.compile(r"\..+\.(writing|replaced|\d+\.[0-9a-f]{8})|.+\.writing")
"""What the hidden names below look like, and those of version 0.1.0."""


def without_compression(path: Path) -> Path:
    """The path that a compressed text would have without compression."""
    return path.with_suffix("") if path.suffix in COMPRESSED else path


def sha256(path: Path) -> str:
    """The hash of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def reason(error: Exception) -> str:
    """What an error says; an operating system's without its number."""
    return getattr(error, "strerror", None) or str(error)


def is_plain_name(name: object) -> bool:
    """Whether this names a file or folder right here, and nowhere else: no path, no ``..``, nothing unprintable."""
    return isinstance(name, str) and name not in {"", ".", ".."} and name.isprintable() and not set(name) & {"/", "\\"}


def read_small(path: Path, *, most: int = _MOST_JSON_BYTES) -> bytes:
    """The bytes of a regular file of at most so many; raises OSError, as ``read_bytes`` does, for anything else."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data


def json_value(text: bytes | str) -> Any:
    """What a JSON text says; ValueError for all that is wrong with it, too deeply nested texts too."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None


def read_json(path: Path, *, error: _ErrorType) -> dict[str, Any]:
    """The JSON object in a file; FileNotFoundError and NotADirectoryError are left to the caller, who knows more."""
    try:
        value = json_value(read_small(path))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as problem:
        raise error(f"{path} cannot be read: {reason(problem)}") from None
    except ValueError as problem:
        raise error(f"{path} is damaged, or not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise error(f"{path} holds no JSON object")
    return value


def require_format(value: dict[str, Any], path: Path, *, name: str, version: int, error: _ErrorType) -> None:
    """Raise unless an object says that it is of this format and version."""
    if value.get("format") != name:
        raise error(f"{path} does not say that it is a {name}")
    if value.get("format_version") != version:
        raise error(
            f"{path} is of format version {value.get('format_version')!r:.40}; this heedful reads version {version}"
        )


def read_typed(path: Path, kind: type[T], *, name: str, version: int = 1, error: _ErrorType) -> T:
    """A JSON file of this format as a dataclass; what `read_json` leaves to the caller is left to the caller."""
    value = read_json(path, error=error)
    require_format(value, path, name=name, version=version, error=error)
    try:
        return typed(kind, value)
    except ValueError as problem:
        raise error(f"{path} is damaged: {problem}") from None


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _resolved(path: Path) -> Path:
    """Where a path leads; OSError where its links lead in a circle, for which `resolve` has another error."""
    try:
        return path.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None


def require_free(path: Path, *, overwrite: bool, error: _ErrorType, what: str = "") -> None:
    """Raise now what writing a file would raise after hours of work; ``what``: the option that named it."""
    shown = f"{what} {path}" if what else str(path)
    try:
        if path.is_dir():
            raise error(f"{shown} is a folder; give the name of a file")
        if path.exists() and not overwrite and path.is_file():
            raise error(f"{shown} is there already; give another name, or --overwrite to replace it")
    except (OSError, ValueError) as problem:
        raise error(f"{shown} cannot be a file: {reason(problem)}") from None


@contextlib.contextmanager
def new_file(path: Path, *, error: _ErrorType) -> Iterator[IO[bytes]]:
    """A file to fill that takes its place when the block ends. A device or a pipe is written to, never replaced.

    A link's target is replaced, not the link. Several processes may write the same file: the last to end wins, whole.
    """
    try:
        place = _resolved(path)
        if place.exists() and not place.is_file():
            with place.open("wb") as file:
                yield file
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        hidden = place.with_name(f".{place.name[:80]}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            with hidden.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            hidden.replace(place)
        finally:
            hidden.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise error(f"{path} cannot be written: {reason(problem)}") from None


def write_file(path: Path, content: bytes, *, error: _ErrorType) -> Path:
    """Write a file, and the folders it is in, in one move."""
    with new_file(path, error=error) as file:
        file.write(content)
    return path


def write_json(path: Path, value: Any, *, indent: int | None = 1) -> None:
    """Replace a JSON file of a folder that is ours, or what a killed process left of one; without indent as a line."""
    separators = None if indent else (",", ":")
    hidden = path.with_name(f".{path.name}.writing")
    with hidden.open("w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump(value, file, indent=indent, ensure_ascii=False, separators=separators)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(path)


def write_typed(path: Path, value: Any, *, name: str, version: int = 1, indent: int | None = 1) -> None:
    """Write a dataclass as `read_typed` reads it."""
    write_json(path, {"format": name, "format_version": version, **dataclasses.asdict(value)}, indent=indent)


@contextlib.contextmanager
def new_folder(place: Path, *, error: _ErrorType, doing: str = "writing") -> Iterator[Path]:
    """A folder to fill that takes its place, and that of what is there, when the block ends without an error.

    Whether what is there may go is for the caller to ask first (`require_only_ours`). One that a killed process left
    unfinished is removed at the next start; one that another process is filling at this moment is refused.
    ``doing``: what that process is said to be doing.
    """
    try:
        place = _resolved(place)
        if not place.name:
            raise error(f"{place} cannot be made: it is the root of all folders")
        hidden, replaced = (place.with_name(f".{place.name}.{state}") for state in ("writing", "replaced"))
        place.parent.mkdir(parents=True, exist_ok=True)
        busy = f"another process is {doing} {place} (its folder is {hidden})"
        _clear_leftovers(place, hidden, replaced, error=error, busy=busy)
        hidden.mkdir()
    except OSError as problem:
        raise error(f"{place} cannot be made: {reason(problem)}") from None
    try:
        with locked(hidden, error=error, busy=busy):
            yield hidden
        (hidden / LOCK).unlink(missing_ok=True)
        for path in [*hidden.rglob("*"), hidden]:
            _sync(path)
        if place.exists():
            place.rename(replaced)
        hidden.rename(place)
        _sync(place.parent)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def _clear_leftovers(place: Path, hidden: Path, replaced: Path, *, error: _ErrorType, busy: str) -> None:
    if replaced.exists():  # killed between the two renames
        if place.exists():
            shutil.rmtree(replaced)
        else:
            replaced.rename(place)
    if hidden.exists():
        with locked(hidden, error=error, busy=busy):
            shutil.rmtree(hidden)


def _sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut, where the file system can."""
    with contextlib.suppress(PermissionError, IsADirectoryError):  # a folder cannot be opened on Windows
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as problem:
            if problem.errno not in {errno.EINVAL, errno.EBADF, errno.ENOTSUP}:  # some refuse to sync a folder
                raise
        finally:
            os.close(descriptor)


def foreign_files(folder: Path, *, ours: Iterable[str]) -> list[str]:
    """The files in a folder, at any depth, that are not among these paths below it, but the first ten thousand.

    Links are files. What is, or lies in, something hidden that was not written to its end is ours.
    """
    known = {*ours, LOCK}
    there = (path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    finished = (path.as_posix() for path in there if not any(map(_UNFINISHED.fullmatch, path.parts)))
    return sorted(itertools.islice((name for name in finished if name not in known), 10_000))


def require_only_ours(folder: Path, *, ours: Iterable[str], error: _ErrorType, what: str) -> None:
    """Raise where removing a folder would remove a file, at any depth, that this program did not write.

    ``ours``: the paths, below the folder, of what it wrote.
    """
    if foreign := foreign_files(folder, ours=ours):
        more = f" and {len(foreign) - 3:,} more" if len(foreign) > 3 else ""
        raise error(
            f"{folder} holds {', '.join(foreign[:3])}{more} beside the {what}, and replacing it would remove that too: "
            "move it elsewhere, or give another folder"
        )


def require_replaceable(
    folder: Path, *, overwrite: bool, what: str, is_one: Callable[[Path], bool], ours: Iterable[str], error: _ErrorType
) -> None:
    """Raise where a new folder must not take a place: one that is taken, unless it is asked for and removes only ours.

    ``what``: as in "a bundle"; ``is_one``: whether the folder there is such a one; ``ours``: the files it may
    hold, as `require_only_ours` takes them.
    """
    try:
        if not folder.exists():
            return
        if Path.cwd().is_relative_to(_resolved(folder)):
            raise error(f"{folder} is or holds the folder that you are in, and cannot be replaced: give a new one")
        if not overwrite:
            raise error(f"{folder} is there already: give another folder, or --overwrite to replace it")
        if folder.is_dir() and not any(folder.iterdir()):
            return
        kind = what.split()[-1]
        if not folder.is_dir() or not is_one(folder):
            raise error(f"{folder} is not {what}, and only {kind}s are overwritten: give another folder")
        require_only_ours(folder, ours=ours, error=error, what=kind)
    except OSError as problem:
        raise error(f"{folder} cannot be written: {reason(problem)}") from None


@contextlib.contextmanager
def locked(folder: Path, *, error: _ErrorType, busy: str) -> Iterator[None]:
    """Keep other processes out of a folder while the block runs; the lock dies with its process, however it ends."""
    if fcntl is None:
        yield
        return
    path = folder / LOCK
    while True:
        with locked_file(path, error=error, busy=busy) as lock:
            if not _is_open_file(path, lock):  # its last holder removed it after we had opened it
                continue
            try:
                yield
            finally:
                if _is_open_file(path, lock) and not path.stat().st_size:  # one with contents is somebody else's
                    path.unlink()
            return


@contextlib.contextmanager
def locked_file(path: Path, *, error: _ErrorType, busy: str) -> Iterator[IO[bytes]]:
    """A file to append to, made where there is none, that no other process locks while the block runs."""
    with path.open("ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise error(busy) from None
            except OSError:  # a file system without locks: nothing can be known
                pass
        yield file


def _is_open_file(path: Path, file: IO[Any]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False
