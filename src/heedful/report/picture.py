"""Pictures: strokes, words, frames and fields of cells, laid out once; here as SVG, in ``raster.py`` as PNG.

What a mark is said to be, its ``kind``, are classes of the style sheet: a page shows it in the colours of the reader's
screen. This module does not know what is drawn.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.report.colours import SCALES, indexed_png

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x, y, width, height."""


@dataclass(frozen=True)
class Stroke:
    """A line through points or, with ``dots``, a dot at each of them."""

    kind: str
    points: Sequence[Point]
    dots: bool = False


@dataclass(frozen=True)
class Words:
    """Text that begins at a place, or ends there (``end``), or has it in its middle (``middle``)."""

    kind: str
    text: str
    at: Point
    turned: float = 0.0
    """Degrees, to the left."""


@dataclass(frozen=True)
class Frame:
    """A rectangle: filled where it is a ``bar``, else only its edge."""

    kind: str
    box: Box
    about: str = ""
    """What the pointer is told."""


@dataclass(frozen=True)
class Cells:
    """Shares from 0 to 1, ``[rows, columns]``, in the colours of a scale over a box."""

    shares: np.ndarray
    box: Box
    scale: str = "weights"


@dataclass(frozen=True)
class Inset:
    """Marks with a place of their own: what is at ``view`` is seen at ``box``, of the same size."""

    marks: Sequence[Mark]
    box: Box
    view: Box
    cut: bool = False
    """Whether what reaches beyond is cut off."""


Mark = Stroke | Words | Frame | Cells | Inset


@dataclass(frozen=True)
class Picture:
    """Marks on a sheet; the later ones lie above."""

    width: float
    height: float
    marks: Sequence[Mark]
    label: str
    """What somebody is told who cannot see it."""
    kind: str = ""
    """A picture of a kind has its own size; others are as wide as their place."""


@dataclass(frozen=True)
class Element:
    """A part of an SVG picture, as a template writes it."""

    tag: str
    attributes: Mapping[str, str]
    text: str = ""
    inner: Sequence[Element] = ()


def inset(picture: Picture, x: float, y: float) -> Inset:
    """A picture as a part of another one, at this place."""
    size = picture.width, picture.height
    return Inset(picture.marks, (x, y, *size), (0.0, 0.0, *size))


def svg_element(picture: Picture) -> Element:
    """The picture as SVG."""
    size = f"{picture.width:.0f}", f"{picture.height:.0f}"
    kind = {"class": picture.kind, "width": size[0], "height": size[1]} if picture.kind else {}
    view = {"viewBox": f"0 0 {size[0]} {size[1]}", "role": "img", "aria-label": picture.label}
    return Element("svg", {**kind, **view}, inner=_elements(picture.marks))


def _elements(marks: Sequence[Mark]) -> list[Element]:
    return [element for mark in marks for element in _drawn(mark)]


def _drawn(mark: Mark) -> list[Element]:
    match mark:
        case Stroke():
            return [Element("path", {"class": mark.kind, "d": _path(mark)})]
        case Words():
            x, y = (f"{value:.1f}" for value in mark.at)
            place = {"transform": f"translate({x} {y}) rotate({-mark.turned:g})"} if mark.turned else {"x": x, "y": y}
            return [Element("text", {"class": mark.kind, **place}, mark.text)]
        case Frame():
            about = [Element("title", {}, mark.about)] if mark.about else []
            return [Element("rect", {"class": mark.kind, **_size(mark.box)}, inner=about)]
        case Cells():
            return [_image(mark, theme) for theme in ("light", "dark")]
        case Inset():
            view = " ".join(f"{value:.1f}" for value in mark.view)
            beyond = {} if mark.cut else {"overflow": "visible"}
            return [Element("svg", {**_size(mark.box), "viewBox": view, **beyond}, inner=_elements(mark.marks))]


def _path(stroke: Stroke) -> str:
    places = [f"{x:.1f} {y:.1f}" for x, y in stroke.points]
    # A path of length zero with round ends is a dot, and one element holds them all.
    return "".join(f"M{place}h0" for place in places) if stroke.dots else "M" + "L".join(places)


def _image(cells: Cells, theme: str) -> Element:
    """The cells as a light or as a dark page shows them; the style sheet hides the other one."""
    picture = indexed_png(cells.shares, SCALES[cells.scale](dark=theme == "dark"))
    data = base64.b64encode(picture).decode("ascii")
    place = {**_size(cells.box), "preserveAspectRatio": "none"}
    return Element("image", {"class": f"for-{theme}", **place, "href": f"data:image/png;base64,{data}"})


def _size(box: Box) -> dict[str, str]:
    return {name: f"{value:.1f}" for name, value in zip(("x", "y", "width", "height"), box, strict=True)}
