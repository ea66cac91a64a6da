"""Where a command's lines come from: arguments, a file, or standard input as it comes."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from heedful.errors import TextError
from heedful.text.reading import require_readable

MOST_AT_ONCE = 4096
"""Lines of standard input that are handed on together."""


def count_lines(path: Path) -> int | None:
    """How many lines a plain file has, for a progress bar; None where counting would mean decompressing."""
    require_readable(path)
    if path.suffix in {".gz", ".xz", ".zst"} or not path.is_file():
        return None
    with path.open("rb") as file:
        count, last = 0, b"\n"
        while block := file.read(1 << 20):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def standard_input() -> Iterator[list[str]]:
    """The lines of standard input, as many together as are there: somebody who types gets an answer to each line."""
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=MOST_AT_ONCE)

    def read() -> None:
        try:
            for number, line in enumerate(sys.stdin.buffer, start=1):
                waiting.put(_decoded(line, number))
            waiting.put(None)
        except BaseException as error:  # handed over: the command raises it
            waiting.put(error)

    threading.Thread(target=read, daemon=True, name="standard input").start()
    ended = False
    while not ended:
        block: list[str] = []
        item = waiting.get()
        while True:
            if isinstance(item, BaseException):
                if block:
                    yield block
                raise item
            if item is None:
                ended = True
                break
            block.append(item)
            if len(block) == MOST_AT_ONCE or waiting.empty():
                break
            item = waiting.get()
        if block:
            yield block


def _decoded(line: bytes, number: int) -> str:
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} (0x{line[error.start]:02x}) is no UTF-8"
        raise TextError(f"standard input, line {number}: {reason}; the input must be text in UTF-8") from None
