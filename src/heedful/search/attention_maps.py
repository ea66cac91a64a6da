"""Every attention weight of one translated sentence, taken from the computation that translated it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.errors import SearchError
from heedful.model.attention_kernels import Attend, AttentionChoice, Where, equation_1_choice
from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention
from heedful.model.transformer import Transformer
from heedful.search.engine import Hypothesis, Sentence
from heedful.search.model_search import ModelSearch, forced_log_probabilities
from heedful.search.options import SearchOptions


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


def attention_maps(search: ModelSearch, source: np.ndarray, options: SearchOptions) -> tuple[Hypothesis, Weights]:
    """The best hypothesis for a source and the weights with which it was found."""
    steps: list[Tensor] = []

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        output, weights = scaled_dot_product_attention(q, k, v, mask == 0)
        steps.append(weights[0].float().cpu())
        return output

    with _recorded(search.model) as seen:
        hypotheses = search.alone(Sentence(0, source), options, attend=attend)
        if not hypotheses:
            raise SearchError("no translation was found whose attention could be shown")
        best, layers = hypotheses[0], search.model.config.decoder_layers
        encoder = _stacked(seen, len(source) + 1)
    path, beams = torch.from_numpy(best.rows), options.beams
    count = len(path)
    size = search.model.config.num_heads
    decoder = np.zeros((layers, size, count, count), np.float32)
    cross = np.zeros((layers, size, count, len(source) + 1), np.float32)
    for position in range(count):
        for layer in range(layers):
            at = 2 * (position * layers + layer)
            row = path[position]
            own = steps[at][:, row].unflatten(-1, (-1, beams))  # [heads, positions, rows]
            earlier = torch.arange(position + 1)
            decoder[layer, :, position, : position + 1] = own[:, earlier, path[earlier]].numpy()
            cross[layer, :, position] = steps[at + 1][:, row, : len(source) + 1].numpy()
    return best, {"encoder": encoder, "decoder": decoder, "cross": cross}


def forced_maps(
    model: Transformer, source: np.ndarray, target: np.ndarray, *, half: bool = False
) -> tuple[Hypothesis, Weights]:
    """A given translation as a hypothesis, and the weights with which the model reads it."""
    with _recorded(model) as seen:
        values = forced_log_probabilities(model, [(source, target)], half=half)[0]
    layers = model.config.encoder_layers
    total = float(values.sum())
    hypothesis = Hypothesis(target, total, total, np.zeros(len(target) + 1, np.int64))
    weights = {
        "encoder": _stacked(seen[:layers], len(source) + 1),
        "decoder": _stacked(seen[layers::2], len(target) + 1),
        "cross": _stacked(seen[layers + 1 :: 2], len(target) + 1, len(source) + 1),
    }
    return hypothesis, weights


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
