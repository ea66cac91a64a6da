"""Several models in one search: a word's score is the mean of the log-probabilities that they give it.

The mean is renormalised, so that what words may come next has a probability of 1 together again: it is the geometric
mean of the models' probabilities. Since the search renormalises in any case, and a model's log-probabilities are its
scores less a number that is the same for all words, the mean of the scores is all that has to be computed.

The models may be of any size, but must have the same subwords, or one's word 7 would be another's word 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heedful.errors import SearchError
from heedful.runs.lists import languages
from heedful.runs.saved import SavedModel

if TYPE_CHECKING:
    from torch import Tensor

    from heedful.search.engine import Scorer


class Ensemble:
    """Several scorers that are one."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        self._scorers, self.device, self.dtype = scorers, scorers[0].device, scorers[0].dtype

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        """Take new sentences into these slots."""
        for scorer in self._scorers:
            scorer.place(slots, sources)

    def step(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> Tensor:
        """Scores of every word after these ids: see `Scorer`."""
        return mean_scores(scorer.step(ids_BW, length_B, rows_BWT, reach=reach) for scorer in self._scorers)

    def read(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> None:
        """Read drafts: see `Scorer`."""
        for scorer in self._scorers:
            scorer.read(ids_BW, length_B, rows_BWT, reach=reach)

    def scores(self, place: int) -> Tensor:
        """Scores after one of the drafts: see `Scorer`."""
        return mean_scores(scorer.scores(place) for scorer in self._scorers)

    def move(self, slot: int, to: int, *, reach: int) -> None:
        """Put what a slot holds into another: see `Scorer`."""
        for scorer in self._scorers:
            scorer.move(slot, to, reach=reach)


def mean_scores(scores: Iterable[Tensor]) -> Tensor:
    """The mean of several models' scores."""
    own = iter(scores)
    total, count = next(own), 1
    for others in own:  # one after the other: all at once are many
        total, count = total + others, count + 1
    return total / count if count > 1 else total


def require_alike(models: Sequence[SavedModel]) -> None:
    """Raise where models cannot be searched together: they have other subwords, or translate other languages."""
    first, spoken = models[0], languages(models[0].description)
    for other in models[1:]:
        sides = {"source": "source_subwords", "target": "target_vocabulary"}
        differing = [
            side for side, name in sides.items() if getattr(first, name).file_text != getattr(other, name).file_text
        ]
        if differing:
            raise SearchError(
                f"{first.run} and {other.run} cannot be searched together: their {' and '.join(differing)} subwords "
                "differ; give models of one prepared corpus, or of corpora prepared with the same --tokenizer"
            )
        own = languages(other.description)
        if spoken is not None and own is not None and own != spoken:
            pairs = [f"from {pair.source} to {pair.target}" for pair in (spoken, own)]
            raise SearchError(
                f"{first.run} translates {pairs[0]} and {other.run} {pairs[1]}: they cannot be searched together"
            )
