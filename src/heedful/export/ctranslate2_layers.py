"""Where CTranslate2 keeps the weights of a layer.

Its sub-layers own the norm that comes after them, its self-attention has one matrix for queries, keys and values as
ours, its cross-attention one for queries and one for keys and values. Nothing is imported here, so that the benchmarks
can use it where there is no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NEVER = -1e4
"""Added to the scores of the control ids that no output may hold."""


def fill_layer(layer: Any, weights: Mapping[str, Any], name: str, *, d_model: int) -> None:
    """Put the arrays of our layer of this name into a layer of CTranslate2's specification."""

    def linear(place: Any, which: str, rows: slice = slice(None)) -> None:
        place.weight, place.bias = (weights[f"{name}.{which}.{kind}"][rows].copy() for kind in ("weight", "bias"))

    def norm(place: Any, number: int) -> None:
        place.gamma, place.beta = (weights[f"{name}.add_and_norm_{number}.norm.{kind}"] for kind in ("weight", "bias"))

    linear(layer.self_attention.linear[0], "self_attention.w_qkv")
    linear(layer.self_attention.linear[1], "self_attention.w_o")
    norm(layer.self_attention.layer_norm, 1)
    last = 2
    if f"{name}.cross_attention.w_o.weight" in weights:
        linear(layer.attention.linear[0], "cross_attention.w_qkv", slice(d_model))
        linear(layer.attention.linear[1], "cross_attention.w_qkv", slice(d_model, None))
        linear(layer.attention.linear[2], "cross_attention.w_o")
        norm(layer.attention.layer_norm, 2)
        last = 3
    linear(layer.ffn.linear_0, "feed_forward.w_1")
    linear(layer.ffn.linear_1, "feed_forward.w_2")
    norm(layer.ffn.layer_norm, last)
