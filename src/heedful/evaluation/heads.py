"""What one attention head does, in two numbers: how far it looks, and how widely.

Works on arrays of weights alone and does not know which model or sentence they come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Head:
    """The numbers of one head; layers and heads are counted from 1."""

    layer: int
    head: int
    distance: float
    """Mean distance from a query to what it attends to, in positions of the keys."""
    entropy: float
    """Mean entropy of a query's weights, in nats: 0 where it attends to one position only."""
    entropy_share: float
    """The entropy as a share of that of even weights: 0 to 1."""


def head_table(weights: np.ndarray, *, causal: bool = False) -> list[Head]:
    """The numbers of each head of ``[layers, heads, queries, keys]``, layer by layer.

    With ``causal``, query t has only the keys 0 to t to choose from, which is what its entropy is compared with.
    """
    distances, entropies = mean_distances(weights), mean_entropies(weights)
    even = even_entropy(*weights.shape[-2:], causal=causal) or math.inf  # of one key alone: nothing to choose from
    found = zip(np.ndindex(*distances.shape), distances.flat, entropies.flat, strict=True)
    return [
        Head(layer + 1, head + 1, float(distance), float(entropy), float(entropy) / even)
        for (layer, head), distance, entropy in found
    ]


def mean_distances(weights: np.ndarray) -> np.ndarray:
    """Mean |key − query| under the weights, ``[..., queries, keys]`` to ``[...]``.

    Where there are other numbers of queries and keys (cross-attention), it is the distance from the diagonal: query t
    of T stands at (t + ½) · S / T − ½ among S keys, which is t itself for T = S.

    >>> mean_distances(np.array([[0.0, 1.0], [1.0, 0.0]]))  # each looks at the other
    array(1.)
    """
    queries, keys = weights.shape[-2:]
    place = (np.arange(queries) + 0.5) * keys / queries - 0.5
    distance = np.abs(place[:, None] - np.arange(keys)[None, :])
    return np.asarray((weights.astype(np.float64) * distance).sum(-1).mean(-1))


def mean_entropies(weights: np.ndarray) -> np.ndarray:
    """Mean over the queries of −Σ w ln w, in nats, ``[..., queries, keys]`` to ``[...]``.

    >>> mean_entropies(np.array([[0.5, 0.5], [1.0, 0.0]]))  # ln 2 and 0
    array(0.34657359)
    """
    exact = weights.astype(np.float64)
    logarithms = np.log(exact, out=np.zeros_like(exact), where=exact > 0)  # 0 · ln 0 is 0
    # A weight rounded to a little above 1 would make a tiny negative entropy.
    return np.asarray(np.maximum(-(exact * logarithms).sum(-1), 0.0).mean(-1))


def even_entropy(queries: int, keys: int, *, causal: bool = False) -> float:
    """The mean entropy of queries that attend evenly to all they may attend to."""
    choices = np.arange(1, queries + 1) if causal else np.full(queries, keys)
    return float(np.log(choices).mean())
