"""Beam search against exhaustive search and against a plain one on tuples; what may and may not be in an output."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search_models import every_output, log_softmax, penalty, plain_beam_search, random_logits, searched

from heedful.config import SearchConfig
from heedful.errors import SearchError
from heedful.search.beam_search import (
    CHUNK,
    FEWEST,
    _highest,
    _highest_on_cpu,
    _top_words,
    top_words,
    uniform_numbers,
)
from heedful.search.options import SearchOptions
from heedful.symbols import END, PAD, START

VOCAB = 6
"""Three control ids and three words."""


@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]), limit=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_a_wide_enough_beam_finds_the_best_of_all_outputs(seed: int, alpha: float, limit: int) -> None:
    logits = random_logits(seed, VOCAB)
    options = SearchOptions(beam_size=40, n_best=4 if limit > 1 else 1, length_penalty=alpha, max_length=limit or 1)
    best = every_output(logits, 5, vocab_size=VOCAB, limit=options.max_length, alpha=alpha)
    (found,) = searched(logits, [5], options)
    assert [tuple(h.ids) for h in found] == [words for _, words in best[: options.n_best]]
    assert [h.score for h in found] == pytest.approx([score for score, _ in best[: options.n_best]], abs=1e-12)


@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 0.6, 1.5]),
    beam_size=st.integers(1, 4),
    end=st.sampled_from([-3.0, 0.0, 3.0]),
    min_length=st.integers(0, 3),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_the_early_stop_misses_nothing(
    seed: int, alpha: float, beam_size: int, end: float, min_length: int, data: st.DataObject
) -> None:
    n_best = data.draw(st.integers(1, beam_size))
    logits = random_logits(seed, 7, end=end)
    options = SearchOptions(
        beam_size=beam_size, n_best=n_best, length_penalty=alpha, max_length=8, min_length=min_length
    )
    for source, found in zip((3, 4, 5, 6), searched(logits, [3, 4, 5, 6], options, slots=3), strict=True):
        expected = plain_beam_search(logits, source, beam_size=beam_size, limit=8, alpha=alpha, min_length=min_length)
        assert [tuple(h.ids) for h in found] == [words for _, words in expected[:n_best]]
        assert [h.score for h in found] == pytest.approx([score for score, _ in expected[:n_best]], abs=1e-12)


def test_the_early_stop_saves_steps() -> None:
    calls = Counter()
    logits = random_logits(1, 7, end=4.0)

    def counted(source: int, words: tuple[int, ...]) -> np.ndarray:
        calls[len(words)] += 1
        return logits(source, words)

    searched(counted, [3], SearchOptions(max_length=200))
    assert max(calls) < 100


def test_the_hasty_stop_ends_with_as_many_outputs_as_beams() -> None:
    logits = random_logits(3, 7, end=1.0)
    (hasty,) = searched(logits, [3], SearchOptions(max_length=30, n_best=4, stop="enough"))
    (exact,) = searched(logits, [3], SearchOptions(max_length=30, n_best=4))
    assert len(hasty) == 4
    assert all(quick.score <= sure.score + 1e-12 for quick, sure in zip(hasty, exact, strict=True))


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
@pytest.mark.parametrize("slots", [1, 2, 7])
def test_the_slots_a_sentence_shares_do_not_matter(method: str, slots: int) -> None:
    logits = random_logits(11, 9, end=1.0)
    options = SearchOptions(method=method, max_length=12, n_best=1 if method == "greedy" else 3)
    sources = [3 + number % 6 for number in range(15)]
    together, apart = (searched(logits, sources, options, slots=count) for count in (slots, 15))
    for one, other in zip(together, apart, strict=True):
        assert [(tuple(h.ids), h.score) for h in one] == [(tuple(h.ids), h.score) for h in other]


def test_n_best_are_sorted_and_distinct() -> None:
    (found,) = searched(random_logits(5, 9), [4], SearchOptions(beam_size=8, n_best=8, max_length=10))
    scores = [h.score for h in found]
    assert len(found) == 8
    assert scores == sorted(scores, reverse=True)
    assert len({tuple(h.ids) for h in found}) == 8


def test_scores_are_log_probabilities_over_the_length_penalty() -> None:
    logits = random_logits(6, 9)
    for best in searched(logits, [3, 4, 5], SearchOptions(max_length=9)):
        words = (*best[0].ids.tolist(), END)
        total = sum(log_softmax(logits(words_source(best, logits), words[:n]))[w] for n, w in enumerate(words))
        assert best[0].log_probability == pytest.approx(total, abs=1e-10)
        assert best[0].score == pytest.approx(total / penalty(len(words), 0.6), abs=1e-10)


def words_source(best: list, logits: object) -> int:
    """The source (3, 4 or 5) whose search gave this."""
    for source in (3, 4, 5):
        (found,) = searched(logits, [source], SearchOptions(max_length=9))  # pyright: ignore[reportArgumentType]
        if found[0].ids.tolist() == best[0].ids.tolist() and found[0].score == best[0].score:
            return source
    raise AssertionError("no source gives this hypothesis")


def test_greedy_takes_the_most_probable_word_each_time() -> None:
    logits = random_logits(8, 9)
    (found,) = searched(logits, [3], SearchOptions(max_length=10).greedy())
    words: list[int] = []
    while True:
        values = logits(3, tuple(words)).copy()
        values[[PAD, START]] = -np.inf
        word = END if len(words) == 10 else int(values.argmax())
        if word == END:
            break
        words.append(word)
    assert found[0].ids.tolist() == words


def test_an_output_begins_with_its_prefix_and_is_searched_from_there() -> None:
    logits = random_logits(9, 9)
    options = SearchOptions(beam_size=60, max_length=3)
    (found,) = searched(logits, [3], options, prefix=(7, 5))
    outputs = every_output(logits, 3, vocab_size=9, limit=3, alpha=0.6)
    assert tuple(found[0].ids) == next(words for _, words in outputs if words[:2] == (7, 5))


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_an_output_has_at_least_and_at_most_so_many_words(method: str) -> None:
    logits = random_logits(12, 9, end=3.0)
    for found in searched(logits, [3, 4, 5], SearchOptions(method=method, min_length=4, max_length=4)):
        assert len(found[0].ids) == 4


def test_equal_scores_go_by_beam_and_id() -> None:
    flat = lambda source, words: np.zeros(9)  # noqa: E731
    (found,) = searched(flat, [3], SearchOptions(beam_size=3, n_best=3, min_length=2, max_length=2))
    assert [tuple(h.ids) for h in found] == [(3, 3), (3, 4), (3, 5)]


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_scores_that_are_not_numbers_end_without_a_hypothesis(method: str) -> None:
    broken = lambda source, words: np.full(9, np.nan)  # noqa: E731
    assert searched(broken, [3, 4], SearchOptions(method=method, max_length=6)) == [[], []]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_the_top_words_are_those_of_a_stable_sort(values: list[int], count: int) -> None:
    logits = torch.tensor(values, dtype=torch.float64)
    count = min(count, len(values))
    found, words = top_words(logits, count)
    expected = sorted(range(len(values)), key=lambda word: (-values[word], word))[:count]
    assert words.tolist() == expected
    assert found.tolist() == [values[word] for word in expected]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([2, 30, 10**9]), extra=st.integers(-3, 3))
@settings(max_examples=40, deadline=None)
def test_the_top_words_of_a_large_vocabulary_are_those_of_a_stable_sort(
    device: str, seed: int, levels: int, extra: int
) -> None:
    """``cuda``: what is computed there, computed here; tests/gpu has the same test on the device."""
    draw = np.random.default_rng(seed)
    logits = draw.integers(0, levels, (3, 33 * CHUNK + extra)).astype(np.float64)
    logits[1] = np.sort(logits[1])  # the highest all in the last, perhaps broken, chunk
    logits[2, 4:] = -np.inf
    chosen = {"cpu": (_highest_on_cpu, FEWEST), "cuda": (_highest, 2)}[device]
    found, words = _top_words(torch.from_numpy(logits), 4, chosen[0], fewest=chosen[1])
    expected = np.argsort(-logits, axis=1, kind="stable")[:, :4]
    assert words.tolist() == expected.tolist()
    assert found.tolist() == np.take_along_axis(logits, expected, 1).tolist()


def test_samples_come_as_often_as_they_are_probable() -> None:
    logits = random_logits(13, 8, sharpness=1.0)
    options = SearchOptions(method="sample", beam_size=4000, n_best=4000, max_length=1, temperature=0.7)
    (found,) = searched(logits, [3], options)
    counts = Counter(int(h.ids[0]) if len(h.ids) else END for h in found)
    allowed = [word for word in range(8) if word not in (PAD, START)]
    scaled = np.exp(logits(3, ())[allowed] / 0.7)
    for word, probability in zip(allowed, scaled / scaled.sum(), strict=True):
        spread = np.sqrt(probability * (1 - probability) / 4000)
        assert counts[word] / 4000 == pytest.approx(probability, abs=5 * spread)


def test_top_k_and_top_p_leave_the_improbable_out() -> None:
    logits = random_logits(14, 12)
    order = [w for w in np.argsort(-logits(3, ())) if w not in (PAD, START)]
    scaled = np.exp(logits(3, ())[order])
    nucleus = 1 + int(np.searchsorted(np.cumsum(scaled / scaled.sum()), 0.6))
    samples = SearchOptions(method="sample", beam_size=500, n_best=500, max_length=1)
    for options, allowed in ((replace(samples, top_k=3), order[:3]), (replace(samples, top_p=0.6), order[:nucleus])):
        (found,) = searched(logits, [3], options)
        assert {int(h.ids[0]) if len(h.ids) else END for h in found} == set(allowed)


def test_the_numbers_behind_samples_depend_on_seed_and_sentence_alone() -> None:
    few, many = uniform_numbers(1, 2, beams=2, positions=3), uniform_numbers(1, 2, beams=5, positions=9)
    assert np.array_equal(few, many[:2, :3])
    assert not np.array_equal(few, uniform_numbers(1, 3, beams=2, positions=3))
    assert not np.array_equal(few, uniform_numbers(2, 2, beams=2, positions=3))
    assert 0 <= many.min() < many.max() < 1


def test_the_numbers_behind_samples_are_those_of_splitmix64_for_ever() -> None:
    """Written out in Python's whole numbers: no generator of numpy or torch, which may change, has a part in them."""
    mask = 2**64 - 1
    state = int.from_bytes(hashlib.blake2b(b"('sample', 3, 9)", digest_size=8).digest(), "little")
    for (beam, position), found in np.ndenumerate(uniform_numbers(3, 9, beams=2, positions=3)):
        z = (((beam << 32) + position) * 0x9E3779B97F4A7C15 + state) & mask
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        assert found == ((z ^ z >> 31) >> 11) / 2**53


