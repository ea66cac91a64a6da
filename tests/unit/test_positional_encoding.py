"""Section 3.5 beyond its formula: any length, any precision, both layouts."""

from __future__ import annotations

import math

import pytest
import torch

from heedful.model.embeddings import LearnedPositions, PositionalEncoding, positional_encoding
from heedful.model.masks import Packed


def test_sinusoids_have_no_longest_length_and_stay_exact() -> None:
    encode = PositionalEncoding(d_model=4)
    assert encode(torch.zeros(1, 3, 4)).shape == (1, 3, 4)
    far = encode(torch.zeros(1, 40_000, 4))
    for position in (0, 1025, 32_768, 39_999):
        expected = [f(position / 10000 ** (2 * i / 4)) for i in range(2) for f in (math.sin, math.cos)]
        assert far[0, position].tolist() == pytest.approx(expected, abs=1e-7)


def test_a_table_stays_where_it_is_when_a_longer_sequence_comes() -> None:
    """A captured CUDA graph reads the memory it was captured with: that must neither move nor change."""
    encode = PositionalEncoding(d_model=4)
    like = torch.zeros(1)
    short = encode.table(20, like=like)
    before = short.clone()
    assert encode.table(5000, like=like).size(0) >= 5000
    encode.table(20, like=like.double())
    assert encode.table(20, like=like).data_ptr() == short.data_ptr()
    assert torch.equal(short, before)


def test_a_model_moved_to_float64_gets_encodings_of_float64() -> None:
    encode = PositionalEncoding(d_model=6)
    encode(torch.zeros(1, 9, 6))
    moved = encode.double()(torch.zeros(1, 9, 6, dtype=torch.float64))
    torch.testing.assert_close(moved[0], positional_encoding(9, 6, dtype=torch.float64), rtol=0, atol=0)


def test_there_is_nothing_to_save() -> None:
    assert not PositionalEncoding(d_model=6).state_dict()


@pytest.mark.parametrize("module", [PositionalEncoding(d_model=4), LearnedPositions(d_model=4, max_positions=6)])
def test_packed_sequences_each_begin_at_position_zero(module: torch.nn.Module) -> None:
    offsets = torch.tensor([0, 3, 3, 8, 9, 9], dtype=torch.int32)
    packed = module(torch.zeros(9, 4), Packed(offsets, tokens=9, max_length=5))
    rows = module(torch.zeros(5, 4))
    torch.testing.assert_close(packed, torch.cat([rows[:3], rows, rows[:1]]), rtol=0, atol=0)
