"""All that the disk knows of a run: its own files, and those of the corpus it was trained on.

What is missing or broken is named and left out; only a folder that is no run at all is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from heedful.config import Config
from heedful.data.corpus import Corpus
from heedful.data.manifest import MANIFEST, Manifest, read_manifest
from heedful.errors import CheckpointError, CorpusError, HeedfulError
from heedful.evaluation.sentences import TestSet
from heedful.prepare.report import described
from heedful.runs.entries import entries, read_state
from heedful.runs.lists import Run, run_in
from heedful.runs.metrics import METRICS, Metrics, Object, read_metrics, read_object
from heedful.runs.models import run_config
from heedful.runs.run_folder import RUN, read_run
from heedful.text.subwords import Subwords

CLEANING = "report.json"


@dataclass(frozen=True)
class CorpusRecord:
    """The prepared corpus of a run, as it is now."""

    folder: Path
    manifest: Manifest
    cleaning: Object
    """``report.json``; empty where it cannot be read."""
    samples: list[Object]
    """Training pairs with their subwords."""


@dataclass(frozen=True)
class RunRecord:
    """A run, and what it was trained on."""

    folder: Path
    run: Run
    description: Object
    """``run.json``."""
    config: Config
    metrics: Metrics
    environment: Object
    """Versions and hardware, as far as they were written down."""
    corpus: CorpusRecord | None
    problems: tuple[str, ...]
    """What could not be read, in sentences."""


def run_record(folder: Path, *, samples: int = 4) -> RunRecord:
    """Read a run folder, and the corpus that it names, with so many of its training pairs."""
    description = read_run(folder)
    run = run_in(folder)
    metrics = read_metrics(folder)
    problems = [*run.problems]
    if not (folder / METRICS).exists():
        problems.append(f"{folder} has no {METRICS} yet: there are no curves")
    corpus = None
    try:
        corpus = _corpus(description, samples=samples)
    except HeedfulError as error:
        problems.append(f"nothing can be said of the training text: {error}")
    return RunRecord(
        folder=folder,
        run=run,
        description=description,
        config=run_config(description, folder),
        metrics=metrics,
        environment=_environment(folder, description),
        corpus=corpus,
        problems=tuple(problems),
    )


def validation_text(record: RunRecord) -> TestSet:
    """The validation pairs of the run's corpus as text; raises where there are none."""
    if record.corpus is None:
        raise CorpusError("the corpus that the run was trained on is not there")
    split = record.corpus.manifest.splits.get("valid")
    if split is None or not split.pairs:
        raise CorpusError(f"{record.corpus.folder} was prepared without validation text")
    corpus = Corpus(record.corpus.folder, "valid", verify=False)
    sides: dict[str, list[str]] = {}
    for side in ("source", "target"):
        subwords = Subwords.load(record.folder / record.description["vocabularies"][side]["folder"])
        # A line of text has no line ends inside: translations do not have them either.
        decoded = (subwords.decode(ids) for ids in getattr(corpus, side).sentences(len(corpus)))
        sides[side] = [sentence.replace("\n", " ") for sentence in decoded]
    return TestSet(sides["target"], sides["source"])


def _corpus(description: Object, *, samples: int) -> CorpusRecord:
    stored = description.get("data")
    if not isinstance(stored, dict) or not isinstance(stored.get("folder"), str):
        raise CorpusError(f"{RUN} does not say which corpus it was")
    folder = Path(stored["folder"])
    manifest = read_manifest(folder)
    if _sha256(folder / MANIFEST) != stored.get("manifest_sha256"):
        raise CorpusError(f"{folder} now holds another corpus than the one that the run was trained on")
    # As prepare wrote it, or not at all: then every field is what it should be.
    sound = CLEANING in manifest.files and _sha256(folder / CLEANING) == manifest.files[CLEANING].sha256
    cleaning = read_object(folder / CLEANING)[0] if sound else None
    found = described(folder, samples=samples, seed=1, verify=False)["samples"]
    return CorpusRecord(folder, manifest, cleaning or {}, found)


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _environment(folder: Path, description: Object) -> Object:
    """What the run wrote down at its start; of older runs what their newest checkpoint says."""
    stored = description.get("environment")
    if isinstance(stored, dict):
        return stored
    for entry in reversed(entries(folder)):
        try:
            found = read_state(entry.folder)["state"].get("environment")
        except CheckpointError:
            continue
        if isinstance(found, dict):
            return {**found, "packages": {"torch": found.get("torch")}}
    return {}
