"""How fast this machine trains and translates, and what holds it back: a minute's measurement on words without meaning.

Sentences are drawn with the lengths of real ones. Batches, trainer and search are those of `heedful train` and
`heedful translate`. What is paid once, compiling and capturing, is left out of the speeds and told beside them.

The time of either has three parts. Arithmetic: its operations at the rate of a large matrix product, measured here. In
training, overhead is what a step takes whatever the size of its batch, by a step of one sentence, and memory the rest,
in which numbers are fetched and written rather than computed with (norms, softmax, dropout, Adam, thin products). In
translating, memory is the time to read the decoder's weights for every position, and overhead the rest.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from heedful.background import Report
from heedful.config import Config
from heedful.data.corpus import Corpus, Lengths, Side
from heedful.data.manifest import SIDES, StoredVocabularies, StoredVocabulary
from heedful.model.attention_kernels import padded_attention
from heedful.model.transformer import Transformer
from heedful.planning.probe import matmul_flops, seconds_of
from heedful.presets import parameter_count
from heedful.search.engine import Sentence
from heedful.search.model_search import SLOTS, ModelSearch, in_half_precision
from heedful.search.options import SearchOptions
from heedful.training.batches import Batches, StepBatch, prefetched
from heedful.training.flops import batch_flops
from heedful.training.machine import device_name
from heedful.training.metrics import Results
from heedful.training.setup import trainer_alone
from heedful.training.step import precision_for

_PAIRS = 20_000
_MEAN, _SPREAD, _SHORTEST, _LONGEST = 3.1, 0.6, 3, 120
"""Of the logarithm of a sentence's subwords: 27 on average, as in news; and the limits of what is drawn."""
_WARM_UP = {"cpu": 1, "cuda": 16}
"""Steps before time counts; on a GPU the same batches are then taken again, whose graphs are captured by then."""
_FEWEST = 3
"""Steps, or groups of sentences, however long they take."""
_WAITING = 0.9
"""Where making batches takes this share of the time, though it is done meanwhile, the rest waits for it."""
_COPIED = {"cpu": 1 << 26, "cuda": 1 << 30}
"""Bytes of the array whose copying says how fast memory is: more than any cache holds."""
_EFFICIENCY = 0.5
"""What a step is guessed to reach of a large product's rate, to choose a step that leaves time for several."""


@dataclass(frozen=True)
class Work:
    """What was measured of training, or of translating."""

    source_tokens_per_second: float
    target_tokens_per_second: float
    parts: dict[str, float]
    """Shares of the time: arithmetic, which is the share of the peak that is reached, memory, overhead."""
    bound: str
    """The largest part; or input, where batches are made more slowly than they are used."""
    seconds: float
    warm_up_seconds: float
    """Not counted: starting, compiling, capturing."""
    input_share: float = 0.0
    """What making batches takes of the time; it is done meanwhile."""


@dataclass(frozen=True)
class Bench:
    """A machine, a model, and how they get along."""

    device: str
    precision: str
    parameters: int
    vocab_size: int
    step_tokens: int
    """Target tokens of a step at most: the configuration's, or fewer where those would take too long."""
    matmul_flops: float
    """Operations a second of a large matrix product."""
    memory_bytes: float
    """Bytes a second, read and written, of copying."""
    training: Work
    translating: Work


class GeneratedCorpus(Corpus):
    """Pairs of random words in memory, of lengths as real text has them, a side about as long as the other."""

    def __init__(self, *, vocab_size: int, seed: int, pairs: int = _PAIRS) -> None:
        rng = np.random.default_rng(seed)
        self.split, drawn = "generated", rng.normal(_MEAN, _SPREAD, pairs)
        sides = (np.exp(drawn + rng.normal(0, 0.15, pairs)) for _ in range(2))
        self.source, self.target = (_random_side(side, vocab_size=vocab_size, rng=rng) for side in sides)
        one = StoredVocabulary("tokenizer", vocab_size)
        self.manifest: Any = SimpleNamespace(vocabularies=StoredVocabularies(one, one))

    def __len__(self) -> int:
        return len(self.source.id_counts)


