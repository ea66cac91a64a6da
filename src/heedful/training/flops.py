"""How many floating-point operations a training step takes, by arithmetic alone.

A multiplication and its addition are two operations. Only matrix products are counted: everything else (norms,
softmax, dropout, Adam) is below 1 % of them. The backward pass takes two products for each one of the forward pass, so
a step is three times the forward pass.

Attention is counted as Equation 1 is printed: all scores of a sentence, also those that causality throws away (a kernel
that skips them does up to half of the decoder's share less). Restricted attention counts the scores within reach, on
both sides of each position. Filling is not counted: it is work that a batch wastes, not work that the model needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heedful.config import ModelConfig
from heedful.data.corpus import Lengths

BACKWARD = 2
"""Products of the backward pass for each of the forward pass: one for the input's gradient, one for the matrix's."""
SCORES_AT_ONCE_ON_CUDA = 1 << 27
"""Scores of the loss that are held at a time there: enough to keep a GPU busy."""
WORKING_MEMORIES_OF_GRAPHS = 2
"""What capturing CUDA graphs takes: the graphs' own stays theirs while the next shape is warmed up beside it."""


@dataclass(frozen=True)
class Scores:
    """Pairs of a query and a key, in one head of one layer: what attention's cost is proportional to."""

    encoder: float
    decoder: float
    cross: float


def attention_scores(source_lengths: np.ndarray, *, target_lengths: np.ndarray, neighbourhood: int = 0) -> Scores:
    """The scores of sentences of these lengths.

    >>> attention_scores(np.array([3, 4]), target_lengths=np.array([2, 2]))
    Scores(encoder=25.0, decoder=8.0, cross=14.0)

    With a neighbourhood of 2 each position meets itself and its two neighbours, less those beyond the edges:

    >>> attention_scores(np.array([3, 4]), target_lengths=np.array([2, 2]), neighbourhood=2).encoder
    17.0
    """
    source, target = source_lengths.astype(np.float64), target_lengths.astype(np.float64)
    cross = float((source * target).sum())
    return Scores(float(_within(source, neighbourhood).sum()), float(_within(target, neighbourhood).sum()), cross)


def step_flops(
    model: ModelConfig, *, vocab_size: int, source_tokens: float, target_tokens: float, scores: Scores
) -> float:
    """Operations of forward and backward for a batch of so many tokens; ``scores`` are those of its sentences."""
    d, heads, d_k, d_v = model.d_model, model.num_heads, model.key_size, model.value_size
    query = d * heads * d_k
    key_and_value = d * heads * (d_k + d_v)
    output = heads * d_v * d
    feed_forward = 2 * d * model.d_ff
    encoder_token = model.encoder_layers * (query + key_and_value + output + feed_forward)
    decoder_token = model.decoder_layers * (2 * (query + output) + key_and_value + feed_forward)
    memory_token = model.decoder_layers * key_and_value
    score = heads * (d_k + d_v)
    attention = score * (model.encoder_layers * scores.encoder + model.decoder_layers * (scores.decoder + scores.cross))
    forward = (encoder_token + memory_token) * source_tokens + (decoder_token + d * vocab_size) * target_tokens
    return 2.0 * (1 + BACKWARD) * (forward + attention)


def batch_flops(model: ModelConfig, *, vocab_size: int, lengths: Lengths) -> float:
    """Operations of forward and backward for sentences of these lengths."""
    source_tokens, target_tokens = lengths.totals
    scores = attention_scores(lengths.source, target_lengths=lengths.target, neighbourhood=model.neighbourhood)
    sizes = {"source_tokens": source_tokens, "target_tokens": target_tokens}
    return step_flops(model, vocab_size=vocab_size, scores=scores, **sizes)


def paper_flops(*, gpus: int = 8, hours: float = 12.0, tflops: float = 9.5) -> float:
    """Table 2's accounting: the GPUs, times how long they were taken, times what one of them can sustain.

    >>> f"{paper_flops():.1e}", f"{paper_flops(hours=3.5 * 24):.1e}"  # the base and the big model on 8 P100
    ('3.3e+18', '2.3e+19')
    """
    return gpus * hours * 3600 * tflops * 1e12


def _within(lengths: np.ndarray, neighbourhood: int) -> np.ndarray:
    """Pairs of positions of one sentence that are at most half the neighbourhood apart; all for 0."""
    if not neighbourhood:
        return lengths**2
    reach = np.minimum(neighbourhood // 2, lengths)
    return lengths * (2 * reach + 1) - reach * (reach + 1)
