"""What the commands share: where they print, and how they say what went wrong."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 200
"""A file or a pipe has no width; a table is never folded there."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """The reader (`| head`) has all it wanted: no error. rich would leave with 1; `main` leaves with 0."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console that is as wide as the terminal, and wide and colourless where there is none."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty() or "COLUMNS" in os.environ:
        return _Console(stderr=stderr, highlight=False)
    return _Console(stderr=stderr, highlight=False, width=WIDTH_WITHOUT_TERMINAL)


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without boxes: readable, and easy to cut with other tools."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=column in right)
    return table


def print_json(value: Any) -> None:
    """One JSON document on standard output, for the next program."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