@dataclass(frozen=True)
class _Measuring:
    """What both measurements need."""

    config: Config
    corpus: Corpus
    device: torch.device
    peak: float
    memory: float
    seconds: float
    report: Report

    def once(self, stage: str, work: Callable[[], object]) -> float:
        """The seconds that work takes, which is done before time counts."""
        self.report(f"{stage}: warming up", 0, None)
        seconds = seconds_of(work, self.device)
        self.report(f"{stage}: warming up", round(seconds), round(seconds))
        return seconds

    def repeated(self, stage: str, work: Callable[[], object]) -> float:
        """Do work until the time is up, and a few times at least; returns the seconds that it took."""
        began = time.perf_counter()
        for times in itertools.count(1):
            work()
            elapsed = time.perf_counter() - began
            self.report(stage, round(min(elapsed, self.seconds)), round(self.seconds))
            if times >= _FEWEST and elapsed >= self.seconds:
                break
        seconds_of(lambda: None, self.device)  # until the device has done everything too
        return time.perf_counter() - began

    def flops(self, lengths: Lengths) -> float:
        return batch_flops(self.config.model, vocab_size=self.config.data.vocab_size, lengths=lengths)


def bench(config: Config, *, device: torch.device, seconds: float, report: Report) -> Bench:
    """Measure this machine with a model, for about so many seconds in training and in translating."""
    precision, training, size = precision_for(config, device), config.training, config.data.vocab_size
    peak, memory = matmul_flops(device, precision.dtype), _copied_bytes(device)
    corpus = GeneratedCorpus(vocab_size=size, seed=training.seed)
    given = _Measuring(config, corpus, device, peak, memory, seconds, report)
    affordable = _EFFICIENCY * peak * seconds / (2 * _FEWEST) / given.flops(corpus.lengths) * corpus.lengths.totals[1]
    tokens = max(2 * _LONGEST, min(training.target_tokens, int(affordable) // 256 * 256))
    training = replace(training, source_tokens=tokens, target_tokens=tokens)
    return Bench(
        device=device_name(device),
        precision=str(precision.dtype).removeprefix("torch."),
        parameters=parameter_count(config.model, vocab_size=size),
        vocab_size=size,
        step_tokens=tokens,
        matmul_flops=peak,
        memory_bytes=memory,
        training=_training(replace(given, config=replace(config, training=training))),
        translating=_translating(given, half=precision.half),
    )


def _training(given: _Measuring) -> Work:
    config, corpus, device = given.config, given.corpus, given.device
    trainer, batches = trainer_alone(config, corpus, device=device)
    warm_up = range(1, _WARM_UP[device.type] + 1)
    warm_up_seconds = given.once("training", lambda: [trainer.step(batches.step(step)) for step in warm_up])
    results, taken = Results(), []
    with contextlib.closing(_endless(batches, last=warm_up[-1] if device.type == "cuda" else 10**6)) as source:

        def step() -> None:
            batch = next(source)
            results.add(batch, trainer.step(batch))
            taken.extend(result.batch for result in results.arrived())  # as training: nobody runs far ahead of a GPU

        seconds = given.repeated("training", step)
    taken += [result.batch for result in results.arrived(all_of_them=True)]
    one = _one_pair(batches)
    alone, update, made = (
        min(seconds_of(work, device) for _ in range(4)) / seconds * len(taken)  # the first ones compile and capture
        for work in (
            lambda: trainer.step(one),
            lambda: trainer.step(replace(one, micro_batches=[])),
            lambda: batches.step(1),
        )
    )
    arithmetic = sum(given.flops(corpus.lengths.of(batch.pairs)) for batch in taken) / given.peak / seconds
    overhead = max(0.0, alone - update)
    parts = {"arithmetic": arithmetic, "memory": max(0.0, 1 - arithmetic - overhead), "overhead": overhead}
    source_tokens, target_tokens = (sum(getattr(batch, f"{side}_tokens") for batch in taken) for side in SIDES)
    bound = "input" if made > _WAITING else max(parts, key=parts.__getitem__)
    return Work(source_tokens / seconds, target_tokens / seconds, parts, bound, seconds, warm_up_seconds, made)


def _translating(given: _Measuring, *, half: bool) -> Work:
    config, corpus, on_cuda = given.config, given.corpus, given.device.type == "cuda"
    if on_cuda:  # what training's graphs held is needed now
        gc.collect()
        torch.cuda.empty_cache()
    attention = padded_attention(config.model)
    model = Transformer(config.model, vocab_size=config.data.vocab_size, attention=attention).to(given.device)
    spelled = [b"", b"", b"", *(f" w{number}".encode() for number in range(3, config.data.vocab_size))]
    model = in_half_precision(model) if half else model
    search = ModelSearch(model, half=half, graphs=on_cuda, subwords=spelled)
    # A model that has learned nothing never ends by itself: its outputs are as long as their inputs.
    options = SearchOptions.of(replace(config.search, max_extra_length=0))
    sentences = [Sentence(number, ids) for number, ids in enumerate(corpus.source.sentences(len(corpus) // 4))]
    sentences.sort(key=lambda sentence: len(sentence.source))  # as the lines of a long text are
    slots = SLOTS[given.device.type]
    groups = [sentences[begin : begin + slots] for begin in range(0, len(sentences), slots)]
    order = itertools.cycle(np.random.default_rng(1).permutation(len(groups)).tolist())
    few = sentences[:: len(sentences) // 64] if on_cuda else sentences[:4]  # a GPU has graphs for each class of length
    warm_up_seconds = given.once("translating", lambda: list(search.search(few, options)))
    done: list[tuple[int, int]] = []
    positions: list[int] = []

    def group() -> None:
        chosen = groups[next(order)]
        done.extend((len(found.source), len(best[0].ids)) for found, best in search.search(chosen, options) if best)
        positions.append(len(chosen[-1].source) + 1)

    seconds = given.repeated("translating", group)
    source, target = np.array(done).T + 1  # each with its end
    encoding, greedy = (given.flops(Lengths(source, each)) / 3 for each in (0 * target, target))  # forward alone
    arithmetic = (encoding + options.beams * (greedy - encoding)) / given.peak / seconds
    weights = [*model.decoder.parameters(), model.embedding.weight]
    read = sum(weight.numel() for weight in weights) * (2 if half else 4)
    memory = sum(positions) * read / given.memory / seconds
    parts = {"arithmetic": arithmetic, "memory": memory, "overhead": max(0.0, 1 - arithmetic - memory)}
    bound = max(parts, key=parts.__getitem__)
    return Work(source.sum() / seconds, target.sum() / seconds, parts, bound, seconds, warm_up_seconds)


def _random_side(lengths: np.ndarray, *, vocab_size: int, rng: np.random.Generator) -> Side:
    counts = np.clip(lengths, _SHORTEST, _LONGEST).astype(np.int64)
    ids = rng.integers(3, vocab_size, int(counts.sum()), dtype=np.int32)
    return Side(counts, np.cumsum(counts) - counts, (ids,), np.zeros(1, np.int64))


def _one_pair(batches: Batches) -> StepBatch:
    """A step of one pair of middling length."""
    lengths = batches.corpus.lengths
    pair = np.argsort(lengths.source)[len(lengths) // 2 :][:1]
    source, target = lengths.of(pair).totals
    return StepBatch(1, [batches.micro_batch(0, pair)], target, source, pair)


def _endless(batches: Batches, *, last: int) -> Generator[StepBatch, None, None]:
    """The batches of the steps up to the last, again and again, made as training makes them."""
    while True:
        yield from prefetched(batches, first=1, last=last)


def _copied_bytes(device: torch.device) -> float:
    """Bytes a second that are read and written when an array is copied, the best of a few."""
    size = _COPIED[device.type]
    here, there = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
    return 2 * size / min(seconds_of(lambda: there.copy_(here), device) for _ in range(4))
