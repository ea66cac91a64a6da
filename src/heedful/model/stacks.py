"""Sections 3.1 and 5.4: the stacks of encoder and decoder, their layers, and what is around each sub-layer.

Every sub-layer becomes LayerNorm(x + Dropout(Sublayer(x))). The encoder's layers are self-attention and a feed-forward
network; the decoder's also attend to the encoder's output, and never to what comes later.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from heedful.config import ModelConfig
from heedful.model.attention_kernels import Attend, AttentionChoice, Where, equation_1, interval
from heedful.model.cuda_sublayers import add_and_norm, attention_sublayer, feed_forward_sublayer
from heedful.model.devices import has_kernels
from heedful.model.feed_forward import PositionwiseFeedForward
from heedful.model.masks import AttentionPattern
from heedful.model.multi_head_attention import MultiHeadAttention, require_probability


class AddAndNorm(nn.Module):
    """The box "Add & Norm" of Figure 1: dropout on the sub-layer's output, the residual sum, then normalisation.

    The result is of the type of ``x``.
    """

    def __init__(self, *, d_model: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(require_probability(dropout, "dropout"))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        if has_kernels(x) and not (self.training or torch.is_grad_enabled()):
            return add_and_norm(x, sublayer_output, self.norm)
        return self.norm(x + self.dropout(sublayer_output)).to(x.dtype)

    def attended(self, x: Tensor, memory: Tensor, attention: MultiHeadAttention, mask: Where) -> Tensor:
        """The sub-layer that attends from ``x`` to ``memory``; on packed sentences and CUDA by hand, both ways."""
        if attention.attend is interval and isinstance(mask, AttentionPattern) and mask.intervals and has_kernels(x):
            return attention_sublayer(x, memory, attention, self.norm, mask.intervals, dropout=self._share)
        return self(x, attention(x, memory, memory, mask)[0])

    def transformed(self, x: Tensor, feed_forward: PositionwiseFeedForward) -> Tensor:
        """The sub-layer of the feed-forward network; on packed sentences and CUDA by hand, both ways."""
        if has_kernels(x) and x.dim() == 2:
            return feed_forward_sublayer(x, feed_forward, self.norm, dropout=self._share)
        return self(x, feed_forward(x))

    @property
    def _share(self) -> float:
        return self.dropout.p if self.training else 0.0


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
        x = self.add_and_norm_1.attended(x, x, self.self_attention, mask)
        return self.add_and_norm_2.transformed(x, self.feed_forward)


class Encoder(nn.Module):
    """N encoder layers."""

    def __init__(self, config: ModelConfig, *, attention: AttentionChoice) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(**_layer_sizes(config), attend=attention.self_attend) for _ in range(config.encoder_layers)
        )

    def forward(self, x: Tensor, mask: Where = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x


class DecoderLayer(nn.Module):
    """The right half of Figure 1, once.

    >>> import torch
    >>> from heedful.model.masks import causal_mask
    >>> layer = DecoderLayer(d_model=16, num_heads=4, d_ff=32).eval()
    >>> memory = torch.randn(2, 7, 16)
    >>> x = torch.randn(2, 5, 16)
    >>> layer(x, memory, target_mask=causal_mask(5)).shape
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
        self_attend: Attend = equation_1,
        cross_attend: Attend = equation_1,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(
            d_model=d_model, num_heads=num_heads, d_k=d_k, d_v=d_v, dropout=attention_dropout, attend=self_attend
        )
        self.add_and_norm_1 = AddAndNorm(d_model=d_model, dropout=dropout)
        self.cross_attention = MultiHeadAttention(
            d_model=d_model, num_heads=num_heads, d_k=d_k, d_v=d_v, dropout=attention_dropout, attend=cross_attend
        )
        self.add_and_norm_2 = AddAndNorm(d_model=d_model, dropout=dropout)
        self.feed_forward = PositionwiseFeedForward(d_model=d_model, d_ff=d_ff)
        self.add_and_norm_3 = AddAndNorm(d_model=d_model, dropout=dropout)

    def forward(self, x: Tensor, memory: Tensor, source_mask: Where = None, target_mask: Where = None) -> Tensor:
        """``source_mask`` says which positions of ``memory`` may be attended to, ``target_mask`` which of ``x``."""
        x = self.add_and_norm_1.attended(x, x, self.self_attention, target_mask)
        x = self.add_and_norm_2.attended(x, memory, self.cross_attention, source_mask)
        return self.add_and_norm_3.transformed(x, self.feed_forward)


class Decoder(nn.Module):
    """N decoder layers."""

    def __init__(self, config: ModelConfig, *, attention: AttentionChoice) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(
                **_layer_sizes(config),
                self_attend=attention.self_attend,
                cross_attend=attention.cross_attend,
            )
            for _ in range(config.decoder_layers)
        )

    def forward(self, x: Tensor, memory: Tensor, source_mask: Where = None, target_mask: Where = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, memory, source_mask, target_mask)
        return x


def _layer_sizes(config: ModelConfig) -> dict[str, Any]:
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
