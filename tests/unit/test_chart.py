"""Charts say what was measured: their points are read back off the axes that they show."""

from __future__ import annotations

import base64
import io
import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from heedful.report.attention_views import _heads_map, attention_map
from heedful.report.charts import Chart, Figure, Point, Series, add_axes, bar_figure, line_figure, new_figure, thinned
from heedful.report.pages import fragment, svg
from heedful.report.pictures import ABOVE, BELOW, add_cells, png
from heedful.report.run_page import position_map

LINE = [(0.0, 2.5), (50.0, 9.0), (120.0, 4.0), (300.0, 7.25)]


def shown(chart: Chart | Figure | None) -> str:
    """A figure as a page has it."""
    figure = line_figure(chart) if isinstance(chart, Chart) else chart
    return fragment('{% from "parts.html" import figure %}{{ figure(one) }}', one=figure)


def parsed(figure: str) -> ElementTree.Element:
    """The figure, which must be well-formed."""
    return ElementTree.fromstring(figure)


def places(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (-?[\d.e+]+) (-?[\d.e+]+)", path)]


def paths(figure: str, style: str) -> list[list[tuple[float, float]]]:
    """The places of every path that is drawn so."""
    return [places(node.get("d", "")) for node in parsed(figure).iter("path") if style in node.get("style", "")]


def axis(figure: str, *, vertical: bool, log: bool = False) -> tuple[float, float]:
    """Slope and beginning of an axis, by the two outermost numbers that stand beside it."""
    anchor = f"text-anchor: {'end' if vertical else 'middle'}"
    ticks = [node for node in parsed(figure).iter("text") if anchor in node.get("style", "")]
    ticks = [node for node in ticks if (node.text or " ")[-1] in "0123456789kM"]
    across = [line[0][1] for line in paths(figure, "var(--rule)")]
    at = across if vertical else [float(node.get("x", "nan")) for node in ticks]
    found = sorted(zip((number(node.text or "") for node in ticks), at, strict=True))
    (a, at_a), (b, at_b) = found[0], found[-1]
    a, b = (math.log(a), math.log(b)) if log else (a, b)
    return (b - a) / (at_b - at_a), a - (b - a) / (at_b - at_a) * at_a


def number(text: str) -> float:
    sizes = {"k": 1e3, "M": 1e6}
    return float(text.rstrip("kM").replace("−", "-")) * sizes.get(text[-1], 1.0)


def drawn(figure: str, kind: str = "train") -> list[tuple[float, float]]:
    return next(line for line in paths(figure, f"fill: none; stroke: var(--{kind})"))


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
    (edge,) = [node for clip in parsed(figure).iter("clipPath") for node in clip.iter("rect")]
    assert begin + slope * float(edge.get("y", "nan")) < 11  # the plot's upper edge, where lines are cut
    (line,) = [node for node in parsed(figure).iter("path") if "stroke: var(--train)" in node.get("style", "")
               and "fill: none" in node.get("style", "")]  # fmt: skip
    assert line.get("clip-path", "").startswith("url(#")
    assert drawn(figure)[0][1] < 0


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


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans())
@settings(max_examples=30, deadline=None)
def test_an_axis_names_some_round_numbers_and_no_two_alike(low: float, width: float, log: bool) -> None:
    low = abs(low) + 1e-3 if log else low
    figure = line_figure(Chart("Loss", "loss", [Series("", [(0, low), (9, low + width)])], logarithmic=log))
    assert figure is not None
    texts = [node for node in parsed(figure.picture).iter("text") if "text-anchor: end" in node.get("style", "")]
    names = [node.text for node in texts if node.text != "step →"]
    assert 2 <= len(names) <= 9
    if width > 1e-4 * abs(low):
        assert len(set(names)) == len(names)


