"""Table 1 on a page: the paper's formulas, and beside them what was measured, of one machine or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import mode

from heedful.report.charts import Chart, Point, Series
from heedful.reproduction import copying
from heedful.reproduction.complexity import SIZES, Cost, Structure, crossing, growth, layer_costs, structures
from heedful.reproduction.copying import WORDS, Copied, CopyPlan, copied
from heedful.reproduction.drawing import add_charts
from heedful.reproduction.layers import KERNEL, KINDS, NEIGHBOURHOOD
from heedful.reproduction.records import Asked, Found, Page, Record, markdown_table
from heedful.training.setup import training_device

_NOTE = "The line across: n = d. A dilated convolution costs what a convolution does."
_COLOURS = {kind.name: f"line-{place}" for place, kind in enumerate(KINDS, start=1)}
_MEASURES = {
    "operations": ("Operations", "operations of a forward pass"),
    "seconds": ("Time", "seconds, forward and backward"),
    "bytes": ("Memory", "bytes kept for the backward pass"),
}


def measured(asked: Asked) -> Found:
    device = training_device(asked.device)
    sizes = SIZES["miniature" if asked.miniature else device.type]
    plan = copying.MINIATURE if asked.miniature else CopyPlan()
    return {
        "costs": layer_costs(sizes, device=device, report=asked.report),
        "structures": structures(sizes.structure),
        "copying": copied(plan, device=device, report=asked.report),
        "plan": [plan],
    }


def page(records: Sequence[Record]) -> Page:
    """The page; structures are the same everywhere and are taken from the first."""
    first = records[0]
    text = [
        "# Table 1: what a layer costs, what must wait, how far a signal travels\n",
        f"n positions of d numbers, one sequence. k = {KERNEL}, r = {NEIGHBOURHOOD}; the recurrent layer is h = tanh(W "
        "h + U x). Attention is counted as the table counts it, without its four projections: these add 8 · n · d² "
        "operations, whatever n.\n",
        _structure_table(first.rows("structures", Structure), first.rows("costs", Cost)),
        _ABOUT,
    ]
    pictures: dict[str, str] = {}
    for number, record in enumerate(records, start=1):
        costs, task = record.rows("costs", Cost), record.rows("copying", Copied)
        charts = {f"table1-{number}-{name}.svg": chart for name, chart in _charts(costs, first=number == 1).items()}
        text += [f"## {record.where}\n", add_charts(pictures, charts), _growth_table(costs), _crossing_text(costs)]
        if task:
            plan = record.rows("plan", CopyPlan)[0]
            charts = {f"table1-{number}-copying.svg": _copying_chart(task, plan)}
            text += ["### Path length in a task\n", add_charts(pictures, charts), _copying_text(task, plan)]
    return Page("\n".join(text), pictures)


_ABOUT = (
    "Operations are those that torch executes in a forward pass, divided by the formula: the constant that O( ) hides. "
    "It is the same at every size, but for restricted attention, whose blocks have edges. Sequential operations are "
    "the longest chain of products that each need the one before, in the graph that torch recorded. The longest path "
    "was found by asking which outputs each input changes, layer upon layer, until the first position reaches the "
    "last.\n"
)


def _structure_table(found: Sequence[Structure], costs: Sequence[Cost]) -> str:
    lengths = sorted({one.n for one in found})
    sizes = ", ".join(map(str, lengths))
    rows = []
    for kind in KINDS:
        own = {one.n: one for one in found if one.layer == kind.name}
        ratios = [cost.operations / kind.operations(cost.n, cost.d) for cost in costs if cost.layer == kind.name]
        constant = f"{min(ratios):.3g}" if max(ratios) < 1.005 * min(ratios) else f"{min(ratios):.3g}–{max(ratios):.3g}"
        chains, paths = (", ".join(str(getattr(own[n], name)) for n in lengths) for name in ("sequential", "path"))
        waits = [f"O({kind.sequential})", chains, f"O({kind.path})", paths]
        rows.append([kind.name, f"O({kind.complexity})", constant, *waits])
    columns = ["layer", "complexity", "operations / formula", "sequential", f"counted at n = {sizes}"]
    columns += ["longest path", f"found at n = {sizes}"]
    return markdown_table(columns, rows)


def _charts(costs: Sequence[Cost], *, first: bool) -> dict[str, Chart]:
    """Each measure against n, and against d; operations of the first machine alone, since all do the same."""
    width, length = _fixed(costs)
    charts = {}
    for name, (title, label) in list(_MEASURES.items())[0 if first else 1 :]:
        for axis, other, at in (("n", "d", width), ("d", "n", length)):
            lines = {kind.name: _points(costs, kind.name, axis, name, at) for kind in KINDS if not kind.dilated}
            if name == "operations":
                lines.pop("self-attention, fused")
            series = [Series(layer, points, _COLOURS[layer]) for layer, points in lines.items()]
            about = f"{title} against {axis} ({other} = {at})"
            scales = {"logarithmic": True, "x_logarithmic": True}
            charts[f"{name}-{axis}"] = Chart(about, label, series, axis, **scales, verticals=[at], note=_NOTE)
    return charts


def _fixed(costs: Sequence[Cost]) -> tuple[int, int]:
    """The d at which n grows, and the n at which d grows: those that come most often, the least of equal ones."""
    return mode(sorted(cost.d for cost in costs)), mode(sorted(cost.n for cost in costs))


def _points(costs: Sequence[Cost], layer: str, axis: str, measure: str, at: int) -> list[Point]:
    other = "d" if axis == "n" else "n"
    own = [cost for cost in costs if cost.layer == layer and getattr(cost, other) == at]
    return sorted((getattr(cost, axis), getattr(cost, measure)) for cost in own)


def _growth_table(costs: Sequence[Cost]) -> str:
    """With which power of n and d time and memory grow at the largest sizes, beside the formula's."""
    (width, length), rows = _fixed(costs), []
    for kind in KINDS:
        cells = [kind.name]
        for axis, at in (("n", width), ("d", length)):
            places = [int(x) for x, _ in _points(costs, kind.name, axis, "operations", at)]
            formula = [(x, kind.operations(x, at) if axis == "n" else kind.operations(at, x)) for x in places]
            exponents = [growth(formula)]
            exponents += [growth(_points(costs, kind.name, axis, name, at)) for name in ("seconds", "bytes")]
            cells += [f"{value:.1f}" if math.isfinite(value) else "–" for value in exponents]
        rows.append(cells)
    names = [f"{name} in {axis}" for axis in ("n", "d") for name in ("formula", "time", "memory")]
    head = "The power with which each grows, between the largest size and half of it:\n\n"
    return head + markdown_table(["layer", *names], rows, right=names)


