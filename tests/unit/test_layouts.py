"""Padded and packed hold the same sentences, and packed lines have few different sizes."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.micro_batches import micro_batches, most_tokens, packed_ids, packed_size, padded_ids
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.symbols import END, PAD, START
from heedful.text.pairs import tsv


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("layouts")
    rng = np.random.default_rng(1)
    lines = []
    for number in range(1500):
        words = [str(word) for word in rng.integers(0, 99, max(1, int(rng.lognormal(1.5, 0.8))))]
        extra = [str(word) for word in rng.integers(0, 99, rng.integers(0, 4))]
        lines.append(" ".join(words) + "\t" + " ".join([str(number), *words, *extra]))
    (folder / "text.tsv").write_text("\n".join(lines))
    prepare(Request((tsv(folder / "text.tsv"),), vocab_size=330), output=folder / "corpus")
    return Corpus(folder / "corpus")


def sentences(corpus: Corpus, pairs: np.ndarray) -> list[tuple[list[int], list[int], list[int]]]:
    """What the encoder sees, what the decoder is given, what it must say: the plain way."""
    found = []
    for pair in pairs:
        source = corpus.source.ids(np.array([pair]))[0].tolist()
        target = corpus.target.ids(np.array([pair]))[0].tolist()
        found.append(([*source, END], [START, *target], [*target, END]))
    return found


def test_padded_rows_are_the_sentences(corpus: Corpus) -> None:
    pairs = np.array([3, 1, 700, 3])
    batch = padded_ids(corpus, pairs)
    for row, (source, given, said) in enumerate(sentences(corpus, pairs)):
        for array, expected in ((batch.source, source), (batch.target_input, given), (batch.target_output, said)):
            assert array.dtype == np.int32
            assert array[row].tolist() == expected + [PAD] * (array.shape[1] - len(expected))
    tokens = corpus.lengths.target[pairs].sum()
    assert tokens == (batch.target_output != PAD).sum() == (batch.target_input != PAD).sum()
    assert (batch.source != PAD).any(axis=0).all(), "no column is padding only"


def test_packed_sequences_are_the_sentences_and_the_rest_is_padding(corpus: Corpus) -> None:
    pairs = np.array([3, 1, 700, 3])
    batch = packed_ids(corpus, pairs)
    for number, (source, given, said) in enumerate(sentences(corpus, pairs)):
        s = slice(batch.source_offsets[number], batch.source_offsets[number + 1])
        t = slice(batch.target_offsets[number], batch.target_offsets[number + 1])
        assert batch.source[s].tolist() == source
        assert batch.target_input[t].tolist() == given
        assert batch.target_output[t].tolist() == said
    tokens = corpus.lengths.target[pairs].sum()
    assert tokens == (batch.target_output != PAD).sum() == (batch.target_input[:tokens] != PAD).sum()
    assert (batch.target_input[tokens:] == PAD).all()
    assert (batch.source_offsets[4:] == batch.source_offsets[4]).all(), "what is left belongs to no sentence"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("budget", [160, 500, 4096])
def test_every_micro_batch_of_an_epoch_has_one_of_a_few_sizes(corpus: Corpus, count: int, budget: int) -> None:
    lengths = corpus.lengths
    plan = Schedule(lengths, source_budget=budget, target_budget=budget, seed=1)
    most = packed_size(most_tokens(budget, micro_batches=count, longest=lengths.longest))
    sizes = set()
    for step in range(plan.steps_per_epoch):
        for micro in micro_batches(plan.batch(step), count=count, lengths=lengths):
            batch = packed_ids(corpus, micro)
            assert (
                len(batch.source_offsets)
                == len(batch.target_offsets)
                == min(len(batch.source), len(batch.target_input)) + 1
            )
            for array, offsets in ((batch.source, batch.source_offsets), (batch.target_output, batch.target_offsets)):
                assert offsets[0] == 0
                assert (np.diff(offsets) >= 0).all()
                assert offsets[-1] <= len(array) <= most
                sizes.add(len(array))
            assert lengths.target[micro].sum() == (batch.target_output != PAD).sum()
    assert len(sizes) <= 33


@hypothesis.given(st.integers(0, 10_000_000))
def test_a_packed_line_is_at_most_a_thirty_second_longer_than_its_tokens(tokens: int) -> None:
    size = packed_size(tokens)
    assert size % 128 == 0
    assert max(tokens, 1) <= size <= max(tokens * 33 / 32, tokens + 128)
    assert packed_size(size) == size


def test_an_empty_micro_batch_is_all_padding(corpus: Corpus) -> None:
    none = np.array([], np.int64)
    batch = packed_ids(corpus, none)
    assert (batch.target_output == PAD).all()
    assert not batch.source_offsets.any()
    assert padded_ids(corpus, none).source.shape == (0, 1)
