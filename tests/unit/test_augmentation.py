"""Versions of a pair: each kind does what it says, on both sides, and touches nothing else."""

from __future__ import annotations

import random
import re
import time
from collections import Counter

import pytest

from heedful.text import augmentation
from heedful.text.augmentation import Pair
from heedful.text.usual_spelling import case_of

PAIRS = [
    ("My neighbour Paul waits on the street.", "Mein Nachbar Paul wartet auf der Straße."),
    ("I met Anna Berg in 1998, when she lived in Oslo.", "Ich traf Anna Berg 1998, als sie in Oslo lebte."),
    ("Would you help me to carry these boxes?", "Würden Sie mir helfen, diese Kisten zu tragen?"),
    ('He whispered: "Nobody knows the answer."', "Er flüsterte: „Niemand weiß die Antwort.“"),
    ("The house has 42 windows and a garden", "Das Haus hat 42 Fenster und einen Garten"),
]
TRIES = [(pair, seed) for pair in PAIRS for seed in range(200)]


def drawn(seed: int) -> augmentation.Draw:
    return random.Random(seed).random


def parts(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+|[^\w\s]", text))


def distance(one: str, other: str) -> int:
    """Letters to insert, remove, replace or swap with the next: the textbook's table."""
    table = {(i, j): i + j for i in range(len(one) + 1) for j in range(len(other) + 1) if not i or not j}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            same = one[i - 1] == other[j - 1]
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (not same))
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one), len(other)]


@pytest.mark.parametrize("pair", PAIRS)
def test_capitals_are_on_both_sides(pair: Pair) -> None:
    version = augmentation.upper(pair)
    assert version is not None
    assert version == (pair[0].upper(), pair[1].upper())
    assert all(text == text.upper() and "ß" not in text for text in version)
    assert augmentation.upper(version) is None, "what is in capitals has no other version"


def test_a_title_has_its_capitals_in_the_target_where_that_is_english() -> None:
    for (source, target), seed in TRIES:
        titled, same = augmentation.title((source, target), drawn(seed), to_english=False) or ("", "")
        assert case_of(titled) == "title", titled
        assert same.rstrip(".") == target.rstrip(".")
        assert titled.lower().rstrip(".") == source.lower().rstrip(".")
        _, back = augmentation.title((target, source), drawn(seed), to_english=True) or ("", "")
        assert case_of(back) == "title", back


def test_one_to_three_words_are_mistyped_by_one_letter_and_names_never() -> None:
    errors: Counter[int] = Counter()
    for (source, target), seed in TRIES:
        version = augmentation.typos((source, target), drawn(seed))
        assert version, source
        assert version[1] == target
        old, new = re.findall(r"\w+", source), re.findall(r"\w+", version[0])
        assert len(old) == len(new)
        wrong = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        errors[len(wrong)] += 1
        assert all(a[0] == b[0] and distance(a, b) == 1 and a not in target for a, b in wrong), wrong
    assert errors.keys() <= {1, 2, 3}
    assert errors[1] > 0 < errors[2]


def test_what_is_to_be_copied_is_the_same_on_both_sides() -> None:
    kinds: Counter[str] = Counter()
    for pair, seed in TRIES:
        version = augmentation.copy(pair, drawn(seed))
        assert version, pair
        added = [parts(new) - parts(old) for old, new in zip(pair, version, strict=True)]
        removed = [parts(old) - parts(new) for old, new in zip(pair, version, strict=True)]
        assert added[0] == added[1] != Counter(), version
        assert removed[0] == removed[1], "a name or a number that both sides have is all that may go"
        kinds.update(word for word in added[0] if word in {"X1", "€", "£", "@", "https", "<", "😀", "→"})
        kinds["instead"] += bool(removed[0])
    assert {"X1", "€", "@", "https", "<", "instead"} <= kinds.keys()
    assert kinds["X1"] > 120


def test_other_numbers_are_written_as_each_side_writes_them() -> None:
    pair = (
        "On 12 June 1998 it cost $1,299.50, or 0.35 % of 4 MP3s.",
        "Am 12. Juni 1998 kostete es 1.299,50 $, 0,35 % von 4 MP3s.",
    )
    found = [augmentation.copy(pair, drawn(seed)) for seed in range(200)]
    assert sum(version is not None and "MP3s" in version[0] and "$1,299" not in version[0] for version in found) > 60
    form = re.compile(r"On (\d\d) June (\d{4}) it cost \$(.*?), or (.*?) % of 4 MP3s\.")
    for source, target in (version for version in found if version and "$1,299" not in version[0]):
        match = form.fullmatch(source)
        assert match, source
        day, year, amount, share = match.groups()
        german = [number.replace(",", "_").replace(".", ",").replace("_", ".") for number in (amount, share)]
        assert target == f"Am {day}. Juni {year} kostete es {german[0]} $, {german[1]} % von 4 MP3s."
        assert 10 <= int(day) <= 28
        assert year[:2] == "19"
        assert re.fullmatch(r"\d,\d{3}\.\d\d", amount)
        assert re.fullmatch(r"0\.\d\d", share)


def test_what_would_be_carried_is_given_to_the_model_as_it_will_be() -> None:
    pair = ("Write to a.b@c.de or open {0}, %s times.", "Schreiben Sie %s Mal an a.b@c.de oder öffnen Sie {0}.")
    expected = ("Write to X1 or open X2, X3 times.", "Schreiben Sie X3 Mal an X1 oder öffnen Sie X2.")
    assert augmentation.copy(pair, drawn(1)) == expected
    for kind in (augmentation.upper, lambda pair: augmentation.typos(pair, drawn(1))):
        assert kind(pair) is None, "an address in capitals is another address"


def test_neighbours_are_joined_in_their_order_and_none_twice() -> None:
    pair, earlier = PAIRS[4], PAIRS[:3]
    found = {augmentation.joined(reversed(earlier), pair, drawn(seed)) for seed in range(50)}
    lines = [*earlier, pair]
    expected = {tuple(" ".join(texts) for texts in zip(*lines[-count:], strict=True)) for count in (2, 3, 4)}
    assert found == expected
    assert augmentation.joined([pair, PAIRS[0]], PAIRS[0], drawn(1)) is None, "the line before is no sentence"
    same = (PAIRS[0][0], "Paul, mein Nachbar, wartet auf der Straße.")
    assert augmentation.joined([same], PAIRS[0], drawn(1)) is None, "it says the same"


@pytest.mark.parametrize("one", [".", ")", "A", "Aa ", "Aa-", "a", "1", "1,", "'", "@a.", "{", "<a ", "`", "…)", "X1 "])
def test_no_line_however_strange_takes_long(one: str) -> None:
    line = one * (40_000 // len(one)) + "\\"
    began = time.process_time()
    for seed in range(3):
        augmentation.copy((line, line), drawn(seed))
    augmentation.typos((line, "x"), drawn(1))
    augmentation.title((line, line), drawn(1), to_english=True)
    augmentation.upper((line, line))
    augmentation.joined([(line, line)], (line, "x"), drawn(1))
    assert time.process_time() - began < 2


def test_english_is_known_by_its_article() -> None:
    assert augmentation.is_english(source for source, _ in PAIRS)
    assert not augmentation.is_english(target for _, target in PAIRS)
