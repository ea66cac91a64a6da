"""Forbidden texts: the automaton against a look at the text itself, for any vocabulary and any spelling."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search_models import every_output, random_logits, searched

from heedful.errors import SearchError
from heedful.search.options import SearchOptions
from heedful.search.spelling import Spelling, forbidden_tables
from heedful.symbols import END
from heedful.text.subwords import SYMBOLS

LETTERS = [
    "a",
    "b",
    "ä",
    "€",
    "„",
    " ",
    ".",
    "犬",
    "𐐷",
    "7",
    "_",
    "\N{REPLACEMENT CHARACTER}",
    "\n",
    "e\N{COMBINING ACUTE ACCENT}",
]


def is_letter(character: str) -> bool:
    """Written once more: a letter or digit of a script that puts spaces between words."""
    if character in " 犬\N{REPLACEMENT CHARACTER}":
        return False
    return character == "_" or not any(first <= ord(character) <= last for first, last in SYMBOLS)


def holds(output: str, text: str) -> bool:
    """Whether the text stands in the output as a whole word."""
    for begin in range(len(output) - len(text) + 1):
        end = begin + len(text)
        joined = begin > 0 and is_letter(output[begin - 1]) and is_letter(output[begin])
        joined |= end < len(output) and is_letter(output[end - 1]) and is_letter(output[end])
        if output[begin:end] == text and not joined:
            return True
    return False


def shown(subwords: Sequence[bytes], words: Sequence[int]) -> str:
    return b"".join(subwords[word] for word in words).decode(errors="replace").replace("\n", " ")


def may_be_said(forbidden: Spelling, words: Sequence[int]) -> bool:
    return forbidden.allows([*words, END])


def tables(texts: Sequence[str], subwords: Sequence[bytes]) -> Spelling:
    return Spelling(*map(torch.from_numpy, forbidden_tables(texts, subwords)))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_exactly_the_outputs_that_hold_a_forbidden_text_are_refused(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(st.sampled_from(LETTERS[:-2]), min_size=1, max_size=4), min_size=1, max_size=3))
    texts = [text for text in texts if text.strip()] or ["a"]
    joined = "".join(data.draw(st.lists(st.sampled_from([*LETTERS, *texts, "\N{NO-BREAK SPACE}", "é"]), max_size=12)))
    output = data.draw(st.sampled_from([joined.encode(), joined.encode()[1:], joined.encode() + b"\xe2\x82"]))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(output)), max_size=6)) | {0, len(output)})
    subwords = [b"", b"", b"", *(output[begin:end] for begin, end in itertools.pairwise(cuts))]
    words = list(range(3, len(subwords)))
    forms = {unicodedata.normalize(form, text.strip()) for text in texts for form in ("NFC", "NFD")}
    expected = not any(holds(shown(subwords, words), text) for text in forms)
    assert may_be_said(tables(texts, subwords), words) == expected


@pytest.mark.parametrize(
    ("output", "text", "allowed"),
    [
        ("Der Hund schläft.", "Hund", False),
        ("„Hund“", "Hund", False),
        ("Hund", "Hund", False),
        ("Hunderte von Schäferhund", "Hund", True),
        ("hund", "Hund", True),
        ("Ja.", ".", False),
        ("ein\nHund", "ein Hund", False),
        ("大犬が", "犬", False),
        ("Tür", "Tür", False),
        ("Tu\N{COMBINING DIAERESIS}r", "Tür", False),
        ("den Hund, den", "Hund, den", False),
    ],
)
def test_a_text_is_forbidden_as_a_whole_word_however_it_is_spelled(output: str, text: str, allowed: bool) -> None:
    data = output.encode()
    for cut in range(0, len(data) + 1, 3):
        subwords = [b"", b"", b"", data[:cut], data[cut:], *(bytes([byte]) for byte in data)]
        forbidden = tables([text], subwords)
        assert may_be_said(forbidden, [3, 4]) == allowed
        assert may_be_said(forbidden, range(5, len(subwords))) == allowed


SUBWORDS = [b"", b"", b"", b"a", b" ", b"ab", b"b"]


@given(seed=st.integers(0, 10**6), texts=st.lists(st.sampled_from(["a", "ab", "b a", "ba"]), min_size=1, max_size=2))
@settings(max_examples=25, deadline=None)
def test_the_search_finds_the_best_of_the_outputs_without_forbidden_texts(seed: int, texts: list[str]) -> None:
    logits = random_logits(seed, len(SUBWORDS))
    options = SearchOptions(beam_size=400, n_best=5, max_length=4, forbidden=tuple(texts))
    (found,) = searched(logits, [3], options, subwords=SUBWORDS)
    outputs = [
        (score, words)
        for score, words in every_output(logits, 3, vocab_size=len(SUBWORDS), limit=4, alpha=0.6)
        if not any(holds(shown(SUBWORDS, words), text) for text in texts)
    ]
    assert [tuple(h.ids) for h in found] == [words for _, words in outputs[:5]]
    assert [h.score for h in found] == pytest.approx([score for score, _ in outputs[:5]], abs=1e-12)


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_no_way_of_searching_says_a_forbidden_text_even_at_the_longest(method: str) -> None:
    logits = random_logits(4, len(SUBWORDS), end=-3.0)
    options = SearchOptions(method=method, beam_size=3, max_length=5, forbidden=("a", "ab"))
    for found in searched(logits, list(range(3, 7)) * 5, options, subwords=SUBWORDS):
        assert found
        for hypothesis in found:
            assert not any(holds(shown(SUBWORDS, hypothesis.ids.tolist()), text) for text in options.forbidden)


def test_what_can_only_be_forbidden_has_no_output() -> None:
    only = [b"", b"", b"", b"a"]
    options = SearchOptions(beam_size=2, min_length=1, max_length=1, forbidden=("a",))
    assert searched(random_logits(1, 4), [3], options, subwords=only) == [[]]
    assert np.array_equal(forbidden_tables(("a",), only)[1].shape, (2, forbidden_tables(("a",), only)[0].shape[0], 4))


@pytest.mark.parametrize(("subwords", "length"), [(300, 40_000), (2**20, 5_000)])
def test_texts_that_are_too_many_are_refused_at_once(subwords: int, length: int) -> None:
    with pytest.raises(SearchError, match=f"1 forbidden texts are too many: {length:,} characters together"):
        forbidden_tables(["a" * length], [b"a"] * subwords)
