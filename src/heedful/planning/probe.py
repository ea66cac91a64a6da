"""A short probe of how fast this machine trains a model: a few forward and backward passes over real batches.

Batches are laid out as training lays them out, but nothing is compiled and no optimiser steps, and a CPU gets only a
few sentences of a batch. What is measured is a rate in operations a second, which scales to any number of tokens.
"""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.config import Config
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.layouts import packed, padded, shape_of
from heedful.data.micro_batches import micro_batches
from heedful.data.shapes import shapes
from heedful.errors import HeedfulError
from heedful.model.attention_kernels import choose_attention
from heedful.model.masks import Layout, Packed, padded_layout
from heedful.model.transformer import Transformer
from heedful.training.flops import attention_scores, step_flops
from heedful.training.label_smoothing import label_smoothed_loss
from heedful.training.step import precision_for

STEPS = 3
"""Steps that are timed, after one that is not."""
CPU_FLOPS = 4e10
"""What a step on a CPU may take: about a second on a few cores."""
MATRIX = {"cpu": 1024, "cuda": 8192}
"""Size of the square matrices whose product says what a device can do at most."""


@dataclass(frozen=True)
class Probe:
    """What was measured here."""

    device: str
    half_precision: bool
    steps: int
    target_tokens: int
    seconds: float
    flops: float
    matmul_flops: float
    """Operations a second of a large matrix product."""

    @property
    def flops_per_second(self) -> float:
        return self.flops / self.seconds


@dataclass(frozen=True)
class Inputs:
    """A piece of a batch as the model takes it."""

    source: Tensor
    target: Tensor
    wanted: Tensor
    source_layout: Layout
    target_layout: Layout


def probe(
    corpus: Corpus, config: Config, *, schedule: Schedule, vocab_size: int, source_vocab_size: int | None
) -> Probe:
    """Time a few steps on the GPU of this machine, or on its CPU where there is none."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    half = precision_for(config, torch.device(device)).half
    attention = choose_attention(config.model, device=device, half_precision=half)
    model = Transformer(
        config.model, vocab_size=vocab_size, source_vocab_size=source_vocab_size, attention=attention
    ).to(device)
    seconds, flops, tokens = 0.0, 0.0, 0
    try:
        for number in range(STEPS + 1):
            pairs = _piece(corpus, config, schedule=schedule, vocab_size=vocab_size, step=number, device=device)
            inputs = _inputs(corpus, pairs, config, schedule=schedule, layout=attention.layout, device=device)
            took = _timed_step(model, inputs, half=half, device=device)
            if number:  # the first one pays for starting up
                seconds += took
                flops += _flops(corpus, pairs, config, vocab_size=vocab_size)
                tokens += corpus.lengths.of(pairs).totals[1]
        matmul = _matmul_flops(device, half=half)
    except torch.OutOfMemoryError:
        raise HeedfulError(
            f"a piece of a batch does not fit into this device's memory with training.micro_batches = "
            f"{config.training.micro_batches}: --set training.micro_batches={2 * config.training.micro_batches} or more"
        ) from None
    return Probe(device_name(device), half, STEPS, tokens, seconds, flops, matmul)


def device_name(device: str) -> str:
    """What the device is called."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"{torch.get_num_threads()} threads of a {platform.machine()} CPU"


def _piece(
    corpus: Corpus, config: Config, *, schedule: Schedule, vocab_size: int, step: int, device: str
) -> np.ndarray:
    """The pairs of a step's first piece; on a CPU as many of them as are done in about a second."""
    batch = schedule.batch(step % schedule.steps_per_epoch)
    pairs = micro_batches(batch, count=config.training.micro_batches, lengths=corpus.lengths)[0]
    pairs = pairs if len(pairs) else batch
    if device != "cpu":
        return pairs
    each = [_flops(corpus, pairs[i : i + 1], config, vocab_size=vocab_size) for i in range(min(len(pairs), 4096))]
    return pairs[: max(1, int(np.searchsorted(np.cumsum(each), CPU_FLOPS)))]


def _flops(corpus: Corpus, pairs: np.ndarray, config: Config, *, vocab_size: int) -> float:
    lengths = corpus.lengths.of(pairs)
    scores = attention_scores(lengths.source, target_lengths=lengths.target, neighbourhood=config.model.neighbourhood)
    return step_flops(
        config.model,
        vocab_size=vocab_size,
        source_tokens=lengths.totals[0],
        target_tokens=lengths.totals[1],
        scores=scores,
    )


def _inputs(
    corpus: Corpus, pairs: np.ndarray, config: Config, *, schedule: Schedule, layout: str, device: str
) -> Inputs:
    def sent(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(device)

    if layout != "packed":
        rows = padded(corpus, pairs)
        source, target = sent(rows.source), sent(rows.target_input)
        return Inputs(source, target, sent(rows.target_output), padded_layout(source), padded_layout(target))
    training = config.training
    budgets = {"source_budget": training.source_tokens, "target_budget": training.target_tokens}
    among = shapes(schedule.lengths.longest, micro_batches=training.micro_batches, **budgets)
    line = packed(corpus, pairs, shape=shape_of(pairs, lengths=corpus.lengths, among=among))
    source_layout, target_layout = (
        Packed(sent(offsets), tokens=len(ids), max_length=line.max_length)
        for offsets, ids in ((line.source_offsets, line.source), (line.target_offsets, line.target_input))
    )
    return Inputs(sent(line.source), sent(line.target_input), sent(line.target_output), source_layout, target_layout)


def _timed_step(model: Transformer, inputs: Inputs, *, half: bool, device: str) -> float:
    with _timer(device) as elapsed:
        with torch.autocast(device, torch.bfloat16, enabled=half):
            layouts = {"source_layout": inputs.source_layout, "target_layout": inputs.target_layout}
            logits = model(inputs.source, inputs.target, **layouts)
        loss, count = label_smoothed_loss(logits, inputs.wanted)
        (loss / count).backward()
    model.zero_grad()
    return elapsed[0]


def _matmul_flops(device: str, *, half: bool) -> float:
    """Operations a second of a large matrix product, the best of a few."""
    size = MATRIX[device]
    matrix = torch.ones(size, size, device=device, dtype=torch.bfloat16 if half else torch.float32)
    best = float("inf")
    for _ in range(4):
        with _timer(device) as elapsed:
            torch.mm(matrix, matrix)
        best = min(best, elapsed[0])
    return 2 * size**3 / best


@contextlib.contextmanager
def _timer(device: str) -> Iterator[list[float]]:
    """The seconds of a block, once it has ended on the device too."""
    elapsed: list[float] = []
    began = time.perf_counter()
    yield elapsed
    if device == "cuda":
        torch.cuda.synchronize()
    elapsed.append(time.perf_counter() - began)
