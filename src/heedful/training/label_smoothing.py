"""Section 5.4: label smoothing. The loss is a sum and a count, divided once, by whoever knows the whole batch.

The true word gets probability 1 − ε and every other word ε / (V − 1). Perplexity never comes from the smoothed loss:
it is the exponential of the plain negative log-likelihood.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from heedful.errors import ShapeError
from heedful.symbols import PAD


class TokenLosses(NamedTuple):
    """Sums over the target words that count, and how many they are."""

    smoothed: Tensor
    negative_log_likelihood: Tensor
    tokens: Tensor


def label_smoothed_loss(
    logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.1, ignore: int | None = PAD
) -> tuple[Tensor, Tensor]:
    """The cross-entropy against the smoothed targets, as (sum, count): words equal to ``ignore`` do not count.

    Four words, the true one scored equally with the others: every log-probability is −log 4, whatever the smoothing.

    >>> loss_sum, count = label_smoothed_loss(torch.zeros(1, 4), torch.tensor([3]))
    >>> round((loss_sum / count).item(), 4) == round(torch.tensor(4.0).log().item(), 4)
    True
    """
    losses = token_losses(logits, targets, label_smoothing=label_smoothing, ignore=ignore)
    return losses.smoothed, losses.tokens


def token_losses(
    logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.1, ignore: int | None = PAD
) -> TokenLosses:
    """The smoothed and the plain loss in one pass over the scores."""
    if logits.shape[:-1] != targets.shape:
        raise ShapeError(f"logits are {list(logits.shape)} and targets {list(targets.shape)}: one word for each vector")
    if not 0 <= label_smoothing < 1:
        raise ShapeError(f"label_smoothing={label_smoothing}: must be at least 0 and below 1")
    vocabulary = logits.size(-1)
    if vocabulary < 2:
        raise ShapeError("a vocabulary of one word has nothing to predict")
    log_probabilities = logits.float().log_softmax(-1) if logits.dtype != torch.float64 else logits.log_softmax(-1)
    true = -log_probabilities.gather(-1, targets.long()[..., None])[..., 0]
    wrong = -log_probabilities.sum(-1) - true
    smoothed = (1 - label_smoothing) * true + label_smoothing / (vocabulary - 1) * wrong
    counted = targets != ignore if ignore is not None else torch.ones_like(targets, dtype=torch.bool)
    zero = torch.zeros((), dtype=true.dtype, device=true.device)
    return TokenLosses(
        torch.where(counted, smoothed, zero).sum(), torch.where(counted, true, zero).sum(), counted.sum()
    )
