"""Error rates against a breadth-first search over edits, by hand, and for what cannot be scored."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from examples.g2p import edit_distance, error_rates

from heedful.errors import ScoreError

ALPHABET = "ab"
STRINGS = ["".join(letters) for size in range(4) for letters in product(ALPHABET, repeat=size)]


def edited_once(text: str) -> set[str]:
    places = range(len(text) + 1)
    inserted = {text[:place] + letter + text[place:] for place in places for letter in ALPHABET}
    deleted = {text[:place] + text[place + 1 :] for place in range(len(text))}
    replaced = {text[:place] + letter + text[place + 1 :] for place in range(len(text)) for letter in ALPHABET}
    return inserted | deleted | replaced


def searched_distance(a: str, b: str) -> int:
    """By its definition: how many rounds of single edits until b is among what a can become."""
    reached, rounds = {a}, 0
    while b not in reached:
        reached |= {other for text in reached if len(text) <= 4 for other in edited_once(text)}
        rounds += 1
    return rounds


@pytest.mark.parametrize("a", STRINGS)
def test_the_distance_is_the_fewest_single_edits(a: str) -> None:
    assert [edit_distance(a, b) for b in STRINGS] == [searched_distance(a, b) for b in STRINGS]


def test_symbols_are_compared_whole() -> None:
    assert edit_distance(["AH", "T"], ["AA", "T"]) == 1  # by letters it would be one of three, by symbols of two
    rates = error_rates([["AH", "T"]], [[["AA", "T"]]])
    assert Fraction(rates.edits, rates.symbols) == Fraction(1, 2)


def test_a_word_is_right_if_it_is_any_of_its_pronunciations() -> None:
    read = [["R", "EH", "D"], ["R", "IY", "D"]]
    rates = error_rates([["R", "IY", "D"], ["R", "EH", "D"], ["R", "AH", "D"]], [read] * 3)
    assert (rates.outputs, rates.wrong) == (3, 1)
    assert rates.word_error_rate == pytest.approx(1 / 3)


def test_symbol_errors_are_counted_against_the_nearest_reference() -> None:
    far, near = ["A", "B", "C", "D", "E", "F"], ["X", "B"]
    rates = error_rates([["X"]], [[far, near]])
    assert (rates.edits, rates.symbols) == (1, 2)
    assert rates.symbol_error_rate == 0.5


def test_an_output_of_nothing_needs_every_symbol_inserted() -> None:
    rates = error_rates([[], ["T"]], [[["T", "UW"]], [["T"]]])
    assert (rates.wrong, rates.edits, rates.symbols) == (1, 2, 3)


@pytest.mark.parametrize(
    ("outputs", "references", "message"),
    [
        ([], [], "no error rate of nothing"),
        ([["T"]], [], "1 outputs and 0 lists of references"),
        ([["T"], ["T"]], [[["T"]], []], "output 2 has no reference"),
        ([["T"]], [[[]]], "output 1 has no reference"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    outputs: list[list[str]], references: list[list[list[str]]], message: str
) -> None:
    with pytest.raises(ScoreError, match=message):
        error_rates(outputs, references)
