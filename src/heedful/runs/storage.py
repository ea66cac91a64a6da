"""How weights lie in a file: as they are, in half the bytes (bfloat16), or in a quarter (int8).

int8: a matrix is whole numbers from −127 to 127, and one float32 scale for each row, under the matrix's name with
``/scale`` behind it, which no parameter's name has in it. Vectors (biases, norms) are few and stay float32.
Whatever the storage, weights are read back as float32.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from heedful.errors import CheckpointError

STORAGES = ("float32", "bfloat16", "int8")
SCALE = "/scale"
LARGEST = 127
"""−128 is left out, so that a matrix and its negative are stored alike."""
CLIPPING = tuple(1 - step / 64 for step in range(33))
"""Shares of a row's largest weight that its largest number may stand for. Where one weight is far beyond the others,
to clip it costs less than to store all of them coarsely."""


def require_finite(weights: Mapping[str, Tensor]) -> None:
    """Raise where a weight is infinite or not a number: nothing good can be made of such a model."""
    if broken := [name for name, value in weights.items() if not value.isfinite().all()]:
        raise CheckpointError(f"{broken[0]} holds weights that are not numbers: this model's training broke down")


def packed(weights: Mapping[str, Tensor], storage: str) -> dict[str, Tensor]:
    """The weights as a file of this storage has them."""
    if storage not in STORAGES:
        raise CheckpointError(f"storage {storage}: must be one of {', '.join(STORAGES)}")
    require_finite(weights)
    if storage != "int8":
        kind = torch.bfloat16 if storage == "bfloat16" else torch.float32
        return {name: value.to(kind).contiguous() for name, value in weights.items()}
    stored: dict[str, Tensor] = {}
    for name, value in weights.items():
        if value.dim() == 2:
            stored[name], stored[name + SCALE] = quantised(value.float())
        else:
            stored[name] = value.float().contiguous()
    return stored


def unpacked(stored: Mapping[str, Tensor], storage: str | None, *, where: str) -> dict[str, Tensor]:
    """What `packed` made, as float32; weights that were never packed (``None``) stay as they are."""
    if storage is None:
        return dict(stored)
    if storage not in STORAGES:
        raise CheckpointError(f"{where} is stored as {storage}; this heedful reads {', '.join(STORAGES)}")
    weights: dict[str, Tensor] = {}
    for name, value in stored.items():
        if not name.endswith(SCALE):
            scale = stored.get(name + SCALE)
            if value.dtype == torch.int8 and (scale is None or scale.shape != value.shape[:1]):
                raise CheckpointError(f"{where} has no scale for each row of {name}")
            weights[name] = value.float() if scale is None else value.float() * scale[:, None]
    return weights


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers, and for each row the scale that makes them the row again with the least squared error."""
    largest = (
        matrix.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny * LARGEST)
    )  # a row of zeros has one too
    best = torch.full_like(largest, torch.inf)
    scales = largest / LARGEST
    for share in CLIPPING:
        candidate = largest * share / LARGEST
        error = (_rounded(matrix, candidate) * candidate[:, None] - matrix).square().sum(dim=1)
        scales = torch.where(error < best, candidate, scales)
        best = torch.minimum(error, best)
    return _rounded(matrix, scales).to(torch.int8), scales


def _rounded(matrix: Tensor, scales: Tensor) -> Tensor:
    """Each weight in units of its row's scale, to the nearest whole number (halves to the even one)."""
    return (matrix / scales[:, None]).round().clamp(-LARGEST, LARGEST)
