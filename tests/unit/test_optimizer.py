"""Adam against its definition, and an update that is skipped on the device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.training_toys import step_of_torch, torch_adam
from torch import nn

from heedful.config import TrainingConfig
from heedful.training.optimizer import (
    Adam,
    guarded_step,
    learning_rate,
    load_optimizer,
    optimizer_tensors,
    scheduled_rate,
)


def test_adam_with_equation_3_is_what_its_definition_computes() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3).double()
    optimizer = Adam.of(model, TrainingConfig())
    value = model.weight.detach().numpy().copy()
    first, second = np.zeros_like(value), np.zeros_like(value)
    for step in range(1, 30):
        gradient = np.sin(np.arange(12.0).reshape(3, 4) * step)
        model.weight.grad, model.bias.grad = torch.tensor(gradient), torch.zeros(3, dtype=torch.float64)
        rate = learning_rate(step, d_model=16, warmup_steps=10)
        guarded_step(optimizer, rate=rate, skip=torch.zeros(()))
        first = 0.9 * first + (1 - 0.9) * gradient
        second = 0.98 * second + (1 - 0.98) * gradient**2
        unbiased = first / (1 - 0.9**step), second / (1 - 0.98**step)
        value -= rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-9)
        np.testing.assert_allclose(model.weight.detach().numpy(), value, rtol=0, atol=1e-12)


def test_a_skipped_step_leaves_no_trace() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = Adam.of(model, TrainingConfig())

    def take(gradient: float, *, skip: bool) -> None:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        guarded_step(optimizer, rate=0.1, skip=torch.tensor(float(skip)))

    take(0.5, skip=False)
    before = {
        name: value.clone() for name, value in [*model.state_dict().items(), *optimizer_tensors(optimizer).items()]
    }
    take(float("nan"), skip=True)
    take(float("inf"), skip=True)
    after = {**model.state_dict(), **optimizer_tensors(optimizer)}
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, rtol=0, atol=0)
    take(0.5, skip=False)
    assert not torch.equal(model.weight, before["weight"])


def test_saved_state_goes_on_exactly() -> None:
    torch.manual_seed(0)
    models = [nn.Linear(4, 3), nn.Linear(4, 3)]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [Adam.of(model, TrainingConfig()) for model in models]

    def take(index: int, gradient: float) -> None:
        for parameter in models[index].parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        guarded_step(optimizers[index], rate=0.1, skip=torch.zeros(()))

    take(0, 0.3)
    models[1].load_state_dict(models[0].state_dict())
    load_optimizer(optimizers[1], optimizer_tensors(optimizers[0]))
    for index in (0, 1):
        take(index, -0.7)
    assert torch.equal(models[0].weight, models[1].weight)


def test_a_linear_decay_rises_as_equation_3_does_and_reaches_nothing_after_the_last_step() -> None:
    training = TrainingConfig(steps=50, warmup_steps=10, learning_rate_scale=0.7, decay="linear")
    rates = [scheduled_rate(step, d_model=64, training=training) for step in range(1, 52)]
    plain = replace(training, decay="inverse-sqrt")
    assert rates[:10] == [scheduled_rate(step, d_model=64, training=plain) for step in range(1, 11)]
    np.testing.assert_allclose(np.diff(rates[9:]), -rates[9] / 41, rtol=1e-12)
    assert rates[-2] > rates[-1] == 0
    assert scheduled_rate(99, d_model=64, training=training) == 0, "a run that is given more steps, too"


def test_saved_state_is_put_into_the_tensors_that_are_there() -> None:
    """A captured graph may hold them."""
    model = nn.Linear(4, 3)
    optimizer = Adam.of(model, TrainingConfig())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    guarded_step(optimizer, rate=0.1, skip=torch.zeros(()))
    before = optimizer_tensors(optimizer)
    load_optimizer(optimizer, {name: 2 * tensor for name, tensor in before.items()})
    after = optimizer_tensors(optimizer)
    assert all(after[name] is tensor for name, tensor in before.items())
    assert after["step.weight"] == 2


def test_state_for_which_there_was_no_memory_is_made_whole_later(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(4, 3)
    optimizer = Adam.of(model, TrainingConfig())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "zeros_like", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            guarded_step(optimizer, rate=0.1, skip=torch.zeros(()))
    guarded_step(optimizer, rate=0.1, skip=torch.zeros(()))
    assert len(optimizer_tensors(optimizer)) == 6


def test_it_is_torchs_adam_to_the_bit() -> None:
    models = [nn.Sequential(nn.Linear(37, 51), nn.Linear(51, 3)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    own, other = Adam.of(models[0], TrainingConfig()), torch_adam(models[1])
    for step in range(12):
        for parameter, same in zip(models[0].parameters(), models[1].parameters(), strict=True):
            parameter.grad = torch.randn_like(parameter)
            same.grad = parameter.grad.clone()
        skip = torch.tensor(float(step % 5 == 3))
        guarded_step(own, rate=1e-3 / (step + 1), skip=skip)
        step_of_torch(other, rate=1e-3 / (step + 1), skip=skip)
        for parameter, same in zip(models[0].parameters(), models[1].parameters(), strict=True):
            assert torch.equal(parameter, same)
