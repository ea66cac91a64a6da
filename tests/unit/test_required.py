"""Words that an output must hold: the search against a look at every output there is."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search_models import Logits, every_output, random_logits, searched

from heedful.search.options import SearchOptions
from heedful.search.required import Term, Way, after, in_turns, lacking, required_shape, required_tables
from heedful.symbols import END

WORDS = [3, 4, 5, 6]
ways = st.builds(
    Way,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple),
    st.lists(st.sampled_from(WORDS), max_size=1).map(tuple),
)
terms = st.lists(ways, min_size=1, max_size=2).map(tuple)


def is_way(some: Sequence[int], way: Way) -> bool:
    if len(some) != len(way.ids):
        return False
    return tuple(some[:-1]) == way.ids[:-1] and (some[-1] == way.ids[-1] or some[-1] in way.longer)


def holds(output: Sequence[int], required: Sequence[Term]) -> bool:
    """Whether the terms stand in the output one after another, each in one of its ways."""
    if not required:
        return True
    places = itertools.combinations(range(len(output) + 1), 2)
    return any(
        holds(output[end:], required[1:])
        for begin, end in places
        if any(is_way(output[begin:end], way) for way in required[0])
    )


def is_found(logits: Logits, output: tuple[int, ...], required: Sequence[Term], avoided: Collection[int] = ()) -> bool:
    """Whether an output holds the words and no others, and the model would nowhere rather have ended without."""

    def would_end(begun: tuple[int, ...]) -> bool:
        allowed = [word for word in (END, *WORDS) if word not in avoided]
        return max(allowed, key=lambda word: float(logits(3, begun)[word])) == END

    ends = [output[:length] for length in range(len(output)) if would_end(output[:length])]
    said = holds(output, required) and not set(output) & set(avoided)
    return said and all(holds(begun, required) for begun in ends)


@given(required=st.lists(terms, max_size=3), output=st.lists(st.sampled_from(WORDS), max_size=8))
@settings(max_examples=200, deadline=None)
def test_an_output_lacks_nothing_when_all_terms_stand_in_it_in_order(required: list[Term], output: list[int]) -> None:
    shape = required_shape([required, [(Way((3, 4)),)]])
    tables = required_tables([required], shape)
    progress = torch.zeros(1, 1, 1 + shape.ways, dtype=torch.long)
    for word in output:
        progress = after(tables, progress, torch.tensor([[[word]]])).progress.squeeze(2)
    assert (int(lacking(tables, progress)) == 0) == holds(output, required)


@given(
    seed=st.integers(0, 10**6),
    required=st.lists(terms, min_size=1, max_size=2),
    alpha=st.sampled_from([0.0, 0.6, 1.5]),
    forbid=st.booleans(),
    avoided=st.sets(st.sampled_from(WORDS), max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_a_wide_enough_beam_finds_the_best_output_that_holds_the_words(
    seed: int, required: list[Term], alpha: float, forbid: bool, avoided: set[int]
) -> None:
    avoided -= {id_ for term in required for way in term for id_ in (*way.ids, *way.longer)}
    logits = random_logits(seed, 7)
    subwords = [b"", b"", b"", b"a", b"b", b" c", b"d"]
    options = SearchOptions(
        beam_size=400, n_best=4, max_length=4, length_penalty=alpha, forbidden=("qq",) if forbid else ()
    )
    (found,) = searched(logits, [3], options, subwords=subwords, required=[tuple(required)], avoided=tuple(avoided))
    outputs = every_output(logits, 3, vocab_size=7, limit=4, alpha=alpha)
    best = [(score, words) for score, words in outputs if is_found(logits, words, required, avoided)][:4]
    assert [tuple(h.ids) for h in found] == [words for _, words in best]
    assert [h.score for h in found] == pytest.approx([score for score, _ in best], abs=1e-12)


@given(
    seed=st.integers(0, 10**6),
    required=st.lists(st.lists(terms, max_size=3), min_size=4, max_size=4),
    beam_size=st.integers(1, 6),
    end=st.sampled_from([-2.0, 2.0]),
)
@settings(max_examples=40, deadline=None)
def test_any_beam_finds_outputs_that_hold_the_words_whatever_shares_the_batch(
    seed: int, required: list[list[Term]], beam_size: int, end: float
) -> None:
    logits = random_logits(seed, 7, end=end)  # which may give up every hypothesis
    options, wanted = SearchOptions(beam_size=beam_size, max_length=12), [tuple(own) for own in required]
    together = searched(logits, [3, 4, 5, 6], options, slots=3, required=wanted)
    for source, own, found in zip((3, 4, 5, 6), wanted, together, strict=True):
        assert all(holds(hypothesis.ids.tolist(), own) for hypothesis in found)
        if own:
            (alone,) = searched(logits, [source], options, required=[own])
            assert [(h.ids.tolist(), h.score) for h in alone] == [(h.ids.tolist(), h.score) for h in found]


def test_what_the_model_would_never_say_is_said_where_it_costs_least() -> None:
    """After word 4 the required word 6 is improbable, elsewhere it is next to impossible."""

    def logits(source: int, words: tuple[int, ...]) -> np.ndarray:
        natural = [3, 4, 5][len(words)] if len(words) < 3 else 2
        values = np.full(7, -20.0)
        values[6] = -8.0 if words and words[-1] == 4 else -16.0
        values[natural] = 0.0
        if 6 in words:
            values[:] = np.where(np.arange(7) == ([*[3, 4, 6, 5], 2, 2, 2, 2][len(words)]), 0.0, -20.0)
        return values

    options = SearchOptions(beam_size=4, max_length=7)
    (found,) = searched(logits, [3], options, required=[((Way((6,)),),)])
    assert found[0].ids.tolist() == [3, 4, 6, 5]


def test_places_are_taken_in_turns_by_what_is_lacking() -> None:
    values = torch.tensor([[-1.0, -2.0, -3.0, -4.0, -5.0, -torch.inf, -0.5]])
    lacks = torch.tensor([[2, 2, 0, 2, 0, 0, 1]])
    assert in_turns(values, lacks).tolist() == [[2, 6, 0, 4, 1, 3, 5]]


def test_a_prefix_stands_before_the_required_words() -> None:
    logits = random_logits(3, 7, end=-3.0)
    options = SearchOptions(beam_size=300, max_length=4)
    (found,) = searched(logits, [3], options, prefix=(5, 5), required=[((Way((6, 3)),),)])
    outputs = every_output(logits, 3, vocab_size=7, limit=4, alpha=0.6)
    wanted = ((Way((6, 3)),),)
    assert tuple(found[0].ids) == next(w for _, w in outputs if w[:2] == (5, 5) and is_found(logits, w, wanted))


def test_what_cannot_be_said_has_no_output() -> None:
    options = SearchOptions(beam_size=3, max_length=2)
    assert searched(random_logits(1, 7), [3], options, required=[((Way((3, 4, 5)),),)]) == [[]]
    unsaid = SearchOptions(beam_size=3, max_length=5, forbidden=("a",))
    subwords = [b"", b"", b"", b" a", *itertools.repeat(b" b", 3)]
    assert searched(random_logits(1, 7), [3], unsaid, subwords=subwords, required=[((Way((3,)),),)]) == [[]]
