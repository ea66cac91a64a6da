"""Scorers for tests of search: a made-up model that depends on every earlier word, and searches written plainly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from heedful.search.engine import Engine, Hypothesis, Sentence
from heedful.search.ensemble import Ensemble
from heedful.search.options import SearchOptions
from heedful.search.required import Term, required_shape
from heedful.search.spelling import Spelling
from heedful.symbols import END, PAD, START

Logits = Callable[[int, tuple[int, ...]], np.ndarray]
"""Scores of every next word, given the source and the words so far."""


def random_logits(seed: int, vocab_size: int, *, sharpness: float = 2.0, end: float = 0.0) -> Logits:
    """A model whose every prediction is random, and the same for the same words; ``end`` favours the end symbol."""
    known: dict[tuple[int, ...], np.ndarray] = {}

    def logits(source: int, words: tuple[int, ...]) -> np.ndarray:
        key = (source, *words)
        if key not in known:
            rng = np.random.default_rng(np.random.SeedSequence([seed, *key]))
            known[key] = rng.normal(size=vocab_size) * sharpness
            known[key][END] += end
        return known[key]

    return logits


class MadeUpScorer:
    """`random_logits` behind the interface of a model: it sees a slot's rows only, and must follow their table."""

    device = torch.device("cpu")
    dtype = torch.float64

    def __init__(self, logits: Logits, *, slots: int, beams: int, positions: int) -> None:
        self._logits = logits
        self._given = np.zeros((slots, beams, positions), np.int64)
        self._source = np.zeros(slots, np.int64)

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        self._source[slots.numpy()] = [int(source[0]) for source in sources]

    def step(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> Tensor:
        scores = []
        for b, (ids, length) in enumerate(zip(ids_BW.tolist(), length_B.tolist(), strict=True)):
            self._given[b, :, length] = ids
            for w in range(len(ids)):
                path = rows_BWT[b, w, : length + 1].numpy()
                words = self._given[b, path, np.arange(length + 1)]
                scores.append(self._logits(int(self._source[b]), tuple(words[1:].tolist())))
        return torch.from_numpy(np.stack(scores)).view(*ids_BW.shape, -1)

    def read(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> None:
        self._drafts = [
            self.step(ids_BW[:, place, None], length_B + place, rows_BWT) for place in range(ids_BW.size(1))
        ]

    def scores(self, place: int) -> Tensor:
        return self._drafts[place]

    def move(self, slot: int, to: int, *, reach: int) -> None:
        self._given[to], self._source[to] = 0, self._source[slot]
        self._given[to, :, :reach] = self._given[slot, :, :reach]


def searched(
    logits: Logits | Sequence[Logits],
    sources: Sequence[int],
    options: SearchOptions,
    *,
    slots: int = 3,
    prefix: tuple[int, ...] = (),
    subwords: Sequence[bytes] = (),
    required: Sequence[tuple[Term, ...]] = (),
    avoided: tuple[int, ...] = (),
) -> list[list[Hypothesis]]:
    """The engine's results for sources of one id each, with a model, or with several together.

    ``subwords``: what the ids spell, or nothing. ``required``: what the output for each source must hold, or nothing.
    ``avoided``: what it then does not say.
    """
    required = required or [()] * len(sources)
    models = logits if isinstance(logits, Sequence) else [logits]
    spelling = Spelling.of(options.forbidden, subwords or [b""] * len(models[0](sources[0], ())))
    positions = options.limit(1) + 1
    scorers = [MadeUpScorer(one, slots=slots, beams=options.beams, positions=positions) for one in models]
    scorer = Ensemble(scorers) if len(scorers) > 1 else scorers[0]
    engine = Engine(
        scorer, options, slots=slots, positions=positions, spelling=spelling, required=required_shape(required)
    )
    sentences = [
        Sentence(number, np.array([source]), prefix, terms, avoided)
        for number, (source, terms) in enumerate(zip(sources, required, strict=True))
    ]
    found = {sentence.number: hypotheses for sentence, hypotheses in engine.run(sentences)}
    return [found[number] for number in range(len(sources))]


def log_softmax(logits: np.ndarray) -> np.ndarray:
    top = logits.max()
    return logits - top - np.log(np.exp(logits - top).sum())


def penalty(length: int, alpha: float) -> float:
    return ((5 + length) / 6) ** alpha


def every_output(logits: Logits, source: int, *, vocab_size: int, limit: int, alpha: float) -> list[tuple]:
    """(score, words) of every output there is, best first."""
    words = [word for word in range(vocab_size) if word not in (PAD, START, END)]
    outputs = []
    for length in range(limit + 1):
        for output in itertools.product(words, repeat=length):
            total = sum(log_softmax(logits(source, output[:place]))[word] for place, word in enumerate((*output, END)))
            outputs.append((total / penalty(length + 1, alpha), output))
    return sorted(outputs, key=lambda pair: -pair[0])


def plain_beam_search(
    logits: Logits, source: int, *, beam_size: int, limit: int, alpha: float, min_length: int = 0
) -> list[tuple]:
    """(score, words) of the finished hypotheses, best first: the same search on tuples, run to its very end."""
    live = [(0.0, ())]
    ended: list[tuple[float, tuple[int, ...]]] = []
    for length in range(limit + 1):
        candidates = []
        for total, words in live:
            values = log_softmax(logits(source, words))
            for word, value in enumerate(values):
                at_limit = length == limit
                if word in (PAD, START) or (word == END and length < min_length) or (at_limit and word != END):
                    continue
                candidates.append((total + value, words, word))
        candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * beam_size]
        ended += [(total / penalty(length + 1, alpha), words) for total, words, word in candidates if word == END]
        live = [(total, (*words, word)) for total, words, word in candidates if word != END][:beam_size]
    return sorted(ended, key=lambda pair: -pair[0])
