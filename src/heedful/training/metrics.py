"""What a run measures: the numbers of its steps on their way from the device to a line of metrics, the clock beside
them, and how well the model predicts text it does not learn from (loss, perplexity, translations, BLEU if asked for).
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from heedful.config import TrainingConfig
from heedful.evaluation.counts import bleu_counts
from heedful.evaluation.translation_scores import perplexity
from heedful.model.transformer import Transformer
from heedful.runs.metrics import Sample, TrainLine, ValidationLine, Wall
from heedful.text.closed_vocabulary import Vocabulary
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import sum_over_processes
from heedful.training.machine import memory_taken
from heedful.training.step import Trainer

Translate = Callable[[Transformer, Sequence[np.ndarray], Sequence[bytes]], list[np.ndarray]]
"""Ids of sources to ids of translations; handed in, so that training does not depend on a search."""
_LAG = 3
"""Steps after which a step's numbers are read: by then they have arrived, and nobody waits."""


@dataclass
class SumsSinceLine:
    """Sums since the last line of metrics; kept in checkpoints, so that a resumed run writes the same line."""

    loss: float = 0.0
    negative_log_likelihood: float = 0.0
    target_tokens: int = 0
    gradient_norm: float = 0.0
    steps: int = 0
    skipped: int = 0

    def add(self, result: StepResult) -> None:
        if result.skipped:
            self.skipped += 1
            return
        self.loss += result.loss_sum
        self.negative_log_likelihood += result.plain_sum
        self.target_tokens += result.batch.target_tokens
        self.gradient_norm += result.gradient_norm
        self.steps += 1

    def line(self, step: int, *, learning_rate: float, wall: Wall) -> TrainLine:
        """The means, as a line of metrics."""
        tokens, steps = max(1, self.target_tokens), max(1, self.steps)
        return TrainLine(
            step=step,
            loss=self.loss / tokens,
            negative_log_likelihood=self.negative_log_likelihood / tokens,
            perplexity=perplexity(self.negative_log_likelihood, tokens),
            learning_rate=learning_rate,
            gradient_norm=self.gradient_norm / steps,
            target_tokens=self.target_tokens,
            skipped=self.skipped,
            wall=wall,
        )


@dataclass(frozen=True)
class StepResult:
    """One step's numbers, read back from the device."""

    batch: StepBatch
    loss_sum: float
    plain_sum: float
    gradient_norm: float
    skipped: bool


class Results:
    """The results of steps on their way from the device."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[StepBatch, Tensor, torch.cuda.Event | None]] = deque()

    def add(self, batch: StepBatch, numbers: Tensor) -> None:
        """Send a step's numbers on their way."""
        event = None
        if numbers.is_cuda:
            host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            numbers = host.copy_(numbers, non_blocking=True)
            event = torch.cuda.Event()
            event.record()
        self._waiting.append((batch, numbers, event))

    def arrived(self, *, all_of_them: bool = False) -> Iterator[StepResult]:
        """The results that are there: those of `_LAG` steps ago and before, or, having waited, all."""
        while self._waiting:
            batch, numbers, event = self._waiting[0]
            if event is not None:
                if not all_of_them and len(self._waiting) <= _LAG:
                    return
                event.synchronize()
            self._waiting.popleft()
            loss, plain, norm, skipped = numbers.tolist()
            yield StepResult(batch, loss, plain, norm, bool(skipped))


class Clock:
    """How long a run has taken, and how fast its steps are: validation and saving count for the one, not the other."""

    def __init__(self, minutes: float) -> None:
        """``minutes``: what earlier sessions of the run have taken."""
        self.saved = time.monotonic()
        """When the last checkpoint was written that is written by the clock."""
        self.last_pause = 0.0
        self._began = self.saved - 60 * minutes
        self.new_line()

    def minutes(self) -> float:
        """Of the whole run, earlier sessions included, everything counted."""
        return (time.monotonic() - self._began) / 60

    def new_line(self) -> None:
        """Begin to measure the speed of the next line."""
        self._line, self._tokens, self._flops = time.monotonic(), 0, 0.0

    def count(self, *, tokens: int, flops: float) -> None:
        """Note that a step of so many target tokens and operations was done."""
        self._tokens += tokens
        self._flops += flops

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While the block runs, time does not count for the speed."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.last_pause = time.monotonic() - began
            self._line += self.last_pause

    def wall(self, device: torch.device, *, peak: float | None) -> Wall:
        """The figures that depend on the clock, since the last line; ``peak``: operations a second at most."""
        seconds = max(1e-9, time.monotonic() - self._line)
        share = round(self._flops / seconds / peak, 4) if peak else None
        return Wall(round(self.minutes() * 60, 3), round(self._tokens / seconds, 1), share, memory_taken(device))


@dataclass(frozen=True)
class Validation:
    """What is measured at each validation."""

    batches: Batches
    source_subwords: Vocabulary
    target_subwords: Vocabulary
    translate: Translate
    training: TrainingConfig

    @cached_property
    def references(self) -> list[str]:
        """The target sentences as text."""
        corpus = self.batches.corpus
        return [self.target_subwords.decode(ids) for ids in corpus.target.sentences(len(corpus))]

    @cached_property
    def words(self) -> int:
        """Words of the target between white space, and one end for each sentence."""
        return sum(len(line.split()) + 1 for line in self.references)

    def measure(self, trainer: Trainer, *, step: int) -> ValidationLine:
        """A line of metrics; every process takes its share of the loss, the first one translates."""
        loss, plain, tokens = self._losses(trainer)
        line = ValidationLine(
            step=step,
            loss=plain / tokens,
            smoothed_loss=loss / tokens,
            perplexity=perplexity(plain, tokens),
            perplexity_per_word=perplexity(plain, self.words),
        )
        corpus, shown, score_bleu = self.batches.corpus, self.training.samples, self.training.best_by == "bleu"
        if not trainer.world.is_first or not (shown or score_bleu):
            return line
        sources = corpus.source.sentences(len(corpus) if score_bleu else min(shown, len(corpus)))
        subwords = self.target_subwords
        outputs = [subwords.decode(ids) for ids in self.translate(trainer.model, sources, subwords.id_bytes)]
        texts = zip(sources[:shown], self.references, outputs, strict=False)
        samples = tuple(Sample(self.source_subwords.decode(ids), wanted, given) for ids, wanted, given in texts)
        if not score_bleu:
            return replace(line, samples=samples)
        score = bleu_counts(outputs, self.references)
        return replace(line, samples=samples, bleu=score.value, bleu_signature=score.signature)

    @torch.no_grad()
    def _losses(self, trainer: Trainer) -> tuple[float, float, int]:
        trainer.model.eval()
        sums = torch.zeros(2, device=trainer.precision.device, dtype=torch.float64)
        tokens = 0
        for step in range(1, self.batches.schedule.steps_per_epoch + 1):
            batch = self.batches.step(step)
            tokens += batch.target_tokens
            for micro in batch.micro_batches:
                sums += torch.stack(trainer.losses(micro)).double()
        loss, plain = sum_over_processes(sums, trainer.world).tolist()
        trainer.model.train()
        return loss, plain, tokens
