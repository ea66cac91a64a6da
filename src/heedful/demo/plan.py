"""What the demo is to make, where, and how much of it: the amounts follow from the minutes there are.

``demo.json`` remembers it, so that the same command goes on with the same demo. docs/formats.md describes it.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from heedful.data.manifest import MANIFEST, read_manifest
from heedful.errors import DemoError
from heedful.files import foreign_files, read_json, reason, require_format, require_only_ours, write_json
from heedful.runs.descriptions import RUN
from heedful.runs.folder import remove_run
from heedful.typed import typed

PLAN = "demo.json"
MINUTES = 4.0
"""What two cores need for the whole demo; with less there is less text."""
TRAIN, VALID, TEST = 50_000, 300, 1_000
"""Sentence pairs of the whole demo."""
PARTS = {"train": ("en", "de"), "valid": ("en", "de", "align"), "test": ("en", "de", "align")}
"""The files of the text: ``train.en`` and so on, and one about them."""
README = "README.txt"
_FORMAT, _FORMAT_VERSION = "heedful demo", 1
_FEWEST = 20
"""Pairs of a part, however few the minutes."""


class _Place:
    """What has this name in a demo's folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, plan: DemoPlan, _: object = None) -> Path:
        return plan.folder / self._name


@dataclass(frozen=True)
class DemoPlan:
    """One demo: what it is made of, and where its parts are.

    ``text`` has the sentences, ``corpus`` the same prepared, ``run`` the training; ``outputs`` the translations of the
    test sentences, ``picture`` one sentence's cross-attention with the true links, ``results`` every figure, and
    ``page`` all of it for people.
    """

    seed: int
    minutes: float
    train: int
    valid: int
    test: int
    training_minutes: float | None = None
    """What training may take of the minutes; known once it begins."""
    folder: Path = Path()
    """Where it lies; ``demo.json`` does not say it, so that a demo can be moved."""

    text, corpus, run = _Place("text"), _Place("corpus"), _Place("run")
    outputs, picture = _Place("test.out"), _Place("alignment.png")
    results, page = _Place("results.json"), _Place("report.html")


def start_demo(folder: Path, *, seed: int, minutes: float, overwrite: bool = False) -> DemoPlan:
    """The demo of a folder, whose ``demo.json`` says so then: the one that is there, which goes on, or a new one."""
    if not 0 < minutes < math.inf:
        raise DemoError(f"--minutes {minutes:g}: must be above 0")
    if seed < 0:
        raise DemoError(f"--seed {seed}: must be at least 0")
    try:
        stored = _stored(folder)
    except OSError as problem:
        raise DemoError(f"{folder} cannot be used: {reason(problem)}") from None
    if stored is not None and overwrite:
        _remove(stored)
    if stored is None or overwrite:
        share = min(1.0, minutes / MINUTES)
        sizes = (max(_FEWEST, round(share * pairs)) for pairs in (TRAIN, VALID, TEST))
        plan = DemoPlan(seed, minutes, *sizes, folder=folder)
    elif stored.seed != seed:
        raise DemoError(
            f"{folder} holds a demo with seed {stored.seed}, and --seed {seed} was given: --overwrite starts anew, "
            "another --output keeps both"
        )
    elif stored.minutes != minutes:
        # What training may take depends on it; the text that is there stays.
        plan = dataclasses.replace(stored, minutes=minutes, training_minutes=None)
    else:
        return stored
    return write_plan(plan)


def write_plan(plan: DemoPlan) -> DemoPlan:
    """Write ``demo.json``; returns the plan that it holds."""
    facts = {key: value for key, value in dataclasses.asdict(plan).items() if key != "folder"}
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
        write_json(plan.folder / PLAN, {"format": _FORMAT, "format_version": _FORMAT_VERSION, **facts})
    except OSError as problem:
        raise DemoError(f"{plan.folder} cannot be written: {reason(problem)}") from None
    return plan


def _stored(folder: Path) -> DemoPlan | None:
    """The demo that a folder holds; None where there is nothing. Raises OSError where that cannot be known."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise DemoError(f"{folder} is a file; the demo needs a folder")
    path = folder / PLAN
    if not path.exists():
        if others := foreign_files(folder, ours=()):
            raise DemoError(f"{folder} holds other files, such as {others[0]}, and is not a demo: give another folder")
        return None
    try:
        facts = read_json(path, error=DemoError)
        require_format(facts, path, name=_FORMAT, version=_FORMAT_VERSION, error=DemoError)
        plan = typed(DemoPlan, {name: value for name, value in facts.items() if name != "folder"})
        if min(plan.train, plan.valid, plan.test) < 1 or not 0 < (plan.training_minutes or plan.minutes) < math.inf:
            raise ValueError("a number in it is impossible")
    except (DemoError, ValueError) as problem:
        what = problem if isinstance(problem, DemoError) else f"{path} is damaged: {problem}"
        raise DemoError(f"{what}; give another --output: {folder} is left as it is") from None
    return dataclasses.replace(plan, folder=folder)


def _remove(plan: DemoPlan) -> None:
    """Remove everything that a demo makes, and nothing else: a file of somebody's in one of its folders stops it."""
    ours = {plan.text: {README, *(f"{part}.{side}" for part, sides in PARTS.items() for side in sides)}}
    if (plan.corpus / MANIFEST).is_file():
        ours[plan.corpus] = {MANIFEST, *read_manifest(plan.corpus).files}
    for folder, files in ours.items():
        require_only_ours(folder, ours=files, error=DemoError, what="demo")
    if (plan.run / RUN).is_file():
        remove_run(plan.run, corpus=plan.corpus)
    for folder in ours:
        shutil.rmtree(folder, ignore_errors=True)
    for path in (plan.outputs, plan.picture, plan.results, plan.page):
        path.unlink(missing_ok=True)
