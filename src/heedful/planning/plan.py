"""What a run would be, before it is one: its size, its cost, its time, and everything that would stop it.

All problems are found together, so that one reading mends them all. Memory and time are estimates, and say so.
This module neither trains nor writes; the one thing it may run is a short probe of this machine (`planning.probe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.config import Config
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.shapes import shapes
from heedful.errors import ConfigError, HeedfulError, PlanError
from heedful.planning.checks import (
    Vocabulary,
    accelerator_problems,
    batch_notes,
    data_notes,
    disk_problems,
    opened,
    process_problems,
    scheduled,
    validation_problems,
)
from heedful.planning.memory import MemoryEstimate, memory_estimate
from heedful.presets import parameter_count, resolve
from heedful.training.flops import Scores, attention_scores, paper_flops, step_flops
from heedful.training.hardware import MATMUL_SHARE, expected_share, peak_flops

FEW_TOKENS = 8192
"""Below so many tokens in a piece a GPU is not kept as busy as the measured ones were."""


@dataclass(frozen=True)
class Speed:
    """How fast one process is expected to compute, and where that comes from."""

    flops_per_second: float
    capacity: float
    """What the device does at most: a datasheet's figure, or a large matrix product measured here."""
    about: str


@dataclass(frozen=True)
class Plan:
    """A run that can be run."""

    vocabulary: Vocabulary
    parameters: int
    processes: int
    steps: int
    """Fewer than were asked for where ``training.minutes`` ends the run before."""
    steps_per_epoch: int
    epochs: float
    source_tokens: float
    """Of a step, on average."""
    target_tokens: float
    piece_source_tokens: int
    """Of a micro-batch, at most."""
    piece_target_tokens: int
    memory: MemoryEstimate
    """Of one process."""
    step_flops: float
    flops: float
    paper_flops: float
    """GPUs × time × what one can do at most: how Table 2 counts."""
    step_seconds: float
    seconds: float
    at_least: bool
    """The time is the least one: GPUs that wait for each other, or have little to do, take longer."""
    speed: Speed
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Checked:
    """What passed every check."""

    corpus: Corpus
    vocabulary: Vocabulary
    schedule: Schedule
    config: Config


def make_plan(
    folder: Path,
    *,
    preset: str | None = None,
    file: Path | None = None,
    settings: Sequence[str] = (),
    gpus: int = 1,
    nodes: int = 1,
    accelerator: str | None = None,
    output: Path | None = None,
) -> Plan:
    """The plan of a run; raises one `PlanError` that names every problem."""
    checked = _checked(folder, preset, file, settings, gpus=gpus, nodes=nodes, accelerator=accelerator, output=output)
    return _planned(checked, processes=gpus * nodes, accelerator=accelerator, output=output)


def _planned(checked: _Checked, *, processes: int, accelerator: str | None, output: Path | None) -> Plan:
    model, training, schedule = checked.config.model, checked.config.training, checked.schedule
    sizes = {"vocab_size": checked.vocabulary.target, "source_vocab_size": checked.vocabulary.own_source}
    source_tokens, target_tokens, flops = _mean_step(checked)
    speed, half = _speed(checked, accelerator)
    step_seconds = flops / (processes * speed.flops_per_second)
    steps = min(training.steps, int(60 * training.minutes / step_seconds)) if training.minutes else training.steps
    seconds = steps * step_seconds
    budgets = {"source_budget": training.source_tokens, "target_budget": training.target_tokens}
    largest = shapes(schedule.lengths.longest, micro_batches=training.micro_batches, **budgets)[-1]
    piece = {"source_tokens": largest.source_tokens, "target_tokens": largest.target_tokens}
    return Plan(
        vocabulary=checked.vocabulary,
        parameters=parameter_count(model, **sizes),
        processes=processes,
        steps=steps,
        steps_per_epoch=schedule.steps_per_epoch,
        epochs=steps / schedule.steps_per_epoch,
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        piece_source_tokens=largest.source_tokens,
        piece_target_tokens=largest.target_tokens,
        memory=memory_estimate(model, half_precision=half, captured=half and training.compile, **piece, **sizes),
        step_flops=flops,
        flops=flops * steps,
        paper_flops=paper_flops(gpus=processes, hours=seconds / 3600, tflops=speed.capacity / 1e12),
        step_seconds=step_seconds,
        seconds=seconds,
        at_least=processes > 1 or (accelerator is not None and target_tokens / training.micro_batches < FEW_TOKENS),
        speed=speed,
        notes=(
            *data_notes(checked.corpus, checked.config, checked.vocabulary, output=output),
            *batch_notes(checked.config, schedule=schedule, processes=processes),
            *_speed_notes(checked.config, steps=steps, tokens=target_tokens, accelerator=accelerator),
        ),
    )


