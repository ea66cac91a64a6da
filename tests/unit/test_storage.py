"""Weights in a quarter of their bytes: how far they may be from what they were, and what the file weighs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

from heedful import Transformer
from heedful.errors import CheckpointError
from heedful.runs.checkpoints import CLIPPING, LARGEST, SCALE, as_stored, from_stored, quantised


def small_model(seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(vocab_size=300, d_model=64, d_ff=128, num_heads=4, encoder_layers=2, decoder_layers=2).eval()


def error_by_hand(row: np.ndarray, scale: float) -> float:
    """The squared error of a row with a scale, one number after the other; Python rounds halves to the even one too."""
    stored = [max(-LARGEST, min(LARGEST, round(float(weight) / scale))) for weight in row]
    return sum((number * scale - float(weight)) ** 2 for number, weight in zip(stored, row, strict=True))


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(-6, 6), st.booleans())
def test_no_weight_is_further_off_than_half_a_step_or_its_clipping(
    seed: int, columns: int, size: float, outlier: bool
) -> None:
    matrix = torch.randn(3, columns, generator=torch.Generator().manual_seed(seed)) * 10**size
    if outlier:
        matrix[0, 0] *= 30
    numbers, scales = quantised(matrix)
    back = numbers.float() * scales[:, None]
    allowed = torch.maximum(scales[:, None] / 2, matrix.abs() - LARGEST * scales[:, None])
    assert ((back - matrix).abs() <= allowed * 1.0001).all()
    assert numbers.dtype == torch.int8
    assert numbers.min() >= -LARGEST


def test_the_scale_of_a_row_is_the_best_of_those_tried() -> None:
    matrix = torch.randn(3, 1500, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    matrix[1, 7] = 8.0
    _, scales = quantised(matrix)
    for row, scale in zip(matrix.numpy(), scales.tolist(), strict=True):
        largest = float(abs(row).max())
        least = min(error_by_hand(row, largest * share / LARGEST) for share in CLIPPING)
        assert error_by_hand(row, scale) == pytest.approx(least, rel=1e-9)
    assert scales[1] * LARGEST < 7.9, "a weight far beyond the others is clipped"


def test_a_row_of_zeros_stays_zero_and_the_smallest_numbers_do_no_harm() -> None:
    matrix = torch.zeros(3, 4)
    matrix[1, 2] = 1e-44
    numbers, scales = quantised(matrix)
    assert numbers[0].tolist() == [0, 0, 0, 0]
    assert ((numbers * scales[:, None] - matrix).abs() <= 1e-37).all()
    assert scales.isfinite().all()


def test_a_matrix_and_its_negative_are_stored_alike() -> None:
    matrix = torch.randn(5, 33, generator=torch.Generator().manual_seed(2))
    (numbers, scales), (negative, same) = quantised(matrix), quantised(-matrix)
    assert torch.equal(numbers, -negative)
    assert torch.equal(scales, same)


@pytest.mark.parametrize(("storage", "tolerance"), [("float32", 0.0), ("bfloat16", 2**-8), ("int8", 0.02)])
def test_weights_come_back_as_float32_and_vectors_of_int8_as_they_were(storage: str, tolerance: float) -> None:
    weights = small_model().state_dict()
    back = from_stored(as_stored(weights, storage), storage, where="here")
    assert list(back) == list(weights)
    for name, value in weights.items():
        assert back[name].dtype == torch.float32
        exact = storage == "float32" or (storage == "int8" and value.dim() == 1)
        largest = value.abs().max()
        assert ((back[name] - value).abs() <= (0 if exact else tolerance * largest)).all(), name


def test_a_model_says_nearly_the_same_with_int8() -> None:
    model, source, target = small_model(), torch.randint(3, 300, (4, 9)), torch.randint(3, 300, (4, 7))
    with torch.no_grad():
        expected = model(source, target).log_softmax(-1)
        model.load_state_dict(from_stored(as_stored(model.state_dict(), "int8"), "int8", where="here"))
        got = model(source, target).log_softmax(-1)
    assert 0 < (got - expected).abs().max() < 0.1
    assert (got - expected).square().mean().sqrt() < 0.02 * expected.std()


@pytest.mark.parametrize("storage", ["float32", "bfloat16", "int8"])
def test_the_file_has_the_bytes_that_are_computed(tmp_path: Path, storage: str) -> None:
    weights = small_model().state_dict()
    path = tmp_path / "model.safetensors"
    save_file(as_stored(weights, storage), path)
    head = int.from_bytes(path.read_bytes()[:8], "little")
    assert path.stat().st_size == 8 + head + sum(bytes_of(value, storage) for value in weights.values())
    kinds = {entry["dtype"] for name, entry in json.loads(path.read_bytes()[8 : 8 + head]).items()}
    assert kinds == {"float32": {"F32"}, "bfloat16": {"BF16"}, "int8": {"I8", "F32"}}[storage]


def bytes_of(value: Tensor, storage: str) -> int:
    if storage == "int8":
        return value.numel() + 4 * value.shape[0] if value.dim() == 2 else 4 * value.numel()
    return value.numel() * (4 if storage == "float32" else 2)


def test_no_parameter_has_a_name_that_could_be_a_scale() -> None:
    assert not [name for name in small_model().state_dict() if SCALE in name]


def test_what_cannot_be_stored_or_read_is_refused() -> None:
    weights = {"weight": torch.ones(2, 2)}
    with pytest.raises(CheckpointError, match="storage int4: must be one of float32, bfloat16, int8"):
        as_stored(weights, "int4")
    with pytest.raises(CheckpointError, match="there is stored as int4; this heedful reads"):
        from_stored(weights, "int4", where="there")
    with pytest.raises(CheckpointError, match="weight holds weights that are not numbers"):
        as_stored({"weight": torch.tensor([[1.0, torch.nan]])}, "int8")
    stored = as_stored(weights, "int8")
    for scale in (None, torch.ones(3)):
        wrong = {"weight": stored["weight"]} | ({} if scale is None else {"weight" + SCALE: scale})
        with pytest.raises(CheckpointError, match="there has no scale for each row of weight"):
            from_stored(wrong, "int8", where="there")
