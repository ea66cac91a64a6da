"""Section 3.1 and 5.4: what is around each sub-layer, LayerNorm(x + Dropout(Sublayer(x)))."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from heedful.config import ModelConfig
from heedful.model.cuda_operators import add_and_norm, has_kernels
from heedful.model.multi_head_attention import require_probability


class AddAndNorm(nn.Module):
    """The box "Add & Norm" of Figure 1: dropout on the sub-layer's output, the residual sum, then normalisation.

    On CUDA it is one kernel each way. The result is of the type of ``x``.
    """

    def __init__(self, *, d_model: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(require_probability(dropout, "dropout"))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        if has_kernels(x):
            return add_and_norm(x, sublayer_output, self.norm, dropout=self.dropout.p if self.training else 0.0)
        return self.norm(x + self.dropout(sublayer_output)).to(x.dtype)


def layer_sizes(config: ModelConfig) -> dict[str, Any]:
    """What the layers of both stacks are made with."""
    return {
        "d_model": config.d_model,
        "num_heads": config.num_heads,
        "d_ff": config.d_ff,
        "d_k": config.key_size,
        "d_v": config.value_size,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
    }
