"""BPE-dropout: at 0 it is BPE, at any rate it spells the same text, and it drops as often as it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.text.bpe_dropout import WAYS, RandomCuts
from heedful.text.subwords import Subwords

LINES = [
    "the lower the slower",
    "the newest and the widest",
    "wider, newer, lower",
    "Straße und Äther",
    "slow slow low",
]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(LINES * 3, vocab_size=330)


def ids(cuts: RandomCuts, line: str) -> list[int]:
    return np.frombuffer(cuts.encode_raw([line])[0], cuts.dtype).tolist()


@settings(max_examples=200, deadline=None)
@given(
    line=st.one_of(st.text(max_size=30), st.text("thelowrs newid", max_size=30)), dropout=st.sampled_from([0.1, 0.7])
)
def test_every_cut_spells_the_line_and_without_dropout_it_is_bpes(
    subwords: Subwords, line: str, dropout: float
) -> None:
    plain = subwords.encode([line])[0].tolist()
    assert ids(RandomCuts(subwords, dropout=0.0, seed=1), line) == plain
    assert subwords.decode(ids(RandomCuts(subwords, dropout=dropout, seed=1), line)) == subwords.decode(plain)


def test_a_single_merge_is_dropped_as_often_as_it_says() -> None:
    """Of two bytes, which can be merged or not; a new object each time, since a word's cuts are remembered."""
    subwords = Subwords.train(["a a a"], vocab_size=260)
    assert len(subwords.encode([" a"])[0]) < len(" a") + 1, "the space and the letter are one subword"
    merged = [len(ids(RandomCuts(subwords, dropout=0.3, seed=seed), "a")) == 1 for seed in range(2000)]
    assert abs(np.mean(merged) - 0.7) < 4 * (0.3 * 0.7 / 2000) ** 0.5


def test_almost_everything_dropped_leaves_bytes(subwords: Subwords) -> None:
    assert len(ids(RandomCuts(subwords, dropout=0.999999, seed=1), "the lower")) == len(" the lower")


def test_a_word_has_many_cuts_and_a_seed_repeats_them(subwords: Subwords) -> None:
    lines = ["the lower the slower"] * 100
    first = RandomCuts(subwords, dropout=0.3, seed=7).encode_raw(lines)
    assert first == RandomCuts(subwords, dropout=0.3, seed=7).encode_raw(lines)
    assert first != RandomCuts(subwords, dropout=0.3, seed=8).encode_raw(lines)
    assert 5 < len(set(first[:WAYS])) <= WAYS