def test_bars_are_as_high_as_their_counts() -> None:
    counts = {"source": [10, 250, 0], "target": [40, 300, 5]}
    figure = bar_figure("Lengths", ["a", "b", "c"], counts, x="tokens", y="pairs")
    slope, _ = axis(shown(figure), vertical=True)
    for kind, expected in (("train", [10, 250, 0]), ("validation", [40, 300, 5])):
        bars = paths(shown(figure), f"fill: var(--{kind})")
        heights = [slope * (min(y for _, y in bar) - max(y for _, y in bar)) for bar in bars]
        assert heights == pytest.approx(expected, abs=0.2)
    assert figure is not None
    assert figure.values["names"] == ["a", "b", "c"]
    assert [one["points"][1] for one in figure.values["series"]] == [(1, 250), (1, 300)]
    assert bar_figure("Lengths", [], {"source": [], "target": []}, x="tokens", y="pairs") is None


def test_a_cell_is_the_stronger_the_further_its_number_is_from_zero() -> None:
    """Read back from the picture in the page: one colour for each sign, its strength the number."""
    shares = np.array([[0.0, 0.25, 1.0], [-0.5, -1.0, 2.0]])
    figure = new_figure(60, 40)
    add_cells(add_axes(figure, (0, 0, 60, 40), xticks=[], yticks=[]), shares)
    (image,) = parsed(svg(figure, label="cells", kind="map")).iter("image")
    stored = base64.b64decode(image.get("href", "").partition(",")[2])
    with Image.open(io.BytesIO(stored)) as read:
        pixels = np.asarray(read.convert("RGBA"))
    np.testing.assert_allclose(pixels[..., 3] / 255, np.clip(np.abs(shares), 0, 1), atol=0.01)
    above, below = (tuple(bytes.fromhex(colour[1:])) for colour in (ABOVE, BELOW))
    assert (tuple(pixels[0, 2][:3]), tuple(pixels[1, 1][:3])) == (above, below)
    assert above[2] > above[0] + 50
    assert below[0] > below[2] + 50


def test_a_map_names_every_subword_and_frames_the_links() -> None:
    sides = {"source": [" A", "b", "⟨end⟩"], "target": [" <C>", "&", " $D$ #20242a", "⟨end⟩"]}
    figure = attention_map(np.full((4, 3), 1 / 3), **sides, links=frozenset({(0, 2)}))
    drawn = svg(figure, label="map", kind="map")
    names = [node.text for node in parsed(drawn).iter("text")]
    assert names == ["·<C>", "&", "·$D$ #20242a", "⟨end⟩", "·A", "b", "⟨end⟩"]
    (cells,) = parsed(drawn).iter("image")
    wide, _, _, high, x, _ = map(float, re.findall(r"-?[\d.]+", cells.get("transform", "")))
    (frame,) = paths(drawn, "stroke: var(--mark)")
    left, top = min(frame)
    right, bottom = max(frame)
    assert (right - left, bottom - top) == pytest.approx((wide, high), abs=0.5)
    assert left == pytest.approx(x, abs=0.5)


def test_all_heads_have_their_layer_s_row_and_their_own_column() -> None:
    weights = np.random.default_rng(1).random((2, 3, 4, 5))
    maps = _heads_map(weights).axes
    assert len(maps) == 6
    for axes, (layer, head) in zip(maps, np.ndindex(2, 3), strict=True):
        np.testing.assert_allclose(np.asarray(axes.images[0].get_array())[..., 3] ** 2, weights[layer, head])
        box = axes.get_position()
        assert (box.x0, 1 - box.y1) == pytest.approx((head / 3, layer / 2), abs=0.01)
    assert png(_heads_map(weights)).startswith(b"\x89PNG")


def test_a_map_of_positions_names_both_axes() -> None:
    names = [node.text or "" for node in parsed(position_map(np.eye(64, 512))).iter("text")]
    assert {"position", "dimension →", "60", "500", "1", "−1"} <= set(names)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2**53), st.floats()), max_size=12),
    st.booleans(),
    st.one_of(st.none(), st.floats(allow_nan=False)),
)
def test_whatever_was_measured_has_a_chart_or_none(points: list[Point], log: bool, top: float | None) -> None:
    """Numbers out of a file: of any size, and as close to each other as numbers can be."""
    figure = line_figure(Chart("Loss", "loss", [Series("", points)], logarithmic=log, top=top))
    if figure is not None:
        places = drawn(shown(figure))
        assert places
        assert all(math.isfinite(x) and math.isfinite(y) for x, y in places)
