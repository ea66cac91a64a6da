"""A task in which path length shows: say at the end the word that stood, marked, D positions before.

Everything between is noise. As many layers of each kind of Table 1 learn it, for as long. What a stack cannot reach it
cannot say. What it reaches in a few steps it learns soon, however far away. And a recurrent layer reaches everything,
but the word, and the gradient back to it, have to come through all D states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.background import Report
from heedful.model.embeddings import positional_encoding
from heedful.reproduction.layers import HEADS, KINDS, LayerKind, ProjectedAttention

WORDS = 16
_BATCH = 32
_RATE = 3e-3
_TESTED = 8
"""Batches of new sequences."""
_KINDS = tuple(kind for kind in KINDS if not kind.name.endswith("fused"))
"""The fused kernel computes the same function as the first."""


@dataclass(frozen=True)
class CopyPlan:
    """How the task is learned."""

    distances: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)
    width: int = 64
    layers: int = 3
    steps: int = 300
    seed: int = 1


MINIATURE = CopyPlan(distances=(1, 8), width=2 * HEADS, layers=2, steps=3)


@dataclass(frozen=True)
class Copied:
    """How often a stack was right at one distance, on new sequences; chance is 1 in 16."""

    layer: str
    distance: int
    accuracy: float


class _Stack(nn.Module):
    """Layers of a kind, each added to its input after a norm, over words and positions; scores of words come out."""

    def __init__(self, kind: LayerKind, plan: CopyPlan) -> None:
        super().__init__()
        d = plan.width
        self._embedding = nn.Embedding(2 * WORDS, d)
        self._norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(plan.layers))
        self._layers = nn.ModuleList(
            ProjectedAttention(d, kind.attend) if kind.attend else kind.layer(d, depth) for depth in range(plan.layers)
        )
        self._out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, WORDS))

    def forward(self, words: Tensor) -> Tensor:
        """Scores of the word that is to be said after the last position, ``[batch, words]``."""
        x = self._embedding(words)
        x = x + positional_encoding(x.size(1), x.size(2), device=x.device)
        for norm, layer in zip(self._norms, self._layers, strict=True):
            x = x + layer(norm(x))
        return self._out(x[:, -1])


def copied(plan: CopyPlan, *, device: torch.device, report: Report) -> Iterator[Copied]:
    """Every kind at every distance, each a model of its own."""
    total = len(_KINDS) * len(plan.distances)
    for done, (kind, distance) in enumerate((kind, distance) for kind in _KINDS for distance in plan.distances):
        yield Copied(kind.name, distance, copying_accuracy(kind, distance, plan, device=device))
        report("learning to copy", done + 1, total)


def copying_accuracy(kind: LayerKind, distance: int, plan: CopyPlan, *, device: torch.device) -> float:
    """The share of new sequences whose first word a stack names after learning."""
    torch.manual_seed(plan.seed)
    stack = _Stack(kind, plan).to(device)
    adam = torch.optim.Adam(stack.parameters(), betas=(0.9, 0.98))
    draw = torch.Generator().manual_seed(plan.seed)
    words = torch.randint(WORDS, (plan.steps + _TESTED, _BATCH, distance + 1), generator=draw).to(device)
    wanted = words[..., 0].clone()
    words[..., 0] += WORDS  # the mark
    for step in range(plan.steps):
        done = step / plan.steps  # the rate rises for a tenth, and falls to nothing in half a wave
        adam.param_groups[0]["lr"] = _RATE * min(10 * done + 0.01, 0.5 + 0.5 * math.cos(math.pi * done))
        adam.zero_grad()
        F.cross_entropy(stack(words[step]), wanted[step]).backward()
        adam.step()
    with torch.no_grad():
        said = torch.stack([stack(batch).argmax(-1) for batch in words[plan.steps :]])
    return float((said == wanted[plan.steps :]).float().mean())
