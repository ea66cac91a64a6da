"""Charts say what was measured: their points are read back off the axes that they show."""

from __future__ import annotations

import io
import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from heedful.report.attention_views import attention_map, heads_map
from heedful.report.charts import (
    MOST_TICKS,
    Chart,
    Figure,
    Series,
    bar_figure,
    line_figure,
    linear_ticks,
    log_ticks,
    thinned,
)
from heedful.report.pages import fragment
from heedful.report.picture import Cells, Frame, Inset, Picture, Point, Stroke, Words, colour_scale
from heedful.report.run_page import position_map

LINE = [(0.0, 2.5), (50.0, 9.0), (120.0, 4.0), (300.0, 7.25)]


def shown(chart: Chart | Figure | None) -> str:
    """A figure as a page has it."""
    figure = line_figure(chart) if isinstance(chart, Chart) else chart
    return fragment('{% from "parts.html" import figure %}{{ figure(one) }}', one=figure)


def svg(picture: Picture) -> ElementTree.Element:
    return parsed(fragment('{% from "svg.html" import picture %}{{ picture(one) }}', one=picture))


def parsed(figure: str) -> ElementTree.Element:
    """The figure, which must be well-formed."""
    return ElementTree.fromstring(figure)


def axis(figure: str, *, vertical: bool, log: bool = False) -> tuple[float, float]:
    """Slope and beginning of an axis, by the two outermost numbers that stand beside it."""
    ticks = [node for node in parsed(figure).iter("text") if "tick" in node.get("class", "").split()]
    ticks = [node for node in ticks if ("end" in node.get("class", "").split()) == vertical]
    # The foot of a number stands 4 below the place that it names.
    places = [float(node.get("y", "nan")) - 4 if vertical else float(node.get("x", "nan")) for node in ticks]
    found = sorted(zip((number(node.text or "") for node in ticks), places, strict=True))
    (a, at_a), (b, at_b) = found[0], found[-1]
    a, b = (math.log(a), math.log(b)) if log else (a, b)
    return (b - a) / (at_b - at_a), a - (b - a) / (at_b - at_a) * at_a


def number(text: str) -> float:
    sizes = {"k": 1e3, "M": 1e6}
    return float(text.rstrip("kM").replace(",", "").replace("−", "-")) * sizes.get(text[-1], 1.0)


def drawn(figure: str, kind: str = "line") -> list[tuple[float, float]]:
    (path,) = [node.get("d", "") for node in parsed(figure).iter("path") if kind in node.get("class", "").split()]
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("scale", [1e-5, 1.0, 4e4])
def test_the_points_of_a_line_are_where_the_axes_say(log: bool, scale: float) -> None:
    points = [(x, scale * y) for x, y in LINE]
    figure = shown(Chart("Loss", "loss", [Series("training", points)], logarithmic=log))
    (y_slope, y_begin), (x_slope, x_begin) = axis(figure, vertical=True, log=log), axis(figure, vertical=False)
    for (x, y), (at_x, at_y) in zip(points, drawn(figure), strict=True):
        read = y_begin + y_slope * at_y
        assert x_begin + x_slope * at_x == pytest.approx(x, abs=1.0)
        assert (math.exp(read) if log else read) == pytest.approx(y, rel=0.01)


def test_the_values_beside_the_picture_are_the_points() -> None:
    figure = shown(Chart("Loss", "loss", [Series("a", LINE), Series("b", LINE[:2], "validation")]))
    (script,) = [node.text or "" for node in parsed(figure).iter("script")]
    values = json.loads(script)
    assert [(one["name"], one["points"]) for one in values["series"]] == [
        ("a", [list(point) for point in LINE]),
        ("b", [list(point) for point in LINE[:2]]),
    ]


def test_what_cannot_be_drawn_is_left_out() -> None:
    holes = [(1.0, math.nan), (2.0, math.inf), (3.0, 0.0), (4.0, 5.0), (5.0, -1.0)]
    figure = shown(Chart("Norm", "norm", [Series("", holes)], logarithmic=True))
    assert len(drawn(figure)) == 1
    assert "nan" not in figure
    assert line_figure(Chart("Norm", "norm", [Series("", holes[:3])], logarithmic=True)) is None
    assert line_figure(Chart("Norm", "norm", [])) is None


def test_what_leaves_at_the_top_leaves_the_picture_and_not_the_rest() -> None:
    figure = shown(Chart("Loss", "loss", [Series("", [(0, 1000.0), *LINE[1:]])], top=9.5))
    slope, begin = axis(figure, vertical=True)
    inner = next(node for node in parsed(figure).iter("svg") if node.get("x"))
    assert begin + slope * float(inner.get("y", "nan")) < 11  # the picture's upper edge, where lines are cut
    assert drawn(figure)[0][1] < -1000


def test_names_cannot_leave_their_place() -> None:
    name = '</text><script>alert("1")</script>&'
    figure = shown(Chart(name, name, [Series(name, LINE)], x_label=name, note=name))
    assert [node.tag for node in parsed(figure).iter("script")] == ["script"]
    assert "alert" in (parsed(figure).findtext("figcaption/b") or "")


@given(st.lists(st.floats(-1e6, 1e6), min_size=401, max_size=3000))
def test_thinning_keeps_every_extreme_and_the_ends(values: list[float]) -> None:
    points: list[Point] = [(float(place), value) for place, value in enumerate(values)]
    kept = thinned(points)
    assert len(kept) <= 4 * 401
    assert set(kept) <= set(points)
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert {max(values), min(values)} <= {value for _, value in kept}


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_few_round_and_evenly_spaced(low: float, width: float) -> None:
    high = low + width
    ticks = linear_ticks(low, high)
    if width < 1e-9 * abs(low):
        return  # numbers this close have no round ones between them
    assert 2 <= len(ticks) <= MOST_TICKS
    assert low - 1e-6 * width <= ticks[0]
    assert ticks[-1] <= high + 1e-6 * width
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)
    assert round(steps[0] / 10 ** math.floor(math.log10(steps[0] * 1.0001)), 2) in (1, 2, 5)


