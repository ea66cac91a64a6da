"""Which runs there are below a folder and how each of them is doing, and which models there are. Loads none of them.

What is broken is named, and the others are listed all the same.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath

from heedful.data.manifest import TextRecord, read_manifest
from heedful.errors import CheckpointError, CorpusError, NotARunError, ReportError
from heedful.files import read_small, reason, without_compression
from heedful.runs.descriptions import (
    MODEL,
    RUN,
    STATUS,
    Best,
    Languages,
    RunDescription,
    Status,
    read_run,
    read_state,
    read_status,
)
from heedful.runs.folder import AVERAGED, CARD, bundled_models, newest_weights
from heedful.runs.metrics import METRICS, Metrics, read_metrics

_STATES = ("running", "finished", "interrupted", "failed", "bundle")
_MOST_NAMES = 2
"""Corpora that are named; the others are counted."""


@dataclass(frozen=True)
class Run:
    """How a run is doing. What its files do not say is None; what is wrong with them is in ``problems``."""

    folder: str
    state: str
    """That of `Status`, or killed: running, but its process is gone; bundle: a model to give away; unknown."""
    why: str
    model: str
    parameters: int | None
    step: int | None
    steps: int | None
    loss: float | None
    best: Best | None
    minutes: float | None
    written: str | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class ListedModel:
    """A model that can be given to ``--model``. What its files do not say is None."""

    model: str
    """What to give: a name or a path."""
    bundled: bool
    bytes: int | None = None
    parameters: int | None = None
    languages: str | None = None
    step: int | None = None
    about: str = "no checkpoint yet"
    """The first line of its card, or else what it is and what it was trained on, or why it cannot be used."""


def runs_below(folder: Path) -> list[Run]:
    """Every run in a folder and the folders inside it, by name; what is inside a run is not looked at."""
    _require_folder(folder)
    found: list[Run] = []
    for name, inner, files in os.walk(folder):
        inner.sort()
        if RUN not in files:
            continue
        inner.clear()
        place, description, problems = Path(name), None, ()
        try:
            description = read_run(place)
        except NotARunError:  # somebody else's run.json
            continue
        except CheckpointError as error:
            problems = (str(error),)
        found.append(run_state(place, description, read_metrics(place), problems))
    return found


def run_state(
    folder: Path, description: RunDescription | None, metrics: Metrics, known_problems: Iterable[str] = ()
) -> Run:
    """How a run is doing, whatever is wrong with its files; ``description``: its ``run.json`` where that is sound."""
    problems, status = [*known_problems], Status()
    try:
        status = read_status(folder)
        if description is not None and description.bundle:
            status = Status("bundle", read_state(folder / AVERAGED).step)
    except CheckpointError as error:
        problems.append(str(error))
    problems += metrics.problems if os.path.lexists(folder / METRICS) else ()
    times = [(folder / name).stat().st_mtime for name in (RUN, STATUS, METRICS) if (folder / name).exists()]
    last = datetime.fromtimestamp(max(times), UTC).isoformat(timespec="seconds") if times else None
    return Run(
        folder=str(folder),
        state=_state(status),
        why=status.why,
        model=description.kind if description else "?",
        parameters=description.parameters if description else None,
        step=status.step,
        steps=status.steps,
        loss=metrics.train[-1].loss if metrics.train else None,
        best=status.best,
        minutes=status.minutes,
        written=status.updated or last,
        problems=tuple(problems),
    )


def bundled() -> list[ListedModel]:
    """The models that come with heedful."""
    return [model for name, folder in bundled_models().items() if (model := _model(folder, name, bundled=True))]


def usual_folders() -> list[Path]:
    """Where runs are looked for when nobody says where."""
    return [folder for folder in (Path(), Path("runs")) if folder.is_dir()]


def models_in(folders: Iterable[Path]) -> list[ListedModel]:
    """The models of the runs that lie in these folders, or that these folders are; no deeper."""
    found: dict[Path, Path] = {}
    for folder in folders:
        _require_folder(folder)
        try:
            places = [folder, *sorted(folder.iterdir())]
        except OSError as error:
            raise ReportError(f"{folder} cannot be read: {reason(error)}") from None
        for place in places:
            if os.path.lexists(place / RUN):  # False for one that may not be entered
                found.setdefault(place.resolve(), place)
    return [model for place in found.values() if (model := _model(place, str(place), bundled=False))]


def card_title(folder: Path) -> str | None:
    """The first line of a model's card that is not empty, without the marks of a heading."""
    try:
        lines = read_small(folder / CARD).decode("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    titles = (line.lstrip("#").strip() for line in lines)
    return next((title for title in titles if title), None)


def languages(description: RunDescription) -> Languages | None:
    """The languages of source and target: what ``run.json`` says, or else the endings of the corpus's files."""
    if description.languages is not None:
        return description.languages
    texts = _training_texts(description)
    names = {" ".join(without_compression(Path(path)).suffix for path in text.paths) for text in texts}
    pair = re.fullmatch(r"\.([a-z]{2}) \.([a-z]{2})", names.pop()) if len(names) == 1 else None  # as in train.en.gz
    return Languages(pair[1], pair[2]) if pair and pair[1] != pair[2] else None


def _training_texts(description: RunDescription) -> tuple[TextRecord, ...]:
    """The texts that a model was trained on, if the prepared corpus is still there."""
    try:
        return read_manifest(Path(description.data.folder)).corpora if description.data.folder else ()
    except CorpusError:
        return ()


def _require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ReportError(f"there is no folder {folder}" if not folder.exists() else f"{folder} is not a folder")


def _state(status: Status) -> str:
    if status.state not in _STATES:
        return "unknown"
    here = status.host == platform.node() and os.name != "nt"  # Windows has no way to ask without harm
    if status.state == "running" and here and status.pid is not None and status.pid > 0:
        try:
            os.kill(status.pid, 0)
        except (ProcessLookupError, OverflowError):
            return "killed"
        except OSError:  # somebody else's process: it is there
            pass
    return status.state


def _model(folder: Path, model: str, *, bundled: bool) -> ListedModel | None:
    """A model; None where a folder's ``run.json`` is somebody else's."""
    try:
        description, weights = read_run(folder), newest_weights(folder)
        spoken = languages(description)
        pair = f"{spoken.source}-{spoken.target}" if spoken else None
        if weights is None:
            return ListedModel(model, bundled, None, description.parameters, pair)
        step, size = read_state(weights).step, (weights / MODEL).stat().st_size
        about = card_title(folder) or _kind_and_text(description)
        return ListedModel(model, bundled, size, description.parameters, pair, step, about)
    except NotARunError:
        return None
    except (CheckpointError, OSError) as error:
        return ListedModel(model, bundled, about=f"cannot be used: {error}")


def _kind_and_text(description: RunDescription) -> str:
    """As in ``small; train.en and train.de``."""
    corpora = [" and ".join(PurePath(path).name for path in text.paths) for text in _training_texts(description)]
    more = [f"{len(corpora) - _MOST_NAMES} more"] if len(corpora) > _MOST_NAMES else []
    text = ", ".join([*corpora[:_MOST_NAMES], *more])
    return f"{description.kind}; {text}" if text else description.kind
