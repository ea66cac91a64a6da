"""The sentences that are shown are the worst, the middle and the best, and those where two systems differ most."""

from __future__ import annotations

import random

import pytest
from sacrebleu.metrics.chrf import CHRF

from heedful.evaluation.counts import SystemCounts, chrf_counts, system_counts
from heedful.evaluation.translation_scores import TestSet, extremes, leads

SOURCES = [f"sentence {number}" for number in range(9)]
REFERENCES = [f"das ist der lange Satz Nummer {number}" for number in range(9)]


def damaged(seed: int) -> list[str]:
    """Each line with another share of its characters gone."""
    rng = random.Random(seed)
    kept = rng.sample([number / 10 for number in range(1, 10)], 9)
    return ["".join(c for c in line if rng.random() < share) for line, share in zip(REFERENCES, kept, strict=True)]


def system(outputs: list[str]) -> SystemCounts:
    return system_counts(outputs, REFERENCES)


def chrf(output: str, reference: str) -> float:
    return CHRF().sentence_score(output, [reference]).score


def test_the_ends_and_the_middle_are_found() -> None:
    outputs = damaged(1)
    scores = [chrf(output, reference) for output, reference in zip(outputs, REFERENCES, strict=True)]
    order = sorted(range(9), key=scores.__getitem__)
    found = extremes(TestSet(REFERENCES, SOURCES), outputs, chrf_counts(outputs, REFERENCES), count=3)
    for sentences, places in ((found.worst, order[:3]), (found.median, order[3:6]), (found.best, order[6:])):
        assert [sentence.line for sentence in sentences] == [place + 1 for place in places]
        for sentence, place in zip(sentences, places, strict=True):
            assert sentence.chrf == pytest.approx(scores[place])
            assert (sentence.source, sentence.reference) == (SOURCES[place], REFERENCES[place])
            assert sentence.output == outputs[place]


def test_a_small_test_set_is_shown_whole_and_equal_sentences_stay_in_order() -> None:
    found = extremes(TestSet(["a", "a"]), ["b", "b"], chrf_counts(["b", "b"], ["a", "a"]), count=5)
    assert [sentence.line for sentence in found.worst] == [1, 2] == [sentence.line for sentence in found.best]
    assert found.worst[0].source is None
    assert extremes(TestSet(["a"]), ["b"], chrf_counts(["b"], ["a"]), count=0).worst == []


def test_leads_are_ordered_by_width_and_never_shared() -> None:
    a, b = damaged(2), damaged(3)
    a[4] = b[4]
    difference = [chrf(x, r) - chrf(y, r) for x, y, r in zip(a, b, REFERENCES, strict=True)]
    found = leads(TestSet(REFERENCES, SOURCES), system(a), system(b), count=9)
    wide = [place + 1 for place in sorted(range(9), key=lambda place: -difference[place])]
    assert [two.line for two in found.a] == [line for line in wide if difference[line - 1] > 0]
    assert [two.line for two in found.b] == [line for line in reversed(wide) if difference[line - 1] < 0]
    assert found.a
    assert found.b
    assert 5 not in {two.line for two in (*found.a, *found.b)}
    first = found.b[0]
    assert (first.output_a, first.output_b) == (a[first.line - 1], b[first.line - 1])
    assert first.chrf_b > first.chrf_a
    assert len(leads(TestSet(REFERENCES), system(a), system(b), count=1).a) == 1
