"""Line charts as SVG, drawn here and not in the browser: they are there in print, and where no script runs.

The page's script adds a reading of the values under the pointer; the values travel beside the picture. Colours are
classes of the style sheet. This module does not know what a run is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.report.markup import text
from heedful.report.page_files import script_json
from heedful.report.scales import Scale, tick_texts

WIDTH, HEIGHT = 460, 250
TOP, RIGHT, BOTTOM = 24, 18, 34
LETTER = 6.6
"""Width of a digit at the size of the labels."""
FEW_POINTS = 40
"""A line of fewer points shows each of them."""
COLUMNS = 400
"""A line of more points than this is thinned: of each column its first, last, lowest and highest point stay."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A line, or with ``line=False`` only points; ``kind`` is its colour: train, validation, plan or mark."""

    name: str
    points: Sequence[Point]
    kind: str = "train"
    line: bool = True
    read: bool = True
    """Whether the pointer reads its values."""


@dataclass(frozen=True)
class Chart:
    """What is to be drawn."""

    title: str
    y_label: str
    series: Sequence[Series]
    x_label: str = "step"
    logarithmic: bool = False
    """The y axis; values that are not above zero are left out."""
    from_zero: bool = False
    top: float | None = None
    """What is above leaves the picture: a fall at the beginning would leave no room for the rest."""
    x_end: float | None = None
    verticals: Sequence[float] = ()
    """Places of the x axis with a line across; the note says what they are."""
    note: str = ""


def chart_figure(chart: Chart) -> str:
    """The chart as a figure: title and legend, picture, values, a line to read them on; empty without any point."""
    series = [_drawable(one, chart) for one in chart.series]
    series = [one for one in series if one.points]
    if not series:
        return ""
    x, y = _scales(chart, series)
    legend = "".join(f'<span class="key {one.kind}{_dots(one)}">{text(one.name)}</span>' for one in series if one.name)
    label = f"{chart.title}: {chart.y_label} over {chart.x_label}"
    return (
        f'<figure class="chart"><figcaption><b>{text(chart.title)}</b>{legend}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" tabindex="0" aria-label="{text(label)}">'
        + _frame(chart, x, y)
        + _plot(chart, series, x, y)
        + '<g class="cursor"></g></svg>'
        + f'<output aria-live="polite"></output><script type="application/json">{_values(chart, series, x, y)}</script>'
        + (f'<p class="note">{text(chart.note)}</p>' if chart.note else "")
        + "</figure>"
    )


def thinned(points: Sequence[Point], columns: int = COLUMNS) -> list[Point]:
    """The points without those that could not be seen beside their neighbours; extremes stay."""
    if len(points) <= columns:
        return list(points)
    low, high = points[0][0], points[-1][0]
    by_column: dict[int, list[Point]] = {}
    for point in points:
        by_column.setdefault(int((point[0] - low) / ((high - low) or 1.0) * columns), []).append(point)
    kept: list[Point] = []
    for column in by_column.values():
        ends = {column[0], column[-1], min(column, key=lambda p: p[1]), max(column, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept


def _drawable(series: Series, chart: Chart) -> Series:
    """The series with what can be drawn of it, in the order of the x axis."""
    finite = [point for point in series.points if all(map(math.isfinite, point))]
    shown = [point for point in finite if point[1] > 0 or not chart.logarithmic]
    return Series(
        series.name, thinned(sorted(shown, key=lambda point: point[0])), series.kind, series.line, series.read
    )


def _scales(chart: Chart, series: Sequence[Series]) -> tuple[Scale, Scale]:
    values = [y for one in series for _, y in one.points]
    low, high = min(values), max(values)
    if chart.top is not None:
        high = max(min(high, chart.top), low)
    if chart.logarithmic:
        room = max((high / low) ** 0.05, 1.02)
        low, high = low / room, high * room
    else:
        room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
        # What is never negative does not get an axis that is.
        least = min(0.0, low) if chart.from_zero or 0 <= low < room else low - room
        low, high = least, high + room
    end = max(chart.x_end or 0.0, *(x for one in series for x, _ in one.points))
    y = Scale(low, high, HEIGHT - BOTTOM, TOP, chart.logarithmic)
    left = 12 + LETTER * max(len(tick) for tick in tick_texts(y.ticks()))
    return Scale(0.0, end or 1.0, left, WIDTH - RIGHT), y


def _frame(chart: Chart, x: Scale, y: Scale) -> str:
    """Grid, ticks and the names of the axes."""
    parts = [f'<text x="4" y="13" class="axis-name">{text(chart.y_label)}</text>']
    for tick, name in zip(y.ticks(), tick_texts(y.ticks()), strict=True):
        at = f"{y.place(tick):.1f}"
        parts.append(f'<path class="grid" d="M{x.begin:.1f} {at}H{x.end}"/>')
        parts.append(f'<text x="{x.begin - 6:.1f}" y="{at}" dy="4" class="tick end">{text(name)}</text>')
    for tick, name in zip(x.ticks(), tick_texts(x.ticks()), strict=True):
        at = f"{x.place(tick):.1f}"
        parts.append(f'<path class="grid" d="M{at} {y.begin}v4"/>')
        parts.append(f'<text x="{at}" y="{y.begin + 16}" class="tick middle">{text(name)}</text>')
    parts.append(f'<path class="axis" d="M{x.begin:.1f} {y.begin}H{x.end}"/>')
    parts.append(f'<text x="{x.end}" y="{HEIGHT - 3}" class="axis-name end">{text(chart.x_label)} →</text>')
    return "".join(parts)


def _plot(chart: Chart, series: Sequence[Series], x: Scale, y: Scale) -> str:
    """The lines, inside a picture of their own that cuts off what leaves the frame."""
    # Room for half a point beyond the axes: the last one is a whole one.
    box = (x.begin - 5, TOP - 5, x.end - x.begin + 10, y.begin - TOP + 10)
    size = 'x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" viewBox="{:.1f} {:.1f} {:.1f} {:.1f}"'
    parts = [f'<path class="vertical" d="M{x.place(at):.1f} {TOP}V{y.begin}"/>' for at in chart.verticals]
    for one in series:
        places = [f"{x.place(a):.1f} {y.place(b):.1f}" for a, b in one.points]
        if one.line:
            dense = " dense" if len(places) > COLUMNS / 2 else ""
            parts.append(f'<path class="line {one.kind}{dense}" d="M{"L".join(places)}"/>')
        if not one.line or len(places) < FEW_POINTS:
            # A path of length zero with round ends is a point, and one element holds them all.
            parts.append(f'<path class="dots {one.kind}" d="{"".join(f"M{place}h0" for place in places)}"/>')
    return f"<svg {size.format(*box, *box)}>{''.join(parts)}</svg>"


def _values(chart: Chart, series: Sequence[Series], x: Scale, y: Scale) -> str:
    return script_json(
        {
            "label": chart.x_label,
            "x": [x.low, x.high, x.begin, x.end],
            "y": [y.low, y.high, y.begin, y.end],
            "log": y.logarithmic,
            "series": [{"name": s.name, "kind": s.kind, "points": s.points} for s in series if s.read],
        }
    )


def _dots(series: Series) -> str:
    return "" if series.line else " points"
