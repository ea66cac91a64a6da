"""Lines of a text file, plain or compressed, in blocks; and nothing that could shift one line against another.

A line ends at b"\\n" and nowhere else: U+2028, U+0085, a form feed or a lone carriage return are text, since
programs disagree about them and a corpus aligned by one program would be misaligned by another. One carriage return
before the line's end (CRLF) is dropped, and so is a byte order mark at the start of the file. NUL is text.

This module does not know of pairs or of languages.
"""

from __future__ import annotations

import gzip
import io
import lzma
import queue
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from heedful.errors import TextError

T = TypeVar("T")

BLOCK_BYTES = 1 << 21
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OTHER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

BadLine = Callable[[Path, int, str], None]
"""Called with file, line number and reason; raises, or takes note and returns."""


def refuse(path: Path, line: int, reason: str) -> None:
    """What happens to a bad line unless the user chose otherwise."""
    raise TextError(f"{path}, line {line}: {reason} (--on-bad-line drop leaves such lines out)")


def require_readable(path: Path) -> None:
    """Raise now what reading the file would raise at once: hours may pass before its turn comes."""
    if not path.exists():
        raise TextError(f"there is no file {path}")
    if path.is_dir():
        raise TextError(f"{path} is a folder, not a text file")


def line_blocks(path: Path, *, on_bad_line: BadLine = refuse) -> Iterator[list[str | None]]:
    """The lines of a file in order, in lists; None stands for a line that is no UTF-8 and was not refused."""
    done = 0
    for block in _line_bytes(path):
        try:
            lines: list[str | None] = list(block.decode("utf-8").split("\n"))
        except UnicodeDecodeError:
            lines = [
                _decoded(line, path, number, on_bad_line)
                for number, line in enumerate(block.split(b"\n"), start=done + 1)
            ]
        if b"\r" in block:
            lines = [line[:-1] if line and line[-1] == "\r" else line for line in lines]
        yield lines
        done += len(lines)


def in_background(items: Iterator[T], *, ahead: int = 4) -> Iterator[T]:
    """The same items, made by another thread a few ahead: decompression lets go of the interpreter's lock."""
    waiting: queue.Queue[tuple[bool, T | BaseException | None]] = queue.Queue(maxsize=ahead)
    stop = threading.Event()

    def put(item: tuple[bool, T | BaseException | None]) -> bool:
        while not stop.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def work() -> None:
        try:
            for item in items:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:  # handed over to, and raised in, the thread that reads
            put((False, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            more, item = waiting.get()
            if not more:
                if isinstance(item, BaseException):
                    raise item
                return
            yield item  # pyright: ignore[reportReturnType]
    finally:
        stop.set()


def _line_bytes(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, each without its last line's end."""
    parts: list[bytes] = []
    first = True
    for data in _byte_blocks(path):
        if first:
            _require_no_other_mark(data, path)
            data, first = data.removeprefix(BYTE_ORDER_MARK), False
        cut = data.rfind(b"\n")
        if cut < 0:
            parts.append(data)
            continue
        yield b"".join((*parts, data[:cut]))
        parts = [data[cut + 1 :]]
    rest = b"".join(parts)
    if rest:  # the last line may lack its end
        yield rest


def _byte_blocks(path: Path) -> Iterator[bytes]:
    """The file's bytes, decompressed by its name's ending."""
    require_readable(path)
    try:
        if path.suffix == ".zst":
            yield from _zstandard_blocks(path)
            return
        with _opened(path) as file:
            # The first block is read whole, so that a byte order mark is never split.
            while data := file.read(BLOCK_BYTES):
                yield data
    except EOFError:
        raise TextError(f"{path} is cut short: the compressed data ends in the middle") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, _ZstandardError) as error:
        raise TextError(f"{path} is damaged, or not compressed as its name says: {error}") from None
    except OSError as error:
        raise TextError(f"{path} cannot be read: {error.strerror or error}") from None


def _opened(path: Path) -> io.BufferedIOBase:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # pyright: ignore[reportReturnType]
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


class _ZstandardError(Exception):
    """What zstandard's own error becomes, so that the package is needed for .zst files alone."""


def _zstandard_blocks(path: Path) -> Iterator[bytes]:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise TextError(f"{path} needs the package zstandard: pip install zstandard") from None
    # Not zstandard.open: its reader takes a file that is cut short for a file that ends.
    frame, complete, pending = zstandard.ZstdDecompressor().decompressobj(), True, bytearray()
    with path.open("rb") as file:
        while data := file.read(BLOCK_BYTES // 4):
            while data:
                if complete:
                    frame, complete = zstandard.ZstdDecompressor().decompressobj(), False
                try:
                    pending += frame.decompress(data)
                except zstandard.ZstdError as error:
                    raise _ZstandardError(error) from None
                complete, data = frame.eof, frame.unused_data
            if len(pending) >= BLOCK_BYTES:
                yield bytes(pending)
                pending.clear()
    if not complete:
        raise EOFError
    yield bytes(pending)


def _require_no_other_mark(data: bytes, path: Path) -> None:
    if encoding := OTHER_MARKS.get(data[:2]):
        raise TextError(f"{path} is {encoding} text; heedful reads UTF-8 (iconv -f {encoding} -t UTF-8 converts it)")


def _decoded(line: bytes, path: Path, number: int, on_bad_line: BadLine) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        on_bad_line(path, number, f"not UTF-8: byte 0x{byte:02x} at position {error.start + 1}")
        return None
