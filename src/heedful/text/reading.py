"""Lines of a text file, plain or compressed, in blocks; and nothing that could shift one line against another.

A line ends at b"\\n" and nowhere else: U+2028, U+0085, a form feed or a lone carriage return are text, since
programs disagree about them and a corpus aligned by one program would be misaligned by another. One carriage return
before the line's end (CRLF) is dropped, and so is a byte order mark at the start of the file. A line with a NUL, one
that is no UTF-8 and one that is too long are bad lines.

No file takes more memory than its longest line and some blocks, whatever it holds and however it is compressed.
This module does not know of pairs or of languages.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from heedful.errors import TextError
from heedful.files import reason

BLOCK_BYTES = 1 << 21
LONGEST_LINE = 1 << 24
"""Bytes of a line: a longer one is no sentence, nor a paragraph."""
_ZSTANDARD_INPUT = 256
"""Compressed bytes that are decompressed at once: at most 32,768 times as many come out, 8 MiB."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# UTF-32's marks begin with those of UTF-16, and are looked for first.
_OTHER_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_SAMPLE = 4096

BadLine = Callable[[Path, int, str], None]
"""Called with file, line number and reason; raises, or takes note and returns."""


def refuse(path: Path, line: int, reason: str) -> None:
    """What happens to a bad line unless the user chose otherwise."""
    raise TextError(f"{path}, line {line}: {reason} (--on-bad-line drop leaves such lines out)")


def require_readable(path: Path) -> None:
    """Raise now what reading the file would raise at once: hours may pass before its turn comes."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise TextError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise TextError(f"{path} cannot be read: {reason(error)}") from None
    if stat.S_ISDIR(mode):
        raise TextError(f"{path} is a folder, not a text file")
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _is_terminal(path)):
        raise TextError(f"{path} is a device, not a text file")


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, one after the other; a bad one is refused."""
    for block in line_blocks(path, on_bad_line=_refuse_file):
        for line in block:
            assert line is not None, "a bad line has been refused"
            yield line


def text_facts(path: Path) -> tuple[int, str]:
    """How many lines a text file has, and the hash of its text, however it is compressed; a bad line is refused."""
    count, digest = 0, hashlib.sha256()
    for block in line_blocks(path, on_bad_line=_refuse_file):
        count += len(block)
        digest.update("".join(f"{line}\n" for line in block).encode())
    return count, digest.hexdigest()


def read_lines(path: Path) -> list[str]:
    """All of them at once; a file without lines is refused."""
    lines = list(text_lines(path))
    if not lines:
        raise TextError(f"{path} is empty")
    return lines


def aligned_lines(*paths: Path | None) -> dict[Path | None, list[str]]:
    """The lines of each file; raises unless all have as many as the first. None is no file."""
    files: dict[Path | None, list[str]] = {path: read_lines(path) for path in paths if path is not None}
    first, most = next((path, len(lines)) for path, lines in files.items())
    for path, lines in files.items():
        if len(lines) != most:
            raise TextError(
                f"{first} has {most:,} lines and {path} has {len(lines):,}: line n of one must belong to line n "
                "of the other"
            )
    return files


def line_blocks(path: Path, *, on_bad_line: BadLine = refuse) -> Iterator[list[str | None]]:
    """The lines of a file in order, in lists; None stands for a bad line that was not refused."""
    done = 0
    for block in _line_bytes(path):
        lines: list[str | None] = [None]
        if block is None:
            on_bad_line(path, done + 1, f"longer than {LONGEST_LINE:,} bytes, so it is no line of text")
        else:
            try:
                lines = [*_text(block).split("\n")]
            except ValueError:  # in one of its lines
                numbered = enumerate(block.split(b"\n"), start=done + 1)
                lines = [_good(line, path, number, on_bad_line) for number, line in numbered]
            if b"\r" in block:
                lines = [line and line.removesuffix("\r") for line in lines]
        yield lines
        done += len(lines)


