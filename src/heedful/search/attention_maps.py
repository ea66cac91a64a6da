"""Every attention weight of one sentence and its translation, which the search found or somebody gave.

The weights are those of the search, computed for all positions at once; a test compares them with its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.config import ModelConfig
from heedful.errors import SearchError
from heedful.evaluation.alignments import Links, Word, aligning_layer, hard_alignment, soft_alignment, word_weights
from heedful.model.attention_kernels import Attend, AttentionChoice, Where, equation_1_choice
from heedful.model.transformer import Transformer
from heedful.search.scoring import forced_log_probabilities
from heedful.symbols import END_LABEL
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
"""From a source and a translation to what `attention_weights` gives."""


def attention_maps(
    read: Read, texts: tuple[str, str], ids: tuple[np.ndarray, np.ndarray], subwords: tuple[Subwords, Subwords]
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


def attention_weights(
    model: Transformer, source: np.ndarray, target: np.ndarray, *, half: bool = False
) -> tuple[float, Weights]:
    """The log-probability of a translation and the weights with which the model reads it, by `AttentionMaps`' names."""
    with _recorded(model) as seen:
        values = forced_log_probabilities([model], [(source, target)], half=half)[0]
    layers = model.config.encoder_layers
    weights = {
        "encoder": _stacked(seen[:layers], len(source) + 1),
        "decoder": _stacked(seen[layers::2], len(target) + 1),
        "cross": _stacked(seen[layers + 1 :: 2], len(target) + 1, len(source) + 1),
    }
    return float(values.sum()), weights


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


def _stacked(seen: list[Tensor], queries: int, keys: int | None = None) -> np.ndarray:
    """The weights of all layers for the first sentence, without padding."""
    return torch.stack([weights[0, :, :queries, : keys or queries] for weights in seen]).numpy()


@contextlib.contextmanager
def _recorded(model: Transformer) -> Iterator[list[Tensor]]:
    """While this is open the model computes attention as Equation 1 is printed, and its weights go into the list."""
    seen: list[Tensor] = []
    chosen, printed = model.attention, equation_1_choice(model.config)

    def recording(attend: Attend) -> Attend:
        def attend_and_record(q: Tensor, k: Tensor, v: Tensor, where: Where = None, *, dropout: float = 0.0):
            output, weights = attend(q, k, v, where, dropout=dropout)
            assert weights is not None, "Equation 1 forms its weights"
            seen.append(weights.float().cpu())
            return output, weights

        return attend_and_record

    attends = recording(printed.self_attend), recording(printed.cross_attend)
    model.use(AttentionChoice(printed.layout, printed.kernel, printed.why, *attends))
    try:
        yield seen
    finally:
        model.use(chosen)
