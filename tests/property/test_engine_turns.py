"""One engine for many: whatever comes and goes beside a sentence, it is decoded as if it were alone."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search_models import MadeUpScorer, random_logits

from heedful.search.engine import Engine
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence
from heedful.search.spelling import Spelling

VOCABULARY, POSITIONS = 9, 12
LOGITS = random_logits(5, VOCABULARY, end=1.0)
OPTIONS = SearchOptions(beam_size=3, max_extra_length=8)


def engine(slots: int) -> Engine:
    scorer = MadeUpScorer(LOGITS, slots=slots, beams=OPTIONS.beams, positions=POSITIONS)
    spelling = Spelling.of((), [b""] * VOCABULARY)
    return Engine(scorer, OPTIONS, slots=slots, positions=POSITIONS, spelling=spelling)


def shown(hypotheses: list[Hypothesis]) -> list[tuple[list[int], float, float]]:
    return [(one.ids.tolist(), one.score, one.log_probability) for one in hypotheses]


sentences = st.builds(
    lambda source, n_best, limit: Sentence(0, np.array([source]), n_best=n_best, limit=limit),
    st.integers(0, 30),
    st.integers(1, 3),
    st.one_of(st.none(), st.integers(1, 8)),
)
turns = st.lists(st.tuples(st.lists(sentences, max_size=4), st.sets(st.integers(0, 20), max_size=2)), max_size=12)


@settings(max_examples=25, deadline=None)
@given(turns=turns, slots=st.integers(1, 5))
def test_a_sentence_is_decoded_as_if_it_were_alone(turns: list[tuple[list[Sentence], set[int]]], slots: int) -> None:
    shared, come = engine(slots), [sentence for new, _ in turns for sentence in new]
    waiting: list[Sentence] = []
    given_up: set[Sentence] = set()
    found: dict[Sentence, list[Hypothesis]] = {}
    plan = iter(turns)
    while (turn := next(plan, None)) or waiting or shared.inside:
        new, numbers = turn or ([], set())
        waiting += new
        dropped = {come[number] for number in numbers if number < len(come)} - found.keys()
        given_up |= dropped
        waiting = [sentence for sentence in waiting if sentence not in given_up]
        placed = [waiting.pop(0) for _ in range(shared.room(len(waiting)))]
        finished = shared.turn(placed, dropped=dropped)
        assert len(shared.inside) <= slots
        assert not given_up.intersection(shared.inside)
        found |= dict(finished)
    assert found.keys() == set(come) - given_up
    for sentence, hypotheses in found.items():
        ((_, alone),) = engine(1).run([sentence])
        assert shown(hypotheses) == shown(alone)
        assert 1 <= len(hypotheses) <= (sentence.n_best or 1)
        assert all(len(one.ids) <= (sentence.limit or POSITIONS) for one in hypotheses)


def test_what_lives_in_a_slot_becomes_what_is_finished() -> None:
    sentence, other = Sentence(0, np.array([4])), Sentence(1, np.array([7]))
    shared, seen = engine(2), []
    finished = dict(shared.turn([other, sentence]))
    while sentence not in finished:
        seen.append(shared.live({sentence}))
        finished |= dict(shared.turn())
    best = finished[sentence][0].ids.tolist()
    for live in seen:
        assert live.keys() == {sentence}
        values = [one.log_probability for one in live[sentence][0]]
        assert values == sorted(values, reverse=True)
    going, _ = seen[len(best) - 1][sentence]
    assert best
    assert any(one.ids.tolist() == best for one in going)
    assert all(one.ids.tolist() != best for one in seen[-1][sentence][1]) or len(seen) > len(best)


def test_a_run_that_is_given_up_leaves_no_sentence_behind() -> None:
    shared = engine(2)
    run = shared.run([Sentence(number, np.array([number])) for number in range(6)])
    next(run)
    assert isinstance(run, Generator)
    run.close()
    assert shared.inside == []