@pytest.mark.parametrize(
    ("given_options", "says"),
    [
        ({"beam_size": 0}, "beam_size = 0: must be a whole number at least 1 and at most 10,000"),
        ({"beam_size": 1.5}, "beam_size = 1.5: must be a whole number"),
        ({"beam_size": 10**9}, "beam_size = 1000000000"),
        ({"n_best": 5}, "n_best = 5: must be at most beam_size = 4"),
        ({"n_best": 0}, "n_best = 0"),
        ({"length_penalty": -1.0}, "length_penalty = -1.0"),
        ({"length_penalty": 100.0}, "length_penalty = 100.0: must be a number at least 0 and at most 10"),
        ({"length_penalty": float("nan")}, "length_penalty = nan"),
        ({"max_length": 10**9}, "max_length = 1000000000"),
        ({"max_extra_length": -1}, "max_extra_length = -1"),
        ({"stop": "never"}, 'stop = never: must be one of "exact", "enough"'),
        ({"method": "beams"}, "method = beams"),
        ({"min_length": 5, "max_length": 3}, "min_length = 5 is above max_length = 3"),
        ({"method": "sample", "temperature": 0.0}, "temperature = 0.0"),
        ({"method": "sample", "temperature": float("inf")}, "temperature = inf"),
        ({"method": "sample", "top_p": 1.5}, "top_p = 1.5"),
        ({"method": "sample", "seed": -1}, "seed = -1"),
        ({"forbidden": ("",)}, "none of them empty"),
        ({"forbidden": "Hund"}, "must be a tuple of texts"),
        ({"temperature": 0.7}, "temperature = 0.7: for samples alone, and this is beam search"),
        ({"top_k": 3, "method": "greedy"}, "top_k = 3: for samples alone, and this is greedy search"),
        ({"top_p": 0.5}, "top_p = 0.5: for samples alone"),
        ({"seed": 2}, "seed = 2: for samples alone"),
        ({"method": "greedy", "n_best": 3}, "n_best = 3: greedy search finds one output"),
        ({"method": "sample", "stop": "enough"}, "stop = enough: for beam search alone"),
    ],
)
def test_what_cannot_be_searched_is_said(given_options: dict, says: str) -> None:
    with pytest.raises(SearchError, match=re.escape(says)):
        SearchOptions(**given_options)


def test_the_options_that_a_model_is_configured_with_are_the_paper_s() -> None:
    assert SearchOptions.of(SearchConfig()) == SearchOptions()
    assert SearchOptions.of(SearchConfig(beam_size=7)).beam_size == 7
