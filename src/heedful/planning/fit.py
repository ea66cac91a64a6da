"""What to train in so many minutes: the model's size, its batches, its schedule, how often it is validated and saved.

The rule, for which docs/log.md has the runs. Short runs are won by steps: for some hundreds of them a model does not
look at its source, whatever its size. So the largest size is taken that will see `_TOKENS_A_PARAMETER` target tokens
for each of its parameters and that the text is not too small for. Batches are such that there are about `_STEPS` steps,
whether the minutes end them or the epochs that a small text bears.
The rate rises for a tenth of them and then falls in a straight line to nothing, which ends with the minutes
(`Loop._foresee_end`); a text that is seen often is learned by heart while the rate is low, so there it falls as in
Equation 3, and many checkpoints are averaged. A few real steps are timed here for the rest.

On a GPU the speed of captured steps is not known before them, so there it is a guess. What was asked for by name stays
as it was asked for, and the rest is fitted to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heedful.config import Config, DataConfig, ModelConfig, TrainingConfig, read_toml
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus, Lengths
from heedful.errors import PlanError
from heedful.presets import parameter_count, resolve
from heedful.tasks import TASKS
from heedful.training.flops import batch_flops

if TYPE_CHECKING:
    import torch

_SHAPES = ((64, 4, 2), (128, 4, 2), (192, 4, 2), (256, 4, 3), (384, 6, 4), (512, 8, 6), (1024, 16, 6))
"""d_model, heads, and layers of each stack, from the cheapest on."""
_FIRST = 1
"""The shape whose steps are timed first, to guess at the others."""
_TOKENS_A_PARAMETER = 1.3
"""With 1.75 a model was two BLEU better than one of half its width, with 1.4 two better than one made by hand."""
_PARAMETERS_A_TOKEN = 16
"""At most, of an epoch's target tokens: a larger model learns a small text by heart."""
_STEPS, _STEPS_OFTEN = 3000, 5500
_OFTEN, _TOKENS_OFTEN = 10, 4_500_000
"""A text is seen often in so many epochs, and by a model that sees so many tokens: with fewer, what learns faster is
better. At fourteen epochs Equation 3, smaller batches, W^O and W_2 as the authors begin with them and a mean over a
fifth of the steps each lowered the averaged model's loss (one seed each); at two, the line is what was measured."""
_FEWEST_TOKENS, _MOST_TOKENS = 1024, 25_000
"""Of a batch, on each side."""
_MOST_EPOCHS = 60
"""More teach a model the text by heart."""
_DROPOUT = ((40, 0.3), (24, 0.2), (4, 0.1), (0, 0.0))
"""From so many epochs on, so much. At two, 0.1 cost four BLEU, at eight 0.2 more than two; at fourteen the loss was
lower with 0.1 than with 0.15."""
_PEAK = 0.512
"""The highest learning rate is this divided by d_model."""
_FINE_PEAK = 0.1
"""The same where a model begins with what another has learned, and should not lose it."""
_VALIDATIONS = 10
_CHECKPOINTS, _AVERAGED = (25, 70), (3, 14)
"""And of a text that is seen often."""
_USED = 0.98
"""The share of the time that steps and validations are to take."""
_FASTER = 1.5
"""So many times the steps are allowed, since no machine keeps its pace: the clock ends the run, and its rate."""
_TIMED = 0.01
"""The share of the time that steps are timed for: a machine that is busy for two seconds must not decide the size."""
_CAPTURED = 2.0
"""How much faster a GPU is taken to be than the probe, once its steps are captured."""
_LEAST_STEPS, FEW_STEPS = 10, 1000
"""Fewer are no run; fewer than the latter will hardly translate."""
_LAST_SECONDS = 2.0
_SAMPLE = 100_000
"""Pairs whose lengths say what a token costs."""


@dataclass(frozen=True)
class Fit:
    """A run that suits its time."""

    config: Config
    steps: int
    """About so many will be taken."""
    epochs: float

    @property
    def lacks(self) -> str:
        """What the run would need for more steps."""
        return "text" if self.epochs >= _MOST_EPOCHS else "minutes"

    @property
    def about(self) -> str:
        """The choice, in words."""
        model, training = self.config.model, self.config.training
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers of {model.d_model}"
        batch = f"{training.target_tokens:,} tokens a batch, warm-up {training.warmup_steps:,}"
        most = ", the most that so little text bears" if self.lacks == "text" else ""
        return f"{layers}, {batch}, about {self.steps:,} steps ({self.epochs:.1f} epochs{most})"


