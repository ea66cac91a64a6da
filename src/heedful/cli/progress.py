"""How a long command says how far it is: bars on a terminal, a line now and then elsewhere, nothing when quiet."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from heedful.background import Report
from heedful.cli.terminal import console, say

SECONDS_BETWEEN_LINES = 10.0


@contextlib.contextmanager
def progress(*, unit: str, quiet: bool) -> Iterator[Report]:
    """A function to call with (what is being done, how many are done, of how many); all on standard error."""
    if quiet:
        yield lambda *_: None
    elif sys.stderr.isatty():
        with _bars(unit) as report:
            yield report
    else:
        yield _lines(unit)


@contextlib.contextmanager
def _bars(unit: str) -> Iterator[Report]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit, markup=False),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console(stderr=True)) as bars:
        tasks = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    bars.stop_task(task)
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


def _lines(unit: str) -> Report:
    last: dict[str, object] = {"stage": None, "at": time.monotonic()}

    def report(stage: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        finished = total is not None and done >= total
        if stage == last["stage"] and now - float(str(last["at"])) < SECONDS_BETWEEN_LINES and not finished:
            return
        if (stage, "finished") == last["stage"]:
            return
        last.update(stage=(stage, "finished") if finished else stage, at=now)
        of = f" of {total:,}" if total is not None else ""
        say(f"{stage} {done:,}{of} {unit}")

    return report
