"""What an output may spell: the automaton against Python's decoder and a look at the text, for any vocabulary."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search_models import every_output, random_logits, searched

from heedful.errors import SearchError
from heedful.search.options import SearchOptions
from heedful.search.spelling import Spelling
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


def shown(subwords: Sequence[bytes], words: Sequence[int]) -> str | None:
    """The text of an output on one line, as Python reads it; None where it is none."""
    try:
        text = b"".join(subwords[word] for word in words).decode()
    except UnicodeDecodeError:
        return None
    return None if "\N{REPLACEMENT CHARACTER}" in text else text.replace("\n", " ")


def is_allowed(subwords: Sequence[bytes], words: Sequence[int], forbidden: Iterable[str] = ()) -> bool:
    text = shown(subwords, words)
    return text is not None and not any(holds(text, one) for one in forbidden)


def may_be_said(spelling: Spelling, words: Sequence[int]) -> bool:
    return spelling.allows([*words, END])


def spelling_of(texts: Sequence[str], subwords: Sequence[bytes]) -> Spelling:
    return Spelling.of(texts, subwords)


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
    assert may_be_said(spelling_of(texts, subwords), words) == is_allowed(subwords, words, forms)


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
    for cut in range(1, len(data), 3):
        subwords = [b"", b"", b"", data[:cut], data[cut:], *(bytes([byte]) for byte in data)]
        forbidden = spelling_of([text], subwords)
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
        if is_allowed(SUBWORDS, words, texts)
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
            assert is_allowed(SUBWORDS, hypothesis.ids.tolist(), options.forbidden)


def test_what_can_only_be_forbidden_has_no_output() -> None:
    only = [b"", b"", b"", b"a"]
    options = SearchOptions(beam_size=2, min_length=1, max_length=1, forbidden=("a",))
    assert searched(random_logits(1, 4), [3], options, subwords=only) == [[]]


@pytest.mark.parametrize(("subwords", "length"), [(300, 40_000), (2**20, 5_000)])
def test_texts_that_are_too_many_are_refused_at_once(subwords: int, length: int) -> None:
    with pytest.raises(SearchError, match=f"1 forbidden texts are too many: {length:,} characters together"):
        Spelling.of(["a" * length], [b"a"] * subwords)


EDGES = [0x00, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFC, 0xFFFE, 0xFFFF]
EDGES += [0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF]
"""Where the bytes of UTF-8 begin to look different."""
pieces = st.one_of(
    st.binary(min_size=1, max_size=4),
    st.sampled_from([chr(code).encode() for code in EDGES]),
    st.sampled_from([chr(code).encode()[:-1] or b"a" for code in EDGES]),
    st.sampled_from([b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xef\xbf\xbd", b"\xef\xbf", b"\xbd"]),
    st.integers(0x80, 0xFF).map(lambda byte: bytes([byte])),
)


@given(output=st.lists(pieces, max_size=4).map(b"".join), data=st.data())
@settings(max_examples=300, deadline=None)
def test_exactly_the_bytes_that_python_decodes_are_allowed(output: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(output)), max_size=6)) | {0, len(output)})
    subwords = [b"", b"", b"", *(output[begin:end] for begin, end in itertools.pairwise(cuts))]
    words = list(range(3, len(subwords)))
    assert may_be_said(spelling_of([], subwords), words) == is_allowed(subwords, words)


@given(seed=st.integers(0, 10**6), learned=st.lists(pieces, min_size=2, max_size=4), forbid=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_search_finds_the_best_of_the_outputs_that_are_text(seed: int, learned: list[bytes], forbid: bool) -> None:
    """``forbid``: a text that no output has; each word is then looked at, which must change nothing."""
    subwords = [b"", b"", b"", *learned]
    logits, forbidden = random_logits(seed, len(subwords)), ("qqq",) if forbid else ()
    options = SearchOptions(beam_size=400, n_best=5, max_length=3, forbidden=forbidden)
    (found,) = searched(logits, [3], options, subwords=subwords)
    outputs = every_output(logits, 3, vocab_size=len(subwords), limit=3, alpha=0.6)
    best = [(score, words) for score, words in outputs if is_allowed(subwords, words)][:5]
    assert [tuple(h.ids) for h in found] == [words for _, words in best]
    assert [h.score for h in found] == pytest.approx([score for score, _ in best], abs=1e-12)


@given(
    seed=st.integers(0, 10**6),
    learned=st.lists(pieces, min_size=1, max_size=12),
    method=st.sampled_from(["beam", "greedy", "sample"]),
    end=st.sampled_from([-4.0, 0.0, 2.0]),
    max_length=st.integers(1, 12),
    forbid=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_whatever_a_model_says_is_text(
    seed: int, learned: list[bytes], method: str, end: float, max_length: int, forbid: bool
) -> None:
    subwords = [b"", b"", b"", *learned]
    n_best = 1 if method == "greedy" else 4
    options = SearchOptions(method=method, max_length=max_length, n_best=n_best, forbidden=("qqq",) if forbid else ())
    for found in searched(random_logits(seed, len(subwords), end=end), [3, 4, 5, 6], options, subwords=subwords):
        assert found, "the empty output is always text"
        assert all(is_allowed(subwords, hypothesis.ids.tolist()) for hypothesis in found)


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_a_character_that_has_begun_is_completed_before_the_longest_output_ends(method: str) -> None:
    """A model that wants to begin an emoji of four bytes all the time, and never to end."""
    subwords = [b"", b"", b"", *(bytes([byte]) for byte in "😀".encode()), b"a"]

    def logits(source: int, words: tuple[int, ...]) -> np.ndarray:
        values = np.array([0.0, 0.0, -30.0, 30.0, 0.0, 0.0, 0.0, 9.0])
        if words and words[-1] in (3, 4, 5):
            values[words[-1] + 1] += 50.0
        return values

    for limit, texts in ((3, {"aaa"}), (4, {"😀"}), (7, {"😀aaa", "a😀aa", "aa😀a", "aaa😀"}), (8, {"😀😀"})):
        options = SearchOptions(method=method, min_length=limit, max_length=limit, beam_size=3)
        (found,) = searched(logits, [3], options, subwords=subwords)
        assert shown(subwords, found[0].ids.tolist()) in texts