def _speed_notes(config: Config, *, steps: int, tokens: float, accelerator: str | None) -> Iterator[str]:
    training = config.training
    if steps < training.steps:
        yield f"training.minutes = {training.minutes:g} ends it before training.steps = {training.steps:,}"
    if accelerator and tokens / training.micro_batches < FEW_TOKENS:
        few = f"a piece has {tokens / training.micro_batches:,.0f} target tokens"
        yield f"{few}: GPUs will be less busy than the time assumes, which was measured with 25,000"
    if accelerator and training.precision == "float32":
        yield "training.precision = float32 is several times slower than the time assumes, which is bfloat16's"


def _checked(
    folder: Path,
    preset: str | None,
    file: Path | None,
    settings: Sequence[str],
    *,
    gpus: int,
    nodes: int,
    accelerator: str | None,
    output: Path | None,
) -> _Checked:
    problems = accelerator_problems(accelerator)
    config: Config | None = None
    try:
        config = resolve(name=preset, file=file, settings=settings)
    except ConfigError as error:
        problems += error.problems
    corpus, vocabulary = opened(folder, problems)
    problems += process_problems(config, gpus=gpus, nodes=nodes)
    schedule = scheduled(corpus, config, problems) if corpus and config else None
    if corpus and config:
        problems += validation_problems(corpus, config)
    if config and vocabulary and output:
        sizes = {"vocab_size": vocabulary.target, "source_vocab_size": vocabulary.own_source}
        problems += disk_problems(output, config, parameters=parameter_count(config.model, **sizes))
    if problems or not (corpus and config and vocabulary and schedule):
        raise PlanError(problems)
    return _Checked(corpus, vocabulary, schedule, config)


def _mean_step(checked: _Checked) -> tuple[float, float, float]:
    """Source tokens, target tokens and operations of a step: an epoch's, divided by its steps."""
    corpus, model = checked.corpus, checked.config.model
    steps = checked.schedule.steps_per_epoch
    source_tokens = target_tokens = 0.0
    encoder = decoder = cross = 0.0
    for weight in np.unique(corpus.weights):
        pairs = corpus.weights == weight
        lengths = corpus.lengths.of(pairs)
        share = float(weight) / steps
        scores = attention_scores(lengths.source, target_lengths=lengths.target, neighbourhood=model.neighbourhood)
        source_tokens += share * lengths.totals[0]
        target_tokens += share * lengths.totals[1]
        encoder, decoder, cross = (
            mean + share * more
            for mean, more in ((encoder, scores.encoder), (decoder, scores.decoder), (cross, scores.cross))
        )
    sizes = {"source_tokens": source_tokens, "target_tokens": target_tokens}
    scores = Scores(encoder, decoder, cross)
    flops = step_flops(model, vocab_size=checked.vocabulary.target, scores=scores, **sizes)
    return source_tokens, target_tokens, flops


def _speed(checked: _Checked, accelerator: str | None) -> tuple[Speed, bool]:
    """The expected speed of one process, and whether it computes in half precision."""
    config, vocabulary = checked.config, checked.vocabulary
    if accelerator:
        peak = peak_flops(accelerator)
        assert peak is not None, "an unknown accelerator is a problem that was named"
        share = expected_share(config.model)
        about = (
            f"an assumption, not a measurement: {share:.0%} of what large matrix products reach, which is "
            f"{MATMUL_SHARE:.0%} of the datasheet's {peak / 1e12:,.0f} TFLOP/s (on one H200 base reached 25 % and "
            "big 45 %), and no time lost between GPUs"
        )
        return Speed(peak * MATMUL_SHARE * share, peak, about), config.training.precision != "float32"
    from heedful.planning.probe import probe  # torch takes seconds to load

    sizes = {"vocab_size": vocabulary.target, "source_vocab_size": vocabulary.own_source}
    try:
        found = probe(checked.corpus, config, schedule=checked.schedule, **sizes)
    except HeedfulError as error:
        raise PlanError([str(error)]) from None
    capacity = peak_flops(found.device) or found.matmul_flops
    about = (
        f"a probe here ({found.device}): {found.steps} steps of {found.target_tokens // found.steps:,} target tokens, "
        f"nothing compiled, {found.flops_per_second / found.matmul_flops:.0%} of what a large matrix product reached; "
        "scaled in proportion to the work, and no time lost between processes"
    )
    return Speed(found.flops_per_second, capacity, about), found.half_precision
