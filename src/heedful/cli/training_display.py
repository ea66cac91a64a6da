"""A run as its user watches it: a live line on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from heedful.cli.terminal import SECONDS_BETWEEN_LINES, console
from heedful.report.charts import duration_text
from heedful.runs.metrics import TrainLine, ValidationLine
from heedful.training import events

REFRESH = 0.2
"""Seconds between two looks of the live line."""


class TrainingDisplay:
    """Prints what a run reports."""

    def __init__(self, *, quiet: bool) -> None:
        self._console: Console = console(stderr=True)
        self._quiet = quiet
        self._live: Live | None = None
        self._updated = 0.0
        self._began: tuple[float, int] | None = None
        self._steps = 0
        self.interrupted = False

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet:
            self._live = Live(Text(""), console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.Ended):
            self.interrupted = event.state == "interrupted"
        match event:
            case events.Warned(text):
                self._console.print(f"warning: {text}", style="yellow", soft_wrap=True)
            case _ if self._quiet:
                pass
            case events.Started():
                self._steps = event.training.steps
                self._started(event)
            case events.Stepped(line, is_written):
                self._stepped(line, is_written)
            case events.Validated(line, is_best):
                self._validated(line, is_best)
            case events.Saved(step, folder):
                self._saved(step, folder)
            case events.Ended():
                self._ended(event)

    def _started(self, event: events.Started) -> None:
        for name, fact in event.facts.items():
            self._say(f"{name:<10} {fact}")
        self._say(f"{'steps':<10} {self._steps:,}" + (f", going on from {event.step:,}" if event.step else ""))

    def _stepped(self, line: TrainLine, is_written: bool) -> None:
        if self._began is None:
            self._began = (time.monotonic(), line.step)
        if self._live is None and is_written:
            self._logged(line)
        elif self._live is not None and time.monotonic() - self._updated >= REFRESH:
            self._updated = time.monotonic()
            self._live.update(self._live_line(line), refresh=True)

    def _live_line(self, line: TrainLine) -> RenderableType:
        return Text(_progress_line(line, self._steps, self._time_left(line.step)), no_wrap=True, overflow="ellipsis")

    def _logged(self, line: TrainLine) -> None:
        self._say(_progress_line(line, self._steps, self._time_left(line.step)))

    def _time_left(self, step: int) -> str:
        if self._began is None or step <= self._began[1]:
            return ""
        seconds = (time.monotonic() - self._began[0]) / (step - self._began[1]) * (self._steps - step)
        return f"{duration_text(seconds)} left"

    def _validated(self, line: ValidationLine, is_best: bool) -> None:
        score = f", BLEU {line.bleu:.2f}" if line.bleu is not None else ""
        words = f"{line.perplexity:.2f} a subword, {line.perplexity_per_word:.2f} a word"
        best = " (the best so far)" if is_best else ""
        self._say(f"step {line.step:,}: validation loss {line.loss:.4f}, perplexity {words}{score}{best}")
        for sample in line.samples:
            self._say(f"    {sample.source}\n  → {sample.output or '(nothing)'}\n  = {sample.reference}")

    def _saved(self, step: int, folder: Path) -> None:
        self._say(f"step {step:,}: checkpoint in {folder}")

    def _ended(self, event: events.Ended) -> None:
        if event.averaged:
            steps = ", ".join(f"{step:,}" for step in event.averaged)
            self._say(f"the mean of the checkpoints {steps} is in {event.run / 'averaged'}")
        self._say(f"{event.state} at step {event.step:,}: {event.why}")

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class DemoDisplay(TrainingDisplay):
    """The same for somebody who sees a model learn for the first time: a bar, and what becomes of one sentence."""

    _said = 0.0

    def _started(self, event: events.Started) -> None:
        facts, going_on = event.facts, f", going on from step {event.step:,}" if event.step else ""
        self._say(f"{facts['model']} on {facts['device']}{going_on}")
        self._said = time.monotonic()

    def _live_line(self, line: TrainLine) -> RenderableType:
        step, steps = line.step, self._steps
        parts = (f"{step:,}/{steps:,} steps", self._time_left(step), f"loss {line.loss:.2f}")
        grid = Table.grid(padding=(0, 1))
        grid.add_column(max_width=40)
        grid.add_column(no_wrap=True, overflow="ellipsis")
        grid.add_row(ProgressBar(steps, step), "  ".join(filter(None, parts)))
        return grid

    def _logged(self, line: TrainLine) -> None:
        if time.monotonic() - self._said >= SECONDS_BETWEEN_LINES or line.step == self._steps:
            self._said = time.monotonic()
            self._say(f"training {line.step:,} of {self._steps:,} steps, loss {line.loss:.2f}")

    def _validated(self, line: ValidationLine, is_best: bool) -> None:
        for sample in line.samples:
            self._say(f"step {line.step:,}: {sample.source} → {sample.output or '(nothing)'}")

    def _saved(self, step: int, folder: Path) -> None:
        """A demo goes on from wherever it was: nobody need know how."""

    def _ended(self, event: events.Ended) -> None:
        """The scores come next."""


def _progress_line(line: TrainLine, steps: int, left: str) -> str:
    wall = line.wall
    parts = [
        f"step {line.step:,}/{steps:,}",
        left,  # before what a narrow terminal cuts off
        f"loss {line.loss:.3f}",
        f"ppl {line.perplexity:,.2f}",
        f"lr {line.learning_rate:.2e}",
        f"grad {line.gradient_norm:.2f}",
        f"{wall.tokens_per_second:,.0f} tok/s",
        "" if wall.peak_share is None else f"{wall.peak_share:.0%} of peak",
        "" if wall.memory_gib is None else f"{wall.memory_gib:.1f} GiB",
    ]
    return "  ".join(filter(None, parts))
