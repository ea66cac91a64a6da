"""torch.nn.Transformer between one shared matrix, in the loop that everybody writes."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rivals.engine import PAD, Sizes
from rivals.training import POSITIONS, Batch, Learner, forward_of, smoothed_loss, trainable, usual_step


def build(sizes: Sizes, *, device: str, half: bool, dropout: float, compiled: bool = False) -> Learner:
    torch.manual_seed(1)
    model = PlainTransformer(sizes, dropout=dropout).to(device)

    forward = forward_of(model, compiled=compiled)

    def loss(batch: tuple[Tensor, ...]) -> Tensor:
        source, given, wanted = batch
        return smoothed_loss(forward(source, given), wanted)

    def prepared(batch: Batch) -> tuple[Tensor, ...]:
        return batch.source, batch.target[:, :-1].contiguous(), batch.target[:, 1:].contiguous()

    step = usual_step(model, loss, device=device, half=half)
    return Learner(trainable(model), {"torch": torch.__version__}, prepared, step)


class PlainTransformer(nn.Module):
    """The paper's: its dropout is on the embeddings and on each sub-layer's output, nowhere else."""

    def __init__(self, sizes: Sizes, *, dropout: float) -> None:
        super().__init__()
        d, layers = sizes.d_model, sizes.layers
        self.stacks = nn.Transformer(d, sizes.num_heads, layers, layers, sizes.d_ff, dropout=dropout, batch_first=True)
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        for module in self.stacks.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(sizes.vocab_size, d)
        nn.init.normal_(self.embedding.weight, std=d**-0.5)
        angle = torch.arange(float(POSITIONS))[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        self.encoding: Tensor
        self.register_buffer("encoding", torch.stack([angle.sin(), angle.cos()], -1).flatten(1))

    def _embedded(self, ids: Tensor) -> Tensor:
        scale = math.sqrt(self.embedding.embedding_dim)
        return self.dropout(self.embedding(ids) * scale + self.encoding[: ids.size(1)])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.size(1)
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        # Told that the mask is the causal one, it takes the kernel that needs none; filling is at the end of a row,
        # where no word sees it.
        masks = {"src_key_padding_mask": source == PAD, "memory_key_padding_mask": source == PAD}
        masks |= {"tgt_mask": later, "tgt_is_causal": True}
        hidden = self.stacks(self._embedded(source), self._embedded(target), **masks)
        return F.linear(hidden, self.embedding.weight)
