"""The loss made in slices is the loss made at once, with all its gradients."""

from __future__ import annotations

import pytest
import torch

from heedful.training import label_smoothing
from heedful.training.label_smoothing import label_smoothed_loss, losses_and_gradient, output_losses

torch.manual_seed(0)
HIDDEN = torch.randn(300, 6, dtype=torch.float64)
WEIGHT = torch.randn(11, 6, dtype=torch.float64)
TARGETS = torch.randint(0, 11, (300,))


@pytest.mark.parametrize("scores_at_once", [1 << 22, 11 * 128, 11 * 7, 1])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_slices_change_nothing(scores_at_once: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(label_smoothing.SCORES_AT_ONCE, "cpu", scores_at_once)
    results = []
    for sliced in (True, False):
        hidden, weight = HIDDEN.clone().requires_grad_(), WEIGHT.clone().requires_grad_()
        if sliced:
            loss, plain = output_losses(hidden, weight, TARGETS, label_smoothing=epsilon, dtype=torch.float64)
        else:
            loss, _ = label_smoothed_loss(hidden @ weight.T, TARGETS, label_smoothing=epsilon)
            plain, _ = label_smoothed_loss(hidden @ weight.T, TARGETS, label_smoothing=0.0)
        (loss / 17).backward()
        results.append((loss.detach(), plain.detach(), hidden.grad, weight.grad))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_filling_has_no_gradient() -> None:
    _, _, gradient = losses_and_gradient(HIDDEN @ WEIGHT.T, TARGETS, 0.1)
    assert (gradient[TARGETS == 0] == 0).all()
    torch.testing.assert_close(gradient.sum(-1), torch.zeros(300, dtype=torch.float64), rtol=0, atol=1e-12)


def test_half_precision_is_near_and_sums_in_single() -> None:
    hidden, weight = HIDDEN.float().requires_grad_(), WEIGHT.float().requires_grad_()
    loss, plain = output_losses(hidden, weight, TARGETS, label_smoothing=0.1, dtype=torch.float32)
    assert loss.dtype == plain.dtype == torch.float32
    expected, _ = label_smoothed_loss(HIDDEN @ WEIGHT.T, TARGETS)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_without_gradients_only_the_sums_are_made() -> None:
    with torch.no_grad():
        loss, plain = output_losses(HIDDEN, WEIGHT, TARGETS, label_smoothing=0.1, dtype=torch.float64)
    for found, epsilon in ((loss, 0.1), (plain, 0.0)):
        expected, _ = label_smoothed_loss(HIDDEN @ WEIGHT.T, TARGETS, label_smoothing=epsilon)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
