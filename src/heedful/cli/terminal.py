"""Where every command prints, and writes its lines: nothing reaches a terminal but through here.

Names, titles, messages and text may come from others' files. What would control a terminal is shown as � and what
looks like rich's markup is text. Where standard output is a file or a pipe, text goes on as it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from heedful.background import Report, no_report
from heedful.errors import TextError
from heedful.files import COMPRESSED, new_file, require_free

T = TypeVar("T")
SECONDS_BETWEEN_LINES = 10.0
"""Where there is no terminal to draw a bar on."""
_FEWEST_FOR_PACE = 100
"""Lines come many at a time: the first of them, late, would say that all will take days."""
_WIDTH_WITHOUT_TERMINAL = 200
"""A file or a pipe has no width; a table is never folded there."""
_NARROWEST, _WIDEST = 20, 1000
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_LINE_ENDS_AND_DIRECTIONS = [0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = dict.fromkeys([*_CONTROLS, *_LINE_ENDS_AND_DIRECTIONS, *range(0xD800, 0xE000)], "�") | {9: "\t", 10: "\n"}


def visible(text: str, *, most: int | None = None) -> str:
    """The text with � for each character that would control a terminal, and at most so many characters of it."""
    shown = text.translate(_SHOWN)
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


class PatientConsole(Console):
    """A console that lets nothing through that controls a terminal, but rich's own.

    A reader that leaves early (`| head`) is no error for it; `main` ends the command quietly.
    """

    def __init__(self, **options: Any) -> None:
        # rich believes COLUMNS whatever it says, and draws nothing in no columns and for ever in a billion.
        columns = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
        super().__init__(**options, _environ={**os.environ, "COLUMNS": str(columns)})

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)  # before its width is measured

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """A console that is as wide as the terminal, and wide and colourless where there is none."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_WITHOUT_TERMINAL
    return PatientConsole(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without boxes: readable, and easy to cut with other tools."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=column in right)
    return table


def figure(value: float | None, form: str = ",", *, missing: str = "–") -> str:
    """A number as it is shown, and a dash where there is none."""
    return missing if value is None else format(value, form)


def print_text(text: str, *, end: str = "\n") -> None:
    """Print a result on standard output: as it is for a program, without what would control a terminal on one."""
    shown = visible(text) if sys.stdout.isatty() else text
    print(shown, end=end, flush=True)  # who waits for a line at the other end of a pipe gets it now


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document on standard output, for the next program; null for what is not a finite number."""
    in_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    print_text(json.dumps(_plain(value), indent=indent, ensure_ascii=not in_unicode, allow_nan=False))


def print_result(facts: T, *, as_json: bool, show: str | Callable[[T], None]) -> None:
    """Print what a command found: as JSON for a program, or as it is said or shown to a person."""
    if as_json:
        print_json(facts)
    elif isinstance(show, str):
        print_text(show)
    else:
        show(facts)


def require_place(output: Path, *, overwrite: bool) -> None:
    """Raise now what writing to --output would raise after hours of work."""
    if output.suffix in COMPRESSED:
        raise TextError(
            f"--output {output}: text is written uncompressed; give a name that does not end in {output.suffix}"
        )
    require_free(output, overwrite=overwrite, error=TextError, what="--output")
    folder, effective = output.absolute().parent, os.access in os.supports_effective_ids
    if not folder.is_dir():
        raise TextError(f"--output {output}: there is no folder {folder}")
    if not output.exists() and not os.access(folder, os.W_OK, effective_ids=effective):
        raise TextError(f"--output {output} cannot be written: nothing may be made in the folder {folder}")


@contextlib.contextmanager
def new_text(output: Path | None) -> Iterator[Callable[[str], object]]:
    """A function that writes a line; a file takes its place when the block ends, and not after an error."""
    if output is None:
        yield print_text
        return
    with new_file(output, error=TextError) as file:
        yield lambda line: file.write(f"{line}\n".encode("utf-8", errors="replace"))


def say(text: str, *, quiet: bool = False) -> None:
    """Print a remark that is not the result, on standard error."""
    if not quiet:
        print(visible(text), file=sys.stderr, flush=True)


def say_error(text: str) -> None:
    """Say what went wrong, on standard error; in colour only to a person who did not ask for none."""
    plain = not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    head = "error:" if plain else "\x1b[1;31merror:\x1b[0m"
    print(f"{head} {visible(text)}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(*, unit: str, quiet: bool, speed: bool = False) -> Iterator[Report]:
    """Say on standard error how far work is: bars on a terminal, a line now and then elsewhere, nothing when quiet.

    ``speed``: and how fast it goes, and how much time is left. What the first report of a stage says was done before.
    """
    if quiet:
        yield no_report
        return
    if not sys.stderr.isatty():
        yield _lines(unit, speed=speed)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    stages, units = TextColumn("{task.description}", markup=False), TextColumn(unit, markup=False)
    pace = TextColumn("{task.fields[pace]}", markup=False)
    columns = (stages, BarColumn(), MofNCompleteColumn(), units, TimeElapsedColumn(), pace)
    with Progress(*columns, console=console(stderr=True)) as bars:
        tasks, begun = {}, {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bars.stop_task(task)
                tasks[stage], begun[stage] = bars.add_task(stage, total=total, pace=""), (time.monotonic(), done)
            pace = _pace(begun[stage], done, total) if speed else ""
            bars.update(tasks[stage], completed=done, total=total, pace=pace)

        yield report


def _pace(begun: tuple[float, int], done: int, total: int | None) -> str:
    """As in "81.3/s, 2.5 hours left"; ``begun``: when, and what was done by then."""
    from heedful.report.charts import duration_text

    seconds, new = time.monotonic() - begun[0], done - begun[1]
    if new < _FEWEST_FOR_PACE or not seconds:
        return ""
    left = f", {duration_text((total - done) * seconds / new)} left" if total is not None and done < total else ""
    return f"{new / seconds:,.1f}/s{left}"


def _lines(unit: str, *, speed: bool) -> Report:
    """A line now and then; none of what is done sooner than that."""
    of, begun, said, is_silent = "", (0.0, 0), 0.0, True

    def report(stage: str, done: int, total: int | None) -> None:
        nonlocal of, begun, said, is_silent
        now, finished = time.monotonic(), total is not None and done >= total
        if of != stage:
            of, begun, said, is_silent = stage, (now, done), now, True
        if now - said < SECONDS_BETWEEN_LINES and (is_silent or not finished):
            return
        said, is_silent = now, finished
        pace = _pace(begun, done, total) if speed else ""
        say(f"{stage} {done:,}{f' of {total:,}' if total is not None else ''} {unit}{f', {pace}' if pace else ''}")

    return report


def _plain(value: Any) -> Any:
    """The value as JSON has it, which knows no infinity, no path and no dataclass."""
    if dataclasses.is_dataclass(value):
        return _plain(vars(value))
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
