"""Sections 3.4 and 3.5: one matrix for the embeddings of both sides and for the map before the softmax; and positions.

PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same; or learned (Table 3, row E).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.errors import ShapeError
from heedful.model.initialization import initialize_embedding
from heedful.model.masks import Layout


class SharedEmbedding(nn.Module):
    """A matrix ``[vocabulary, d_model]`` used in both directions; there is only the one parameter to share.

    >>> import torch
    >>> embedding = SharedEmbedding(vocab_size=5, d_model=4)
    >>> vectors = embedding.embed(torch.tensor([3]))
    >>> torch.equal(vectors[0], embedding.weight[3] * 2)  # times √4
    True
    >>> embedding.logits(vectors).shape
    torch.Size([1, 5])
    """

    def __init__(self, *, vocab_size: int, d_model: int) -> None:
        super().__init__()
        if min(vocab_size, d_model) < 1:
            raise ShapeError(f"vocab_size={vocab_size}, d_model={d_model}: must be positive")
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model)
        initialize_embedding(self.weight)

    def embed(self, ids: Tensor) -> Tensor:
        """The vectors of ids, times √d_model."""
        return F.embedding(ids, self.weight) * self.scale

    def logits(self, x: Tensor) -> Tensor:
        """Scores of every word for each vector; no bias."""
        return F.linear(x, self.weight)


def positional_encoding(
    length: int, d_model: int, *, dtype: torch.dtype = torch.float32, device: torch.device | str | None = None
) -> Tensor:
    """The encodings of positions 0 … length − 1, ``[length, d_model]``: sines at even, cosines at odd dimensions.

    >>> positional_encoding(3, 4)  # sin(pos), cos(pos), sin(pos / 100), cos(pos / 100)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    if length < 0 or d_model < 1:
        raise ShapeError(f"length={length}, d_model={d_model}: must be positive")
    if d_model % 2:
        raise ShapeError(f"d_model={d_model} is odd: sinusoidal positions pair each sine with a cosine")
    # In float64 whatever the result's type: at position 30,000 a float32 angle is off by a thousandth. On the CPU
    # whatever the default device: the meta device, on which models are built to be loaded, is slow to count.
    exact = {"dtype": torch.float64, "device": "cpu"}
    position = torch.arange(length, **exact)[:, None]
    frequency = torch.exp(torch.arange(0, d_model, 2, **exact) * (-math.log(10000.0) / d_model))
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2).to(device=device, dtype=dtype)


class PositionalEncoding(nn.Module):
    """Adds the sinusoids to vectors of any length; there is nothing to learn and nothing to save.

    >>> encode = PositionalEncoding(d_model=4)
    >>> torch.equal(encode(torch.zeros(1, 3, 4))[0], positional_encoding(3, 4))
    True
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        # Plain attributes: as buffers, a move to float64 would keep the digits of float32.
        self._tables: list[Tensor] = []
        positional_encoding(0, d_model)  # refuses a size that cannot be
        self.d_model = d_model

    def table(self, length: int, *, like: Tensor) -> Tensor:
        """The first ``length`` encodings at least, of the type and on the device of ``like``.

        A table is never replaced. A CUDA graph goes on reading the one it was captured with, so when a longer sequence
        comes a longer table is made beside it; each is at least twice as long as the one before.
        """
        for table in self._tables:
            if table.size(0) >= length and table.dtype == like.dtype and table.device == like.device:
                return table
        # What is allocated in a capture is the graph's working memory, and would be written over.
        assert not (like.is_cuda and torch.cuda.is_current_stream_capturing()), (
            "the table is made by the runs before a capture"
        )
        rows = 1 << max(length - 1, 1023).bit_length()
        self._tables.append(positional_encoding(rows, self.d_model, dtype=like.dtype, device=like.device))
        return self._tables[-1]

    def forward(self, x: Tensor, layout: Layout | None = None) -> Tensor:
        return x + _spread(self.table(_length(x, layout, self.d_model), like=x), x, layout)


class LearnedPositions(nn.Module):
    """Table 3 row E: a vector learned for each position, up to a stated number of them."""

    def __init__(self, *, d_model: int, max_positions: int = 1024) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))
        initialize_embedding(self.weight)

    def forward(self, x: Tensor, layout: Layout | None = None) -> Tensor:
        most, d_model = self.weight.shape
        length = _length(x, layout, d_model)
        if length > most:
            raise ShapeError(
                f"a sequence of {length} tokens, but learned positions end at {most}: shorten it, raise "
                'model.max_positions, or take model.positions = "sinusoidal", which has no end'
            )
        return x + _spread(self.weight, x, layout)


def _length(x: Tensor, layout: Layout | None, d_model: int) -> int:
    if x.dim() < 2 or x.size(-1) != d_model:
        raise ShapeError(f"x is {list(x.shape)}, but must be [..., length, d_model={d_model}]")
    return layout.max_length if layout is not None else x.size(-2)


def _spread(table_LD: Tensor, x: Tensor, layout: Layout | None) -> Tensor:
    return layout.spread(table_LD) if layout is not None else table_LD[: x.size(-2)]
