"""How a run and whoever watches it speak: events out, which the command line prints and tests collect; signals in."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.config import TrainingConfig
from heedful.runs.metrics import TrainLine, ValidationLine


@dataclass(frozen=True)
class Started:
    """A run begins, or goes on."""

    facts: dict[str, str]
    """What a user wants to know first, by name."""
    step: int
    training: TrainingConfig
    """What ends the run."""
    without_best: int = 0
    """Validations since the best one."""


@dataclass(frozen=True)
class Stepped:
    """A step's numbers have arrived: the means since the last line of metrics, and whether this is the next one."""

    line: TrainLine
    is_written: bool


@dataclass(frozen=True)
class Validating:
    """A validation begins, which may take a while."""

    step: int


@dataclass(frozen=True)
class Validated:
    """A validation was measured, and its line written."""

    line: ValidationLine
    is_best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int


@dataclass(frozen=True)
class Warned:
    """Something the user should know."""

    text: str


@dataclass(frozen=True)
class Ended:
    """The run is over, for now or for good."""

    state: str
    why: str
    step: int
    averaged: list[int]
    run: Path
    minutes: float
    """That the run has taken, earlier sessions included."""


Event = Started | Stepped | Validating | Validated | Saved | Warned | Ended
Reporter = Callable[[Event], None]


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM, Ctrl-C and a terminal that is closed set, so that a step is finished and saved.

    A second Ctrl-C does not wait.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, _: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # nohup ignores it, and rightly
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
