"""Sections 3.1 and 5.4: the stacks of encoder and decoder, their layers, and what is around each sub-layer.

Every sub-layer becomes LayerNorm(x + Dropout(Sublayer(x))). The encoder's layers are self-attention and a feed-forward
network; the decoder's also attend to the encoder's output, and never to what comes later.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
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


@dataclass(frozen=True, kw_only=True)
class LayerSizes:
    """What the layers of both stacks are made with, and their sub-layers of these sizes, each new."""

    d_model: int
    num_heads: int
    d_ff: int
    d_k: int = 0
    """0: d_model / num_heads; d_v likewise."""
    d_v: int = 0
    dropout: float = 0.1
    attention_dropout: float = 0.0

    @classmethod
    def of(cls, config: ModelConfig) -> LayerSizes:
        """Those of a configured model."""
        sizes = {item.name: getattr(config, item.name) for item in fields(cls)}
        return cls(**sizes | {"d_k": config.key_size, "d_v": config.value_size})

    def attention(self, attend: Attend) -> MultiHeadAttention:
        sizes = {"d_model": self.d_model, "num_heads": self.num_heads, "d_k": self.d_k, "d_v": self.d_v}
        return MultiHeadAttention(**sizes, dropout=self.attention_dropout, attend=attend)

    def feed_forward(self) -> PositionwiseFeedForward:
        return PositionwiseFeedForward(d_model=self.d_model, d_ff=self.d_ff)

    def add_and_norm(self) -> AddAndNorm:
        return AddAndNorm(d_model=self.d_model, dropout=self.dropout)


class EncoderLayer(nn.Module):
    """The left half of Figure 1, once.

    >>> import torch
    >>> layer = EncoderLayer(d_model=16, num_heads=4, d_ff=32).eval()
    >>> x = torch.randn(2, 5, 16)
    >>> may_attend = torch.tensor([1, 1, 1, 0, 0])  # the last two positions are padding
    >>> layer(x, may_attend).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, *, attend: Attend = equation_1, **sizes: Any) -> None:
        """``sizes``: those of `LayerSizes`."""
        super().__init__()
        new = LayerSizes(**sizes)
        self.self_attention = new.attention(attend)
        self.add_and_norm_1 = new.add_and_norm()
        self.feed_forward = new.feed_forward()
        self.add_and_norm_2 = new.add_and_norm()

    def forward(self, x: Tensor, mask: Where = None) -> Tensor:
        x = self.add_and_norm_1.attended(x, x, self.self_attention, mask)
        return self.add_and_norm_2.transformed(x, self.feed_forward)


class Encoder(nn.Module):
    """N encoder layers."""

    def __init__(self, config: ModelConfig, *, attention: AttentionChoice) -> None:
        super().__init__()
        sizes = vars(LayerSizes.of(config))
        self.layers = nn.ModuleList(
            EncoderLayer(**sizes, attend=attention.self_attend) for _ in range(config.encoder_layers)
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

    def __init__(self, *, self_attend: Attend = equation_1, cross_attend: Attend = equation_1, **sizes: Any) -> None:
        """``sizes``: those of `LayerSizes`."""
        super().__init__()
        new = LayerSizes(**sizes)
        self.self_attention = new.attention(self_attend)
        self.add_and_norm_1 = new.add_and_norm()
        self.cross_attention = new.attention(cross_attend)
        self.add_and_norm_2 = new.add_and_norm()
        self.feed_forward = new.feed_forward()
        self.add_and_norm_3 = new.add_and_norm()

    def forward(self, x: Tensor, memory: Tensor, source_mask: Where = None, target_mask: Where = None) -> Tensor:
        """``source_mask`` says which positions of ``memory`` may be attended to, ``target_mask`` which of ``x``."""
        x = self.add_and_norm_1.attended(x, x, self.self_attention, target_mask)
        x = self.add_and_norm_2.attended(x, memory, self.cross_attention, source_mask)
        return self.add_and_norm_3.transformed(x, self.feed_forward)


class Decoder(nn.Module):
    """N decoder layers."""

    def __init__(self, config: ModelConfig, *, attention: AttentionChoice) -> None:
        super().__init__()
        sizes = vars(LayerSizes.of(config))
        attends = {"self_attend": attention.self_attend, "cross_attend": attention.cross_attend}
        self.layers = nn.ModuleList(DecoderLayer(**sizes, **attends) for _ in range(config.decoder_layers))

    def forward(self, x: Tensor, memory: Tensor, source_mask: Where = None, target_mask: Where = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, memory, source_mask, target_mask)
        return x
