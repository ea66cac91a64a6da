"""The numbers of a head, on weights for which they are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.attention_toys import toy_maps

from heedful.evaluation.heads import Head, even_entropy, head_table, mean_distances, mean_entropies


def previous_token(n: int) -> np.ndarray:
    """Each position attends to the one before it, the first to itself."""
    return np.eye(n)[[0, *range(n - 1)]]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_closed_forms_of_self_attention(n: int) -> None:
    even = np.full((n, n), 1 / n)
    assert mean_distances(np.eye(n)) == 0
    assert mean_distances(previous_token(n)) == pytest.approx((n - 1) / n)
    assert mean_distances(even) == pytest.approx((n * n - 1) / (3 * n))  # the mean of |i − j| over all pairs
    assert mean_entropies(np.eye(n)) == mean_entropies(previous_token(n)) == 0
    assert mean_entropies(even) == pytest.approx(math.log(n))
    assert even_entropy(n, n) == pytest.approx(math.log(n))
    assert even_entropy(n, n, causal=True) == pytest.approx(math.lgamma(n + 1) / n)  # ln n! over n


def test_the_distance_of_cross_attention_is_from_the_scaled_diagonal() -> None:
    # Two target positions over four source positions stand at 0.5 and 2.5.
    diagonal = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    last = np.array([[0, 0, 0, 1.0], [0, 0, 0, 1.0]])
    assert mean_distances(diagonal) == pytest.approx(0.5)
    assert mean_distances(last) == pytest.approx((2.5 + 0.5) / 2)


def test_the_table_agrees_with_loops() -> None:
    maps = toy_maps([" a", "b", " c", " d"], [" x", " y"], layers=2, heads=3)
    for weights, causal in ((maps.encoder, False), (maps.decoder, True), (maps.cross, False)):
        queries, keys = weights.shape[-2:]
        rows = head_table(weights, causal=causal)
        assert [(row.layer, row.head) for row in rows] == [(layer, head) for layer in (1, 2) for head in (1, 2, 3)]
        for row in rows:
            distance = entropy = even = 0.0
            for query in range(queries):
                even += math.log(query + 1 if causal else keys) / queries
                for key in range(keys):
                    weight = float(weights[row.layer - 1, row.head - 1, query, key])
                    distance += weight * abs((query + 0.5) * keys / queries - 0.5 - key) / queries
                    entropy -= weight * math.log(weight) / queries if weight else 0.0
            assert (row.distance, row.entropy) == pytest.approx((distance, entropy), rel=1e-6)
            assert row.entropy_share == pytest.approx(entropy / even, rel=1e-6)


def test_even_causal_attention_has_the_whole_share() -> None:
    weights = np.tri(5) / np.arange(1, 6)[:, None]
    (row,) = head_table(weights[None, None], causal=True)
    assert row.entropy_share == pytest.approx(1)


def test_a_single_position_leaves_no_choice_and_divides_by_nothing() -> None:
    assert head_table(np.ones((1, 1, 1, 1))) == [Head(1, 1, 0.0, 0.0, 0.0)]
