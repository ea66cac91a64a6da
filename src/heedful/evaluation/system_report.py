"""Everything that can be said of a system from its outputs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.errors import MissingExtraError
from heedful.evaluation.counts import system_counts
from heedful.evaluation.paper_bleu import NAME as PAPER_BLEU
from heedful.evaluation.paper_bleu import paper_bleu_counts
from heedful.evaluation.resampling import RESAMPLES, SEED
from heedful.evaluation.sentences import Extremes, System, TestSet, extremes
from heedful.evaluation.translation_scores import Score, length_ratio, with_interval

TOKENISED_SHARE = 0.1
"""How many more outputs than references must look tokenised to be suspicious."""


@dataclass(frozen=True)
class SystemReport:
    """Scores of the whole test set, and sentences to look at."""

    sentences: int
    scores: list[Score]
    left_out: dict[str, str]
    """The scores that could not be computed, and why."""
    notes: list[str]
    """What may be wrong with the outputs."""
    length_ratio: float
    examples: Extremes


def system_report(
    test: TestSet,
    outputs: Sequence[str],
    *,
    language: str,
    examples: int = 5,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> SystemReport:
    """BLEU, paper-style BLEU, chrF and TER with their intervals, the ratio of lengths, and the extremes."""
    counts = system_counts(outputs, test.references)
    counted, left_out = [counts.bleu], {}
    try:
        counted.append(paper_bleu_counts(outputs, test.references, language=language))
    except MissingExtraError as missing:
        left_out[PAPER_BLEU] = str(missing)
    counted += [counts.chrf, counts.ter]
    return SystemReport(
        sentences=len(outputs),
        scores=[with_interval(score, resamples=resamples, seed=seed) for score in counted],
        left_out=left_out,
        notes=_notes(outputs, test.references),
        length_ratio=length_ratio(counts.bleu),
        examples=extremes(test, System(outputs, counts.chrf), count=examples),
    )


def _notes(outputs: Sequence[str], references: Sequence[str]) -> list[str]:
    tokenised, usual = (sum(line.endswith(" .") for line in lines) for lines in (outputs, references))
    if tokenised <= usual + len(outputs) * TOKENISED_SHARE:
        return []
    return [
        f"{tokenised:,} outputs end in a space and a full stop, and {usual:,} references do: outputs must be "
        "detokenised, or their scores mean nothing"
    ]
