"""What the commands share: where they print, and how they say what went wrong."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 200
"""A file or a pipe has no width; a table is never folded there."""


class PatientConsole(Console):
    """A console for which a reader that leaves early (`| head`) is no error; `main` ends the command quietly."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console that is as wide as the terminal, and wide and colourless where there is none."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return PatientConsole(stderr=stderr, highlight=False, width=width)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without boxes: readable, and easy to cut with other tools."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=column in right)
    return table


def print_json(value: Any) -> None:
    """One JSON document on standard output, for the next program."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def say(text: str, *, quiet: bool) -> None:
    """A remark that is not the result."""
    if not quiet:
        print(text, file=sys.stderr)
