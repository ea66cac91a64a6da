"""A run as its user watches it: a live line on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from heedful.cli.terminal import console
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
        self.interrupted = False

    def __enter__(self) -> TrainingDisplay:
        if sys.stderr.isatty() and not self._quiet:
            self._live = Live(Text(""), console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.Ended):
            self.interrupted = event.state == "interrupted"
        match event:
            case events.Warned(text):
                self._console.print(Text(f"warning: {text}", style="yellow"), soft_wrap=True)
            case _ if self._quiet:
                pass
            case events.Started(facts, step, steps):
                for name, fact in facts.items():
                    self._say(f"{name:<10} {fact}")
                self._say(f"{'steps':<10} {steps:,}" + (f", going on from {step:,}" if step else ""))
            case events.Stepped():
                self._look(event)
            case events.Logged(line, steps):
                if self._live is None:
                    self._say(_progress_line(line, steps, self._time_left(line["step"], steps)))
            case events.Validated(line, is_best):
                self._validated(line, is_best)
            case events.Saved(step, folder):
                self._say(f"step {step:,}: checkpoint in {folder}")
            case events.Ended():
                self._ended(event)

    def _look(self, event: events.Stepped) -> None:
        if self._began is None:
            self._began = (time.monotonic(), event.step)
        if self._live is None or time.monotonic() - self._updated < REFRESH:
            return
        self._updated = time.monotonic()
        line = {
            "step": event.step,
            "loss": event.loss,
            "perplexity": event.perplexity,
            "learning_rate": event.learning_rate,
            "gradient_norm": event.gradient_norm,
            "wall": event.wall,
        }
        shown = _progress_line(line, event.steps, self._time_left(event.step, event.steps))
        self._live.update(Text(shown, no_wrap=True, overflow="ellipsis"), refresh=True)

    def _time_left(self, step: int, steps: int) -> str:
        if self._began is None or step <= self._began[1]:
            return ""
        seconds = (time.monotonic() - self._began[0]) / (step - self._began[1]) * (steps - step)
        return f"{_duration(seconds)} left"

    def _validated(self, line: dict[str, Any], is_best: bool) -> None:
        score = f", BLEU {line['bleu']:.2f}" if line["bleu"] is not None else ""
        words = f"{line['perplexity']:.2f} a subword, {line['perplexity_per_word']:.2f} a word"
        best = " (the best so far)" if is_best else ""
        self._say(f"step {line['step']:,}: validation loss {line['loss']:.4f}, perplexity {words}{score}{best}")
        for sample in line["samples"]:
            self._say(f"    {sample['source']}\n  → {sample['output'] or '(nothing)'}\n  = {sample['reference']}")

    def _ended(self, event: events.Ended) -> None:
        if event.averaged:
            steps = ", ".join(f"{step:,}" for step in event.averaged)
            self._say(f"the mean of the checkpoints {steps} is in {event.run / 'averaged'}")
        self._say(f"{event.state} at step {event.step:,}: {event.why}")

    def _say(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)


def _progress_line(line: dict[str, Any], steps: int, left: str) -> str:
    wall = line["wall"]
    parts = [
        f"step {line['step']:,}/{steps:,}",
        *([left] if left else []),  # before what a narrow terminal cuts off
        f"loss {line['loss']:.3f}",
        f"ppl {line['perplexity']:,.2f}",
        f"lr {line['learning_rate']:.2e}",
        f"grad {line['gradient_norm']:.2f}",
        f"{wall['tokens_per_second']:,.0f} tok/s",
    ]
    if wall["peak_share"] is not None:
        parts.append(f"{wall['peak_share']:.0%} of peak")
    parts.append(f"{wall['memory_gib']:.1f} GiB")
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
