"""The lines of standard input: those that somebody types at a prompt, or those that another program writes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from heedful.cli.start import is_closed
from heedful.cli.terminal import say
from heedful.errors import TextError
from heedful.text.reading import BLOCK_BYTES, LONGEST_LINE

_PROMPT = "> "


def is_typed() -> bool:
    """Whether somebody sits at a terminal."""
    return not is_closed(sys.stdin) and sys.stdin.isatty() and sys.stdout.isatty()


def standard_input(*, greeting: Callable[[], str]) -> Iterator[list[str]]:
    """The lines that come, as many together as are there; ``greeting``: what somebody who types is told first."""
    if is_closed(sys.stdin):
        raise TextError("standard input is closed: give text, or --input FILE")
    return _typed(greeting) if is_typed() else _piped()


def _typed(greeting: Callable[[], str]) -> Iterator[list[str]]:
    """Each line when it is typed; Ctrl-D, or Ctrl-C while nothing is being translated, is the end."""
    with contextlib.suppress(ImportError):  # with it, `input` has the keys for editing a line and those before it
        import readline  # noqa: F401
    say(f"{greeting()}. Type a sentence and press Enter; Ctrl-D ends.")
    while True:
        try:
            line = input(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            say("")
            return
        except UnicodeDecodeError:
            say("that was no text in UTF-8")
            continue
        if line.strip():
            yield [line]


def _piped() -> Iterator[list[str]]:
    rest, done = b"", 0
    while data := sys.stdin.buffer.read1(BLOCK_BYTES):  # pyright: ignore[reportAttributeAccessIssue]
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > LONGEST_LINE:
            lines.append(rest)
        good: list[str] = []
        try:
            for line in lines:
                good.append(_decoded(line, done + len(good) + 1))
        finally:  # of a block with a bad line, what comes before it is translated all the same
            if good:
                yield good
        done += len(good)
    if rest:
        yield [_decoded(rest, done + 1)]


def _decoded(line: bytes, number: int) -> str:
    if len(line) > LONGEST_LINE:
        raise TextError(f"standard input, line {number:,}: longer than {LONGEST_LINE:,} bytes: cut it into lines")
    line = line.removesuffix(b"\r")
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} (0x{line[error.start]:02x}) is no UTF-8"
        raise TextError(f"standard input, line {number}: {reason}; the input must be text in UTF-8") from None
