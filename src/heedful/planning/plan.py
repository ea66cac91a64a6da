"""What a run would be, before it is one: its size, its cost, its time, and everything that would stop it.

All problems are found together, so that one reading mends them all. Memory and time are estimates, and say so.
This module neither trains nor writes; the one thing it may run is a short probe of this machine (`planning.probe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from heedful.config import Config, ModelConfig
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.manifest import SIDES
from heedful.data.micro_batches import most_tokens, packed_size
from heedful.errors import PlanError
from heedful.planning import checks
from heedful.planning.checks import MemoryEstimate, Speed, Target, memory_estimate, noted
from heedful.planning.fit import Fit, fitted_run
from heedful.presets import parameter_count, preset_named, resolve
from heedful.runs.descriptions import RUN
from heedful.training.flops import MATMUL_SHARE, batch_flops, expected_share, nominal_memory, paper_flops, peak_flops

_FEW_TOKENS = 8192
"""Below so many tokens in a micro-batch a GPU is not kept as busy as the measured ones were."""


@dataclass(frozen=True)
class Plan:
    """A run that can be run."""

    vocabulary: dict[str, Any]
    """Subwords of each side of the corpus, which rules, whatever a configuration says; and whether they are shared."""
    parameters: int
    processes: int
    steps: int
    """Fewer than were asked for where ``training.minutes`` ends the run before."""
    steps_per_epoch: int
    epochs: float
    source_tokens: float
    """Of a step, on average."""
    target_tokens: float
    micro_batch_source_tokens: int
    """Of a micro-batch, at most."""
    micro_batch_target_tokens: int
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
    fitted: str | None = None
    """What was chosen to suit the minutes; None where it was asked for."""


@dataclass(frozen=True)
class _Checked:
    """What passed every check."""

    corpus: Corpus
    schedule: Schedule
    config: Config
    target: Target
    processes: int
    accelerator: str | None
    output: Path | None

    def largest(self, micro_batches: int) -> tuple[int, int]:
        """The most source and target tokens that one of so many micro-batches can hold."""
        training, longest = self.config.training, self.schedule.lengths.longest
        source, target = (
            packed_size(most_tokens(budget, micro_batches=micro_batches, longest=longest))
            for budget in (training.source_tokens, training.target_tokens)
        )
        return source, target

    def memory(self, micro_batches: int) -> MemoryEstimate:
        """What a process needs for so many micro-batches."""
        half = self.target.half_precision
        source_tokens, target_tokens = self.largest(micro_batches)
        return memory_estimate(
            self.config.model,
            **self.corpus.manifest.vocabularies.sizes,
            source_tokens=source_tokens,
            target_tokens=target_tokens,
            half_precision=half,
            captured=half and self.config.training.compile,
        )


def make_plan(
    folder: Path,
    *,
    preset: str | None = None,
    file: Path | None = None,
    settings: Sequence[str] = (),
    minutes: float | None = None,
    gpus: int = 1,
    nodes: int = 1,
    accelerator: str | None = None,
    output: Path | None = None,
) -> Plan:
    """The plan of a run; raises one `PlanError` that names every problem.

    ``minutes``: how long it may take; without a preset it is fitted to that.
    """
    assert min(gpus, nodes) > 0, "the command line bounds them"
    problems: list[str] = []
    config = schedule = target = fit = None
    with noted(problems):
        if minutes and not preset_named(preset, file):
            fit = _fitted(folder, minutes, file, settings, accelerator)
            config = fit.config
        else:
            ends = [f"training.minutes={minutes}"] if minutes else []
            config = resolve(name=preset, file=file, settings=[*ends, *settings])
    corpus = checks.opened(folder, problems)
    problems += checks.request_problems(config, accelerator=accelerator, processes=gpus * nodes)
    if corpus and config:
        schedule = checks.scheduled(corpus, config, problems)
        problems += checks.validation_problems(corpus, config)
        problems += checks.disk_problems(output, corpus, config) if output else []
    if config:
        with noted(problems):
            target = _target(accelerator, config, gpus)
    if not (corpus and config and schedule and target):
        raise PlanError(problems)
    checked = _Checked(corpus, schedule, config, target, gpus * nodes, accelerator, output)
    problems += checks.memory_problems(checked.memory, target, micro_batches=config.training.micro_batches)
    if problems:
        raise PlanError(problems)
    speed = _datasheet_speed(accelerator, config.model) if accelerator else _probed_speed(checked)
    return replace(_planned(checked, speed), fitted=fit.about if fit else None)


def _fitted(folder: Path, minutes: float, file: Path | None, settings: Sequence[str], accelerator: str | None) -> Fit:
    asked = {"minutes": minutes, "file": file, "settings": settings}
    if accelerator:
        speed = _datasheet_speed(accelerator, ModelConfig()) if peak_flops(accelerator) else None
        return fitted_run(folder, **asked, device=None, flops_per_second=speed.flops_per_second if speed else 1e12)
    from heedful.training.setup import training_device

    return fitted_run(folder, **asked, device=training_device("auto"))


def _planned(checked: _Checked, speed: Speed) -> Plan:
    training, schedule, processes = checked.config.training, checked.schedule, checked.processes
    vocabularies = checked.corpus.manifest.vocabularies
    source_tokens, target_tokens, flops = _mean_step(checked)
    step_seconds = flops / (processes * speed.flops_per_second)
    steps = training.steps
    if 0 < 60 * training.minutes < steps * step_seconds:
        steps = int(60 * training.minutes / step_seconds)
    seconds = steps * step_seconds
    largest = checked.largest(training.micro_batches)
    idle = checked.accelerator is not None and target_tokens / training.micro_batches < _FEW_TOKENS
    return Plan(
        vocabulary={side: getattr(vocabularies, side).size for side in SIDES} | {"shared": vocabularies.shared},
        parameters=parameter_count(checked.config.model, **vocabularies.sizes),
        processes=processes,
        steps=steps,
        steps_per_epoch=schedule.steps_per_epoch,
        epochs=steps / schedule.steps_per_epoch,
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        micro_batch_source_tokens=largest[0],
        micro_batch_target_tokens=largest[1],
        memory=checked.memory(training.micro_batches),
        step_flops=flops,
        flops=flops * steps,
        paper_flops=paper_flops(gpus=processes, hours=seconds / 3600, tflops=speed.capacity / 1e12),
        step_seconds=step_seconds,
        seconds=seconds,
        at_least=processes > 1 or idle,
        speed=speed,
        notes=tuple(_notes(checked, steps=steps, few_tokens=target_tokens / training.micro_batches if idle else None)),
    )


def _notes(checked: _Checked, *, steps: int, few_tokens: float | None) -> Iterator[str]:
    """What does not stop a run, and is better known."""
    corpus, schedule, training, output = checked.corpus, checked.schedule, checked.config.training, checked.output
    vocabularies, wanted = corpus.manifest.vocabularies, checked.config.data.vocab_size
    size = max(vocabularies.source.size, vocabularies.target.size)
    if size != wanted:
        yield f"the corpus has {size:,} subwords; data.vocab_size = {wanted} is not used"
    if training.validation_steps and "valid" not in corpus.manifest.splits:
        yield f"{corpus.folder} has no validation text: nothing will be validated, and no checkpoint be the best"
    if output is not None and (output / RUN).exists():
        yield f"{output} is a run already: training must be told to go on with it or to start anew"
    if training.micro_batches % checked.processes:
        uneven = f"training.micro_batches = {training.micro_batches} is no multiple of {checked.processes} processes"
        yield f"{uneven}: some do more than others"
    if schedule.pairs_per_epoch / schedule.steps_per_epoch < training.micro_batches:
        yield f"a batch has fewer pairs than training.micro_batches = {training.micro_batches}: some are empty"
    if training.steps < schedule.steps_per_epoch:
        yield "the run ends before it has seen every pair once"
    if steps < training.steps:
        yield f"training.minutes = {training.minutes:g} ends it before training.steps = {training.steps:,}"
    if few_tokens is not None:
        few = f"a micro-batch has {few_tokens:,.0f} target tokens"
        yield f"{few}: GPUs will be less busy than the time assumes, which was measured with 25,000"
    if checked.accelerator and training.precision == "float32":
        yield "training.precision = float32 is several times slower than the time assumes, which is bfloat16's"


def _target(accelerator: str | None, config: Config, gpus: int) -> Target:
    """What would compute the run: such a device, or the one that training would take here."""
    if accelerator:
        return Target(f"one {accelerator}", config.training.precision != "float32", nominal_memory(accelerator))
    from heedful.training.machine import device_memory  # torch takes seconds to load
    from heedful.training.setup import training_device
    from heedful.training.step import precision_for

    device = training_device("auto")
    half, memory = precision_for(config, device).half, device_memory(device)
    if device.type == "cuda":
        return Target("the GPU here", half, memory, is_rehearsed=True)
    shared = f"a {gpus}th of this machine" if gpus > 1 else "this machine"
    return Target(shared, half, None if memory is None else memory // gpus)


def _mean_step(checked: _Checked) -> tuple[float, float, float]:
    """Source tokens, target tokens and operations of a step: an epoch's, divided by its steps."""
    corpus, vocab_size = checked.corpus, checked.corpus.manifest.vocabularies.target.size
    totals = np.zeros(3)
    for weight in np.unique(corpus.weights):  # how often its pairs come in an epoch
        lengths = corpus.lengths.of(corpus.weights == weight)
        flops = batch_flops(checked.config.model, vocab_size=vocab_size, lengths=lengths)
        totals += float(weight) * np.array([*lengths.totals, flops])
    source_tokens, target_tokens, flops = (totals / checked.schedule.steps_per_epoch).tolist()
    return source_tokens, target_tokens, flops


def _datasheet_speed(accelerator: str, model: ModelConfig) -> Speed:
    peak = peak_flops(accelerator)
    assert peak is not None, "an unknown accelerator is a problem that was named"
    share = expected_share(model)
    about = (
        f"an assumption, not a measurement: {share:.0%} of what large matrix products reach, which is "
        f"{MATMUL_SHARE:.0%} of the datasheet's {peak / 1e12:,.0f} TFLOP/s (on one H200 base reached 25 % and "
        "big 45 %), and no time lost between GPUs"
    )
    return Speed(peak * MATMUL_SHARE * share, peak, about)


def _probed_speed(checked: _Checked) -> Speed:
    from heedful.planning.probe import probed_speed
    from heedful.training.setup import training_device

    problems: list[str] = []
    with noted(problems):
        return probed_speed(checked.corpus.folder, checked.config, device=training_device("auto"))
    raise PlanError(problems)
