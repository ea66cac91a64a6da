"""Training as the demo shows it: one bar, and what becomes of one sentence while the model learns."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from heedful.cli.progress import SECONDS_BETWEEN_LINES
from heedful.cli.terminal import console
from heedful.training import events


class TrainingBar:
    """A bar on a terminal, a line now and then elsewhere, warnings alone when quiet. All on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._console: Console = console(stderr=True)
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: Any = None
        self._said = time.monotonic()

    def __enter__(self) -> TrainingBar:
        if sys.stderr.isatty() and not self._quiet:
            columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"))
            figures = TextColumn("{task.fields[loss]}"), TimeRemainingColumn()
            self._bar = Progress(*columns, *figures, console=self._console)
            self._task = self._bar.add_task("training", total=None, loss="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Warned(text):
                self._console.print(Text(f"warning: {text}", style="yellow"), soft_wrap=True)
            case _ if self._quiet:
                pass
            case events.Started(facts, step, steps):
                self._say(f"{facts['model']} on {facts['device']}" + (f", going on from step {step:,}" if step else ""))
                if self._bar is not None:
                    self._bar.update(self._task, completed=step, total=steps)
            case events.Stepped() if self._bar is not None:
                loss = f"loss {event.loss:.2f}"
                self._bar.update(self._task, completed=event.step, total=event.steps, loss=loss)
            case events.Logged(line, steps) if self._bar is None:
                if time.monotonic() - self._said >= SECONDS_BETWEEN_LINES or line["step"] == steps:
                    self._said = time.monotonic()
                    self._say(f"training {line['step']:,} of {steps:,} steps, loss {line['loss']:.2f}")
            case events.Validated(line, _):
                for sample in line["samples"]:
                    self._say(f"step {line['step']:,}: {sample['source']} → {sample['output'] or '(nothing)'}")

    def _say(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)
