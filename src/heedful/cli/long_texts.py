"""Texts that take hours: parts of them for several processes, and outputs that go on whatever ended the process.

With ``--resume``, ``FILE.part`` holds the lines so far, and ``FILE.progress.json`` says how many of its bytes count and
what they are of. It is replaced after each block of lines, once these are on the disk: what a killed process wrote
after that is cut off. When all is done, ``FILE.part`` becomes ``FILE``; the record stays, and knows that nothing is
left to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from heedful import __version__
from heedful.cli.terminal import new_text, say
from heedful.errors import TextError
from heedful.files import locked_file, read_typed, write_typed

if TYPE_CHECKING:
    from heedful.translation.translator import Translator

SHARD_LINES = 512
"""What a part of a text has a multiple of: the lines that are translated together on a CPU."""
_FORMAT = "heedful translation"


@dataclass(frozen=True)
class Progress:
    """``FILE.progress.json``."""

    asked: dict[str, Any]
    """All that the output depends on: the input, the models, the options."""
    lines: int = 0
    """Of the input that are done."""
    bytes: int = 0
    """Of the output that count."""
    finished: bool = False


@dataclass(frozen=True)
class LongText:
    """An output that may go on where it was."""

    lines: int
    """Of the input that were done before."""
    write: Callable[[str], object]
    """Writes a line of the output."""
    keep: Callable[[int], object]
    """Makes sure of all that is written, now that so many lines of the input are done."""


def made_by(translator: Translator, *, precision: str) -> dict[str, Any]:
    """What computes a translation, of all that its output depends on."""
    models = [saved.fingerprint for saved in translator.all_saved]
    device = str(translator.device).partition(":")[0]
    running = {"engine": translator.engine, "device": device, "precision": precision}
    return {"heedful": __version__, "models": models, **running}


def lines_of_shard(shard: str | None, lines: int) -> range:
    """Of a text of so many lines, the places of those in one of its parts, as in ``2/8``; all when None.

    The parts do not depend on who translates them, and are cut where a whole text is cut into blocks on a CPU: so what
    is translated together is the same, to the last bit.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", shard or "1/1")
    if match is None or int(match[1]) > int(match[2]):
        raise TextError(f"--shard {shard}: must be the number of a part and how many there are, from 1/8 to 8/8")
    part, parts = map(int, match.groups())
    blocks = -(-lines // SHARD_LINES)
    begin, end = (min(lines, blocks * done // parts * SHARD_LINES) for done in (part - 1, part))
    return range(begin, end)


@contextlib.contextmanager
def whole_text(output: Path | None) -> Iterator[LongText]:
    """Standard output, or a file that is there when all of it is."""
    with new_text(output) as write:
        yield LongText(0, write, lambda _: None)


@contextlib.contextmanager
def resumed_text(output: Path, asked: dict[str, Any], *, lines: int) -> Iterator[LongText]:
    """The output for an input of so many lines; raises where what is there is of something else. See the module."""
    asked, part = json.loads(json.dumps(asked)), output.with_name(f"{output.name}.part")
    record = output.with_name(f"{output.name}.progress.json")
    before = _progress(record, asked, part)
    if output.exists():
        if not before.finished or output.stat().st_size != before.bytes:
            raise TextError(f"--output {output} is there already, and not what --resume wrote: move it away")
        yield LongText(lines, lambda _: None, lambda _: None)
        return
    with locked_file(part, error=TextError, busy=f"another process is writing {part}") as file:
        before = _progress(record, asked, part)  # once more, now that nobody else writes it
        if _size(file) < before.bytes:
            raise TextError(f"{part} is shorter than {record} says: remove both to begin anew")
        file.truncate(before.bytes)

        def keep(done: int, *, finished: bool = False) -> None:
            file.flush()
            os.fsync(file.fileno())
            write_typed(record, Progress(asked, done, _size(file), finished), name=_FORMAT)

        write = lambda line: file.write(f"{line}\n".encode("utf-8", errors="replace"))  # noqa: E731
        try:
            yield LongText(before.lines, write, keep)
        except KeyboardInterrupt:
            say(f"{part} holds what is done so far; the same command goes on")
            raise
        keep(lines, finished=True)
    part.replace(output)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _progress(record: Path, asked: dict[str, Any], part: Path) -> Progress:
    """How far it is; raises where something else was asked for before."""
    try:
        before = read_typed(record, Progress, name=_FORMAT, error=TextError)
    except FileNotFoundError:
        return Progress(asked)
    changed = [
        f"{name} {_shown(before.asked.get(name))} before, {_shown(asked.get(name))} now"
        for name in {**before.asked, **asked}
        if before.asked.get(name) != asked.get(name)
    ]
    if changed:
        raise TextError(
            f"{record} is of another translation: {'; '.join(changed)}. Ask for the same to go on, or remove it and "
            f"{part} to begin anew"
        )
    return before


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
