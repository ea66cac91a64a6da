"""The files of a run folder, read with care: a run may be going on, or may have been killed while it wrote.

``run.json`` says what the run is, ``status.json`` how far it is, ``metrics.jsonl`` has one JSON object a line. Nothing
here writes, and nothing here trusts: what is broken is named, and the rest is used.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.runs.run_folder import METRICS

Object = dict[str, Any]


@dataclass(frozen=True)
class Metrics:
    """The lines of ``metrics.jsonl`` by kind, in their order, and what is wrong with others."""

    train: tuple[Object, ...]
    validation: tuple[Object, ...]
    problems: tuple[str, ...]


def read_object(path: Path) -> tuple[Object | None, str | None]:
    """The JSON object in a file, or what is wrong with it; neither where there is no file."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None, None
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror}"
    except ValueError:
        return None, f"{path} is not JSON"
    if not isinstance(value, dict):
        return None, f"{path} holds no JSON object"
    return value, None


def read_metrics(folder: Path) -> Metrics:
    """All metrics of a run. A last line without its end is one that is being written, and no problem."""
    path = folder / METRICS
    kinds: dict[str, list[Object]] = {"train": [], "validation": []}
    problems: list[str] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return Metrics((), (), (f"{folder} has no {METRICS}",))
    except OSError as error:
        return Metrics((), (), (f"{path} cannot be read: {error.strerror}",))
    for number, line in enumerate(lines[:-1], start=1):
        try:
            value = json.loads(line)
        except ValueError:
            problems.append(f"{path}, line {number}: not JSON")
            continue
        if not isinstance(value, dict) or not isinstance(value.get("step"), int):
            problems.append(f"{path}, line {number}: not an object with a step")
        elif (kind := value.get("kind")) in kinds:
            kinds[kind].append(value)
    return Metrics(tuple(kinds["train"]), tuple(kinds["validation"]), tuple(problems))


def number(value: Any) -> float:
    """A number as it stands in a file; NaN for anything else, such as null."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
