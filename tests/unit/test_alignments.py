"""Alignments from attention, by hand; Pharaoh's format; the alignment error rate of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attention_toys import toy_maps

from heedful.errors import HeedfulError
from heedful.evaluation.alignments import (
    Gold,
    alignment_error_rate,
    diagonal_alignment,
    gold_alignment,
    hard_alignment,
    located_words,
    pharaoh,
    soft_alignment,
    word_weights,
    words_of,
)
from heedful.symbols import END_LABEL
from heedful.text.subwords import Subwords


def test_subwords_become_words_and_weights_follow() -> None:
    source = words_of([" Häu", "ser", " brennen", "!", END_LABEL])
    target = words_of([" hou", "ses", " burn", END_LABEL])
    assert [word.places for word in source] == [(0, 1), (2, 3)]
    assert [word.text for word in target] == ["houses", "burn"]
    soft = np.array(
        [
            [0.5, 0.2, 0.1, 0.1, 0.1],
            [0.1, 0.2, 0.4, 0.1, 0.2],
            [0.3, 0.0, 0.3, 0.2, 0.2],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    )
    weights = word_weights(soft, source=source, target=target)
    # "houses" is the mean of its rows: (0.7 + 0.3) / 2 and (0.2 + 0.5) / 2; ⟨end⟩ is neither row nor column.
    np.testing.assert_allclose(weights, [[0.5, 0.35], [0.3, 0.5]])
    assert pharaoh(hard_alignment(weights)) == "0-0 1-1"


def test_the_soft_alignment_is_the_mean_of_the_heads() -> None:
    heads = np.array([[[1.0, 0.0]], [[0.5, 0.5]]], np.float32)
    np.testing.assert_allclose(soft_alignment(heads), [[0.75, 0.25]])


@pytest.mark.parametrize(
    "text",
    ["Zwei Häuser, 37000  Mal!", "  leading", "trailing  ", "a   b", "x", "日本 語。 中", "€ ₤ 👩‍👩‍👧 x", "a , b"],
)
def test_words_are_what_spaces_separate_whatever_the_subwords(text: str) -> None:
    subwords = Subwords.train(["Zwei Häuser Mal leading trailing a b a b   a   b"] * 4, vocab_size=300)
    pieces = [*subwords.pieces(subwords.encode([text])[0]), END_LABEL]
    words = words_of(pieces)
    assert len(words) == len(text.split())
    assert [place for word in words for place in word.places] == list(range(len(pieces) - 1))


def test_words_that_others_cut_get_the_subwords_that_cover_them() -> None:
    text, spans = "an, an'.", [(0, 1), (1, 3), (3, 4), (4, 6), (6, 8)]
    found = located_words(text, ["an", ",", "an'", "."], spans)
    # "n," belongs to the word and to its comma, "'." to the word and to the full stop; the space to nobody.
    assert [word.places for word in found] == [(0, 1), (1,), (3, 4), (4,)]
    with pytest.raises(HeedfulError, match="the word 'Anna' is not in ' bee', the rest of 'a bee'"):
        located_words("a bee", ["a", "Anna"], [(0, 1), (1, 5)])


def test_nothing_aligns_with_nothing() -> None:
    assert words_of([END_LABEL]) == words_of([]) == words_of([" ", END_LABEL]) == []
    some = words_of([" a", END_LABEL])
    for source, target in (([], some), (some, []), ([], [])):
        weights = word_weights(np.full((2, 2), 0.5), source=source, target=target)
        assert weights.shape == (len(target), len(source))
        assert hard_alignment(weights) == frozenset()
    assert diagonal_alignment(0, 3) == diagonal_alignment(3, 0) == frozenset()
    assert pharaoh(frozenset()) == ""


def test_the_diagonal_takes_the_same_share_of_the_length() -> None:
    assert pharaoh(diagonal_alignment(3, 3)) == "0-0 1-1 2-2"
    assert pharaoh(diagonal_alignment(4, 2)) == "1-0 3-1"
    assert pharaoh(diagonal_alignment(2, 4)) == "0-0 0-1 1-2 1-3"
    assert pharaoh(diagonal_alignment(1, 3)) == "0-0 0-1 0-2"


def test_heads_on_the_diagonal_find_the_diagonal() -> None:
    words = [f" w{place}" for place in range(9)]
    maps = toy_maps(words, words, layers=1, heads=1)
    exact = np.eye(10)[None]
    source, target = words_of(maps.source), words_of(maps.target)
    weights = word_weights(soft_alignment(exact), source=source, target=target)
    assert hard_alignment(weights) == diagonal_alignment(9, 9)


def test_the_error_rate_of_the_definition() -> None:
    gold = gold_alignment("0-0 1?1 2-2 2p3")
    assert gold == Gold(frozenset({(0, 0), (2, 2)}), frozenset({(0, 0), (1, 1), (2, 2), (2, 3)}))
    found = frozenset({(0, 0), (1, 1), (3, 3)})
    # |A ∩ S| = 1, |A ∩ P| = 2, |A| = 3, |S| = 2
    assert alignment_error_rate([found], [gold]) == pytest.approx(1 - 3 / 5)
    assert alignment_error_rate([gold.sure], [gold]) == 0
    assert alignment_error_rate([gold.possible], [gold]) == 0
    assert alignment_error_rate([frozenset({(5, 5)})], [gold]) == 1
    # Over a corpus the counts are summed, the rates are not averaged.
    assert alignment_error_rate([found, gold.sure], [gold, gold]) == pytest.approx(1 - (3 + 4) / (5 + 4))


def test_pharaohs_format_is_read_back() -> None:
    links = frozenset({(10, 2), (0, 0), (3, 1)})
    assert pharaoh(links) == "0-0 3-1 10-2"
    assert gold_alignment(pharaoh(links)).sure == links


@pytest.mark.parametrize("line", ["0-0 1:2", "-1-2", "1-", "²-1", "1--2"])
def test_a_broken_link_is_named(line: str) -> None:
    with pytest.raises(HeedfulError, match=r"gold\.txt, line 3: '.*' is no link"):
        gold_alignment(line, where="gold.txt, line 3")


def test_what_has_no_error_rate() -> None:
    with pytest.raises(HeedfulError, match="1 alignments and 0 gold"):
        alignment_error_rate([frozenset()], [])
    with pytest.raises(HeedfulError, match="neither"):
        alignment_error_rate([frozenset()], [Gold(frozenset(), frozenset())])
