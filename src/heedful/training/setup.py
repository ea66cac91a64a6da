"""From a request to a run that can take its first step: corpus, model, optimiser, and what an earlier session left."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heedful import __version__
from heedful.config import Config
from heedful.data.corpus import Corpus
from heedful.data.manifest import MANIFEST, SIDES
from heedful.errors import CheckpointError, TrainingError
from heedful.files import sha256
from heedful.model.attention_kernels import choose_attention
from heedful.model.devices import chosen_device
from heedful.model.draft_heads import MOST_WORDS, NAME, DraftHeads
from heedful.model.initialization import scale_residual_branches
from heedful.model.transformer import Transformer
from heedful.presets import parameter_count
from heedful.runs.checkpoints import Checkpoint, load_weights, newest_sound
from heedful.runs.descriptions import (
    MAY_CHANGE,
    RUN,
    Best,
    RunDescription,
    TrainedOn,
    TypedCommand,
    differing_settings,
    now,
    read_run,
    write_run,
)
from heedful.runs.folder import copy_text_files, remove_run
from heedful.runs.metrics import cut_metrics
from heedful.runs.saved import read_model
from heedful.symbols import END, PAD
from heedful.text.closed_vocabulary import load_vocabulary
from heedful.training.batches import Batches
from heedful.training.distributed import World, barrier
from heedful.training.events import Reporter, Warned
from heedful.training.machine import environment
from heedful.training.metrics import SumsSinceLine, Translate, Validation
from heedful.training.step import Precision, Trainer, fine_enough, precision_for
from heedful.typed import typed


@dataclass(frozen=True)
class Task:
    """What somebody wants trained."""

    config: Config
    data: Path
    run: Path
    preset: str | None = None
    resume: bool = False
    init: Path | None = None
    overwrite: bool = False
    device: str = "auto"
    auto_micro_batches: bool = False
    command: tuple[str, ...] = ()
    """What was typed to ask for it; empty where a program asked."""
    fitted_to: float | None = None
    """The minutes that the configuration was fitted to, some of which went by meanwhile."""


@dataclass(frozen=True)
class Foreseen:
    """The step at which the clock will end a run of so many steps or minutes."""

    last_step: int
    steps: int
    minutes: float


@dataclass
class LoopState:
    """What a checkpoint holds beside weights and optimiser."""

    step: int = 0
    minutes: float = 0.0
    best: Best | None = None
    validations_without_best: int = 0
    skipped_in_a_row: int = 0
    foreseen: Foreseen | None = None
    interval: SumsSinceLine = field(default_factory=SumsSinceLine)


def loop_state(checkpoint: Checkpoint) -> LoopState:
    """What a checkpoint says; raises for one that training cannot go on from."""
    try:
        state = typed(LoopState, checkpoint.state.get("progress"), where="progress")
        if state.step != checkpoint.step:
            raise ValueError(f"progress.step is {state.step}")
        return state
    except ValueError as error:
        raise CheckpointError(f"the checkpoint of step {checkpoint.step} cannot be gone on from: {error}") from None


@dataclass(frozen=True)
class Prepared:
    """A run that can take its next step, once it has its folder (`claim_folder`)."""

    task: Task
    """As it was asked for, but for the number of micro-batches where that had to be raised."""
    trainer: Trainer
    batches: Batches
    validation: Validation | None


def training_device(wanted: str) -> torch.device:
    """The device asked for; of several GPUs this process's own."""
    device = chosen_device(wanted, error=TrainingError)
    if device.type == "cuda":
        own = device.index if device.index is not None else int(os.environ.get("LOCAL_RANK", "0"))
        device = torch.device("cuda", own)
        torch.cuda.set_device(device)
        # Padded batches (the kinds of model that packed ones cannot serve) have a new shape each step, and cuDNN's
        # attention would plan anew for each: ten times slower than the other kernels.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def prepared_run(task: Task, *, device: torch.device, world: World, translate: Translate, report: Reporter) -> Prepared:
    """Open the data and build the model; nothing is written."""
    corpus, training = Corpus(task.data), task.config.training
    if training.micro_batches < world.size:
        raise TrainingError(
            f"training.micro_batches = {training.micro_batches} leaves some of the {world.size} processes without "
            f"work: set it to {world.size} or a multiple (it stays part of the run, whatever the machines)"
        )
    precision = precision_for(task.config, device)
    model = built_model(task.config, corpus, precision)
    init = _load_init(model, task.init, corpus) if task.init is not None else None
    if training.only:
        if init is None and not (task.resume or world.restarts):
            raise TrainingError(f'training.only = "{training.only}" needs a model that stays as it is: give --init RUN')
        _attach_draft_heads(model, init, corpus)
    elif init is not None and init.draft is not None:
        report(Warned(f"the draft heads of {task.init} are left out: they would no longer fit the model"))
    trainer = Trainer(model, task.config, precision=precision, world=world)
    valid = _validation_corpus(task, corpus, report)
    common = {"layout": trainer.model.attention.layout, "device": device, "world": world}
    batches = Batches(corpus, training, longest=valid.lengths.longest if valid else 0, **common)
    held_out = Batches(valid, training, longest=batches.longest, seed=0, **common) if valid else None
    count = fine_enough(trainer, batches, automatic=task.auto_micro_batches, report=report)
    task = replace(task, config=replace(task.config, training=replace(training, micro_batches=count)))
    validation = _validation(task, held_out.recut(count), translate) if held_out else None
    return Prepared(task, trainer, batches.recut(count), validation)


