"""Scores of whole test sets, each with the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.errors import HeedfulError


@dataclass(frozen=True)
class Score:
    """A number and how it came about."""

    name: str
    value: float
    signature: str


def bleu(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU of detokenised, cased text, by sacreBLEU with its defaults."""
    from sacrebleu.metrics.bleu import BLEU

    if len(outputs) != len(references):
        raise HeedfulError(f"{len(outputs):,} translations and {len(references):,} references: each needs its own")
    metric = BLEU()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score("BLEU", value, str(metric.get_signature()))
