"""What a model thinks of translations that are given: the log-probability of every subword (forced decoding).

And with which attention it reads them: the weights are those of the search, computed for all positions at once; a test
compares them with its own.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.background import Report
from heedful.errors import SearchError
from heedful.evaluation.translation_scores import perplexity
from heedful.model.attention_kernels import Attend, AttentionChoice, Where, equation_1_choice
from heedful.model.masks import Layout, padded_layout
from heedful.model.transformer import Transformer
from heedful.search.attention_maps import Weights
from heedful.search.cached_decoder import padded_ids
from heedful.search.ensemble import mean_scores
from heedful.symbols import START
from heedful.text.cleaning import clean_line
from heedful.text.subwords import Subwords

_MOST_SCORES = 1 << 25
"""Scores (tokens × vocabulary) that are held at a time."""


@dataclass(frozen=True)
class Scored:
    """What a model thinks of a given translation."""

    log_probability: float
    """Of all its subwords and the end symbol."""
    token_log_probabilities: tuple[float, ...]
    """Of each subword, and last of the end symbol."""
    pieces: tuple[str, ...]
    """The subwords as text; the end symbol is not among them."""

    @property
    def tokens(self) -> int:
        """Subwords, and one for the end symbol."""
        return len(self.token_log_probabilities)


def scored_pairs(
    models: Sequence[Transformer],
    pairs: Iterable[tuple[str, str]],
    subwords: tuple[Subwords, Subwords],
    *,
    most: int,
    together: int,
    half: bool = False,
) -> Iterator[Scored]:
    """What the models think of each target as a translation of its source.

    ``most``: subwords of a side, its end included. ``together``: pairs that are read before the first is scored.
    """
    pairs = iter(pairs)
    first = 1
    while block := list(itertools.islice(pairs, together)):
        sources, targets = (own.encode([clean_line(pair[side]) for pair in block]) for side, own in enumerate(subwords))
        longest = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
        too_long = next((place for place, length in enumerate(longest) if length > most), None)
        given = list(zip(sources, targets, strict=True))[:too_long]
        for (_, ids), values in zip(given, forced_log_probabilities(models, given, half=half), strict=True):
            yield Scored(float(values.sum()), tuple(map(float, values)), tuple(subwords[1].pieces(ids)))
        if too_long is not None:
            raise SearchError(
                f"line {first + too_long:,} has {longest[too_long]:,} subwords, its end included; at most {most:,} "
                "can be scored: cut it, or leave it out"
            )
        first += len(block)


def likelihood(scored: Iterable[Scored], references: Sequence[str], *, report: Report) -> dict[str, float | None]:
    """How probable a model finds all of the references, out of each one's scores; null for what is not finite."""
    total, subwords, words = 0.0, 0, sum(len(line.split()) + 1 for line in references)
    for done, own in enumerate(scored, start=1):
        total, subwords = total + own.log_probability, subwords + own.tokens
        report("reading the references", done, len(references))
    per = {"per_subword": perplexity(-total, subwords), "per_word": perplexity(-total, words)}
    numbers = {**per, "log_probability": total, "subwords": subwords, "words": words}
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


@torch.inference_mode()
def forced_log_probabilities(
    models: Sequence[Transformer], pairs: Sequence[tuple[np.ndarray, np.ndarray]], *, half: bool = False
) -> list[np.ndarray]:
    """For each pair of ids (without control ids) the log-probability of each target word, and last of the end.

    That of several models is what it is in a search with them (`heedful.search.ensemble`).
    """
    results: list[np.ndarray] = [np.empty(0)] * len(pairs)
    weight = models[0].embedding.weight
    device = weight.device
    for numbers in _batches(pairs, vocab_size=weight.size(0)):
        sources, targets = ([pairs[number][side] for number in numbers] for side in (0, 1))
        source = torch.from_numpy(padded_ids(sources, max(map(len, sources)) + 1)).to(device)
        wanted = torch.from_numpy(padded_ids(targets, max(map(len, targets)) + 1)).to(device)
        given = wanted.roll(1, dims=1)
        given[:, 0] = START
        # Rows end in their end symbol, which after the shift stands one place too far: nothing attends to it.
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            source_layout, target_layout = padded_layout(source), padded_layout(given)
            logits = mean_scores(_scores(model, (source, source_layout), (given, target_layout)) for model in models)
        chosen = logits.gather(2, wanted[..., None]).squeeze(2) - logits.logsumexp(-1)
        for row, number in enumerate(numbers):
            results[number] = chosen[row, : len(pairs[number][1]) + 1].double().cpu().numpy()
    return results


def _scores(model: Transformer, source: tuple[Tensor, Layout], target: tuple[Tensor, Layout]) -> Tensor:
    """Of every word after each of the target's, in float32 at least."""
    memory = model.encode(*source)
    logits = model.embedding.logits(model.decode(target[0], memory, target[1], source[1]))
    return logits if logits.dtype == torch.float64 else logits.float()


def _batches(pairs: Sequence[tuple[np.ndarray, np.ndarray]], *, vocab_size: int) -> Iterator[list[int]]:
    """Numbers of pairs of similar length, so many that their scores can be held."""
    order = sorted(range(len(pairs)), key=lambda number: (len(pairs[number][1]), len(pairs[number][0])))
    batch: list[int] = []
    for number in order:
        longest = len(pairs[number][1]) + 1
        if batch and (len(batch) + 1) * longest * vocab_size > _MOST_SCORES:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


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
