"""Section 3.2.1's argument, measured: additive against dot-product attention, scaled and not, as d_k grows.

Queries and keys have independent components of mean 0 and variance 1, as in the paper's footnote. Additive attention
scores by a network with one hidden layer, vᵀ tanh(W q + U k), whose matrices are as they would be before training.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from heedful.background import Report
from heedful.planning.probe import seconds_of
from heedful.report.charts import Chart, Series
from heedful.reproduction.complexity import kept_bytes
from heedful.reproduction.drawing import add_charts
from heedful.reproduction.records import Asked, Found, Page, Record, markdown_table
from heedful.training.setup import training_device

KEY_SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
LENGTH = {"cpu": 128, "cuda": 512}
"""Queries, and keys."""
_REPEATS = 5
Score = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Attended:
    """One way to score at one d_k."""

    way: str
    d_k: int
    seconds: float
    """Forward and backward."""
    bytes: int
    """Kept for the backward pass."""
    deviation: float
    """Standard deviation of the scores."""
    largest_weight: float
    """Mean over the queries."""
    gradient: float
    """The size (Frobenius norm) of the softmax's derivative, median over the queries."""


class _Attention(nn.Module):
    """Queries and keys, one above the other in one tensor, to the weighted sum of the keys."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def forward(self, both: Tensor) -> Tensor:
        q, k = both
        return self.score(q, k).softmax(-1) @ k


class _Additive(nn.Module):
    def __init__(self, d_k: int) -> None:
        super().__init__()
        self._w, self._u = nn.Linear(d_k, d_k), nn.Linear(d_k, d_k, bias=False)
        self._v = nn.Linear(d_k, 1, bias=False)

    def forward(self, q: Tensor, k: Tensor) -> Tensor:
        return self._v(torch.tanh(self._w(q)[:, None] + self._u(k)[None, :])).squeeze(-1)


def _dot_product(q: Tensor, k: Tensor, *, scale: float = 1.0) -> Tensor:
    return q @ k.transpose(-2, -1) * scale


WAYS: dict[str, Callable[[int], Score]] = {
    "additive": _Additive,
    "dot-product": lambda d_k: _dot_product,
    "scaled dot-product": lambda d_k: partial(_dot_product, scale=1 / math.sqrt(d_k)),
}


def measured(asked: Asked) -> Found:
    device = training_device(asked.device)
    sizes, length = (KEY_SIZES[:3], 16) if asked.miniature else (KEY_SIZES, LENGTH[device.type])
    return {"attended": attended(sizes, length=length, device=device, report=asked.report)}


def page(records: Sequence[Record]) -> Page:
    text, pictures = [_ABOUT], {}
    for number, record in enumerate(records, start=1):
        found = record.rows("attended", Attended)
        charts = {f"dot-product-{number}-{name.replace('_', '-')}.svg": chart for name, chart in _charts(found).items()}
        text += [f"## {record.where}\n", add_charts(pictures, charts), _table(found), _verdict(found)]
    return Page("\n".join(text), pictures)


_ABOUT = """# Why attention is a dot product, and why it is scaled

Section 3.2.1 says that additive and dot-product attention are alike in theory, that the dot product is much faster \
and smaller in practice, and that for large d_k its scores grow large and push the softmax to where its gradient is \
extremely small, unless they are divided by √d_k. Here queries and keys are random, with mean 0 and variance 1, and \
there are as many of one as of the other. The gradient is the size of the softmax's derivative for the median query.
"""
_CHARTS = {
    "seconds": ("Time", "seconds, forward and backward"),
    "bytes": ("Memory", "bytes kept for the backward pass"),
    "largest_weight": ("Saturation", "largest weight of a query, mean"),
    "gradient": ("Gradient", "size of the softmax's derivative"),
}


def _charts(found: Sequence[Attended]) -> dict[str, Chart]:
    colours = dict(zip(WAYS, ("line-4", "line-5", "line-1"), strict=True))
    charts = {}
    for name, (title, label) in _CHARTS.items():
        lines = {way: [(one.d_k, getattr(one, name)) for one in found if one.way == way] for way in WAYS}
        series = [Series(way, points, colours[way]) for way, points in lines.items()]
        linear = name == "largest_weight"
        charts[name] = Chart(title, label, series, "d_k", logarithmic=not linear, x_logarithmic=True, from_zero=linear)
    return charts


def _table(found: Sequence[Attended]) -> str:
    sizes = [one.d_k for one in found]
    rows = []
    for one in found:
        if one.d_k in {min(sizes), 64, max(sizes)}:
            cost = f"{1e3 * one.seconds:.3g}", f"{one.bytes / 2**20:.3g}"
            scores = f"{one.deviation:.3g}", f"{one.largest_weight:.3f}", f"{one.gradient:.2g}"
            rows.append([one.way, one.d_k, *cost, *scores])
    numbers = ("d_k", "ms", "MiB kept", "spread of the scores", "largest weight", "gradient")
    return markdown_table(["attention", *numbers], rows, right=numbers)


def _verdict(found: Sequence[Attended]) -> str:
    """The three claims, at the largest d_k."""
    most, least = max(one.d_k for one in found), min(one.d_k for one in found)
    at = {(one.way, one.d_k): one for one in found}
    additive, plain, scaled = (at[way, most] for way in WAYS)
    falls = at["dot-product", least].gradient / max(plain.gradient, 1e-30)
    stays = at["scaled dot-product", least].gradient / max(scaled.gradient, 1e-30)
    return (
        f"At d_k = {most} additive attention takes {additive.seconds / scaled.seconds:,.0f} times the time and "
        f"{additive.bytes / scaled.bytes:,.0f} times the memory of scaled dot products. From d_k = {least} to {most} "
        f"the gradient becomes {falls:,.3g} times smaller without scaling; with it, it changes by "
        f"{abs(stays - 1):.0%}.\n"
    )


def attended(key_sizes: tuple[int, ...], *, length: int, device: torch.device, report: Report) -> Iterator[Attended]:
    """Every way at every size of a key."""
    for done, (way, d_k) in enumerate((way, d_k) for way in WAYS for d_k in key_sizes):
        yield _attended(way, d_k, length=length, device=device)
        report("attending", done + 1, len(WAYS) * len(key_sizes))


def _attended(way: str, d_k: int, *, length: int, device: torch.device) -> Attended:
    torch.manual_seed(d_k)
    attention = _Attention(WAYS[way](d_k)).to(device)
    both = torch.randn(2, length, d_k, device=device, requires_grad=True)

    def learn() -> None:
        attention(both).sum().backward()

    learn()
    seconds = statistics.median(seconds_of(learn, device) for _ in range(_REPEATS))
    with torch.no_grad():
        scores = attention.score(*both)
        weights = scores.softmax(-1)
    return Attended(
        *(way, d_k, seconds, kept_bytes(attention, both), float(scores.std())),
        float(weights.amax(-1).mean()),
        float(softmax_gradient(weights).median()),
    )


def softmax_gradient(weights: Tensor) -> Tensor:
    """The Frobenius norm of diag(p) − p pᵀ, the softmax's derivative, for each row p of weights.

    >>> softmax_gradient(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))  # undecided, and saturated
    tensor([0.5000, 0.0000])
    """
    squares = weights.square().sum(-1)
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp(min=0).sqrt()
