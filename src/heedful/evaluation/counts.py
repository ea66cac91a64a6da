"""What a corpus score is made of: a row of counts for each sentence.

The score of any collection of sentences, drawn however often, is a function of the sum of its rows. So a test set is
counted once, and a thousand resamples of it cost a product of matrices and no look at the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heedful.errors import ScoreError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

_CHRF_BETA = 2
"""How much more recall counts than precision; sacreBLEU's default."""


@dataclass(frozen=True)
class Counted:
    """One system's outputs, counted for one score."""

    name: str
    signature: str
    rows: np.ndarray
    """Whole numbers as float64, [sentences, counts]."""
    scores: Callable[[np.ndarray], np.ndarray]
    """Sums of rows, [..., counts], to scores, [...]."""
    lower_is_better: bool = False

    @property
    def value(self) -> float:
        """The score of the whole test set."""
        return float(self.scores(self.rows.sum(axis=0)))


@dataclass(frozen=True)
class SystemCounts:
    """One system's outputs, counted for every score that needs nothing but sacreBLEU."""

    bleu: Counted
    chrf: Counted
    ter: Counted


def system_counts(outputs: Sequence[str], references: Sequence[str]) -> SystemCounts:
    """BLEU, chrF and TER of a system."""
    return SystemCounts(*(count(outputs, references) for count in (bleu_counts, chrf_counts, ter_counts)))


def bleu_counts(outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """BLEU of detokenised, cased text with sacreBLEU's defaults."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(force=True)  # silences a remark on standard error; system_report makes it
    rows = sentence_rows(metric, outputs, references)
    return Counted("BLEU", str(metric.get_signature()), rows, _smoothed_bleu)


def chrf_counts(outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """chrF of character n-grams up to six, recall twice as important as precision."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(beta=_CHRF_BETA)
    rows = sentence_rows(metric, outputs, references)
    return Counted(f"chrF{_CHRF_BETA}", str(metric.get_signature()), rows, chrf)


def ter_counts(outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """Translation edit rate: edits, shifts of phrases among them, for each hundred words of the reference."""
    from sacrebleu.metrics.ter import TER

    metric = TER()
    rows = sentence_rows(metric, outputs, references)
    return Counted("TER", str(metric.get_signature()), rows, edit_rate, lower_is_better=True)


def unsmoothed_bleu(sums: np.ndarray) -> np.ndarray:
    """BLEU of [output length, reference length, matches of 1 … 4 words, n-grams of 1 … 4 words]; 0 without a match."""
    matches, totals = sums[..., 2:6], sums[..., 6:10]
    return _bleu(sums, matches / np.maximum(totals, 1))


def _smoothed_bleu(sums: np.ndarray) -> np.ndarray:
    """The same, but the first order without a match counts as half a match, the next as a quarter, and so on."""
    matches, totals = sums[..., 2:6], sums[..., 6:10]
    halved = 0.5 ** np.cumsum(matches == 0, axis=-1)
    numerators = np.where(matches > 0, matches, halved) * (totals > 0) * (matches > 0).any(axis=-1, keepdims=True)
    return _bleu(sums, numerators / np.maximum(totals, 1))


def chrf(sums: np.ndarray) -> np.ndarray:
    """chrF of three counts for each order: n-grams of the output, of the reference, and of both."""
    of_output, of_reference, of_both = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3), -1, 0)
    counted = (of_output > 0) & (of_reference > 0)
    orders = np.maximum(counted.sum(axis=-1), 1)
    precision = (counted * of_both / np.maximum(of_output, 1)).sum(axis=-1) / orders
    recall = (counted * of_both / np.maximum(of_reference, 1)).sum(axis=-1) / orders
    weighted = _CHRF_BETA**2 * precision + recall
    return 100 * (1 + _CHRF_BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1)


def edit_rate(sums: np.ndarray) -> np.ndarray:
    """TER of [edits, words of the reference]; output where nothing should be is 100."""
    edits, words = sums[..., 0], sums[..., 1]
    return 100 * np.where(words > 0, edits / np.maximum(words, 1), edits > 0)


def _require_pairs(outputs: Sequence[str], references: Sequence[str]) -> None:
    """Every output has its reference, and there is one."""
    if len(outputs) != len(references):
        raise ScoreError(f"{len(outputs):,} translations and {len(references):,} references: each needs its own")
    if not outputs:
        raise ScoreError("no translations were given, and there is no score of nothing")


def sentence_rows(metric: Metric, outputs: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """A row of sacreBLEU's counts for each sentence."""
    _require_pairs(outputs, references)
    # Not public, but what sacreBLEU's own tests of significance start from; ours hold the sums to its public scores.
    return np.array(metric._extract_corpus_statistics(list(outputs), [list(references)]), dtype=np.float64)


def _bleu(sums: np.ndarray, precisions: np.ndarray) -> np.ndarray:
    output_length, reference_length = sums[..., 0], sums[..., 1]
    # Zero lengths and zero precisions are replaced before the division and the logarithm, and put right after them.
    shortness = np.minimum(1 - reference_length / np.maximum(output_length, 1), 0)
    logarithms = np.log(np.where(precisions > 0, precisions, 1)).mean(axis=-1)
    return 100 * np.where((precisions > 0).all(axis=-1), np.exp(shortness + logarithms), 0)
