"""How well the model predicts text it does not learn from: loss, perplexity, translations, BLEU if asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from heedful.data.corpus import Corpus
from heedful.evaluation.translation_scores import bleu, perplexity
from heedful.model.transformer import Transformer
from heedful.runs.metrics import Sample, ValidationLine
from heedful.text.subwords import Subwords
from heedful.training.batches import Batches
from heedful.training.distributed import sum_over_processes
from heedful.training.step import Trainer

Translate = Callable[[Transformer, Sequence[np.ndarray]], list[np.ndarray]]
"""Ids of sources to ids of translations; handed in, so that training does not depend on a search."""


@dataclass(frozen=True)
class Validation:
    """What is measured at each validation."""

    batches: Batches
    source_subwords: Subwords
    target_subwords: Subwords
    translate: Translate
    samples: int
    score_bleu: bool

    @property
    def corpus(self) -> Corpus:
        return self.batches.corpus

    @cached_property
    def references(self) -> list[str]:
        """The target sentences as text."""
        return [self.target_subwords.decode(ids) for ids in self.corpus.target.sentences(len(self.corpus))]

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
        if not trainer.world.is_first or not (self.samples or self.score_bleu):
            return line
        count = len(self.corpus) if self.score_bleu else min(self.samples, len(self.corpus))
        sources = self.corpus.source.sentences(count)
        outputs = [self.target_subwords.decode(ids) for ids in self.translate(trainer.model, sources)]
        texts = zip(sources[: self.samples], self.references, outputs, strict=False)
        samples = tuple(Sample(self.source_subwords.decode(ids), wanted, given) for ids, wanted, given in texts)
        if not self.score_bleu:
            return replace(line, samples=samples)
        score = bleu(outputs, self.references)
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
