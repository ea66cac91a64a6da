"""Section 3.4: one matrix, for the embeddings of both sides and, transposed, for the map before the softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.errors import ShapeError
from heedful.model.initialization import initialize_embedding


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
