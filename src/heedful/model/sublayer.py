"""Section 3.1 and 5.4: what is around each sub-layer, LayerNorm(x + Dropout(Sublayer(x)))."""

from __future__ import annotations

from torch import Tensor, nn

from heedful.model.multi_head_attention import require_probability


class AddAndNorm(nn.Module):
    """The box "Add & Norm" of Figure 1: dropout on the sub-layer's output, the residual sum, then normalisation."""

    def __init__(self, *, d_model: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(require_probability(dropout, "dropout"))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        return self.norm(x + self.dropout(sublayer_output))
