"""Padded and packed hold the same sentences, and every packed piece has one of a handful of shapes."""

from __future__ import annotations

import numpy as np
import pytest

from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.layouts import packed_ids, padded_ids, shape_of
from heedful.data.micro_batches import Shape, micro_batches, shapes
from heedful.errors import BatchError
from heedful.prepare.pipeline import Request, prepare
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
    assert batch.tokens == (batch.target_output != PAD).sum() == (batch.target_input != PAD).sum()
    assert (batch.source != PAD).any(axis=0).all(), "no column is padding only"


def test_packed_sequences_are_the_sentences_and_the_rest_is_filler(corpus: Corpus) -> None:
    pairs = np.array([3, 1, 700, 3])
    shape = Shape(max_length=128, source_tokens=512, target_tokens=640, sequences=20)
    batch = packed_ids(corpus, pairs, shape=shape)
    for number, (source, given, said) in enumerate(sentences(corpus, pairs)):
        s = slice(batch.source_offsets[number], batch.source_offsets[number + 1])
        t = slice(batch.target_offsets[number], batch.target_offsets[number + 1])
        assert batch.source[s].tolist() == source
        assert batch.target_input[t].tolist() == given
        assert batch.target_output[t].tolist() == said
    assert batch.tokens == (batch.target_output != PAD).sum()
    assert (batch.target_input[batch.tokens :] == PAD).all()
    assert batch.sequences == 4


@pytest.mark.parametrize("pieces", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("budget", [160, 500, 4096])
def test_every_piece_of_an_epoch_fits_one_of_at_most_eight_shapes(corpus: Corpus, pieces: int, budget: int) -> None:
    lengths = corpus.lengths
    plan = Schedule(lengths, source_budget=budget, target_budget=budget, seed=1)
    among = shapes(lengths.longest, source_budget=budget, target_budget=budget, micro_batches=pieces)
    used = set()
    for step in range(plan.steps_per_epoch):
        for piece in micro_batches(plan.batch(step), count=pieces, lengths=lengths):
            shape = shape_of(piece, lengths=lengths, among=among)
            batch = packed_ids(corpus, piece, shape=shape)
            arrays = (batch.source, batch.target_input, batch.target_output, batch.source_offsets, batch.target_offsets)
            used.add((batch.max_length, *(array.shape for array in arrays)))
            for array, offsets in ((batch.source, batch.source_offsets), (batch.target_output, batch.target_offsets)):
                assert offsets[0] == 0
                assert offsets[-1] == len(array), "every token belongs to a sequence"
                sizes = np.diff(offsets)
                assert sizes.min() >= 0
                assert sizes.max() <= batch.max_length
            assert batch.tokens == lengths.target[piece].sum() == (batch.target_output != PAD).sum()
    assert len(used) <= min(8, len(among))


def test_an_empty_piece_is_all_filler(corpus: Corpus) -> None:
    none = np.array([], np.int64)
    shape = shapes(64, source_budget=256, target_budget=256)[0]
    batch = packed_ids(corpus, none, shape=shape)
    assert (batch.tokens, batch.sequences) == (0, 0)
    assert (batch.target_output == PAD).all()
    assert np.diff(batch.source_offsets).max() <= shape.max_length
    assert padded_ids(corpus, none).source.shape == (0, 1)
    assert padded_ids(corpus, none).tokens == 0


def test_a_piece_too_large_for_every_shape_is_an_error(corpus: Corpus) -> None:
    with pytest.raises(BatchError, match="no shape holds 1500 pairs"):
        shape_of(
            np.arange(1500),
            lengths=corpus.lengths,
            among=shapes(64, source_budget=128, target_budget=128),
        )
