"""What a run tells whoever watches it. The command line prints these; tests collect them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heedful.runs.metrics import TrainLine, ValidationLine


@dataclass(frozen=True)
class Started:
    """A run begins, or goes on."""

    facts: dict[str, str]
    """What a user wants to know first, by name."""
    step: int
    steps: int


@dataclass(frozen=True)
class Stepped:
    """A step's numbers have arrived; its line is not one of the file's."""

    line: TrainLine
    steps: int


@dataclass(frozen=True)
class Logged:
    """A line of metrics was written."""

    line: TrainLine
    steps: int


@dataclass(frozen=True)
class Validated:
    """A validation was measured, and its line written."""

    line: ValidationLine
    is_best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int
    folder: Path


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


Event = Started | Stepped | Logged | Validated | Saved | Warned | Ended
Reporter = Callable[[Event], None]
