"""Section 5.3: Adam, and Equation 3, the learning rate as a pure function of the step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.config import TrainingConfig
from heedful.errors import CheckpointError, HeedfulError


def learning_rate(step: int, *, d_model: int = 512, warmup_steps: int = 4000, scale: float = 1.0) -> float:
    """d_model^−0.5 · min(step^−0.5, step · warmup_steps^−1.5), for steps counted from 1.

    It rises linearly for ``warmup_steps`` steps and then falls with the square root of the step:

    >>> [round(learning_rate(step), 6) for step in (1, 2000, 4000, 16000)]
    [0.0, 0.000349, 0.000699, 0.000349]
    """
    if step < 1:
        raise HeedfulError(f"step={step}: steps are counted from 1")
    if warmup_steps < 1 or d_model < 1:
        raise HeedfulError(f"warmup_steps={warmup_steps}, d_model={d_model}: must be at least 1")
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def scheduled_rate(step: int, *, d_model: int, training: TrainingConfig, last: int | None = None) -> float:
    """The learning rate of a run's step. ``last``: the step at which a straight line ends, if not ``training.steps``.

    >>> half_way = TrainingConfig(steps=8000, warmup_steps=4000, decay="linear")
    >>> [round(scheduled_rate(step, d_model=512, training=half_way), 6) for step in (2000, 4000, 6000, 8000)]
    [0.000349, 0.000699, 0.000349, 0.0]
    """
    linear, warmup = training.decay == "linear", training.warmup_steps
    sizes = {"d_model": d_model, "warmup_steps": warmup, "scale": training.learning_rate_scale}
    if not linear or step <= warmup:
        return learning_rate(step, **sizes)
    end = max(last or training.steps, warmup) + 1
    return max(0.0, end - step) / (end - warmup) * learning_rate(warmup, **sizes)


def trained_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """All parameters by their names, but for those of a model that is left as it is."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def adam(model: nn.Module, training: TrainingConfig) -> torch.optim.Adam:
    """The paper's Adam over every parameter, in one fused kernel; the rate is set before each step."""
    betas, parameters = (training.adam_beta1, training.adam_beta2), [*trained_parameters(model).values()]
    same = {"lr": 0.0, "betas": betas, "eps": training.adam_epsilon, "fused": True}
    return torch.optim.Adam(parameters, **same, capturable=parameters[0].is_cuda)


def guarded_step(optimizer: torch.optim.Adam, *, rate: float | Tensor, skip: Tensor) -> None:
    """One update with this learning rate; none at all where the one-element tensor ``skip`` is 1.

    The fused kernel reads ``skip`` on the device, so that nobody has to wait for it.
    """
    optimizer.param_groups[0]["lr"] = rate
    optimizer.grad_scale, optimizer.found_inf = None, skip  # pyright: ignore[reportAttributeAccessIssue]
    optimizer.step()


def optimizer_tensors(optimizer: torch.optim.Adam, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's state, named after the parameters."""
    return {
        f"{kind}.{name}": tensor
        for name, parameter in model.named_parameters()
        for kind, tensor in optimizer.state.get(parameter, {}).items()
    }


def load_optimizer(optimizer: torch.optim.Adam, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put saved state back, each tensor to the device of its parameter."""
    for name, parameter in trained_parameters(model).items():
        state = {}
        for kind in ("step", "exp_avg", "exp_avg_sq"):
            tensor = tensors.get(f"{kind}.{name}")
            if tensor is None or (kind != "step" and tensor.shape != parameter.shape):
                raise CheckpointError(f"the optimiser's state holds no fitting {kind} for {name}")
            state[kind] = tensor.to(parameter.device, copy=True)
        optimizer.state[parameter] = state