def trainer_alone(config: Config, corpus: Corpus, *, device: torch.device) -> tuple[Trainer, Batches]:
    """A trainer and its batches without a run around them, for whoever measures or compares."""
    precision = precision_for(config, device)
    trainer = Trainer(built_model(config, corpus, precision), config, precision=precision, world=World())
    batches = Batches(corpus, config.training, layout=trainer.model.attention.layout, device=device, world=World())
    batches = batches.recut(fine_enough(trainer, batches, automatic=True, report=lambda _: None))
    if trainer.captures:
        trainer.accelerate()
    return trainer, batches


def _validation_corpus(task: Task, corpus: Corpus, report: Reporter) -> Corpus | None:
    """What the run is validated on; None where it is not."""
    training = task.config.training
    valid = Corpus(task.data, "valid", verify=False) if "valid" in corpus.manifest.splits else None
    if valid is not None and len(valid) and training.validation_steps:
        return valid
    if training.patience:
        raise TrainingError(
            f"training.patience = {training.patience} needs validation: prepare the corpus with "
            "--valid-source and --valid-target, and set training.validation_steps"
        )
    if valid is not None and training.validation_steps:
        report(Warned(f"the validation text of {task.data} has no pairs: nothing is validated"))
    return None


def built_model(config: Config, corpus: Corpus, precision: Precision) -> Transformer:
    """The model with the run's initial parameters, the same on every device and in every process."""
    attention = choose_attention(config.model, device=precision.device)
    longest = corpus.lengths.longest
    if config.model.positions == "learned" and longest > config.model.max_positions:
        raise TrainingError(
            f"the corpus has a sentence of {longest} tokens, but learned positions end at "
            f"model.max_positions = {config.model.max_positions}: raise it, or prepare with --max-length"
        )
    torch.manual_seed(config.training.seed)
    model = Transformer(config.model, **corpus.manifest.vocabularies.sizes, attention=attention)
    scale_residual_branches(model, config.training.residual_scale)
    return model.to(precision.device)


def require_new(run: Path, *, overwrite: bool) -> None:
    """Raise where a run is there that nobody said may go."""
    if (run / RUN).exists() and not overwrite:
        raise TrainingError(f"{run} is there already: --resume goes on with it, --overwrite starts anew")


def claim_folder(prepared: Prepared, *, report: Reporter) -> Checkpoint | None:
    """Make the run folder, or check the one that is there; returns the newest checkpoint that can be gone on from."""
    task, corpus, world = prepared.task, prepared.batches.corpus, prepared.trainer.world
    resume = task.resume or world.restarts > 0
    if world.is_first:
        if (task.run / RUN).exists() and not resume:
            require_new(task.run, overwrite=task.overwrite)
            remove_run(task.run, corpus=task.data)
        if (task.run / RUN).exists():
            _require_same(task, corpus, report)
            copy_text_files(task.data, task.run, corpus.manifest.vocabularies)
        else:
            _describe_run(task, corpus, environment(prepared.trainer.precision.device, world))
    barrier(world)
    checkpoint, problems = newest_sound(task.run, require=loop_state)
    for problem in problems:
        report(Warned(f"{problem}; using the one before"))
    if resume and checkpoint is None:
        report(Warned(f"nothing to resume: {task.run} has no checkpoint yet; starting afresh"))
    if world.is_first:
        cut_metrics(task.run, after_step=checkpoint.step if checkpoint else 0)
    barrier(world)
    return checkpoint


