"""Charts as files of their own: a title, who is who, the lines, a note. By the report's one way to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from markupsafe import escape

from heedful.report.charts import HEIGHT, WIDTH, Chart, add_axes, add_lines, new_figure
from heedful.report.pages import colour, svg_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLE, _ROW = 26.0, 17.0
_COLUMNS = 3
_LETTER = 6.3
"""About as wide as one of a name."""
_DASHES = {"plan": (0, (5, 4))}


def chart_picture(chart: Chart) -> str:
    """The chart with its title above and a legend in columns."""
    named = [one for one in chart.series if one.name and one.points]
    room = int(WIDTH // (28 + _LETTER * max((len(one.name) for one in named), default=0)))
    columns = max(1, min(_COLUMNS if len(named) > 2 else 2, room))
    rows = math.ceil(len(named) / columns)
    below = chart.note.splitlines()
    height = _TITLE + _ROW * rows + HEIGHT + _ROW * len(below)
    figure = new_figure(WIDTH, height)
    add_words(figure, chart.title, (0, 16), size=15, kind="ink")
    for place, one in enumerate(named):
        left, top = place % columns * WIDTH / columns, _TITLE + place // columns * _ROW
        sign = add_axes(figure, (left, top, 16, _ROW - 5), xlim=(0, 1), ylim=(0, 1))
        sign.set_axis_off()
        sign.plot([0, 1], [0.5, 0.5], color=colour(one.kind), linestyle=_DASHES.get(one.kind, "-"), linewidth=2.2)
        add_words(figure, one.name, (left + 20, top + 11), size=11)
    add_lines(figure, chart, top=_TITLE + _ROW * rows)
    for place, line in enumerate(below):
        add_words(figure, line, (0, height - _ROW * (len(below) - place) + 12), size=11)
    return svg_file(figure, label=f"{chart.title}: {chart.y_label} over {chart.x_label}")


def add_words(figure: Figure, text: str, at: tuple[float, float], *, size: float = 12, kind: str = "soft") -> None:
    """Write text with its base line at so many pixels from the left and from the top."""
    width, height = figure.get_size_inches() * figure.dpi
    figure.text(at[0] / width, 1 - at[1] / height, text, fontsize=size, color=colour(kind))


def add_charts(pictures: dict[str, str], charts: Mapping[str, Chart]) -> str:
    """Draw charts among the pictures of a page, by their names; returns the Markdown that shows them."""
    pictures |= {name: chart_picture(chart) for name, chart in charts.items()}
    return shown({name: chart.title for name, chart in charts.items()})


def shown(pictures: Mapping[str, str]) -> str:
    """Markdown that shows pictures, by their names with their titles; where there is room, beside each other."""
    return "".join(f'<img src="{name}" alt="{escape(title)}">\n' for name, title in pictures.items())
