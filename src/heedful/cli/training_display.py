"""A run as its user watches it: a bar on a terminal, plain lines elsewhere, what to type next. All on standard error.

Nothing is wider than 80 columns, unless the terminal is or the words are the user's own.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from heedful.cli.terminal import SECONDS_BETWEEN_LINES, console, visible
from heedful.config import TrainingConfig
from heedful.evaluation.translation_scores import perplexity
from heedful.report.charts import duration_text
from heedful.runs.metrics import TrainLine, ValidationLine
from heedful.tasks import TEXT_TO_SCORE, TRANSLATION
from heedful.training import events

REFRESH = 0.2
"""Seconds between two looks of the bar."""
_SECONDS_OF_SILENCE = 60.0
"""Between two lines about checkpoints, at least. Where there is no terminal, at most so many between any two lines."""
_TOO_LONG = "note: days on this CPU; --minutes 60 without a preset fits a model to an hour"
_COLUMNS = 80
"""Of a line that is written where there is no terminal."""
_NARROWEST_BAR, _WIDEST_BAR = 8, 40


class TrainingDisplay:
    """Prints what a run reports."""

    def __init__(
        self, *, quiet: bool, again: str = "", uses: Sequence[str] = TRANSLATION.uses, text: str = TEXT_TO_SCORE
    ) -> None:
        """``again``: the command that goes on with the run, to be shown to somebody who stopped it; ``uses``: what to
        do with its model, as a `Task` says it; ``text``: the options that name a text to score it on."""
        self._console: Console = console(stderr=True)
        self._quiet, self._again, self._uses, self._text = quiet, again, uses, text
        self._live: Live | None = None
        self._updated = 0.0
        self._training = TrainingConfig()
        self._began: tuple[float, int] | None = None
        """When the first step of this session was done, and which it was."""
        self._written: TrainLine | None = None
        self._without_best = 0
        self._on_cpu = False
        self._told_saved = -math.inf
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
        try:
            self._show(event)
        except OSError as error:
            if error.errno not in (errno.EIO, errno.EPIPE):
                raise
            # The terminal was closed, or what read the lines (`| head`) has ended: hours of work do not end with it.
            self._quiet, self._live = True, None
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._console.file.fileno())

    def _show(self, event: events.Event) -> None:
        match event:
            case events.Warned(text):
                self._say(f"warning: {text}", style="yellow")
            case _ if self._quiet:
                pass
            case events.Started():
                self._training, self._without_best = event.training, event.without_best
                self._on_cpu = event.facts["device"].startswith("CPU")
                self._started(event)
            case events.Stepped(line, is_written):
                self._stepped(line, is_written)
            case events.Validating(step) if self._live is not None:
                self._live.update(Text(f"step {step:,}: validating"), refresh=True)
            case events.Validated(line, is_best):
                self._without_best = 0 if is_best else self._without_best + 1
                self._validated(line, is_best)
            case events.Saved(step):
                self._saved(step)
            case events.Ended():
                self._ended(event)

    def _started(self, event: events.Started) -> None:
        training = event.training
        ends = [f"{training.steps:,} steps"]
        ends += [f"{training.minutes:g} minutes"] if training.minutes else []
        ends += [f"{training.patience} validations without a better one"] if training.patience else []
        going_on = {"going on": f"from step {event.step:,}"} if event.step else {}
        self._updated = time.monotonic()
        for name, fact in {**event.facts, "ends after": " or ".join(ends), **going_on}.items():
            self._say(f"{name:<10} {fact}")

    def _stepped(self, line: TrainLine, is_written: bool) -> None:
        now = time.monotonic()
        self._began = self._began or (now, line.step)
        if line.step == self._began[1] + 1 and self._on_cpu and " days left" in self._time_left(line):
            self._say(_TOO_LONG, style="yellow")
        if self._live is None and (is_written or now - self._updated >= _SECONDS_OF_SILENCE):
            self._updated = now
            self._logged(line)
        elif self._live is not None and now - self._updated >= REFRESH:
            self._updated = now
            self._live.update(self._bar(line), refresh=True)
        if is_written:
            self._written = line

    def _bar(self, line: TrainLine) -> RenderableType:
        """One line, as wide as the terminal at most: how far the run is to the nearer of its ends, and its figures."""
        ends = [line.step / self._training.steps]
        ends += [line.wall.seconds / 60 / self._training.minutes] if self._training.minutes else []
        width = min(self._console.width, shutil.get_terminal_size().columns)  # it may have become narrower
        figures = self._figures(self._smoothed(line), width=width - _NARROWEST_BAR - 1)
        text = Text(figures, no_wrap=True, overflow="ellipsis")
        bar = min(_WIDEST_BAR, width - len(figures) - 1)
        if bar < _NARROWEST_BAR:
            return text
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(ProgressBar(1.0, min(1.0, max(ends)), width=bar), text)
        return grid

    def _logged(self, line: TrainLine) -> None:
        self._say(self._figures(line, width=_COLUMNS))

    def _smoothed(self, line: TrainLine) -> TrainLine:
        """With the means of the last line of metrics and of what came since: those of one batch say little."""
        if self._written is None:
            return line
        lines = self._written, line
        tokens = max(1, sum(one.target_tokens for one in lines))
        loss, likelihood = (
            sum(getattr(one, name) * one.target_tokens for one in lines) for name in ("loss", "negative_log_likelihood")
        )
        return replace(line, loss=loss / tokens, perplexity=perplexity(likelihood, tokens))

    def _figures(self, line: TrainLine, *, width: int) -> str:
        """As many of a line's figures as fit, the first ones first, but where the run stands in any case."""
        wall = line.wall
        shown = f"step {self._of_steps(line)}"
        if left := self._time_left(line):
            shown += f"  {left}"
        for figure in (
            f"loss {line.loss:.3f}",
            f"ppl {_perplexity(line.perplexity)}",
            f"{wall.tokens_per_second:,.0f} tok/s",
            "" if wall.peak_share is None else f"{wall.peak_share:.0%} of peak",
            f"lr {line.learning_rate:.1e}",
            "" if wall.memory_gib is None else f"{wall.memory_gib:.1f} GiB",
            f"grad {line.gradient_norm:.2f}",
        ):
            if len(shown) + 2 + len(figure) > width:
                break
            shown += f"  {figure}" if figure else ""
        return shown

    def _of_steps(self, line: TrainLine) -> str:
        """Which step it is, and of how many unless the clock decides that."""
        by_clock = self._training.minutes > 0 and self._training.decay == "linear"
        return f"{line.step:,}" if by_clock else f"{line.step:,}/{self._training.steps:,}"

    def _time_left(self, line: TrainLine) -> str:
        """Until the nearest of the run's ends; empty while nothing is known of its speed."""
        training = self._training
        if self._began is None or not self._began[1] < line.step < training.steps:
            return ""
        step_seconds = (time.monotonic() - self._began[0]) / (line.step - self._began[1])
        left = step_seconds * (training.steps - line.step)
        if training.minutes:
            left = min(left, 60 * training.minutes - line.wall.seconds)
        unless = ""
        if training.patience and self._without_best:
            more = training.patience - self._without_best
            end = (line.step // training.validation_steps + more) * training.validation_steps
            if step_seconds * (end - line.step) < left:
                left, unless = step_seconds * (end - line.step), " unless better"
        return f"{duration_text(max(0.0, left))} left{unless}"

    def _validated(self, line: ValidationLine, is_best: bool) -> None:
        figures = f"loss {line.loss:.3f}, ppl {_perplexity(line.perplexity)}"
        by_word = f" ({_perplexity(line.perplexity_per_word)} a word)"
        figures = f"{figures}{by_word}" if line.bleu is None else f"BLEU {line.bleu:.2f}, {figures}"
        patience = f": {self._without_best} of {self._training.patience}" if self._training.patience else ""
        verdict = "best so far" if is_best else f"no better{patience}"
        self._say(f"step {line.step:,}: validation {figures}, {verdict}")
        most = self._console.width - 4 if self._live is not None else None  # all of it is in metrics.jsonl
        for sample in line.samples:
            texts = sample.source, sample.output or "(nothing)", sample.reference
            self._say("    {}\n  → {}\n  = {}".format(*(visible(text, most=most) for text in texts)))

    def _saved(self, step: int) -> None:
        if time.monotonic() - self._told_saved >= _SECONDS_OF_SILENCE:
            self._told_saved = time.monotonic()
            self._say(f"step {step:,}: checkpoint saved", style="dim")

    def _ended(self, event: events.Ended) -> None:
        self._say(f"{event.state} at step {event.step:,} after {duration_text(60 * event.minutes)}: {event.why}")
        if event.averaged:
            first, *_, last = event.averaged
            self._say(f"the model is the mean of {len(event.averaged)} checkpoints, of step {first:,} to {last:,}")
        run = shlex.quote(str(event.run))
        if event.state == "interrupted":
            self._say(f"to go on:\n  {self._again}")
            return
        uses = (one.replace("RUN", run).replace(TEXT_TO_SCORE, self._text) for one in (*self._uses, "report RUN"))
        self._say("\n  heedful ".join(["what to type next:", *uses]))

    def _say(self, text: str, *, style: str | None = None) -> None:
        self._console.print(text, style=style, soft_wrap=True)


class DemoDisplay(TrainingDisplay):
    """The same for somebody who sees a model learn for the first time: less of it, and what becomes of one sentence."""

    _said = 0.0

    def _started(self, event: events.Started) -> None:
        facts, going_on = event.facts, f", going on from step {event.step:,}" if event.step else ""
        self._say(f"{facts['model']} on {facts['device']}{going_on}")
        self._said = time.monotonic()

    def _figures(self, line: TrainLine, *, width: int) -> str:
        left = self._time_left(line)
        return f"{self._of_steps(line)} steps{f'  {left}' if left else ''}  loss {line.loss:.2f}"

    def _logged(self, line: TrainLine) -> None:
        steps = self._training.steps
        if time.monotonic() - self._said >= SECONDS_BETWEEN_LINES or line.step == steps:
            self._said = time.monotonic()
            self._say(f"training {line.step:,} of {steps:,} steps, loss {line.loss:.2f}")

    def _validated(self, line: ValidationLine, is_best: bool) -> None:
        for sample in line.samples:
            self._say(f"step {line.step:,}: {sample.source} → {sample.output or '(nothing)'}")

    def _saved(self, step: int) -> None:
        """A demo goes on from wherever it was: nobody need know how."""

    def _ended(self, event: events.Ended) -> None:
        """The scores come next."""


def _perplexity(value: float) -> str:
    """With the digits that say something: at the beginning it is in the thousands.

    >>> _perplexity(18.424), _perplexity(36340.03)
    ('18.42', '36,340')
    """
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
