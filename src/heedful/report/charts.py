"""Line charts and bar charts, laid out here and not in the browser: they are there in print and where no script runs.

The page's script adds a reading of the values under the pointer; the values travel beside the picture. Colours are
classes of the style sheet. Also how numbers and durations are written. This module does not know what a run is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heedful.report.picture import Frame, Inset, Mark, Picture, Point, Stroke, Words

WIDTH, HEIGHT = 460, 250
_BAR_HEIGHT = 220
_TOP, _RIGHT, _BOTTOM = 24, 18, 34
_LETTER = 6.6
"""Width of a digit at the size of the labels."""
FEW_POINTS = 40
"""A line of fewer points shows each of them."""
_COLUMNS = 400
"""A line of more points than this is thinned: of each column its first, last, lowest and highest point stay."""
MOST_TICKS = 6
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


@dataclass(frozen=True)
class _Scale:
    """From values between ``low`` and ``high`` to places between ``begin`` and ``end``; others stand outside."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        value, low, high = (math.log(n) if self.logarithmic else n for n in (value, self.low, self.high))
        return self.begin + (value - low) / ((high - low) or 1.0) * (self.end - self.begin)

    def ticks(self) -> list[tuple[float, str]]:
        """The places that are named on the axis, and their names."""
        values = log_ticks(self.low, self.high) if self.logarithmic else linear_ticks(self.low, self.high)
        return list(zip(map(self.place, values), _tick_texts(values), strict=True))


def line_figure(chart: Chart) -> Figure | None:
    """The chart as a figure; none without any point."""
    series = [shown for one in chart.series if (shown := _drawable(one, chart)).points]
    if not series:
        return None
    x, y = _scales(chart, series)
    marks = _vertical_axis(y, x.begin, x.end, chart.y_label)
    for at, text in x.ticks():
        tick = Stroke("grid", [(at, y.begin), (at, y.begin + 4)])
        marks += [tick, Words("tick middle", text, (at, y.begin + 16))]
    marks += [*_axis_line(x.begin, x.end, y.begin, chart.x_label, HEIGHT), _plot(chart, series, x, y)]
    values = {
        "label": chart.x_label,
        "x": [x.low, x.high, x.begin, x.end],
        "y": [y.low, y.high, y.begin, y.end],
        "log": y.logarithmic,
        "series": [{"name": s.name, "kind": s.kind, "points": s.points} for s in series if s.read],
    }
    keys = [(one.kind if one.line else f"{one.kind} points", one.name) for one in series if one.name]
    label = f"{chart.title}: {chart.y_label} over {chart.x_label}"
    return Figure(chart.title, keys, Picture(WIDTH, HEIGHT, marks, label), values, chart.note)


def bar_figure(
    title: str, groups: Sequence[str], sides: Mapping[str, Sequence[float]], *, x: str, y: str
) -> Figure | None:
    """A bar of each side for each group; ``x`` and ``y`` name the axes. None without any height."""
    highest = max((value for side in sides.values() for value in side), default=0)
    if not highest > 0:
        return None
    kinds = dict(zip(sides, ("train", "validation"), strict=False))
    scale = _Scale(0.0, 1.05 * highest, _BAR_HEIGHT - _BOTTOM, _TOP)
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
        kept += sorted({column[0], column[-1], min(column, key=lambda p: p[1]), max(column, key=lambda p: p[1])})
    return kept


def _drawable(series: Series, chart: Chart) -> Series:
    """The series with what can be drawn of it, in the order of the x axis."""
    least = 1 / _MOST if chart.logarithmic else -_MOST
    shown = [point for point in series.points if math.isfinite(point[0]) and least <= point[1] <= _MOST]
    return replace(series, points=thinned(sorted(shown, key=lambda point: point[0])))


def _scales(chart: Chart, series: Sequence[Series]) -> tuple[_Scale, _Scale]:
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
    y = _Scale(low, high, HEIGHT - _BOTTOM, _TOP, chart.logarithmic)
    return _Scale(0.0, end or 1.0, _left_of(y), WIDTH - _RIGHT), y


def _left_of(y: _Scale) -> float:
    """Where the plot begins: behind the longest number beside it."""
    return 12 + _LETTER * max(len(text) for _, text in y.ticks())


def _vertical_axis(y: _Scale, left: float, right: float, name: str) -> list[Mark]:
    marks: list[Mark] = [Words("axis-name", name, (4, 13))]
    for at, text in y.ticks():
        marks += [Stroke("grid", [(left, at), (right, at)]), Words("tick end", text, (left - 6, at + 4))]
    return marks


def _axis_line(left: float, right: float, at: float, name: str, height: float) -> list[Mark]:
    return [Stroke("axis", [(left, at), (right, at)]), Words("axis-name end", f"{name} →", (right, height - 3))]


def _plot(chart: Chart, series: Sequence[Series], x: _Scale, y: _Scale) -> Inset:
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
    return Inset(marks, cut=(x.begin - 5, _TOP - 5.0, x.end - x.begin + 10, y.begin - _TOP + 10))


def linear_ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """At most so many round values from ``low`` to ``high``, in equal steps of 1, 2 or 5 times a power of ten.

    >>> linear_ticks(0, 23), linear_ticks(0, 0.0007, 4)
    ([0.0, 5.0, 10.0, 15.0, 20.0], [0.0, 0.0002, 0.0004, 0.0006])
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (factor * power for factor in (1, 2, 5, 10, 20, 50))
    step = next(step for step in steps if math.floor(high / step) - math.ceil(low / step) < most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Rounded to the step's own digits: 3 · 0.0002 is not 0.0006 to the last bit.
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with their doubles and fivefolds where there is room for them.

    >>> log_ticks(3, 150), log_ticks(0.5, 2e6)
    ([5.0, 10.0, 20.0, 50.0, 100.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**decade for decade in decades for factor in factors]
        found = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(found) <= MOST_TICKS + 2:
            break
    return found if len(found) >= 2 else linear_ticks(low, high)


def _tick_texts(ticks: Sequence[float]) -> list[str]:
    """The values as an axis shows them, all in one manner unless they lie far apart.

    >>> _tick_texts([0.0, 0.5, 1.0]), _tick_texts([0, 50_000, 100_000]), _tick_texts([0, 2e-5]), _tick_texts([0.1, 1e5])
    (['0', '0.5', '1'], ['0', '50k', '100k'], ['0', '2e-5'], ['0.1', '100k'])
    """
    sizes = [abs(tick) for tick in ticks if tick] or [0.0]
    far_apart = max(sizes) > 1e3 * min(sizes)
    return [_tick_text(tick, abs(tick) if far_apart else max(sizes)) for tick in ticks]


def _tick_text(tick: float, largest: float) -> str:
    """A value on an axis whose largest one is of this size."""
    if not tick:
        return "0"
    for size, unit, sign in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if largest >= size:
            return f"{tick / unit:g}{sign}"
    if largest < 1e-3:
        digits, _, exponent = f"{tick:.2e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{tick:,.10g}".replace("-", "−")


def duration_text(seconds: float) -> str:
    """A time as a person says it: seconds, minutes, hours or days, whichever reads best.

    >>> duration_text(30), duration_text(740), duration_text(12_000), duration_text(200_000)
    ('30 seconds', '12.3 minutes', '3.3 hours', '2.3 days')
    """
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"
