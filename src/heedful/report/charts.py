"""Line charts and bar charts, laid out here and not in the browser: they are there in print and where no script runs.

The page's script adds a reading of the values under the pointer; the values travel beside the picture. Colours are
classes of the style sheet. This module does not know what a run is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heedful.report.picture import Frame, Inset, Mark, Picture, Point, Stroke, Words
from heedful.report.scales import Scale, tick_texts

WIDTH, HEIGHT = 460, 250
_BAR_HEIGHT = 220
_TOP, _RIGHT, _BOTTOM = 24, 18, 34
_LETTER = 6.6
"""Width of a digit at the size of the labels."""
FEW_POINTS = 40
"""A line of fewer points shows each of them."""
_COLUMNS = 400
"""A line of more points than this is thinned: of each column its first, last, lowest and highest point stay."""

_MOST = 1e100
"""Numbers beyond, or on a logarithmic axis as close to zero, are left out: a damaged file may hold any."""


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


@dataclass(frozen=True)
class Figure:
    """A picture with its title and legend, and the values that the page's script reads out of it."""

    title: str
    keys: Sequence[tuple[str, str]]
    """The classes of a sign, and what it stands for."""
    picture: Picture
    values: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def line_figure(chart: Chart) -> Figure | None:
    """The chart as a figure; none without any point."""
    series = [shown for one in chart.series if (shown := _drawable(one, chart)).points]
    if not series:
        return None
    x, y = _scales(chart, series)
    label = f"{chart.title}: {chart.y_label} over {chart.x_label}"
    marks = [*_vertical_axis(y, x.begin, x.end, chart.y_label), *_horizontal_axis(x, y, chart.x_label)]
    values = {
        "label": chart.x_label,
        "x": [x.low, x.high, x.begin, x.end],
        "y": [y.low, y.high, y.begin, y.end],
        "log": y.logarithmic,
        "series": [{"name": s.name, "kind": s.kind, "points": s.points} for s in series if s.read],
    }
    keys = [(one.kind if one.line else f"{one.kind} points", one.name) for one in series if one.name]
    picture = Picture(WIDTH, HEIGHT, [*marks, _plot(chart, series, x, y)], label)
    return Figure(chart.title, keys, picture, values, chart.note)


def bar_figure(
    title: str, groups: Sequence[str], sides: Mapping[str, Sequence[float]], *, x: str, y: str
) -> Figure | None:
    """A bar of each side for each group; ``x`` and ``y`` name the axes. None without any height."""
    values = [value for side in sides.values() for value in side]
    if not values or not max(values) > 0:
        return None
    kinds = dict(zip(sides, ("train", "validation"), strict=False))
    scale = Scale(0.0, 1.05 * max(values), _BAR_HEIGHT - _BOTTOM, _TOP)
    left, right = _left_of(scale), WIDTH - _RIGHT
    room = (right - left) / len(groups)
    wide = min(0.8 * room / len(sides), 34.0)
    marks = [*_vertical_axis(scale, left, right, y), *_axis_line(left, right, scale.begin, x, _BAR_HEIGHT)]
    for group, name in enumerate(groups):
        middle = left + (group + 0.5) * room
        for place, (side, heights) in enumerate(sides.items()):
            begin, top = middle + (place - len(sides) / 2) * wide, scale.place(heights[group])
            about = f"{name}: {heights[group]:,} ({side})"
            marks.append(Frame(f"bar {kinds[side]}", (begin, top, wide - 1, scale.begin - top), about))
        marks.append(Words("tick middle", name, (middle, scale.begin + 15)))
    keys = [(f"bars {kinds[side]}", side) for side in sides]
    return Figure(title, keys, Picture(WIDTH, _BAR_HEIGHT, marks, f"{title}: {y} by {x}"))


def thinned(points: Sequence[Point], columns: int = _COLUMNS) -> list[Point]:
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
    least = 1 / _MOST if chart.logarithmic else -_MOST
    shown = [point for point in series.points if math.isfinite(point[0]) and least <= point[1] <= _MOST]
    return replace(series, points=thinned(sorted(shown, key=lambda point: point[0])))


def _scales(chart: Chart, series: Sequence[Series]) -> tuple[Scale, Scale]:
    values = [y for one in series for _, y in one.points]
    low, high = min(values), max(values)
    if chart.top is not None:
        high = max(min(high, chart.top), low)
    if chart.logarithmic:
        room = max((high / low) ** 0.05, 1.02)
        low, high = low / room, high * room
    else:
        room = 0.06 * (high - low) or 0.1 * abs(high)
        room = room if room > 1 / _MOST else 1.0
        # What is never negative does not get an axis that is.
        least = min(0.0, low) if chart.from_zero or 0 <= low < room else low - room
        low, high = least, high + room
    end = max(chart.x_end or 0.0, *(x for one in series for x, _ in one.points))
    y = Scale(low, high, HEIGHT - _BOTTOM, _TOP, chart.logarithmic)
    return Scale(0.0, end or 1.0, _left_of(y), WIDTH - _RIGHT), y


def _left_of(y: Scale) -> float:
    """Where the plot begins: behind the longest number beside it."""
    return 12 + _LETTER * max(len(tick) for tick in tick_texts(y.ticks()))


def _vertical_axis(y: Scale, left: float, right: float, name: str) -> list[Mark]:
    marks: list[Mark] = [Words("axis-name", name, (4, 13))]
    for tick, text in zip(y.ticks(), tick_texts(y.ticks()), strict=True):
        at = y.place(tick)
        marks.append(Stroke("grid", [(left, at), (right, at)]))
        marks.append(Words("tick end", text, (left - 6, at + 4)))
    return marks


def _horizontal_axis(x: Scale, y: Scale, name: str) -> list[Mark]:
    marks: list[Mark] = []
    for tick, text in zip(x.ticks(), tick_texts(x.ticks()), strict=True):
        at = x.place(tick)
        marks.append(Stroke("grid", [(at, y.begin), (at, y.begin + 4)]))
        marks.append(Words("tick middle", text, (at, y.begin + 16)))
    return [*marks, *_axis_line(x.begin, x.end, y.begin, name, HEIGHT)]


def _axis_line(left: float, right: float, at: float, name: str, height: float) -> list[Mark]:
    return [Stroke("axis", [(left, at), (right, at)]), Words("axis-name end", f"{name} →", (right, height - 3))]


def _plot(chart: Chart, series: Sequence[Series], x: Scale, y: Scale) -> Inset:
    """The lines; what leaves the frame is cut off."""
    marks: list[Mark] = [Stroke("vertical", [(x.place(at), _TOP), (x.place(at), y.begin)]) for at in chart.verticals]
    for one in series:
        places = [(x.place(a), y.place(b)) for a, b in one.points]
        if one.line:
            dense = " dense" if len(places) > _COLUMNS / 2 else ""
            marks.append(Stroke(f"line {one.kind}{dense}", places))
        if not one.line or len(places) < FEW_POINTS:
            marks.append(Stroke(f"dots {one.kind}", places, dots=True))
    # Room for half a point beyond the axes: the last one is a whole one.
    box = (x.begin - 5, _TOP - 5.0, x.end - x.begin + 10, y.begin - _TOP + 10)
    return Inset(marks, box, box, cut=True)