@dataclass(frozen=True)
class _Room:
    """What is known before anything is chosen."""

    corpus: Corpus
    seconds: float
    on_gpu: bool
    file: Path | None
    settings: tuple[str, ...]
    begun: Config | None = None

    def resolved(self, fitted: Config) -> Config:
        """What is fitted with what was asked for laid over it."""
        return resolve(file=self.file, settings=self.settings, otherwise=fitted)

    def flops_a_token(self, model: ModelConfig) -> float:
        """Operations for each target token, with its share of the source."""
        vocab_size = self.corpus.manifest.vocabularies.target.size
        return batch_flops(model, vocab_size=vocab_size, lengths=self._sample) / self._sample.totals[1]

    @cached_property
    def _sample(self) -> Lengths:
        """The lengths of some pairs, from all over the corpus."""
        return self.corpus.lengths.of(np.arange(0, len(self.corpus), max(1, len(self.corpus) // _SAMPLE)))


def fitted_run(
    data: Path,
    *,
    minutes: float,
    device: torch.device | None,
    file: Path | None = None,
    settings: Sequence[str] = (),
    begun: Config | None = None,
    flops_per_second: float = 0.0,
    began: float | None = None,
) -> Fit:
    """The run that suits so many minutes; ``began``: when they began, as `time.monotonic` counts; ``begun``: what the
    model is whose weights it begins with.

    Without a device, of a GPU elsewhere that computes so many ``flops_per_second``; nothing is timed.
    """
    began = time.monotonic() if began is None else began
    corpus = Corpus(data, verify=False)
    room = _Room(corpus, 60 * minutes, device is None or device.type == "cuda", file, tuple(settings), begun)
    vocabularies, search = corpus.manifest.vocabularies, (begun or TASKS[corpus.manifest.task]).search
    text = DataConfig(vocab_size=max(vocabularies.source.size, vocabularies.target.size))
    candidates = [room.resolved(Config(model=model, data=text, search=search)) for model in _models(room)]
    if device is not None:
        first = candidates[min(_FIRST, len(candidates) - 1)]
        timed = _with_batches(room, first, tokens=0)
        rate = _tokens_per_second(room, timed, device)
        flops_per_second = rate * room.flops_a_token(first.model)
        chosen = _chosen(room, candidates, flops_per_second)
        if chosen.model.d_model != first.model.d_model:
            rate = _tokens_per_second(room, chosen, device)
    else:
        chosen = _chosen(room, candidates, flops_per_second)
        rate = flops_per_second / room.flops_a_token(chosen.model)
    # Training opens the corpus and builds the model once more, and ends with a checkpoint and an average.
    left = 60 * minutes - 1.4 * (time.monotonic() - began) - _LAST_SECONDS
    return _scheduled(room, chosen, tokens_per_second=rate, seconds=left)


def _models(room: _Room) -> list[ModelConfig]:
    """The sizes to choose from: one where its width was asked for, or where it has its weights."""
    if room.begun:
        return [room.begun.model]
    given, _ = read_toml(room.file) if room.file else ({}, None)
    named = {*given, *(text.partition("=")[0].strip() for text in room.settings)}
    if "model.d_model" not in named:
        return [_model(*shape) for shape in _SHAPES]
    width = room.resolved(Config(model=ModelConfig(num_heads=1))).model.d_model
    layers = next((layers for d_model, _, layers in _SHAPES if d_model >= width), 6)
    heads = next(heads for heads in (max(1, width // 64), 4, 2, 1) if width % heads == 0)
    return [_model(width, heads, layers)]


def _model(d_model: int, heads: int, layers: int) -> ModelConfig:
    """A model of the paper's proportions."""
    return ModelConfig(d_model, 4 * d_model, heads, encoder_layers=layers, decoder_layers=layers)


def _chosen(room: _Room, candidates: list[Config], flops_per_second: float) -> Config:
    """The largest that sees tokens enough, with its batches."""

    def tokens(config: Config) -> float:
        return room.seconds * flops_per_second / room.flops_a_token(config.model)

    def suits(config: Config) -> bool:
        parameters = parameter_count(config.model, **room.corpus.manifest.vocabularies.sizes)
        most = _PARAMETERS_A_TOKEN * room.corpus.lengths.totals[1]
        return parameters <= min(most, tokens(config) / _TOKENS_A_PARAMETER)

    chosen = next(filter(suits, reversed(candidates)), candidates[0])
    return _with_batches(room, chosen, tokens=tokens(chosen))


def _with_batches(room: _Room, config: Config, *, tokens: float) -> Config:
    """The batches of a run that sees so many target tokens in all, and what suits that many epochs."""
    tokens = min(tokens, _MOST_EPOCHS * room.corpus.lengths.totals[1])
    epochs = tokens / room.corpus.lengths.totals[1]
    often = epochs >= _OFTEN and tokens >= _TOKENS_OFTEN and room.begun is None
    steps = _STEPS_OFTEN if often else _STEPS
    size = min(_MOST_TOKENS, max(_FEWEST_TOKENS, round(tokens / steps / 256) * 256))
    longest = [room.corpus.lengths.longest]
    if "valid" in room.corpus.manifest.splits:
        longest.append(Corpus(room.corpus.folder, "valid", verify=False).lengths.longest)
    size = max(size, *longest)
    dropout = next(share for least, share in _DROPOUT if epochs >= least)
    training = replace(config.training, source_tokens=size, target_tokens=size, decay="linear")
    if often:
        is_shallow = max(config.model.encoder_layers, config.model.decoder_layers) <= 2
        begins = 1.0 if is_shallow else training.residual_scale
        training = replace(training, decay="inverse-sqrt", residual_scale=begins)
    return room.resolved(replace(config, model=replace(config.model, dropout=dropout), training=training))


def _scheduled(room: _Room, config: Config, *, tokens_per_second: float, seconds: float) -> Fit:
    """The schedule and the intervals of a run that has so many seconds left."""
    corpus, training = room.corpus, config.training
    if seconds <= 0:
        raise PlanError([f"--minutes {room.seconds / 60:g}: opening the corpus and timing a few steps took longer"])
    an_epoch = Schedule.of(corpus, training).steps_per_epoch
    step_seconds = corpus.lengths.totals[1] / an_epoch / tokens_per_second
    # A third of what training on the same tokens takes, and some sentences that are translated.
    valid = corpus.manifest.splits.get("valid")
    looking = (valid.target.ids + valid.pairs) / tokens_per_second / 3 + 0.5 if valid and valid.pairs else 0.0
    looks = int(min(_VALIDATIONS, max(1, 0.05 * seconds / looking))) if looking else _VALIDATIONS
    steps = int((_USED * seconds - looks * looking) / step_seconds)
    if steps < _LEAST_STEPS:
        raise PlanError([f"--minutes {room.seconds / 60:g}: a step takes {step_seconds:.2g} s here; give it more time"])
    steps = min(steps, _MOST_EPOCHS * an_epoch)
    warmup = max(1, steps // 10)
    peak = _FINE_PEAK if room.begun and not training.only else _PEAK
    often = training.decay != "linear"
    checkpoints, averaged = _CHECKPOINTS[often], _AVERAGED[often]
    fitted = TrainingConfig(
        steps=min(round((2 if room.on_gpu else _FASTER) * steps), _MOST_EPOCHS * an_epoch),  # the minutes end it
        minutes=round(seconds / 60, 2),
        source_tokens=training.source_tokens,
        target_tokens=training.target_tokens,
        warmup_steps=warmup,
        learning_rate_scale=round(peak / config.model.d_model * (config.model.d_model * warmup) ** 0.5, 3),
        decay=training.decay,
        residual_scale=training.residual_scale,
        validation_steps=max(1, steps // looks),
        checkpoint_minutes=round(seconds / 60 / checkpoints, 2) if room.on_gpu else 0.0,
        checkpoint_steps=0 if room.on_gpu else max(1, steps // checkpoints),
        keep_last=averaged,
        average_last=averaged,
        log_steps=max(1, min(50, steps // 40)),
    )
    return Fit(room.resolved(replace(config, training=fitted)), steps, steps / an_epoch)


def _tokens_per_second(room: _Room, config: Config, device: torch.device) -> float:
    """Target tokens that real steps of this run compute in a second here."""
    from heedful.planning.probe import timed_steps  # torch takes seconds to load

    enough = min(20.0, _TIMED * room.seconds)
    tokens, seconds = timed_steps(room.corpus.folder, config, device=device, enough=enough)
    return (_CAPTURED if room.on_gpu else 1.0) * tokens / seconds
