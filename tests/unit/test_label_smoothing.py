"""Section 5.4 against a computation word by word."""

from __future__ import annotations

import math

import pytest
import torch

from heedful.evaluation.translation_scores import perplexity
from heedful.training.label_smoothing import label_smoothed_loss, output_losses

torch.manual_seed(0)
LOGITS = torch.randn(3, 5, 7, dtype=torch.float64) * 3
TARGETS = torch.randint(0, 7, (3, 5))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_the_loss_is_what_a_loop_over_words_computes(epsilon: float) -> None:
    total, count = 0.0, 0
    for logits, target in zip(LOGITS.reshape(-1, 7).tolist(), TARGETS.flatten().tolist(), strict=True):
        if target == 0:
            continue
        normaliser = math.log(sum(math.exp(score) for score in logits))
        for word, score in enumerate(logits):
            share = 1 - epsilon if word == target else epsilon / 6
            total -= share * (score - normaliser)
        count += 1
    loss, counted = label_smoothed_loss(LOGITS, TARGETS, label_smoothing=epsilon)
    assert counted.item() == count > 0
    assert loss.item() == pytest.approx(total, abs=1e-10)


def test_the_loss_is_torchs_with_its_smoothing_translated() -> None:
    # torch spreads its ε over all V words, the true one too; ours spreads ε over the V − 1 others.
    loss, _ = label_smoothed_loss(LOGITS, TARGETS, label_smoothing=0.1, ignore=None)
    theirs = torch.nn.functional.cross_entropy(
        LOGITS.reshape(-1, 7), TARGETS.flatten(), label_smoothing=0.1 * 7 / 6, reduction="sum"
    )
    torch.testing.assert_close(loss, theirs, rtol=0, atol=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    logits = LOGITS[0].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda scores: label_smoothed_loss(scores, TARGETS[0])[0], (logits,))


def test_perplexity_comes_from_the_unsmoothed_loss() -> None:
    # With the identity as its matrix, what the output layer is given is its scores.
    scores, same = LOGITS.reshape(-1, 7), torch.eye(7, dtype=torch.float64)
    _, plain = output_losses(scores, same, TARGETS.flatten(), label_smoothing=0.2, dtype=torch.float64)
    unsmoothed, count = label_smoothed_loss(LOGITS, TARGETS, label_smoothing=0.0)
    torch.testing.assert_close(plain, unsmoothed, rtol=0, atol=1e-10)
    assert perplexity(plain.item(), int(count)) == pytest.approx(math.exp(unsmoothed.item() / count.item()))


def test_half_precision_logits_are_summed_in_single() -> None:
    loss, _ = label_smoothed_loss(LOGITS.bfloat16(), TARGETS)
    assert loss.dtype == torch.float32


def test_ignored_words_have_no_gradient() -> None:
    logits = LOGITS.clone().requires_grad_()
    label_smoothed_loss(logits, TARGETS)[0].backward()
    assert logits.grad is not None
    assert (logits.grad[TARGETS == 0] == 0).all()
    assert (logits.grad[TARGETS != 0].abs().sum(-1) > 0).all()