def _describe_run(task: Task, corpus: Corpus, machine: dict[str, Any]) -> None:
    vocabularies = corpus.manifest.vocabularies
    copy_text_files(task.data, task.run, vocabularies)
    description = RunDescription(
        heedful=__version__,
        preset=task.preset,
        task=corpus.manifest.task,
        config=task.config,
        data=TrainedOn(str(task.data.absolute()), sha256(corpus.folder / MANIFEST)),
        vocabularies=vocabularies,
        **vocabularies.sizes,
        parameters=parameter_count(task.config.model, **vocabularies.sizes),
        # By its folder, or by its name if it came with heedful.
        init=str(task.init.absolute() if task.init.exists() else task.init) if task.init else None,
        started=now(),
        command=TypedCommand(task.command, str(Path.cwd())) if task.command else None,
        fitted_to=task.fitted_to,
        environment=machine,
    )
    write_run(task.run, description)


def _require_same(task: Task, corpus: Corpus, report: Reporter) -> None:
    stored = read_run(task.run)
    if stored.bundle:
        raise CheckpointError(
            f"{task.run} is a model to give away, without what its training needs: start a new run with "
            f"--init {task.run}"
        )
    differing = differing_settings(stored.config, task.config)
    barred = [text for text in differing if text.partition(":")[0] not in MAY_CHANGE]
    if barred:
        lines = "\n".join(f"  - {text}" for text in barred)
        raise CheckpointError(f"{task.run} was begun with another configuration:\n{lines}")
    if stored.data.manifest_sha256 != sha256(corpus.folder / MANIFEST):
        raise CheckpointError(
            f"{task.run} was begun on another corpus ({stored.data.folder}): to go on from its weights on new "
            f"data, start a new run with --init {task.run}"
        )
    if differing:
        report(Warned("changed since the run began: " + "; ".join(differing)))
        is_its_time = task.config.training.minutes == stored.config.training.minutes
        fitted_to = stored.fitted_to if is_its_time else None
        write_run(task.run, replace(stored, config=task.config, fitted_to=fitted_to))


def _load_init(model: Transformer, place: Path, corpus: Corpus) -> Transformer:
    """Put the weights of another model, which is returned, into this one, once it is sure that its subwords are this
    corpus's; draft heads belong to the weights as they were.
    """
    saved = read_model(place)
    for side in SIDES:
        ours, theirs = (getattr(known.vocabularies, side) for known in (corpus.manifest, saved.description))
        if ours.sha256 != theirs.sha256:
            raise CheckpointError(
                f"{place} has other {side} subwords than {corpus.folder}: prepare the new data with "
                f"--tokenizer {saved.run}"
            )
    weights = saved.model.state_dict()
    own = {name: value for name, value in weights.items() if not name.startswith(f"{NAME}.")}
    load_weights(model, own, where=str(place))
    return saved.model


def _attach_draft_heads(model: Transformer, init: Transformer | None, corpus: Corpus) -> None:
    """Give the model draft heads, those that it began with if it had any, and leave all else as it is."""
    counts = np.zeros(len(model.embedding.weight), np.int64)
    for shard in corpus.target.shards:
        counts += np.bincount(shard, minlength=len(counts))
    counts[[END, PAD]] = len(corpus), -1
    often = np.argsort(-counts, kind="stable")[: min(MOST_WORDS, len(counts)) - 1]
    begun = init.draft if init is not None else None
    heads = begun or DraftHeads(torch.tensor([PAD, *often.tolist()]), d_model=model.config.d_model)
    model.requires_grad_(False)
    model.draft = heads.to(model.embedding.weight.device).requires_grad_(True)


def _validation(task: Task, held_out: Batches, translate: Translate) -> Validation:
    source, target = (
        load_vocabulary(task.data / getattr(held_out.corpus.manifest.vocabularies, side).folder) for side in SIDES
    )
    return Validation(held_out, source, target, translate, task.config.training)
