"""Section 6.1: the length penalty of Wu et al. (2016), lp(Y) = ((5 + |Y|) / 6)^α, and what it allows to be proven.

A hypothesis is ranked by log P(Y) / lp(Y). |Y| counts the end symbol, as log P does.
"""

from __future__ import annotations

import torch
from torch import Tensor


def length_penalty(length: Tensor, alpha: float, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """What a log-probability is divided by.

    >>> length_penalty(torch.tensor([1, 7]), 1.0)
    tensor([1., 2.], dtype=torch.float64)
    """
    return (((5.0 + length.double()) / 6.0) ** alpha).to(dtype)


def best_possible(log_probability: Tensor, limit: Tensor, alpha: float) -> Tensor:
    """The highest score that any completion of a hypothesis can get.

    Words to come can only lower its log-probability, and no output is longer than the limit and an end symbol: a
    negative number divided by the largest penalty is the best there can be.
    """
    return log_probability / length_penalty(limit + 1, alpha, dtype=log_probability.dtype)
