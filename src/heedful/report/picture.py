"""Pictures: strokes, words, frames and fields of cells, laid out once; ``page/svg.html`` and ``raster.py`` draw them.

What a mark is said to be, its ``kind``, are classes of the style sheet: a page shows it in the colours of the reader's
screen. Cells have scales of colours, for light and for dark surroundings. This module does not know what is drawn.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x, y, width, height."""

_STEPS = 65
"""Colours in a scale."""
# Nine colours of each, equally far apart in OKLCH's lightness, a space in which equal steps look equal.
_SCALES = {
    ("weights", "light"): "f1f8f9 bbe3ec 89cbe1 5eb0d5 4194c4 3477ac 315b8c 2e4267 252c3f",
    ("weights", "dark"): "202225 28384d 285073 1f6c95 1a89af 34a6c2 61c2d1 96dadd cdf0ed",
    ("signed", "light"): "255ea2 5884bc 89aad5 bdd1ec fbf8f6 e8c8b7 ce9b7f b16f49 934406",
    ("signed", "dark"): "8cc7ff 6c99d3 4f6e96 34455b 211f1e 573d2f 8e5f45 c8845e ffac79",
}


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
    """A rectangle: filled where it is a ``bar``, else only its edge. ``about`` is what the pointer is told."""

    kind: str
    box: Box
    about: str = ""


@dataclass(frozen=True)
class Cells:
    """Shares from 0 to 1, ``[rows, columns]``, in the colours of a scale over a box."""

    shares: np.ndarray
    box: Box
    scale: str = "weights"

    def pixels(self) -> np.ndarray:
        """The colour of each share on a light page, ``[rows, columns, 3]``, bytes."""
        return colour_scale(self.scale)[_places(self.shares)]

    def png(self, theme: str) -> bytes:
        """The same as a small picture, a pixel for each share, for a light or a dark page."""
        from PIL import Image

        assert self.shares.size, "a picture has pixels"
        image, memory = Image.fromarray(_places(self.shares)), io.BytesIO()
        image.putpalette(colour_scale(self.scale, theme).tobytes())
        image.save(memory, format="PNG", optimize=True)
        return memory.getvalue()


@dataclass(frozen=True)
class Inset:
    """Marks that are moved so far, together; with ``cut``, what reaches beyond that box of theirs is cut off."""

    marks: Sequence[Mark]
    by: Point = (0.0, 0.0)
    cut: Box | None = None


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


def colour_scale(name: str, theme: str = "light") -> np.ndarray:
    """``[65, 3]``, bytes. ``weights``: from 0, close to the paper, to 1; ``signed``: from −1, blue, to 1, orange."""
    known = np.array([list(bytes.fromhex(colour)) for colour in _SCALES[name, theme].split()])
    places = np.linspace(0, len(known) - 1, _STEPS)
    channels = [np.interp(places, range(len(known)), channel) for channel in known.T]
    return np.ascontiguousarray(np.rint(channels).T.astype(np.uint8))


def stroke_path(stroke: Stroke) -> str:
    """The places of a stroke as SVG writes them."""
    places = [f"{x:.1f} {y:.1f}" for x, y in stroke.points]
    # A path of length zero with round ends is a dot, and one element holds them all.
    return "".join(f"M{place}h0" for place in places) if stroke.dots else "M" + "L".join(places)


def cells_image(cells: Cells, theme: str) -> str:
    """The cells as a light or as a dark page shows them: a picture that stands in its own address."""
    return f"data:image/png;base64,{base64.b64encode(cells.png(theme)).decode('ascii')}"


def _places(shares: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(shares, 0, 1) * (_STEPS - 1)).astype(np.uint8)
