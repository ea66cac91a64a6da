"""Attention maps with the habits that heads of trained models have, for the tests of what shows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heedful.search.attention_maps import AttentionMaps
from heedful.symbols import END_LABEL

HOSTILE = [
    ' </script><script>alert("1")</script>',
    " <!--",
    "'\"&amp;",
    "{{data}}",
    "\\u003c",
    " שלום",
    "\u202eright",
    "\u0301",
    "\u200b",
    "\n",
    "\u2028",
    "中文",
    " 👩‍👩‍👧",
    " $x^",
    "x" * 99,
    " ⟨e2 82⟩",
]


def toy_maps(
    source: Sequence[str], target: Sequence[str], *, layers: int = 2, heads: int = 3, seed: int = 1
) -> AttentionMaps:
    """Maps of a sentence and its translation (subwords without the end symbol)."""
    draw = np.random.default_rng(seed)
    S, T = len(source) + 1, len(target) + 1
    shape = (layers, heads)
    return AttentionMaps(
        source_text="".join(source).removeprefix(" "),
        target_text="".join(target).removeprefix(" "),
        source=[*source, END_LABEL],
        target=[*target, END_LABEL],
        encoder=_weights(draw, (*shape, S, S)),
        decoder=_weights(draw, (*shape, T, T), causal=True),
        cross=_weights(draw, (*shape, T, S)),
        log_probability=-3.25,
        score=-1.5,
    )


def _weights(draw: np.random.Generator, shape: tuple[int, int, int, int], *, causal: bool = False) -> np.ndarray:
    """A softmax of noise and one habit a head: near a shifted diagonal, at the last position, or none."""
    layers, heads, queries, keys = shape
    place = (np.arange(queries) + 0.5)[:, None] * keys / queries - 0.5
    scores = draw.normal(0, 1.0, shape)
    for layer, head in np.ndindex(layers, heads):
        shift, sharpness = draw.integers(-1, 2), draw.uniform(0.5, 6)
        habit = -np.abs(place + shift - np.arange(keys)[None, :])
        if head % 3 == 1:
            habit = np.where(np.arange(keys) == keys - 1, 2.0, 0.0)[None, :].repeat(queries, 0)
        scores[layer, head] += sharpness * habit * (head % 3 != 2)
    if causal:
        scores = np.where(np.tri(queries, keys, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
