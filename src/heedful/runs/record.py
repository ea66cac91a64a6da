"""All that the disk knows of a run: its own files, and those of the corpus it was trained on.

What is missing or broken is named and left out; only a folder that is no run at all is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.config import Config
from heedful.data.corpus import Corpus
from heedful.data.manifest import MANIFEST, Manifest, read_manifest
from heedful.errors import CheckpointError, CorpusError, HeedfulError
from heedful.evaluation.translation_scores import TestSet
from heedful.files import json_value, read_small, sha256
from heedful.parsing.bracket_scores import trees_as_text
from heedful.parsing.trees import tree_of
from heedful.prepare.description import described
from heedful.runs.descriptions import RUN, RunDescription, read_run, read_state
from heedful.runs.folder import entries
from heedful.runs.lists import Run, run_state
from heedful.runs.metrics import METRICS, Metrics, read_metrics
from heedful.runs.saved import read_subwords

_CLEANING = "report.json"


@dataclass(frozen=True)
class CorpusRecord:
    """The prepared corpus of a run, as it is now."""

    folder: Path
    manifest: Manifest
    cleaning: dict[str, Any]
    """``report.json``; empty where it cannot be read."""
    samples: list[dict[str, Any]]


@dataclass(frozen=True)
class RunRecord:
    """A run, and what it was trained on."""

    folder: Path
    run: Run
    description: RunDescription
    metrics: Metrics
    environment: dict[str, Any]
    corpus: CorpusRecord | None
    problems: tuple[str, ...]

    @property
    def config(self) -> Config:
        return self.description.config


def run_record(folder: Path, *, samples: int = 4) -> RunRecord:
    """Read a run folder, and the corpus that it names, with so many of its training pairs."""
    description, metrics = read_run(folder), read_metrics(folder)
    run = run_state(folder, description, metrics)
    problems = [*run.problems]
    if description.bundle:
        problems.append(f"{folder} is a model to give away, which has no curves")
    elif not (folder / METRICS).exists():
        problems.append(f"{folder} has no {METRICS} yet: there are no curves")
    corpus = None
    try:
        corpus = _corpus(description, samples=samples)
    except HeedfulError as error:
        problems.append(f"nothing can be said of the training text: {error}")
    environment = _environment(folder, description)
    return RunRecord(folder, run, description, metrics, environment, corpus, tuple(problems))


def validation_text(record: RunRecord) -> TestSet:
    """The validation pairs of the run's corpus as text; raises where there are none."""
    if record.corpus is None:
        raise CorpusError("the corpus that the run was trained on is not there")
    split = record.corpus.manifest.splits.get("valid")
    if split is None or not split.pairs:
        raise CorpusError(f"{record.corpus.folder} was prepared without validation text")
    corpus = Corpus(record.corpus.folder, "valid", verify=False)
    source, target = read_subwords(record.folder, record.description)
    # A line of text has no line ends inside: translations do not have them either.
    sources, targets = (
        [subwords.decode(ids).replace("\n", " ") for ids in side.sentences(len(corpus))]
        for subwords, side in ((source, corpus.source), (target, corpus.target))
    )
    return TestSet(targets, sources)


def validation_trees(record: RunRecord) -> TestSet:
    """The validation trees of the run's corpus; raises where there are none."""
    text = validation_text(record)
    pairs = zip(text.references, text.sources or [], strict=True)
    try:
        return trees_as_text(tree_of(symbols.split(" "), words.split(" ")) for symbols, words in pairs)
    except ValueError as error:  # such as a label that never came in training, and has no id
        raise CorpusError(str(error)) from None


def _corpus(description: RunDescription, *, samples: int) -> CorpusRecord:
    if not description.data.folder:
        raise CorpusError(f"{RUN} does not say which corpus it was")
    folder = Path(description.data.folder)
    manifest = read_manifest(folder)
    if sha256(folder / MANIFEST) != description.data.manifest_sha256:
        raise CorpusError(f"{folder} now holds another corpus than the one that the run was trained on")
    cleaning: dict[str, Any] = {}
    with contextlib.suppress(OSError, KeyError):
        content = read_small(folder / _CLEANING)
        # As prepare wrote it, or not at all: then every field is what it should be.
        if hashlib.sha256(content).hexdigest() == manifest.files[_CLEANING].sha256:
            cleaning = json_value(content)
    found = described(folder, samples=samples, seed=1, verify=False)["samples"]
    return CorpusRecord(folder, manifest, cleaning, found)


def _environment(folder: Path, description: RunDescription) -> dict[str, Any]:
    """What the run wrote down at its start; of older runs what their newest checkpoint says."""
    if description.environment is not None:
        return description.environment
    for entry in reversed(entries(folder)):
        with contextlib.suppress(CheckpointError):
            found = read_state(entry.folder).state.get("environment")
            if isinstance(found, dict):
                return {**found, "packages": {"torch": found.get("torch")}}
    return {}
