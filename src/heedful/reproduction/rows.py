"""Table 3, one row at a time: train a variation of the base model for a given budget, score it, write it down.

A row is complete in itself: ``rows/NAME-seedN.json`` holds everything, and rows of several machines and days that had
the same corpus and the same budget make one table. A row that was stopped goes on where it was.

All rows get the same budget, in steps as in the paper or in minutes, and rise to the rate of the paper's schedule
(d_model^-0.5 · 4000^-0.5) in the same share of it. Each is scored as in the paper: on the validation text, beam 4,
length penalty 0.6, no averaging.
"""

from __future__ import annotations

import contextlib
import gc
import math
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import torch

from heedful import __version__
from heedful.config import Config
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.manifest import MANIFEST
from heedful.errors import ReportError
from heedful.evaluation.counts import bleu_counts
from heedful.files import read_typed, sha256, write_typed
from heedful.planning.probe import timed_steps
from heedful.presets import preset
from heedful.reproduction.paper_tables import TABLE_3
from heedful.reproduction.records import FORMAT, Asked
from heedful.runs.descriptions import RUN, read_run, read_status
from heedful.runs.metrics import read_metrics
from heedful.runs.record import run_record, validation_text
from heedful.search.model_search import greedy_translations
from heedful.search.options import SearchOptions
from heedful.training.events import Reporter
from heedful.training.loop import train
from heedful.training.machine import device_name
from heedful.training.setup import Task, training_device
from heedful.translation.translator import Translator

ROWS, RUNS = "rows", "runs"
CONTROLS = 4
"""Times that base is trained, with as many seeds: how much they differ is what chance does."""
WARM_UP = 0.2
"""The share of the budget in which the rate rises. The paper's is 0.04, of a hundred thousand steps."""
_PAPER_WARM_UP = 4000
_PROBED = 2.0
"""Seconds of steps that are timed to guess how many a budget of minutes has."""
_CAPTURED = 1.5
"""How much faster steps on a GPU are than those that are timed, once they are captured: between 1.4 and 2."""


@dataclass(frozen=True)
class Budget:
    """What every row gets. Either steps or minutes are 0."""

    steps: int = 0
    minutes: float = 0.0
    tokens: int = 25_000
    """Of a batch, on each side."""
    shrink: int = 1
    """What all sizes are divided by: 1, unless it is a miniature, which says nothing of the paper."""

    @property
    def about(self) -> str:
        """In words."""
        ends = f"{self.steps:,} steps" if self.steps else f"{self.minutes:g} minutes"
        smaller = f"; A MINIATURE: all sizes divided by {self.shrink}" if self.shrink > 1 else ""
        return f"{ends} of up to {self.tokens:,} tokens a side, warm-up {WARM_UP:.0%} of it{smaller}"


@dataclass(frozen=True)
class TrainedOn:
    """The corpus of a row."""

    name: str
    manifest_sha256: str
    pairs: int
    validation_pairs: int


@dataclass(frozen=True)
class Row:
    """A row of the table that was trained and scored."""

    name: str
    """Of its preset."""
    seed: int
    budget: Budget
    corpus: TrainedOn
    parameters: int
    steps: int
    warmup_steps: int
    minutes: float
    target_tokens: int
    loss: float
    """Nats a subword of the validation text."""
    bleu: float
    bleu_signature: str
    device: str
    date: str
    heedful: str
    command: str

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700))


def wanted_rows(names: Sequence[str], *, seeds: int) -> list[tuple[str, int]]:
    """Each row with its seeds; base first, so often that chance can be told from a change."""
    known = {name.removeprefix("table3-"): name for name in TABLE_3}
    unknown = [name for name in names if name not in known and name not in TABLE_3]
    if unknown:
        raise ReportError(f"--rows {unknown[0]}: there is no such row; the rows are {', '.join(known)}")
    chosen = [known.get(name, name) for name in names] or list(TABLE_3)
    return [(name, seed + 1) for name in chosen for seed in range(max(seeds, CONTROLS if name == "base" else 1))]


def row_file(folder: Path, name: str, seed: int) -> Path:
    return folder / ROWS / f"{name}-seed{seed}.json"


