"""Table 1, measured: what a layer costs, how many products must wait for each other, how far apart positions are.

Operations are counted as torch executes them, forward. Time and memory are those of learning, forward and backward:
the median of several, and the bytes that a layer keeps for its backward pass, its input and its weights left out.
Sequential operations are the longest chain of products in the graph that torch recorded. Path length is counted in the
connections that the layer really has, found by asking which outputs each input changes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from heedful.background import Report
from heedful.planning.probe import seconds_of
from heedful.reproduction.layers import HEADS, KINDS, LayerKind

_PRODUCTS = ("Mm", "Bmm", "Addmm", "Convolution", "ScaledDotProduct")
"""What torch's products are called in the graph that it records."""
_REPEATS = 5
_ENOUGH = {"cpu": 2.0, "cuda": 0.5}
"""Seconds after which a size is not measured again, and a larger one of the same layer not at all."""


@dataclass(frozen=True)
class Sizes:
    """What is measured: n grows at one d, and d at one n."""

    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    length: int
    width: int
    structure: tuple[int, ...]
    """The lengths whose chains and paths are looked at."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each n with its d."""
        return sorted({(n, self.width) for n in self.lengths} | {(self.length, d) for d in self.widths})


SIZES = {
    "cpu": Sizes((32, 64, 128, 256, 512, 1024, 2048), (64, 128, 256, 512, 1024, 2048), 512, 512, (16, 64, 256)),
    "cuda": Sizes(
        (64, 128, 256, 512, 1024, 2048, 4096, 8192), (64, 128, 256, 512, 1024, 2048, 4096), 512, 512, (16, 64, 256)
    ),
    "miniature": Sizes((16, 32, 64), (16, 32), 32, 32, (8, 16)),
}


@dataclass(frozen=True)
class Cost:
    """One layer at one size; for a batch of one sequence."""

    layer: str
    n: int
    d: int
    operations: float
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Structure:
    """How a layer connects n positions."""

    layer: str
    n: int
    sequential: int
    """Products that wait for each other."""
    path: int
    """Steps from the first position to the last, by way of as many layers as that takes."""


def layer_costs(sizes: Sizes, *, device: torch.device, report: Report) -> Iterator[Cost]:
    """Every layer at every size; the sizes after one that took very long are left out."""
    for done, kind in enumerate(KINDS):
        too_long: list[tuple[int, int]] = []
        for n, d in sizes.pairs:
            if any(n >= other_n and d >= other_d for other_n, other_d in too_long):
                continue
            found = layer_cost(kind, n, d, device=device)
            if found.seconds > _ENOUGH[device.type]:
                too_long.append((n, d))
            yield found
        report("measuring layers", done + 1, len(KINDS))


def layer_cost(kind: LayerKind, n: int, d: int, *, device: torch.device) -> Cost:
    """Operations by counting, seconds and bytes by doing it."""
    layer = kind.layer(d, 0).to(device)
    x = torch.randn(1, n, d, device=device, requires_grad=True)

    def learn() -> None:
        layer(x).sum().backward()

    times = [seconds_of(learn, device)]
    if times[0] < _ENOUGH[device.type]:
        learn()
        times = [seconds_of(learn, device) for _ in range(_REPEATS)]
    return Cost(kind.name, n, d, counted_operations(kind, n, d), statistics.median(times), kept_bytes(layer, x))


def counted_operations(kind: LayerKind, n: int, d: int) -> float:
    """Multiplications and additions of the forward pass; nothing is computed for it."""
    with torch.device("meta"):
        layer, x = kind.layer(d, 0), torch.empty(1, n, d)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(x)
    return float(counter.get_total_flops())


def kept_bytes(layer: nn.Module, x: Tensor) -> int:
    """What the forward pass keeps for the backward pass, each piece of memory once, without the input and weights."""
    given = {tensor.untyped_storage().data_ptr() for tensor in (x, *layer.parameters())}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = layer(x)  # held until all is counted: memory that was freed would be given out again
    assert output.requires_grad, "what keeps nothing was not recorded"
    return sum(kept.values())


def structures(lengths: Iterable[int]) -> list[Structure]:
    """How each layer connects so many positions."""
    return [
        Structure(kind.name, n, product_chain(kind.layer(2 * HEADS, 0), n), longest_path(kind, n))
        for kind in KINDS
        for n in lengths
    ]


def product_chain(layer: nn.Module, n: int) -> int:
    """The longest chain of products of which each needs the one before."""
    output = layer(torch.randn(1, n, 2 * HEADS, requires_grad=True))
    order: list[torch.autograd.graph.Node] = []
    seen, waiting = set(), [(output.grad_fn, False)]
    while waiting:  # each after what it needs; a chain is far deeper than Python's own stack
        node, is_done = waiting.pop()
        if node is None or (node in seen and not is_done):
            continue
        if is_done:
            order.append(node)
            continue
        seen.add(node)
        waiting += [(node, True), *((before, False) for before, _ in node.next_functions)]
    depth: dict[torch.autograd.graph.Node | None, int] = {None: 0}
    for node in order:
        before = max((depth[other] for other, _ in node.next_functions), default=0)
        depth[node] = before + node.name().startswith(_PRODUCTS)
    return depth[output.grad_fn]


def longest_path(kind: LayerKind, n: int) -> int:
    """Steps until what stands at the first of n positions can reach the last.

    In a stack of layers, one step a layer; in a recurrent layer, one step a cell, from each position to the next.
    """
    if kind.sequential == "n":
        one_cell = connections(kind.layer(2 * HEADS, 0), 2)
        assert one_cell[1, 0], "a cell passes its state on"
        return n
    reached, step = torch.eye(n), torch.zeros(n, n)
    for depth in range(n):
        if depth == 0 or kind.dilated:
            step = connections(kind.layer(2 * HEADS, depth), n).float()
        reached = (step @ reached).clamp(max=1)
        if reached[n - 1, 0]:
            return depth + 1
    raise AssertionError(f"{kind.name} connects no two ends")


def connections(layer: nn.Module, n: int) -> Tensor:
    """``[n, n]`` booleans: which output position (row) changes with which input position (column)."""
    layer = layer.double()
    x = torch.randn(1, n, 2 * HEADS, dtype=torch.float64, requires_grad=True)
    output = layer(x)
    weights = torch.randn(2 * HEADS, dtype=torch.float64)
    rows = [torch.autograd.grad((output[0, row] * weights).sum(), x, retain_graph=True)[0][0] for row in range(n)]
    return torch.stack(rows).abs().sum(-1) > 0


def growth(points: Sequence[tuple[float, float]]) -> float:
    """The power of x with which y grows, between the last point and the one half as far, or the first."""
    (x, y), *earlier = sorted(points, reverse=True)
    before = next(((a, b) for a, b in earlier if a <= x / 2), earlier[-1] if earlier else (x, y))
    return math.log(y / before[1]) / math.log(x / before[0]) if before[0] != x and min(y, before[1]) > 0 else math.nan


def crossing(a: Sequence[tuple[float, float]], b: Sequence[tuple[float, float]]) -> float | None:
    """Where line a comes to lie above line b, both straight between their points in logarithms; None where it never
    does."""
    there = dict(b)
    both = [(x, math.log(y / there[x])) for x, y in sorted(a) if x in there and y > 0 and there[x] > 0]
    for (x0, d0), (x1, d1) in pairwise(both):
        if d0 <= 0 < d1:
            return x0 * (x1 / x0) ** (-d0 / (d1 - d0))
    return None
