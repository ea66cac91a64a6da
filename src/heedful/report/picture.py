"""Pictures: strokes, words, frames and fields of cells, laid out once; ``page/svg.html`` and ``raster.py`` draw them.

What a mark is said to be, its ``kind``, are classes of the style sheet: a page shows it in the colours of the reader's
screen. This module does not know what is drawn.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
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


def inset(picture: Picture, x: float, y: float) -> Inset:
    """A picture as a part of another one, at this place."""
    size = picture.width, picture.height
    return Inset(picture.marks, (x, y, *size), (0.0, 0.0, *size))


def stroke_path(stroke: Stroke) -> str:
    """The places of a stroke as SVG writes them."""
    places = [f"{x:.1f} {y:.1f}" for x, y in stroke.points]
    # A path of length zero with round ends is a dot, and one element holds them all.
    return "".join(f"M{place}h0" for place in places) if stroke.dots else "M" + "L".join(places)


def cells_image(cells: Cells, theme: str) -> str:
    """The cells as a light or as a dark page shows them: a picture that stands in its own address."""
    picture = indexed_png(cells.shares, SCALES[cells.scale](dark=theme == "dark"))
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
