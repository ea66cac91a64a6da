"""``metrics.jsonl``: what a run measured, one JSON object a line.

Each kind of line is a dataclass, and that is what training makes, what a display is shown and what a report reads.
Everything that depends on the clock stands under ``wall``; the rest is the same for the same run, resumed or not.
docs/formats.md describes every field. A run may be going on, or may have been killed while it wrote: what is broken is
named, and the rest is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from heedful.errors import CheckpointError
from heedful.files import json_value, read_small, reason
from heedful.typed import typed

METRICS = "metrics.jsonl"
_MOST_STEPS = 2**53


@dataclass(frozen=True)
class Wall:
    """What depends on the clock; NaN where it was not written down."""

    seconds: float = math.nan
    tokens_per_second: float = math.nan
    peak_share: float | None = None
    memory_gib: float | None = None


@dataclass(frozen=True)
class ValidationWall:
    """How long a validation took."""

    seconds: float = math.nan


@dataclass(frozen=True)
class TrainLine:
    """The steps since the last such line. Older runs lack some fields: NaN."""

    kind: ClassVar = "train"
    step: int
    loss: float = math.nan
    negative_log_likelihood: float = math.nan
    perplexity: float = math.nan
    learning_rate: float = math.nan
    gradient_norm: float = math.nan
    target_tokens: int = 0
    skipped: int = 0
    wall: Wall = Wall()


@dataclass(frozen=True)
class Sample:
    """A validation sentence and its translation."""

    source: str = ""
    reference: str = ""
    output: str = ""


@dataclass(frozen=True)
class ValidationLine:
    """A validation. Older runs lack some fields: NaN."""

    kind: ClassVar = "validation"
    step: int
    loss: float = math.nan
    smoothed_loss: float = math.nan
    perplexity: float = math.nan
    perplexity_per_word: float = math.nan
    bleu: float | None = None
    bleu_signature: str | None = None
    samples: tuple[Sample, ...] = ()
    wall: ValidationWall = ValidationWall()


@dataclass(frozen=True)
class SkippedLine:
    """A step whose loss or gradient was not finite, and where each pair of its batch stood."""

    kind: ClassVar = "skipped"
    step: int
    lines: tuple[str, ...] = ()


MetricLine = TrainLine | ValidationLine | SkippedLine


@dataclass(frozen=True)
class Metrics:
    """The lines of ``metrics.jsonl`` by kind, in their order, and what is wrong with others."""

    train: tuple[TrainLine, ...]
    validation: tuple[ValidationLine, ...]
    problems: tuple[str, ...]


def append_line(run: Path, line: MetricLine) -> None:
    """Add one line; a process killed in the middle leaves half a line, which a resumed run cuts off."""
    with (run / METRICS).open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps({"kind": line.kind, **dataclasses.asdict(line)}, ensure_ascii=False) + "\n")


def measured(line: TrainLine | ValidationLine, name: str) -> float:
    """A figure of a line, such as ``loss`` or ``wall.memory_gib``; NaN where it was not measured."""
    value = attrgetter(name)(line)
    return math.nan if value is None else float(value)


def read_metrics(folder: Path) -> Metrics:
    """All metrics of a run. A last line without its end is one that is being written, and no problem."""
    path = folder / METRICS
    lines: list[MetricLine] = []
    problems: list[str] = []
    try:
        texts = read_small(path).split(b"\n")
    except FileNotFoundError:
        return Metrics((), (), (f"{folder} has no {METRICS}",))
    except OSError as error:
        return Metrics((), (), (f"{path} cannot be read: {reason(error)}",))
    for at, text in enumerate(texts[:-1], start=1):
        try:
            # null stands for what was not measured, as a field that is missing does
            value = {name: field for name, field in _object(text).items() if field is not None}
            for kind in (TrainLine, ValidationLine, SkippedLine):  # a newer heedful may have written others
                lines += [typed(kind, value)] if value.get("kind") == kind.kind else []
        except ValueError as error:
            problems.append(f"{path}, line {at}: {error}")
    train = tuple(line for line in lines if isinstance(line, TrainLine))
    validation = tuple(line for line in lines if isinstance(line, ValidationLine))
    return Metrics(train, validation, tuple(problems))


def cut_metrics(run: Path, *, after_step: int) -> None:
    """Remove every line of metrics that lies after a step, and a last line that was not written to its end."""
    path = run / METRICS
    if not path.exists():
        return
    if not path.is_file():
        raise CheckpointError(f"{path} is not a file of metrics: move it elsewhere, and --resume goes on")
    kept = 0
    try:
        with path.open("rb") as file:
            for text in file:
                with contextlib.suppress(ValueError):
                    if text.endswith(b"\n") and _object(text)["step"] <= after_step:
                        kept += len(text)
                        continue
                break
        os.truncate(path, kept)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be cut at step {after_step}: {reason(error)}") from None


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json_value(text)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(value, dict) or type(value.get("step")) is not int or not 0 <= value["step"] <= _MOST_STEPS:
        raise ValueError("not an object with a step")
    return value
