"""The most probable words of each hypothesis: of thousands of scores the highest few, ties by the lower id.

Choosing among a whole vocabulary is the dearest thing in a step after the products. The highest k scores lie in the k
chunks of the vocabulary with the highest maxima, so one pass over all scores finds the maxima, and the choice is made
among k chunks. (Of chunks that tie the first are taken, so ties still go to the lower id.)
"""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK = 128
FEWEST = 8
"""Chunks for each score that is wanted, below which choosing among all is as fast."""


def top_words(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest ``count`` of the last axis and their places, by value and then by place.

    >>> top_words(torch.tensor([1.0, 3.0, 2.0, 3.0]), 3)
    (tensor([3., 3., 2.]), tensor([1, 3, 2]))
    """
    if logits.size(-1) < FEWEST * CHUNK * count:
        return _chosen(logits, count)
    chunks = _chunks(logits, count)
    if chunks is None:
        return _chosen(logits, count)
    places = (chunks[..., None] * CHUNK + torch.arange(CHUNK, device=logits.device)).flatten(-2)
    last = logits.size(-1) - 1
    among = logits.gather(-1, places.clamp(max=last)).masked_fill_(places > last, -torch.inf)
    values, index = _chosen(among, count)
    return values, places.gather(-1, index)


def _chunks(logits: Tensor, count: int) -> Tensor | None:
    """The chunks that hold the highest scores, in their order; None where ties leave that open."""
    whole = logits.size(-1) // CHUNK * CHUNK
    maxima = logits[..., :whole].unflatten(-1, (-1, CHUNK)).amax(-1)
    if whole < logits.size(-1):
        maxima = torch.cat([maxima, logits[..., whole:].amax(-1, keepdim=True)], dim=-1)
    values, chunks = maxima.topk(count + 1)
    if _open(values, count):
        return None
    return chunks[..., :count].sort(dim=-1).values


def _chosen(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    values, places = logits.topk(min(count + 1, logits.size(-1)))
    if _open(values, count):
        values, places = logits.sort(dim=-1, descending=True, stable=True)
    places, order = places[..., :count].sort(dim=-1)
    values, by_value = values[..., :count].gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return values, places.gather(-1, by_value)


def _open(values: Tensor, count: int) -> bool:
    """Whether a tie crosses the border. A GPU takes equals in the order of their places; a CPU takes any of them."""
    if values.device.type != "cpu" or values.size(-1) <= count:
        return False
    last, next_ = values[..., count - 1], values[..., count]
    return bool(((last == next_) & next_.isfinite()).any())