def write_row(folder: Path, name: str, seed: int, asked: Asked, *, budget: Budget, report: Reporter) -> Row | None:
    """Train and score a row, or go on with it; returns it, or None where a signal stopped it."""
    run, data, device = folder / RUNS / f"{name}-seed{seed}", asked.places[0], asked.device
    begun = (run / RUN).is_file()
    if begun:
        config = read_run(run).config
        _require_budget(run, config, budget)
    else:
        config = row_config(name, seed, data=data, budget=budget, device=device)
    task = Task(
        config=config, data=data, run=run, preset=name, resume=begun, device=device, auto_micro_batches=True
    )  # the micro-batches that a resumed run was cut into are in its configuration
    train(task, report=report, translate=greedy_translations)
    if read_status(run).state != "finished":
        return None
    gc.collect()
    if torch.cuda.is_available():  # what the graphs of training held is needed now
        torch.cuda.empty_cache()
    row = _scored(run, name, seed, asked, budget=budget)
    path = row_file(folder, name, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_typed(path, row, name=FORMAT)
    if not asked.options["keep_models"]:
        shutil.rmtree(run)
        with contextlib.suppress(OSError):  # others are in it
            run.parent.rmdir()
    return row


def _require_budget(run: Path, config: Config, budget: Budget) -> None:
    """Raise where a run that was stopped had another budget."""
    training, whole = config.training, preset(run.name.rpartition("-seed")[0]).make().model
    had = (training.minutes, training.target_tokens, config.model.d_model)
    if had != (budget.minutes, budget.tokens, whole.d_model // budget.shrink) or (
        budget.steps and training.steps != budget.steps
    ):
        raise ReportError(
            f"{run} was begun with another budget than {budget.about}: give that one, or another --output"
        )


def row_config(name: str, seed: int, *, data: Path, budget: Budget, device: str) -> Config:
    """The row's own sizes, with the budget's schedule."""
    config = _shrunk(preset(name).make(), budget.shrink)
    training = replace(config.training, source_tokens=budget.tokens, target_tokens=budget.tokens, seed=seed)
    training = replace(training, validation_steps=0, samples=0, average_last=1, keep_last=1, log_steps=20)
    config = replace(config, training=training)
    steps = budget.steps or _steps_in(data, config, seconds=60 * budget.minutes, device=device)
    warmup = max(1, round(WARM_UP * steps))
    schedule = {
        "steps": budget.steps or 4 * steps,  # the minutes end it
        "minutes": budget.minutes,
        "warmup_steps": warmup,
        "learning_rate_scale": math.sqrt(warmup / _PAPER_WARM_UP),
    }
    return replace(config, training=replace(training, **schedule))


def _shrunk(config: Config, divisor: int) -> Config:
    model = config.model
    sizes = {name: max(1, getattr(model, name) // divisor) for name in ("d_model", "d_ff")}
    heads = {"d_k": max(1, model.key_size // divisor), "d_v": max(1, model.value_size // divisor)}
    return replace(config, model=replace(model, **sizes, **heads)) if divisor > 1 else config


def _steps_in(data: Path, config: Config, *, seconds: float, device: str) -> int:
    """About how many steps there is time for: a few are timed."""
    where, corpus = training_device(device), Corpus(data, verify=False)
    tokens, took = timed_steps(data, config, device=where, enough=min(_PROBED, 0.1 * seconds))
    rate = tokens / took * (_CAPTURED if where.type == "cuda" else 1.0)
    an_epoch = Schedule.of(corpus, config.training).steps_per_epoch
    return max(1, int(seconds * rate * an_epoch / corpus.lengths.totals[1]))


def _scored(run: Path, name: str, seed: int, asked: Asked, *, budget: Budget) -> Row:
    record = run_record(run, samples=0)
    text = validation_text(record)
    assert text.sources is not None, "a corpus has both sides"
    assert record.corpus is not None, "its text was just read"
    translator = Translator.load(run, device=asked.device)
    likelihood = translator.likelihood(text.sources, text.references, report=asked.report)
    outputs, _ = translator.measured(text.sources, options=SearchOptions(), report=asked.report)
    bleu = bleu_counts(outputs, text.references)
    status, trained = read_status(run), read_metrics(run).train
    log_probability, subwords = likelihood["log_probability"], likelihood["subwords"]
    pairs = {split: found.pairs for split, found in record.corpus.manifest.splits.items()}
    folder = record.corpus.folder
    return Row(
        name=name,
        seed=seed,
        budget=budget,
        corpus=TrainedOn(folder.name, sha256(folder / MANIFEST), pairs["train"], pairs["valid"]),
        parameters=record.description.parameters,
        steps=status.step or 0,
        warmup_steps=record.config.training.warmup_steps,
        minutes=status.minutes or 0.0,
        target_tokens=sum(line.target_tokens for line in trained),
        loss=700.0 if log_probability is None or not subwords else -log_probability / subwords,
        bleu=bleu.value,
        bleu_signature=bleu.signature,
        device=device_name(training_device(asked.device)),
        date=datetime.now(UTC).date().isoformat(),
        heedful=__version__,
        command=shlex.join(asked.command),
    )


def read_rows(folders: Iterable[Path]) -> list[Row]:
    """Every row below these folders, in the paper's order; all must have had the same corpus and budget."""
    found: dict[tuple[str, int], Row] = {}
    for folder in folders:
        for path in sorted((folder / ROWS).glob("*.json")):
            row = read_typed(path, Row, name=FORMAT, error=ReportError)
            if row.name not in TABLE_3:
                raise ReportError(f"{path} is of {row.name}, which is no row of Table 3")
            _require_same(next(iter(found.values()), row), row, path)
            found[row.name, row.seed] = row
    order = list(TABLE_3)
    return sorted(found.values(), key=lambda row: (order.index(row.name), row.seed))


def _require_same(first: Row, row: Row, path: Path) -> None:
    if row.corpus.manifest_sha256 != first.corpus.manifest_sha256:
        raise ReportError(f"{path} was trained on another corpus ({row.corpus.name}) than {first.name}: not one table")
    if row.budget != first.budget:
        raise ReportError(f"{path} had {row.budget.about}, and {first.name} {first.budget.about}: not one table")
