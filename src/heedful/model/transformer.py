"""Figure 1: the whole model, from ids of the source and the target so far to scores of every next word."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from heedful.config import ModelConfig, did_you_mean
from heedful.errors import ConfigError, ShapeError
from heedful.model.attention_kernels import AttentionChoice, padded_attention
from heedful.model.draft_heads import DraftHeads
from heedful.model.embeddings import LearnedPositions, PositionalEncoding, SharedEmbedding
from heedful.model.masks import AttentionPattern, Layout, Packed, packed_intervals, padded_layout
from heedful.model.stacks import Decoder, DecoderLayer, Encoder, EncoderLayer


class Transformer(nn.Module):
    """The paper's model. Without a configuration it is the base model; single sizes can be given by name.

    >>> import torch
    >>> model = Transformer(vocab_size=100, d_model=32, d_ff=64, num_heads=4, encoder_layers=2, decoder_layers=2)
    >>> source = torch.tensor([[11, 12, 13, 2]])  # 2 ends a sentence
    >>> target = torch.tensor([[1, 21, 22]])      # 1 starts one
    >>> model.eval()(source, target).shape        # for each target position, a score for each of the 100 words
    torch.Size([1, 3, 100])

    One matrix embeds both sides and maps to the scores. With ``source_vocab_size`` the source has a vocabulary, and
    a matrix, of its own.
    """

    def __init__(
        self,
        config: ModelConfig | None = None,
        *,
        vocab_size: int,
        source_vocab_size: int | None = None,
        attention: AttentionChoice | None = None,
        **sizes: Any,
    ) -> None:
        super().__init__()
        self.config = config = _with_sizes(config or ModelConfig(), sizes)
        attention = attention or padded_attention(config, why="on cpu")
        self.embedding = SharedEmbedding(vocab_size=vocab_size, d_model=config.d_model)
        self.source_embedding = (
            SharedEmbedding(vocab_size=source_vocab_size, d_model=config.d_model) if source_vocab_size else None
        )
        self.source_positions = _positions(config)
        self.target_positions = _positions(config)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config, attention=attention)
        self.decoder = Decoder(config, attention=attention)
        self.attention = attention
        self.draft: DraftHeads | None = None
        """Of a model that has learned to guess words for a search; not used by the model itself."""

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_layout: Layout | None = None,
        target_layout: Layout | None = None,
    ) -> Tensor:
        """Scores (logits) for the word after each target position, ``[..., vocabulary]``.

        Ids are padded, ``[batch, length]`` padded with 0 on the right, or packed, ``[tokens]`` with their layouts.
        """
        _check_ids(source, target, source_layout, target_layout)
        source_layout = source_layout or padded_layout(source)
        target_layout = target_layout or padded_layout(target)
        memory = self.encode(source, source_layout)
        return self.embedding.logits(self.decode(target, memory, target_layout, source_layout))

    def encode(self, source: Tensor, layout: Layout) -> Tensor:
        """The encoder's output for each source position, ``[..., d_model]``."""
        x = (self.source_embedding or self.embedding).embed(source)
        x = _residual_stream(self.dropout(self.source_positions(x, layout)), layout)
        return self.encoder(x, self._pattern(layout, layout, neighbourhood=self.config.neighbourhood))

    def decode(self, target: Tensor, memory: Tensor, target_layout: Layout, source_layout: Layout) -> Tensor:
        """The decoder's output for each target position, ``[..., d_model]``; `embedding.logits` makes it scores."""
        x = self.dropout(self.target_positions(self.embedding.embed(target), target_layout))
        x = _residual_stream(x, target_layout)
        return self.decoder(
            x,
            memory,
            self._pattern(target_layout, source_layout),
            self._pattern(target_layout, target_layout, causal=True, neighbourhood=self.config.neighbourhood),
        )

    def _pattern(
        self, queries: Layout, keys: Layout, *, causal: bool = False, neighbourhood: int = 0
    ) -> AttentionPattern:
        intervals = None
        if isinstance(queries, Packed) and isinstance(keys, Packed):
            intervals = packed_intervals(queries, keys, causal=causal, neighbourhood=neighbourhood)
        return AttentionPattern(queries, keys, causal, intervals)

    def use(self, attention: AttentionChoice) -> Transformer:
        """Compute attention another way from now on; the parameters stay as they are."""
        self.attention = attention
        for module in self.modules():
            if isinstance(module, (EncoderLayer, DecoderLayer)):
                module.self_attention.attend = attention.self_attend
            if isinstance(module, DecoderLayer):
                module.cross_attention.attend = attention.cross_attend
        return self


def _with_sizes(config: ModelConfig, sizes: dict[str, Any]) -> ModelConfig:
    known = [item.name for item in dataclasses.fields(config)]
    unknown = [name for name in sizes if name not in known]
    if unknown:
        raise ConfigError([f"Transformer has no size called {name}{did_you_mean(name, known)}" for name in unknown])
    return dataclasses.replace(config, **sizes)


def _residual_stream(x: Tensor, layout: Layout) -> Tensor:
    """What goes from sub-layer to sub-layer: in half precision where products are, and sentences are packed."""
    half = isinstance(layout, Packed) and x.is_cuda and torch.is_autocast_enabled("cuda")
    return x.to(torch.get_autocast_dtype("cuda")) if half else x


def _positions(config: ModelConfig) -> nn.Module:
    if config.positions == "learned":
        return LearnedPositions(d_model=config.d_model, max_positions=config.max_positions)
    return PositionalEncoding(d_model=config.d_model)


def _check_ids(source: Tensor, target: Tensor, source_layout: Layout | None, target_layout: Layout | None) -> None:
    if (source_layout is None) != (target_layout is None):
        raise ShapeError("give the layouts of both sides, or of neither for padded ids")
    for name, ids in (("source", source), ("target", target)):
        if ids.is_floating_point() or ids.dim() < 1:
            raise ShapeError(f"{name} is {list(ids.shape)} of {ids.dtype}, but must be whole-number ids")
        if source_layout is None and ids.dim() != 2:
            raise ShapeError(f"{name} is {list(ids.shape)}, but padded ids are [batch, length]")
    if source_layout is None and source.size(0) != target.size(0):
        raise ShapeError(f"{source.size(0)} source sentences and {target.size(0)} target sentences")
