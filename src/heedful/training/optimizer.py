"""Section 5.3: Adam, and Equation 3, the learning rate as a pure function of the step."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim.adam import adam as fused_adam

from heedful.config import TrainingConfig
from heedful.errors import CheckpointError, HeedfulError

_KINDS = ("step", "exp_avg", "exp_avg_sq")
"""Of Adam's state: how many steps it has made, and both moments."""


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


@dataclass(frozen=True)
class Adam:
    """The paper's Adam over every trained parameter. torch's own class would load PyTorch's compiler, for a second."""

    parameters: dict[str, nn.Parameter]
    training: TrainingConfig
    moments: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    """Each kind of state of each parameter, by their names; empty before the first step."""

    @classmethod
    def of(cls, model: nn.Module, training: TrainingConfig) -> Adam:
        return cls(trained_parameters(model), training)


def guarded_step(optimizer: Adam, *, rate: float | Tensor, skip: Tensor) -> None:
    """One update with this learning rate; none at all where the one-element tensor ``skip`` is 1.

    The fused kernel reads ``skip`` on the device, so that nobody has to wait for it.
    """
    training, parameters, moments = optimizer.training, optimizer.parameters, optimizer.moments
    if not moments:  # all of it or none: whoever finds no memory for it may try again
        moments.update({kind: {name: _nothing_yet(kind, own) for name, own in parameters.items()} for kind in _KINDS})
    gradients = [parameter.grad for parameter in parameters.values() if parameter.grad is not None]
    assert len(gradients) == len(parameters), "every trained parameter has a gradient"
    steps, first, second = ([*moments[kind].values()] for kind in _KINDS)
    with torch.no_grad():
        fused_adam(
            [*parameters.values()], gradients, first, second, [], steps, fused=True, found_inf=skip, amsgrad=False,
            beta1=training.adam_beta1, beta2=training.adam_beta2, eps=training.adam_epsilon, lr=rate,
            weight_decay=0.0, maximize=False,
        )  # fmt: skip


def _nothing_yet(kind: str, parameter: nn.Parameter) -> Tensor:
    is_step = kind == "step"
    return torch.zeros((), dtype=torch.float32, device=parameter.device) if is_step else torch.zeros_like(parameter)


def optimizer_tensors(optimizer: Adam) -> dict[str, Tensor]:
    """The optimiser's state, named after the parameters."""
    return {f"{kind}.{name}": tensor for kind, own in optimizer.moments.items() for name, tensor in own.items()}


def load_optimizer(optimizer: Adam, tensors: dict[str, Tensor]) -> None:
    """Put saved state back, each tensor to the device of its parameter; into the tensors that are there, if any are."""
    for kind in _KINDS:
        own = optimizer.moments.setdefault(kind, {})
        for name, parameter in optimizer.parameters.items():
            tensor = tensors.get(f"{kind}.{name}")
            if tensor is None or (kind != "step" and tensor.shape != parameter.shape):
                raise CheckpointError(f"the optimiser's state holds no fitting {kind} for {name}")
            own[name] = own[name].copy_(tensor) if name in own else tensor.to(parameter.device, copy=True)
