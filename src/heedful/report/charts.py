"""Line charts and bar charts, drawn here and not in the browser: they are there in print and where no script runs.

The page's script adds a reading of the values under the pointer; the values travel beside the picture. Also how
numbers and durations are written. This module does not know what a run is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from heedful.report.pages import PIXELS_PER_INCH, colour, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""left, top, width, height."""

WIDTH, HEIGHT = 400.0, 230.0
"""A phone shows it in its own size, nearly."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 46.0, 30.0, 8.0, 38.0
FEW_POINTS = 40
"""A line of fewer points shows each of them."""
_COLUMNS = 400
"""A line of more points than this is thinned: of each column its first, last, lowest and highest point stay."""
_MOST = 1e100
"""Numbers beyond, or on a logarithmic axis as close to zero, are left out: a damaged file may hold any."""


@dataclass(frozen=True)
class Series:
    """A line, or with ``line=False`` only points; ``kind`` is its colour: train, validation, plan, mark, or line-1 to
    line-7."""

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
    x_logarithmic: bool = False
    from_zero: bool = False
    top: float | None = None
    """What is above leaves the picture: a fall at the beginning would leave no room for the rest."""
    x_end: float | None = None
    verticals: Sequence[float] = ()
    """Places of the x axis with a line across; the note says what they are."""
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart on a page: its title and legend, the picture, and the values that the page's script reads out of it."""

    title: str
    keys: Sequence[tuple[str, str]]
    """The classes of a sign, and what it stands for."""
    picture: Markup
    values: Mapping[str, Any]
    note: str = ""


def line_figure(chart: Chart) -> Figure | None:
    """The chart for a page; none without any point."""
    figure = new_figure(WIDTH, HEIGHT)
    if (axes := add_lines(figure, chart)) is None:
        return None
    series = _drawable_series(chart)
    keys = [(one.kind if one.line else f"{one.kind} points", one.name) for one in series if one.name]
    label = f"{chart.title}: {chart.y_label} over {chart.x_label}"
    values = {"log": chart.logarithmic, **_readings(axes, chart.x_label, [one for one in series if one.read])}
    return Figure(chart.title, keys, svg(figure, label=label), values, chart.note)


def bar_figure(
    title: str, groups: Sequence[str], sides: Mapping[str, Sequence[float]], *, x: str, y: str
) -> Figure | None:
    """A bar of each side for each group; ``x`` and ``y`` name the axes. None without any height."""
    if not any(value > 0 for side in sides.values() for value in side):
        return None
    figure = new_figure(WIDTH, HEIGHT)
    axes = _new_axes(figure, x_label=x, y_label=y)
    kinds = dict(zip(sides, ("train", "validation"), strict=False))
    width = 0.8 / len(sides)
    for place, (side, heights) in enumerate(sides.items()):
        begin = place * width - 0.4
        axes.bar(
            [group + begin for group in range(len(groups))], heights, width, align="edge", color=colour(kinds[side])
        )
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    read = [Series(side, list(enumerate(heights)), kinds[side]) for side, heights in sides.items()]
    keys = [(f"bars {kinds[side]}", side) for side in sides]
    values = {"log": False, "names": list(groups), **_readings(axes, x, read)}
    return Figure(title, keys, svg(figure, label=f"{title}: {y} by {x}"), values)


def add_lines(figure: MatplotlibFigure, chart: Chart, *, left: float = 0.0, top: float = 0.0) -> Axes | None:
    """Draw a chart into a part of the sheet; None, and nothing drawn, without any point."""
    series = _drawable_series(chart)
    if not series:
        return None
    axes = _new_axes(figure, x_label=chart.x_label, y_label=chart.y_label, left=left, top=top)
    for at in chart.verticals:
        axes.axvline(at, color=colour("plan"), linewidth=1, linestyle=(0, (2, 3)))
    for one in series:
        (line,) = axes.plot(*zip(*one.points, strict=True), color=colour(one.kind), label=one.name or None)
        line.set_linewidth(1.1 if len(one.points) > _COLUMNS / 2 else 1.7)
        line.set_linestyle("" if not one.line else (0, (5, 4)) if one.kind == "plan" else "-")
        if not one.line or len(one.points) < FEW_POINTS:
            line.set(marker="o", markersize=9 if one.kind == "mark" else 4.5, markeredgewidth=0)
    places = [x for one in series for x, _ in one.points]
    if chart.x_logarithmic:
        _set_logarithmic(axes, "x", min(places), max(places))
    else:
        axes.set_xlim(0, 1.02 * max(chart.x_end or 0.0, *places) or 1.0)  # room for half a point beyond the last
    _set_limits(axes, chart, [y for one in series for _, y in one.points])
    return axes


