"""Perplexity: how many words a model seems to hesitate between."""

from __future__ import annotations

import math


def perplexity(negative_log_likelihood: float, count: float) -> float:
    """exp of the mean negative log-likelihood; infinity where that is too large for a number.

    >>> round(perplexity(3 * math.log(7), 3), 6)
    7.0
    """
    mean = negative_log_likelihood / max(count, 1)
    return math.exp(mean) if mean < 700 else math.inf
