"""Section 3.1: the encoder, a stack of identical layers of self-attention and a feed-forward network."""

from __future__ import annotations

from torch import Tensor, nn

from heedful.config import ModelConfig
from heedful.model.attention_kernels import Attend, AttentionChoice, Where, equation_1
from heedful.model.feed_forward import PositionwiseFeedForward
from heedful.model.multi_head_attention import MultiHeadAttention
from heedful.model.sublayer import AddAndNorm, layer_sizes


class EncoderLayer(nn.Module):
    """The left half of Figure 1, once.

    >>> import torch
    >>> layer = EncoderLayer(d_model=16, num_heads=4, d_ff=32).eval()
    >>> x = torch.randn(2, 5, 16)
    >>> may_attend = torch.tensor([1, 1, 1, 0, 0])  # the last two positions are padding
    >>> layer(x, may_attend).shape
    torch.Size([2, 5, 16])
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        d_k: int = 0,
        d_v: int = 0,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        attend: Attend = equation_1,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(
            d_model=d_model, num_heads=num_heads, d_k=d_k, d_v=d_v, dropout=attention_dropout, attend=attend
        )
        self.add_and_norm_1 = AddAndNorm(d_model=d_model, dropout=dropout)
        self.feed_forward = PositionwiseFeedForward(d_model=d_model, d_ff=d_ff)
        self.add_and_norm_2 = AddAndNorm(d_model=d_model, dropout=dropout)

    def forward(self, x: Tensor, mask: Where = None) -> Tensor:
        attended, _ = self.self_attention(x, x, x, mask)
        x = self.add_and_norm_1(x, attended)
        return self.add_and_norm_2(x, self.feed_forward(x))


class Encoder(nn.Module):
    """N encoder layers."""

    def __init__(self, config: ModelConfig, *, attention: AttentionChoice) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(
                **layer_sizes(config),
                attend=attention.self_attend,
            )
            for _ in range(config.encoder_layers)
        )

    def forward(self, x: Tensor, mask: Where = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x
