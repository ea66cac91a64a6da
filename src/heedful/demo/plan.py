"""What the demo is to make, where, and how much of it: the amounts follow from the minutes there are.

``demo.json`` remembers it, so that the same command goes on with the same demo. docs/formats.md describes it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import DemoError
from heedful.runs.atomic import WRITING, write_json

FORMAT, FORMAT_VERSION = "heedful demo", 1
PLAN = "demo.json"
MINUTES = 4.0
"""What two cores need for the whole demo; with less there is less text."""
TRAIN, VALID, TEST = 50_000, 300, 1_000
"""Sentence pairs of the whole demo."""
FEWEST = 20
"""Pairs of a part, however few the minutes."""


@dataclass(frozen=True)
class Tour:
    """One demo: what it is made of, and where its parts are."""

    folder: Path
    seed: int
    minutes: float
    train: int
    valid: int
    test: int
    training_minutes: float | None = None
    """What training may take of the minutes; known once it begins."""

    @property
    def text(self) -> Path:
        """The generated sentences."""
        return self.folder / "text"

    @property
    def corpus(self) -> Path:
        """The same, prepared."""
        return self.folder / "corpus"

    @property
    def run(self) -> Path:
        """The training run."""
        return self.folder / "run"

    @property
    def outputs(self) -> Path:
        """The translations of the test sentences."""
        return self.folder / "test.out"

    @property
    def picture(self) -> Path:
        """One test sentence's cross-attention with the true links."""
        return self.folder / "alignment.png"

    @property
    def results(self) -> Path:
        """Every figure."""
        return self.folder / "results.json"

    @property
    def page(self) -> Path:
        """All of it for people."""
        return self.folder / "report.html"

    def lines(self, part: str, side: str) -> list[str]:
        """The lines of one file of the generated text, such as ``test`` and ``de``."""
        return (self.text / f"{part}.{side}").read_text(encoding="utf-8").splitlines()

    @property
    def share(self) -> float:
        """Of the whole demo, as much as the text that there is."""
        return self.train / TRAIN


def begun(folder: Path, *, seed: int, minutes: float, overwrite: bool = False) -> Tour:
    """The demo of a folder: the one that is there, which goes on, or a new one."""
    if not 0 < minutes < math.inf:
        raise DemoError(f"--minutes {minutes:g}: must be above 0")
    if seed < 0:
        raise DemoError(f"--seed {seed}: must be at least 0")
    stored = _stored(folder)
    if stored is not None and overwrite:
        _remove(stored)
        stored = None
    if stored is None:
        tour = _new(folder, seed=seed, minutes=minutes)
    elif stored.seed != seed:
        raise DemoError(
            f"{folder} holds a demo with seed {stored.seed}, and --seed {seed} was given: --overwrite starts anew, "
            "another --output keeps both"
        )
    elif stored.minutes != minutes:
        # What training may take depends on it; the text that is there stays.
        tour = dataclasses.replace(stored, minutes=minutes, training_minutes=None)
    else:
        return stored
    return remembered(tour)


def remembered(tour: Tour) -> Tour:
    """The same demo, once ``demo.json`` says so."""
    facts = {key: value for key, value in dataclasses.asdict(tour).items() if key != "folder"}
    try:
        tour.folder.mkdir(parents=True, exist_ok=True)
        write_json(tour.folder / PLAN, {"format": FORMAT, "format_version": FORMAT_VERSION, **facts})
    except OSError as error:
        raise DemoError(f"{tour.folder} cannot be written: {error.strerror}") from None
    return tour


def _new(folder: Path, *, seed: int, minutes: float) -> Tour:
    share = min(1.0, minutes / MINUTES)
    train, valid, test = (max(FEWEST, round(share * pairs)) for pairs in (TRAIN, VALID, TEST))
    return Tour(folder, seed, minutes, train, valid, test)


def _stored(folder: Path) -> Tour | None:
    """The demo that a folder holds; None where there is nothing."""
    path = folder / PLAN
    if folder.exists() and not folder.is_dir():
        raise DemoError(f"{folder} is a file; the demo needs a folder")
    if not folder.exists() or not (others := [item for item in folder.iterdir() if item.name != PLAN + WRITING]):
        return None
    if not path.is_file():
        raise DemoError(f"{folder} holds other files, such as {others[0].name}, and is not a demo: give another folder")
    try:
        facts: dict[str, Any] = json.loads(path.read_bytes())
        if (facts.pop("format"), facts.pop("format_version")) != (FORMAT, FORMAT_VERSION):
            raise ValueError("another format or version")
        return Tour(folder, **facts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DemoError(f"{path} does not describe a demo: {error}; remove {folder} and start anew") from None


def _remove(tour: Tour) -> None:
    """Everything that a demo makes, and nothing else that may be in its folder."""
    for place in (tour.text, tour.corpus, tour.run):
        shutil.rmtree(place, ignore_errors=True)
    for path in (tour.outputs, tour.picture, tour.results, tour.page):
        path.unlink(missing_ok=True)