def _crossing_text(costs: Sequence[Cost]) -> str:
    width, _ = _fixed(costs)
    text = [f"Where self-attention comes to cost more than a recurrent layer, at d = {width}:"]
    for name, (_, label) in _MEASURES.items():
        attention, recurrent = (_points(costs, kind, "n", name, width) for kind in ("self-attention", "recurrent"))
        at = crossing(attention, recurrent)
        largest = min(attention[-1][0], recurrent[-1][0])
        ratio = dict(recurrent)[largest] / dict(attention)[largest]
        never = f"nowhere up to n = {largest:g}: there the recurrent layer takes {ratio:.3g} times as much"
        if at is None and attention[0][1] > recurrent[0][1]:
            never = f"below n = {attention[0][0]:g}"
        text.append(f"- {label}: {never if at is None else f'at n = {at:.0f}'}")
    return "\n".join(text) + "\n"


def _copying_chart(found: Sequence[Copied], plan: CopyPlan) -> Chart:
    series = [
        Series(name, [(one.distance, 100 * one.accuracy) for one in own], _COLOURS[name])
        for name, own in groupby(found, key=lambda one: one.layer)
    ]
    title, label = f"Copying over a distance ({plan.layers} layers)", "% of the words right"
    return Chart(title, label, series, "distance", x_logarithmic=True, from_zero=True)


def _copying_text(found: Sequence[Copied], plan: CopyPlan) -> str:
    distances = [str(distance) for distance in plan.distances]
    rows = [[name, *(f"{one.accuracy:.0%}" for one in own)] for name, own in groupby(found, key=lambda one: one.layer)]
    about = (
        f"{plan.layers} layers of d = {plan.width} learn for {plan.steps} steps to say at the "
        f"end of a sequence the marked word at its beginning; chance is {1 / WORDS:.0%}. By distance:\n\n"
    )
    return about + markdown_table(["layer", *distances], rows, right=distances)
