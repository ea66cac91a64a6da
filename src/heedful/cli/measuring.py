"""How a command that scores a model gets translations and likelihoods out of it, and what that took."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.cli.progress import Report
from heedful.evaluation.translation_scores import perplexity

if TYPE_CHECKING:
    from heedful.search.options import SearchOptions
    from heedful.search.translator import Translator


@dataclass(frozen=True)
class Translated:
    """Translations, and how fast they came; tokens are subwords, END included."""

    outputs: list[str]
    tokens: int
    seconds: float
    device: str


@dataclass(frozen=True)
class Likelihood:
    """How probable a model finds the references; every sentence ends in one more subword and one more word."""

    log_probability: float
    subwords: int
    words: int

    def described(self) -> dict[str, float | None]:
        """The numbers as JSON has them: null for what is not finite."""
        numbers = {
            "per_subword": perplexity(-self.log_probability, self.subwords),
            "per_word": perplexity(-self.log_probability, self.words),
            **dataclasses.asdict(self),
        }
        return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


def translated(translator: Translator, sources: Sequence[str], *, options: SearchOptions, report: Report) -> Translated:
    """The best translation of each line."""
    outputs: list[str] = []
    tokens, began = 0, time.perf_counter()
    for hypotheses in translator.hypotheses(sources, options):
        outputs.append(hypotheses[0].text)
        tokens += len(hypotheses[0].ids) + 1
        report("translating", len(outputs), len(sources))
    return Translated(outputs, tokens, time.perf_counter() - began, str(translator.device))


def likelihood(
    translator: Translator, sources: Sequence[str], references: Sequence[str], *, report: Report
) -> Likelihood:
    """How probable the model finds the references, given their sources."""
    total, subwords = 0.0, 0
    pairs = zip(sources, references, strict=True)
    for done, scored in enumerate(translator.scores(pairs), start=1):
        total += scored.log_probability
        subwords += scored.tokens
        report("reading the references", done, len(references))
    return Likelihood(total, subwords, sum(len(line.split()) + 1 for line in references))
