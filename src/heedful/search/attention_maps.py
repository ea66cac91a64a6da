"""Every attention weight of one sentence and its translation, which the search found or somebody gave.

What is made of the weights is here, and needs no torch; `scoring` computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.config import ModelConfig
from heedful.errors import SearchError
from heedful.evaluation.alignments import Links, Word, aligning_layer, hard_alignment, soft_alignment, word_weights
from heedful.symbols import END_LABEL
from heedful.text.closed_vocabulary import Vocabulary
from heedful.text.subwords import Subwords

_MOST_SHOWN_TOKENS = 1024
"""Of a given translation whose every attention weight is shown."""


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Every attention weight of one translated sentence."""

    source_text: str
    target_text: str
    source: list[str]
    """The source's S subwords as text, a leading space kept, ``⟨end⟩`` last."""
    target: list[str]
    """The T subwords that were produced, ``⟨end⟩`` last."""
    encoder: np.ndarray
    """[layers, heads, S, S] float32: a row is what one position attends to, and sums to 1."""
    decoder: np.ndarray
    """[layers, heads, T, T]: the row of the position that produces ``target[t]``; the columns are what it has been
    given, the start symbol and then ``target[0]``, …; zero right of the diagonal."""
    cross: np.ndarray
    """[layers, heads, T, S]"""
    log_probability: float
    score: float


Weights = dict[str, np.ndarray]
Read = Callable[[np.ndarray, np.ndarray], tuple[float, Weights]]
"""From a source and a translation to what `heedful.search.scoring.attention_weights` gives."""


def attention_maps(
    read: Read, texts: tuple[str, str], ids: tuple[np.ndarray, np.ndarray], subwords: tuple[Subwords, Vocabulary]
) -> AttentionMaps:
    """The weights with which a sentence and its translation are read, of texts, ids and subwords of both sides."""
    log_probability, weights = read(*ids)
    source, target = ([*own.pieces(some), END_LABEL] for own, some in zip(subwords, ids, strict=True))
    return AttentionMaps(*texts, source, target, **weights, log_probability=log_probability, score=log_probability)


def require_shown(config: ModelConfig, length: int) -> None:
    """Raise where a given translation of so many subwords, its end included, is too long to be shown."""
    most = min(_MOST_SHOWN_TOKENS, config.max_positions if config.positions == "learned" else _MOST_SHOWN_TOKENS)
    if length > most:
        weights = config.decoder_layers * config.num_heads * length**2 * 4
        raise SearchError(
            f"the translation has {length:,} subwords, its end included, whose weights alone take "
            f"{weights / 2**30:,.1f} GiB; at most {most:,} can be shown: give a shorter one"
        )


def word_links(
    read: Read,
    ids: tuple[np.ndarray, np.ndarray],
    words: tuple[Sequence[Word], Sequence[Word]],
    *,
    layer: int | None = None,
) -> Links:
    """Which source word each target word attends to most, of ids and words of both sides.

    ``layer``: the decoder layer that is asked, counted from 1; `aligning_layer` when not given.
    """
    if not all(words):
        return frozenset()
    cross_LHTS = read(*ids)[1]["cross"]
    cross_HTS = cross_LHTS[(layer or aligning_layer(len(cross_LHTS))) - 1]
    return hard_alignment(word_weights(soft_alignment(cross_HTS), source=words[0], target=words[1]))