def new_figure(width: float, height: float) -> MatplotlibFigure:
    """An empty sheet of so many pixels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH), dpi=PIXELS_PER_INCH)


def add_axes(figure: MatplotlibFigure, box: Box, **settings: Any) -> Axes:
    """Axes in a part of the sheet or beside it, with small soft numbers and no frame."""
    (width, height), (left, top, wide, high) = figure.get_size_inches() * PIXELS_PER_INCH, box
    axes = figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))
    axes.tick_params(length=0, pad=5, labelsize=12, labelcolor=colour("soft"))
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    axes.set(**settings)
    return axes


def thinned(points: Sequence[Point]) -> list[Point]:
    """The points without those that could not be seen beside their neighbours; extremes stay."""
    if len(points) <= _COLUMNS:
        return list(points)
    low, high = points[0][0], points[-1][0]
    by_column: dict[int, list[Point]] = {}
    for point in points:
        by_column.setdefault(int((point[0] - low) / ((high - low) or 1.0) * _COLUMNS), []).append(point)
    kept: list[Point] = []
    for column in by_column.values():
        kept += sorted({column[0], column[-1], min(column, key=lambda p: p[1]), max(column, key=lambda p: p[1])})
    return kept


def _drawable_series(chart: Chart) -> list[Series]:
    """The series of which anything can be drawn, with those of their points, in the order of the x axis."""
    least = 1 / _MOST if chart.logarithmic else -_MOST
    found = []
    for one in chart.series:
        shown = [(x, y) for x, y in one.points if math.isfinite(x) and least <= y <= _MOST]
        shown = [(x, y) for x, y in shown if x > 0 or not chart.x_logarithmic]
        if shown:
            found.append(replace(one, points=thinned(sorted(shown, key=lambda point: point[0]))))
    return found


def _new_axes(figure: MatplotlibFigure, *, x_label: str, y_label: str, left: float = 0.0, top: float = 0.0) -> Axes:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    box = (left + _LEFT, top + _TOP, WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM)
    axes = add_axes(figure, box)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
    words = {"fontsize": 12, "color": colour("soft")}
    axes.set_title(y_label, loc="left", x=-_LEFT / box[2], pad=10, **words)
    axes.set_xlabel(f"{x_label} →", loc="right", **words)
    axes.grid(axis="y", color=colour("rule"), linewidth=1)
    axes.set_axisbelow(True)
    axes.spines["bottom"].set(visible=True, color=colour("soft"))
    return axes


def _set_limits(axes: Axes, chart: Chart, values: Sequence[float]) -> None:
    """The y axis from a little below the lowest value to a little above the highest."""
    low, high = min(values), max(values)
    if chart.top is not None:
        high = max(min(high, chart.top), low)
    if chart.logarithmic:
        _set_logarithmic(axes, "y", low, high)
        return
    room = max(0.06 * (high - low) or 0.1 * abs(high), 1e-6 * abs(high)) or 1.0
    # What is never negative does not get an axis that is.
    axes.set_ylim(min(0.0, low) if chart.from_zero or 0 <= low < room else low - room, high + room)


def _set_logarithmic(axes: Axes, name: str, low: float, high: float) -> None:
    """Make the x or the y axis logarithmic, from a little below to a little above these values."""
    from matplotlib.ticker import LogLocator, NullLocator

    room = max((high / low) ** 0.05, 1.02)
    low, high = low / room, high * room
    axis = axes.xaxis if name == "x" else axes.yaxis
    ticks = axis.get_major_locator(), axis.get_major_formatter()
    axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    if high > 10 * low:  # else there may be no power of ten to name
        ticks = LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=8), ticks[1]
    axis.set_major_locator(ticks[0])
    axis.set_major_formatter(ticks[1])
    axis.set_minor_locator(NullLocator())


def _readings(axes: Axes, label: str, series: Sequence[Series]) -> dict[str, Any]:
    """What the page's script needs to tell values from places: both axes as (low, high, begin, end), and the points."""
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    listed = [{"name": one.name, "kind": one.kind, "points": one.points} for one in series]
    return {
        "label": label,
        "x": [*axes.get_xlim(), _LEFT, right],
        "y": [*axes.get_ylim(), bottom, _TOP],
        "series": listed,
    }


def number_text(value: float) -> str:
    """A number as an axis shows it.

    >>> [number_text(value) for value in (0, 0.5, -2, 1500, 50_000, 2e6, 2e-5)]
    ['0', '0.5', '−2', '1.5k', '50k', '2M', '2e−5']
    """
    size = abs(value)
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= unit:
            return f"{value / unit:.5g}{sign}".replace("-", "−")
    digits, _, exponent = f"{value:.2e}".partition("e")
    small = f"{float(digits):g}e{int(exponent)}"
    return (small if 0 < size < 1e-3 else f"{value:.6g}").replace("-", "−")


def duration_text(seconds: float) -> str:
    """A time as a person says it: seconds, minutes, hours or days, whichever reads best.

    >>> duration_text(30), duration_text(740), duration_text(12_000), duration_text(200_000)
    ('30 seconds', '12.3 minutes', '3.3 hours', '2.3 days')
    """
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return "1 second" if f"{seconds:.0f}" == "1" else f"{seconds:.0f} seconds"
