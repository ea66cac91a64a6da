"""Where the process begins: what must be in order before a command is loaded."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import IO, Any

INTERRUPTED = 130


def main() -> None:
    """Run the command that the process was started with."""
    try:
        signal.signal(signal.SIGINT, _interrupt)
        _prepare_streams()
        _share_cores()
        from heedful.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    run()


def _share_cores() -> None:
    """Let threads that wait for others go to sleep soon, where nobody said how they are to wait.

    By itself GNU's OpenMP, which computes for PyTorch on Linux, has them look for milliseconds whether they may go on:
    beside another program on the same cores all of it takes ten to twenty times as long. It reads this when loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def _prepare_streams() -> None:
    """Make the three standard streams usable whatever they are.

    A closed one (`>&-`) is opened on nothing, so that no file of ours takes its number. A character that a stream's
    encoding does not have is replaced. A log that cannot be written, on a full disk, does not stop the work.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8", errors="replace"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
        if isinstance(sys.stdout.buffer, io.RawIOBase):  # PYTHONUNBUFFERED: what a disk has no room for would be lost
            sys.stdout = _buffered(io.FileIO(1, "w", closefd=False), sys.stdout.encoding, errors="replace")
    if not is_closed(sys.stderr) and not sys.stderr.isatty():
        sys.stderr = _buffered(_Log(2, "w", closefd=False), sys.stderr.encoding, errors="backslashreplace")


def _buffered(file: io.FileIO, encoding: str, *, errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(file), encoding=encoding, errors=errors, line_buffering=True)


def is_closed(stream: IO[Any]) -> bool:
    """Whether the process was started without this stream; one that the shell opened has another name."""
    return getattr(stream, "name", None) == os.devnull


class _Log(io.FileIO):
    """A file that goes on without what cannot be written."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno == errno.EPIPE:  # a reader that has had enough
                raise
            return memoryview(data).nbytes


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C. While modules are loaded Python may swallow a KeyboardInterrupt, and the command would go on."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"interrupted\n")
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
