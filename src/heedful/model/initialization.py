"""Where every parameter begins. The paper does not say; these are mostly the choices of its authors' published code.

Matrices are Xavier uniform, biases zero, and embeddings normal with variance 1 / d_model, so that multiplied by
√d_model (section 3.4) an embedding has unit variance, beside positional encodings between −1 and 1.

Training begins with W^O and W_2 smaller than that (`scale_residual_branches`, `training.residual_scale`): each
sub-layer is then near "what came in, normalised", and a deep model learns to look at its source several times sooner
(docs/log.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def initialize_linear(linear: nn.Linear, *, blocks: Sequence[int] | None = None) -> None:
    """Xavier uniform for the matrix, or for each of the matrices stacked in it, of ``blocks`` rows each."""
    for matrix in linear.weight.split(list(blocks or [linear.out_features])):
        with torch.no_grad():
            nn.init.xavier_uniform_(matrix)
    nn.init.zeros_(linear.bias)


def initialize_embedding(weight_VD: Tensor) -> None:
    """Normal, with variance 1 / d_model."""
    if weight_VD.is_meta:  # it has no values, and torch would load its whole compiler, seconds of it, to draw none
        return
    nn.init.normal_(weight_VD, std=weight_VD.size(-1) ** -0.5)


@torch.no_grad()
def scale_residual_branches(model: nn.Module, factor: float) -> None:
    """Multiply the matrices that sub-layers end with."""
    for name, parameter in model.named_parameters():
        if name.endswith(("w_o.weight", "w_2.weight")):
            parameter.mul_(factor)
