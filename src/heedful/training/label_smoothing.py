"""Section 5.4: label smoothing. The loss is a sum and a count, divided once, by whoever knows the whole batch.

The true word gets probability 1 − ε and every other word ε / (V − 1). Perplexity never comes from the smoothed loss:
it is the exponential of the plain negative log-likelihood.

Training takes the map to the vocabulary (section 3.4) and the loss in one, a slice of tokens at a time. The scores of
25,000 tokens over 37,000 words are a billion numbers, and PyTorch would hold them twice or more. In `output_losses` a
slice's scores are made, turned in place into their own gradient, multiplied back and forgotten; so the gradients of
the hidden vectors and of the matrix are known when the loss is, and nothing of the size of tokens × vocabulary is
kept. The numbers are those of `label_smoothed_loss`, which a test compares.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from heedful.errors import ShapeError
from heedful.model.devices import has_kernels
from heedful.symbols import PAD
from heedful.training.flops import SCORES_AT_ONCE_ON_CUDA

SCORES_AT_ONCE = {"cuda": SCORES_AT_ONCE_ON_CUDA, "cpu": 1 << 22}
"""Scores held at a time. On a GPU, enough to keep it busy; on a CPU, few enough to stay in the cache."""

_Slice = tuple[Tensor, Tensor, Tensor]


def label_smoothed_loss(
    logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.1, ignore: int | None = PAD
) -> tuple[Tensor, Tensor]:
    """The cross-entropy against the smoothed targets, as (sum, count): words equal to ``ignore`` do not count.

    Four words, the true one scored equally with the others: every log-probability is −log 4, whatever the smoothing.

    >>> loss_sum, count = label_smoothed_loss(torch.zeros(1, 4), torch.tensor([3]))
    >>> round((loss_sum / count).item(), 4) == round(torch.tensor(4.0).log().item(), 4)
    True
    """
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
    return torch.where(counted, smoothed, 0).sum(), counted.sum()


def output_losses(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    targets_N: Tensor,
    *,
    label_smoothing: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """The summed smoothed loss and the summed negative log-likelihood of the targets that are not `PAD`.

    Products are computed in ``dtype``, sums in float32 (float64 for float64). Only the first result has a gradient.
    """
    return _OutputLosses.apply(hidden_ND, weight_VD, targets_N.long(), label_smoothing, dtype)


def losses_and_gradient(scores_NV: Tensor, targets_N: Tensor, label_smoothing: float) -> _Slice:
    """The two sums of a slice, and the gradient of the first with respect to the scores, in the scores' type."""
    words = scores_NV.size(-1)
    single = scores_NV if scores_NV.dtype == torch.float64 else scores_NV.float()
    log_probabilities = single.log_softmax(-1)
    true = -log_probabilities.gather(-1, targets_N[:, None])[:, 0]
    wrong = -log_probabilities.sum(-1) - true
    counted = (targets_N != PAD).to(single.dtype)
    share = label_smoothing / (words - 1)
    smoothed = (((1 - label_smoothing) * true + share * wrong) * counted).sum()
    # softmax − smoothed target; the true word's entry is written over afterwards.
    gradient = log_probabilities.exp_().sub_(share).mul_(counted[:, None]).to(scores_NV.dtype)
    at_true = ((-true).exp() - (1 - label_smoothing)) * counted
    gradient.scatter_(-1, targets_N[:, None], at_true.to(gradient.dtype)[:, None])
    return smoothed, (true * counted).sum(), gradient


def losses_by_kernel(scores_NV: Tensor, targets_N: Tensor, label_smoothing: float) -> _Slice:
    """`losses_and_gradient` on CUDA, in two passes over the scores, which become their own gradient."""
    from heedful.model import triton_kernels

    tokens, words = scores_NV.shape
    smoothed, plain = scores_NV.new_empty(2, tokens, dtype=torch.float32)
    triton_kernels.losses_and_gradients[(tokens,)](  # pyright: ignore[reportIndexIssue]
        scores_NV, targets_N, smoothed, plain, words, label_smoothing, label_smoothing / (words - 1), PAD, words,
        BLOCK=2048, num_warps=8,
    )  # fmt: skip
    return smoothed.sum(), plain.sum(), scores_NV


class _OutputLosses(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        label_smoothing: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad)
        matrix = weight.to(dtype)
        single = torch.float64 if dtype == torch.float64 else torch.float32
        smoothed, plain = hidden.new_zeros((), dtype=single), hidden.new_zeros((), dtype=single)
        hidden_gradient = torch.empty_like(hidden) if wanted else None
        weight_gradient = torch.zeros_like(weight, dtype=single) if ctx.needs_input_grad[1] else None
        for begin, end in _slices(hidden.size(0), words=weight.size(0), device=hidden.device):
            vectors = hidden[begin:end].to(dtype)
            scores = vectors @ matrix.T
            of_slice = losses_by_kernel if has_kernels(scores) else losses_and_gradient
            part, plain_part, gradient = of_slice(scores, targets[begin:end], label_smoothing)
            smoothed, plain = smoothed + part, plain + plain_part
            if hidden_gradient is not None:
                hidden_gradient[begin:end] = gradient @ matrix
            if weight_gradient is not None:
                if dtype == single:
                    weight_gradient.addmm_(gradient.T, vectors)
                else:  # added in float32 by the product itself
                    weight_gradient = torch.addmm(weight_gradient, gradient.T, vectors, out_dtype=single)
        if wanted:
            ctx.save_for_backward(hidden_gradient, weight_gradient)
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, smoothed: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        hidden_gradient, weight_gradient = ctx.saved_tensors
        of_weight = None if weight_gradient is None else weight_gradient * smoothed
        return hidden_gradient * smoothed, of_weight, None, None, None


def _slices(tokens: int, *, words: int, device: torch.device) -> list[tuple[int, int]]:
    """Even slices of at most `SCORES_AT_ONCE` scores, in multiples of 128 tokens where there are that many."""
    most = max(1, SCORES_AT_ONCE.get(device.type, 1 << 24) // words)
    count = max(1, -(-tokens // most))
    size = -(-tokens // count)
    size = -(-size // 128) * 128 if size > 128 else max(1, size)
    return [(begin, min(begin + size, tokens)) for begin in range(0, tokens, size)]
