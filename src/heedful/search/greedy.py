"""The most probable next word, again and again: the plainest search, for a look at a model in training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from heedful.model.attention_kernels import choose_attention
from heedful.model.masks import padded_layout
from heedful.model.transformer import Transformer
from heedful.symbols import END, PAD, START

AT_ONCE = 128
"""Sentences in a batch."""


@torch.no_grad()
def greedy_translations(
    model: Transformer, sources: Sequence[np.ndarray], *, max_extra_length: int = 50
) -> list[np.ndarray]:
    """For each source (ids without control ids) the ids of its translation, at most so much longer than the source."""
    device = model.embedding.weight.device
    chosen, training = model.attention, model.training
    # Not the layers that training compiled: they would be compiled once more for these shapes.
    with torch.compiler.set_stance("force_eager"):
        model.use(choose_attention(model.config, device=device, half_precision=False)).eval()
        try:
            order = np.argsort([-len(source) for source in sources], kind="stable")
            results: list[np.ndarray] = [np.empty(0, np.int64)] * len(sources)
            for begin in range(0, len(order), AT_ONCE):
                rows = order[begin : begin + AT_ONCE]
                found = _translated(model, [sources[row] for row in rows], max_extra_length, device)
                for row, ids in zip(rows, found, strict=True):
                    results[row] = ids
            return results
        finally:
            model.use(chosen).train(training)


def _translated(
    model: Transformer, sources: list[np.ndarray], max_extra_length: int, device: torch.device
) -> list[np.ndarray]:
    width = max(len(source) for source in sources) + 1
    source_BS = torch.full((len(sources), width), PAD)
    for row, source in enumerate(sources):
        source_BS[row, : len(source) + 1] = torch.tensor([*source.tolist(), END])
    source_BS = source_BS.to(device)
    layout = padded_layout(source_BS)
    memory = model.encode(source_BS, layout)
    target_BT = torch.full((len(sources), 1), START, device=device)
    done = torch.zeros(len(sources), dtype=torch.bool, device=device)
    limits = torch.tensor([len(source) + max_extra_length for source in sources], device=device)
    for length in range(int(limits.max())):
        hidden = model.decode(target_BT, memory, padded_layout(target_BT), layout)
        scores = model.embedding.logits(hidden[:, -1])
        scores[:, [PAD, START]] = -torch.inf
        word = torch.where(done | (limits <= length), PAD, scores.argmax(-1))
        target_BT = torch.cat([target_BT, word[:, None]], dim=1)
        done |= (word == END) | (word == PAD)
        if bool(done.all()):
            break
    return [_without_control(row) for row in target_BT.cpu()]


def _without_control(row: Tensor) -> np.ndarray:
    ids = row[1:].numpy()
    return ids[: int(np.argmax((ids == END) | (ids == PAD)))] if ((ids == END) | (ids == PAD)).any() else ids
