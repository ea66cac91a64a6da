"""Every attention weight of one translated sentence, from the very computation that translated it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Every attention weight of one translated sentence."""

    source_text: str
    target_text: str
    source: list[str]
    """The source's subwords as text, a leading space kept as is; the end symbol's label is the last. S of them."""
    target: list[str]
    """The subwords that were produced, the end symbol's label the last. T of them."""
    encoder: np.ndarray
    """``[layers, heads, S, S]``, float32: a row is a query and sums to 1."""
    decoder: np.ndarray
    """``[layers, heads, T, T]``: row t is the position that produces ``target[t]``; the columns are what it has been
    given, the start symbol, ``target[0]``, …; zero above the diagonal."""
    cross: np.ndarray
    """``[layers, heads, T, S]``."""
    log_probability: float
    score: float


def attention_maps(run: Path, sentence: str, *, target: str | None = None) -> AttentionMaps:
    """The maps of the translation that a run's model gives for a sentence, or of the given one."""
    raise NotImplementedError(f"{run}: the search that fills these maps is not written yet")