def _line_bytes(path: Path) -> Iterator[bytes | None]:
    """Blocks of whole lines, each without its last line's end; None for a line that is too long to be held."""
    held: list[bytes] = []
    size, first, skipping = 0, True, False
    for data in _byte_blocks(path):
        if first:
            _require_utf8(data, path)
            data, first = data.removeprefix(_BYTE_ORDER_MARK), False
        end = data.find(b"\n")
        size += len(data) if end < 0 else end
        if size > LONGEST_LINE and not skipping:
            yield None
            held, skipping = [], True
        if end < 0:
            held += [] if skipping else [data]
            continue
        if skipping:
            data, skipping = data[end + 1 :], False
        whole, newline, rest = data.rpartition(b"\n")
        if newline:
            yield b"".join((*held, whole))
            held = []
        held.append(rest)
        size = sum(map(len, held))
    last = b"".join(held)
    if last:  # the last line may lack its end
        yield last


def _byte_blocks(path: Path) -> Iterator[bytes]:
    """The file's bytes, decompressed by its name's ending."""
    require_readable(path)
    try:
        if path.suffix == ".zst":
            yield from _zstandard_blocks(path)
            return
        opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, Path.open)
        with opened(path, "rb") as file:
            # The first block is read whole, so that a byte order mark is never split.
            while data := file.read(BLOCK_BYTES):
                yield data
    except EOFError:
        raise TextError(f"{path} is cut short: the compressed data ends in the middle") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise TextError(f"{path} is damaged, or not compressed as its name says: {error}") from None
    except OSError as error:
        raise TextError(f"{path} cannot be read: {reason(error)}") from None


def _zstandard_blocks(path: Path) -> Iterator[bytes]:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise TextError(f"{path} needs the package zstandard: pip install zstandard") from None
    # Not zstandard.open: its reader takes a file that is cut short for a file that ends.
    frame, complete, pending = zstandard.ZstdDecompressor().decompressobj(), True, bytearray()
    with path.open("rb") as file:
        while data := file.read(_ZSTANDARD_INPUT):
            while data:
                if complete:
                    frame, complete = zstandard.ZstdDecompressor().decompressobj(), False
                try:
                    pending += frame.decompress(data)
                except zstandard.ZstdError as error:
                    raise zlib.error(str(error)) from None  # who catches it may not have the package
                complete, data = frame.eof, frame.unused_data
            while len(pending) >= BLOCK_BYTES:
                yield bytes(pending[:BLOCK_BYTES])
                del pending[:BLOCK_BYTES]
    if not complete:
        raise EOFError
    yield bytes(pending)


def _require_utf8(data: bytes, path: Path) -> None:
    """Raise where the first bytes of a file show another encoding, or no text at all."""
    marks = (name for mark, name in _OTHER_MARKS.items() if data.startswith(mark))
    if encoding := next(marks, None) or _unmarked_encoding(data[:_SAMPLE]):
        raise TextError(f"{path} is {encoding} text; heedful reads UTF-8 (iconv -f {encoding} -t UTF-8 converts it)")
    if data[:_SAMPLE].count(0) == min(len(data), _SAMPLE) > 0:
        raise TextError(f"{path} is no text: it begins with NUL bytes")


def _unmarked_encoding(sample: bytes) -> str | None:
    """UTF-16 or UTF-32: read as what it is, and only so, a text has spaces or line ends and no NULs."""
    if b"\0" not in sample:
        return None
    for encoding in ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE"):
        text = sample.decode(encoding, errors="replace")
        if "\0" not in text and text.count(" ") + text.count("\n") > 0.01 * len(text):
            return encoding
    return None


def _good(line: bytes, path: Path, number: int, on_bad_line: BadLine) -> str | None:
    try:
        return _text(line)
    except ValueError as error:
        on_bad_line(path, number, str(error))
        return None


def _text(data: bytes) -> str:
    if b"\0" in data:
        raise ValueError("a NUL character, which no text has")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{data[error.start]:02x} at position {error.start + 1}") from None


def _refuse_file(path: Path, line: int, reason: str) -> None:
    raise TextError(f"{path}, line {line}: {reason}; a text file in UTF-8 is needed, plain or .gz, .xz or .zst")


def _is_terminal(path: Path) -> bool:
    with path.open("rb", buffering=0) as file:
        return os.isatty(file.fileno())
