"""Which runs there are below a folder, and how each of them is doing."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heedful.errors import ReportError
from heedful.runs.entries import AVERAGED, STATE
from heedful.runs.metrics import METRICS, Object, read_metrics, read_object
from heedful.runs.run_folder import FORMAT, FORMAT_VERSION, RUN, STATUS

STATES = ("running", "finished", "interrupted", "failed")


@dataclass(frozen=True)
class Best:
    """The best validation so far."""

    step: int
    metric: str
    value: float


@dataclass(frozen=True)
class Run:
    """How a run is doing. What its files do not say is None; what is wrong with them is in ``problems``."""

    folder: str
    state: str
    """running, finished, interrupted, failed; killed: running, but its process is gone; bundle: nothing is trained
    there, it is a model to give away; unknown: nothing says."""
    why: str
    model: str
    """The preset's name, or the sizes."""
    parameters: int | None
    step: int | None
    steps: int | None
    loss: float | None
    """The last training loss."""
    best: Best | None
    minutes: float | None
    written: str | None
    """When the run last wrote, as an ISO time."""
    problems: tuple[str, ...]


def runs_below(folder: Path) -> list[Run]:
    """Every run in a folder and the folders inside it, by name."""
    if not folder.is_dir():
        raise ReportError(f"there is no folder {folder}" if not folder.exists() else f"{folder} is not a folder")
    return [run for place in _places(folder) if (run := _run(place))]


def run_in(folder: Path) -> Run:
    """The run in a folder."""
    run = _run(folder)
    if run is None or not (folder / RUN).exists():
        raise ReportError(f"{folder} is not a run")
    return run


def _places(folder: Path) -> Iterator[Path]:
    """The folders with a run.json. What is inside a run is not looked at."""
    for place, inner, files in os.walk(folder):
        inner.sort()
        if RUN in files:
            inner.clear()
            yield Path(place)


def _run(folder: Path) -> Run | None:
    description, problem = read_object(folder / RUN)
    problems = [problem] if problem else []
    if description is not None and description.get("format") != FORMAT:
        return None
    if description is not None and description.get("format_version") != FORMAT_VERSION:
        found = f"{folder / RUN} is of format version {description.get('format_version')}"
        problems.append(f"{found}; this heedful reads version {FORMAT_VERSION}")
    status, problem = read_object(folder / STATUS)
    problems += [problem] if problem else []
    metrics = read_metrics(folder)
    problems += metrics.problems if (folder / METRICS).exists() else ()
    description, status = description or {}, status or {}
    bundle = description.get("bundle") is True
    if bundle:
        status = {"step": (read_object(folder / AVERAGED / STATE)[0] or {}).get("step")}
    fields = _Fields(status, folder / STATUS, problems)
    return Run(
        folder=str(folder),
        state="bundle" if bundle else _state(status),
        why=str(status.get("why") or ""),
        model=model_kind(description),
        parameters=_Fields(description, folder / RUN, problems).whole("parameters"),
        step=fields.whole("step"),
        steps=fields.whole("steps"),
        loss=None if not metrics.train else metrics.train[-1].loss,
        best=_best(status, folder / STATUS, problems),
        minutes=fields.number("minutes"),
        written=_written(folder, status),
        problems=tuple(problems),
    )


@dataclass(frozen=True)
class _Fields:
    """The fields of an object; one of another type than it should be is a problem and None."""

    values: Object
    path: Path
    problems: list[str]

    def whole(self, key: str) -> int | None:
        return self._typed(key, (int,))

    def number(self, key: str) -> float | None:
        return self._typed(key, (int, float))

    def _typed(self, key: str, kinds: tuple[type, ...]) -> Any:
        value = self.values.get(key)
        if value is None or (isinstance(value, kinds) and not isinstance(value, bool)):
            return value
        self.problems.append(f"{self.path}: {key} is {value!r}, not a number")
        return None


def _state(status: Object) -> str:
    state = status.get("state")
    if state not in STATES:
        return "unknown"
    here = status.get("host") == platform.node()
    return "killed" if state == "running" and here and not _alive(status.get("pid")) else state


def _alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid < 1 or os.name == "nt":  # Windows has no way to ask without harm
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's process: it is there
        return True
    return True


def _best(status: Object, path: Path, problems: list[str]) -> Best | None:
    best = status.get("best")
    if best is None:
        return None
    if not isinstance(best, dict):
        problems.append(f"{path}: best is {best!r}, not an object")
        return None
    fields = _Fields(best, path, problems)
    step, value = fields.whole("step"), fields.number("value")
    return Best(step, str(best.get("metric", "loss")), value) if step is not None and value is not None else None


def model_kind(description: Object) -> str:
    """The preset that a ``run.json`` names, or the sizes of the model."""
    preset, config = description.get("preset"), description.get("config")
    if isinstance(preset, str):
        return preset
    sizes = config.get("model") if isinstance(config, dict) else None
    if not isinstance(sizes, dict):
        return "?"
    layers = f"{sizes.get('encoder_layers', '?')}+{sizes.get('decoder_layers', '?')}"
    return f"{layers} layers, {sizes.get('d_model', '?')}, {sizes.get('d_ff', '?')}"


def _written(folder: Path, status: Object) -> str | None:
    updated = status.get("updated")
    if isinstance(updated, str):
        return updated
    times = [(folder / name).stat().st_mtime for name in (RUN, STATUS, METRICS) if (folder / name).exists()]
    return datetime.fromtimestamp(max(times), UTC).isoformat(timespec="seconds") if times else None
