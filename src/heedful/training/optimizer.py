"""Section 5.3, Equation 3: the learning rate, a pure function of the step."""

from __future__ import annotations

from heedful.errors import HeedfulError


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
