"""Where a command's lines come from and go to: arguments, files, standard input as it comes, standard output."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from heedful.cli.start import is_closed
from heedful.cli.terminal import print_text
from heedful.errors import TextError
from heedful.files import COMPRESSED, new_file, require_free
from heedful.text.reading import LONGEST_LINE, require_readable

_MOST_AT_ONCE = 4096
"""Lines of standard input that are handed on together."""


def count_lines(path: Path) -> int | None:
    """How many lines a plain file has, for a progress bar; None for a pipe or a compressed file."""
    require_readable(path)
    if path.suffix in COMPRESSED or not path.is_file():
        return None
    with path.open("rb") as file:
        count, last = 0, b"\n"
        while block := file.read(1 << 20):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def standard_input() -> Iterator[list[str]]:
    """The lines of standard input, as many together as are there: somebody who types gets an answer to each line."""
    if is_closed(sys.stdin):
        raise TextError("standard input is closed: give text, or --input FILE")
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=_MOST_AT_ONCE)

    def read() -> None:
        try:
            lines = iter(lambda: sys.stdin.buffer.readline(LONGEST_LINE), b"")
            for number, line in enumerate(lines, start=1):
                waiting.put(_decoded(line, number))
            waiting.put(None)
        except BaseException as error:  # handed over: the command raises it
            waiting.put(error)

    # Not `in_background`: a block ends where nothing more is waiting, which only the queue knows.
    threading.Thread(target=read, daemon=True, name="standard input").start()
    while True:
        block = [waiting.get()]
        while len(block) < _MOST_AT_ONCE and not waiting.empty():
            block.append(waiting.get())
        lines = [item for item in block if isinstance(item, str)]
        if lines:
            yield lines
        if isinstance(end := block[-1], BaseException):
            raise end
        if end is None:
            return


def _decoded(line: bytes, number: int) -> str:
    if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
        raise TextError(f"standard input, line {number:,}: longer than {LONGEST_LINE:,} bytes: cut it into lines")
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} (0x{line[error.start]:02x}) is no UTF-8"
        raise TextError(f"standard input, line {number}: {reason}; the input must be text in UTF-8") from None


def require_place(output: Path, *, overwrite: bool) -> None:
    """Raise now what writing to --output would raise after hours of work."""
    if output.suffix in COMPRESSED:
        raise TextError(
            f"--output {output}: text is written uncompressed; give a name that does not end in {output.suffix}"
        )
    require_free(output, overwrite=overwrite, error=TextError, what="--output")
    if not output.absolute().parent.is_dir():
        raise TextError(f"--output {output}: there is no folder {output.absolute().parent}")


@contextlib.contextmanager
def new_text(output: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes a line; a file takes its place when the block ends, and not after an error."""
    if output is None:
        yield print_text
        return
    with new_file(output, error=TextError) as file:

        def write(line: str) -> None:
            file.write(f"{line}\n".encode("utf-8", errors="replace"))

        yield write