@given(st.floats(1e-8, 1e8), st.floats(1.001, 1e12))
def test_logarithmic_ticks_lie_between_the_ends(low: float, ratio: float) -> None:
    ticks = log_ticks(low, low * ratio)
    assert 2 <= len(ticks) <= 21
    assert low * 0.999 <= ticks[0]
    assert ticks[-1] <= low * ratio * 1.001
    assert ticks == sorted(set(ticks))


def test_bars_are_as_high_as_their_counts() -> None:
    counts = {"source": [10, 250, 0], "target": [40, 300, 5]}
    figure = shown(bar_figure("Lengths", ["1–4", "5–8", "9–16"], counts, x="tokens", y="pairs"))
    slope, _ = axis(figure.replace("–", ""), vertical=True)
    heights = [-slope * float(node.get("height", "nan")) for node in parsed(figure).iter("rect")]
    assert heights == pytest.approx([10, 40, 250, 300, 0, 5], abs=0.2)
    assert bar_figure("Lengths", [], {"source": [], "target": []}, x="tokens", y="pairs") is None


@pytest.mark.parametrize("scale", ["weights", "signed"])
def test_a_picture_has_the_colour_of_each_number(scale: str) -> None:
    colours = {theme: colour_scale(scale, theme) for theme in ("light", "dark")}
    places = np.random.default_rng(1).integers(0, len(colours["light"]), (7, 11))
    cells = Cells(places / (len(colours["light"]) - 1), (0, 0, 1, 1), scale)
    for theme, expected in colours.items():
        with Image.open(io.BytesIO(cells.png(theme))) as read:
            np.testing.assert_array_equal(np.asarray(read.convert("RGB")), expected[places])
    np.testing.assert_array_equal(cells.pixels(), colours["light"][places])


def test_signed_colours_are_paper_in_the_middle_and_opposite_at_the_ends() -> None:
    for theme in ("light", "dark"):
        scale = colour_scale("signed", theme).astype(int).tolist()
        (red, _, blue), middle, (more_red, _, less_blue) = scale[0], scale[len(scale) // 2], scale[-1]
        assert blue > red + 50
        assert more_red > less_blue + 50
        assert max(middle) - min(middle) < 8


def test_what_is_moved_and_cut_in_svg_has_its_place_and_its_edges() -> None:
    moved = Inset([Inset([Words("tick", "x", (1, 2))], cut=(0, 0, 9, 8))], by=(30.0, 4.5))
    (group,) = svg(Picture(50, 40, [moved], "")).iter("g")
    assert group.get("transform") == "translate(30.0 4.5)"
    (inner,) = group.iter("svg")
    assert (inner.get("width"), inner.get("viewBox"), inner.findtext("text")) == ("9.0", "0.0 0.0 9.0 8.0", "x")


def test_a_map_names_every_subword_and_frames_the_links() -> None:
    sides = {"source": [" A", "b", "⟨end⟩"], "target": [" <C>", "&", " D", "⟨end⟩"]}
    drawn = attention_map(np.full((4, 3), 1 / 3), **sides, links=frozenset({(0, 2)}))
    names = [node.text for node in svg(drawn).iter("text")]
    assert names == ["·<C>", "&", "·D", "⟨end⟩", "·A", "b", "⟨end⟩"]
    (cells,) = [mark for mark in drawn.marks if isinstance(mark, Cells)]
    (link,) = [mark for mark in drawn.marks if isinstance(mark, Frame) and mark.kind == "link"]
    x, y, width, height = cells.box
    assert link.box == pytest.approx((x, y + height / 2, width / 3, height / 4))


def test_all_heads_have_their_layer_s_row_and_their_own_column() -> None:
    weights = np.random.default_rng(1).random((2, 3, 4, 5))
    maps = [mark for mark in heads_map(weights).marks if isinstance(mark, Cells)]
    rows, columns = (sorted({mark.box[axis] for mark in maps}) for axis in (1, 0))
    assert (len(maps), len(rows), len(columns)) == (6, 2, 3)
    for mark in maps:
        layer, head = rows.index(mark.box[1]), columns.index(mark.box[0])
        np.testing.assert_allclose(mark.shares**2, weights[layer, head])
    assert columns[1] - columns[0] > maps[0].box[2]
    assert rows[1] - rows[0] > maps[0].box[3]


def test_a_map_of_positions_names_both_axes() -> None:
    names = [node.text or "" for node in svg(position_map(np.eye(64, 512))).iter("text")]
    assert {"position ↓", "dimension →", "60", "500", "1", "−1"} <= set(names)


@given(
    st.lists(st.tuples(st.integers(0, 2**53), st.floats()), max_size=12),
    st.booleans(),
    st.one_of(st.none(), st.floats(allow_nan=False)),
)
def test_whatever_was_measured_has_a_chart_or_none(points: list[Point], log: bool, top: float | None) -> None:
    """Numbers out of a file: of any size, and as close to each other as numbers can be."""
    figure = line_figure(Chart("Loss", "loss", [Series("", points)], logarithmic=log, top=top))
    if figure is not None:
        drawn = next(mark for mark in figure.picture.marks if isinstance(mark, Inset)).marks
        places = [place for stroke in drawn if isinstance(stroke, Stroke) for place in stroke.points]
        assert places
        assert all(math.isfinite(x) and math.isfinite(y) for x, y in places)
