"""Which models there are: those that come with heedful, and those that runs have made. Loads none of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from heedful.errors import CheckpointError, ReportError
from heedful.runs.card import card_title, languages, training_texts
from heedful.runs.entries import MODEL, newest_weights, read_state
from heedful.runs.lists import model_kind
from heedful.runs.metrics import Object, read_object
from heedful.runs.names import bundled_models
from heedful.runs.run_folder import FORMAT, RUN, read_run

MOST_NAMES = 2
"""Corpora that are named; the others are counted."""


@dataclass(frozen=True)
class Listed:
    """A model that can be given to ``--model``. What its files do not say is None."""

    model: str
    """What to give: a name or a path."""
    bundled: bool
    """It comes with heedful."""
    bytes: int | None
    """Of its weights."""
    parameters: int | None
    languages: str | None
    step: int | None
    """After how many steps its weights were written."""
    about: str
    """The first line of its card, or else what it is and what it was trained on, or why it cannot be used."""


def bundled() -> list[Listed]:
    """The models that come with heedful."""
    return [_listed(folder, name, bundled=True) for name, folder in bundled_models().items()]


def models_in(folders: Iterable[Path]) -> list[Listed]:
    """The models of the runs that lie in these folders, or that these folders are; no deeper."""
    found: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise ReportError(f"there is no folder {folder}" if not folder.exists() else f"{folder} is not a folder")
        for place in [folder, *sorted(folder.iterdir())]:
            if (place / RUN).is_file() and _is_run(place):
                found.setdefault(place.resolve(), place)
    return [_listed(place, str(place), bundled=False) for place in found.values()]


def _is_run(folder: Path) -> bool:
    """Whether a ``run.json`` is ours; one that cannot be read may be."""
    description, _ = read_object(folder / RUN)
    return description is None or description.get("format") == FORMAT


def _listed(folder: Path, model: str, *, bundled: bool) -> Listed:
    try:
        description = read_run(folder)
        weights = newest_weights(folder)
        step = None if weights is None else read_state(weights)["step"]
        size = None if weights is None else (weights / MODEL).stat().st_size
    except (CheckpointError, OSError) as error:
        return Listed(model, bundled, None, None, None, None, about=f"cannot be used: {error}")
    spoken, parameters = languages(description), description.get("parameters")
    return Listed(
        model=model,
        bundled=bundled,
        bytes=size,
        parameters=parameters if isinstance(parameters, int) else None,
        languages="-".join(spoken) if spoken else None,
        step=step,
        about="no checkpoint yet" if weights is None else card_title(folder) or _kind_and_text(description),
    )


def _kind_and_text(description: Object) -> str:
    """As in ``small; train.en and train.de``."""
    corpora = [" and ".join(PurePath(path).name for path in text.paths) for text in training_texts(description)]
    more = [f"{len(corpora) - MOST_NAMES} more"] if len(corpora) > MOST_NAMES else []
    text = ", ".join([*corpora[:MOST_NAMES], *more])
    return f"{model_kind(description)}; {text}" if text else model_kind(description)
