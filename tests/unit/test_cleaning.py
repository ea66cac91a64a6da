"""Each rule removes what it says, counts it, and keeps fair samples."""

from __future__ import annotations

import numpy as np
import pytest

from heedful.text.cleaning import (
    SAMPLES,
    Cleaner,
    Ledger,
    Rules,
    clean_line,
    first_of_each,
    length_verdicts,
    pair_hashes,
)
from heedful.text.pairs import PairBlock

BLOCK = PairBlock(
    10,
    ["good", "", "same", "  ", "dev one", "x", None, "test", "good", "Cafe\u0301", " padded\u00a0"],
    ["gut", "x", "same ", "y", "y", "dev zwei", "y", "y", "Prüfung", "Kaffee", "gepolstert"],
)


def cleaned(rules: Rules) -> tuple[list[tuple[str, str]], list[int], dict[str, int]]:
    ledger = Ledger(seed=1)
    validation = (["dev one", "Kaffee", ""], ["dev zwei", "good", ""])
    cleaner = Cleaner(rules, ledger=ledger, validation=validation, excluded=["test", "Prüfung", ""])
    sources, targets, lines = cleaner.kept(BLOCK, corpus="c")
    counts = {rule: removed.count for rule, removed in ledger.entries.items() if removed.count}
    return list(zip(sources, targets, strict=True)), lines.tolist(), counts


def test_each_rule_removes_what_it_says_and_only_that() -> None:
    pairs, lines, counts = cleaned(Rules())
    assert pairs == [("good", "gut"), ("Café", "Kaffee"), ("padded", "gepolstert")]
    assert lines == [10, 19, 20]
    assert counts == {"bad": 1, "empty": 2, "identical": 1, "validation": 2, "excluded": 2}


@pytest.mark.parametrize("rule", ["empty", "identical", "validation", "excluded"])
def test_each_rule_can_be_switched_off(rule: str) -> None:
    _, _, all_counts = cleaned(Rules())
    pairs, _, counts = cleaned(Rules(keep=frozenset({rule})))
    assert rule not in counts
    assert len(pairs) == 3 + all_counts[rule]


def test_the_sides_of_the_validation_text_are_not_mixed_up() -> None:
    # "Kaffee" is a validation source and "good" a validation target: as target and source they may be trained on.
    assert ("Café", "Kaffee") in cleaned(Rules())[0]
    assert ("good", "gut") in cleaned(Rules())[0]


def test_lines_are_compared_in_nfc_without_surrounding_space() -> None:
    assert clean_line(" Cafe\u0301\u2003\t") == "Café"
    assert clean_line("a  b") == "a  b"


def test_duplicates_are_found_as_a_set_of_pairs_finds_them() -> None:
    rng = np.random.default_rng(1)
    sources = [str(number) for number in rng.integers(0, 40, 3000)]
    targets = [str(number) for number in rng.integers(0, 40, 3000)]
    hashes = np.frombuffer(pair_hashes(sources, targets), np.uint64).reshape(-1, 2)
    seen: set[tuple[str, str]] = set()
    expected = [not (pair in seen or seen.add(pair)) for pair in zip(sources, targets, strict=True)]
    assert first_of_each(hashes).tolist() == expected


def test_rows_that_share_half_a_hash_are_not_duplicates() -> None:
    hashes = np.array([[1, 2], [1, 3], [2, 2], [1, 2], [1, 3], [3, 1]], np.uint64)
    assert first_of_each(hashes).tolist() == [True, True, True, False, False, True]
    assert first_of_each(np.empty((0, 2), np.uint64)).tolist() == []


def test_where_a_pair_is_cut_into_its_sides_changes_its_hash() -> None:
    assert pair_hashes(["ab"], ["c"]) != pair_hashes(["a"], ["bc"])
    assert pair_hashes(["a\n"], ["b"]) != pair_hashes(["a"], ["\nb"])
    assert len(pair_hashes(["a", "b"], ["c", "d"])) == 32


def test_limits_on_length_are_inclusive_and_no_pair_is_counted_twice() -> None:
    rules = Rules(max_length=10, max_ratio=3)
    source, target = np.array([10, 11, 9, 10, 2, 11]), np.array([10, 10, 3, 3, 7, 2])
    verdicts = length_verdicts(source, target, rules=rules)
    assert verdicts["too-long"].tolist() == [1, 5]
    assert verdicts["ratio"].tolist() == [3, 4]
    off = length_verdicts(
        source, target, rules=Rules(max_length=10, max_ratio=3, keep=frozenset({"too-long", "ratio"}))
    )
    assert [places.tolist() for places in off.values()] == [[], []]


def test_samples_are_drawn_evenly_from_all_removed_pairs() -> None:
    drawn = np.zeros(50)
    for seed in range(400):
        ledger = Ledger(seed=seed)
        for line in range(50):
            ledger.add("empty", "", "x", corpus="c", line=line)
        samples = ledger.entries["empty"].samples
        assert len(samples) == SAMPLES
        drawn[[int(str(sample["line"])) for sample in samples]] += 1
    # 400 * 5 / 50 = 40 expected, standard deviation 6
    assert drawn.min() > 15
    assert drawn.max() < 65


def test_a_long_sample_is_shortened_and_says_so() -> None:
    ledger = Ledger(seed=1)
    ledger.add("too-long", "x" * 5000, "y", corpus="c", line=3, why="900 and 2 tokens")
    (sample,) = ledger.entries["too-long"].samples
    assert str(sample["source"]).endswith("… (5,000 characters)")
    assert sample["why"] == "900 and 2 tokens"
