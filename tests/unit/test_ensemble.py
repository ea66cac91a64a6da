"""Several models in one search, against one model whose every score is the mean of theirs, written as a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.search_models import Logits, every_output, log_softmax, random_logits, searched

from heedful.search.options import SearchOptions
from heedful.search.required import Way

VOCAB, SOURCES = 7, [3, 4, 5, 6, 3]
MODELS = [random_logits(seed, VOCAB, end=end) for seed, end in ((1, 0.0), (2, -1.0), (3, 1.0))]


def mean_of(models: list[Logits]) -> Logits:
    def mean(source: int, words: tuple[int, ...]) -> np.ndarray:
        total = np.zeros(VOCAB)
        for logits in models:
            total += log_softmax(logits(source, words)) / len(models)
        return log_softmax(total)

    return mean


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({"beam_size": 3, "n_best": 3}, {}),
        ({"beam_size": 3, "length_penalty": 0.0, "min_length": 3, "stop": "enough"}, {}),
        ({"method": "greedy"}, {}),
        ({"method": "sample", "beam_size": 3, "n_best": 3, "top_p": 0.9, "temperature": 1.5, "seed": 4}, {}),
        ({"beam_size": 2}, {"prefix": (4, 3)}),
        ({"beam_size": 2, "forbidden": ("b", "d")}, {"subwords": [b"", b"", b"", b" a", b" b", b" c", b" d"]}),
        ({"beam_size": 4}, {"required": [((Way((4, 6)), Way((5,))),)] * len(SOURCES)}),
    ],
    ids=["n best", "lengths", "greedy", "sample", "prefix", "forbidden", "required"],
)
def test_what_several_models_find_is_what_the_mean_of_their_log_probabilities_finds(
    options: dict[str, Any], given: dict[str, Any]
) -> None:
    asked = SearchOptions(max_length=6, **options)
    together, expected = (searched(one, SOURCES, asked, **given) for one in (MODELS, mean_of(MODELS)))
    for found, best in zip(together, expected, strict=True):
        assert [h.ids.tolist() for h in found] == [h.ids.tolist() for h in best]
        assert [h.score for h in found] == pytest.approx([h.score for h in best], abs=1e-12)
    alone = searched(MODELS[0], SOURCES, asked, **given)
    assert [[h.ids.tolist() for h in best] for best in alone] != [[h.ids.tolist() for h in best] for best in together]


def test_a_wide_enough_beam_finds_the_best_that_several_models_have_together() -> None:
    ((best,),) = searched(MODELS, [5], SearchOptions(beam_size=60, max_length=3))
    score, words = every_output(mean_of(MODELS), 5, vocab_size=VOCAB, limit=3, alpha=0.6)[0]
    assert tuple(best.ids) == words
    assert best.score == pytest.approx(score, abs=1e-12)
