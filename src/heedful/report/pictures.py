"""What pictures of weights need beside charts: cells, their scale of colours, and PNG with letters of every script.

Weights are the strength of a colour over whatever lies below it, so that one picture serves light and dark pages.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.report.charts import Box, add_axes
from heedful.report.pages import MARGIN, PIXELS_PER_INCH, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PIXELS = 8000
"""Of a side: a picture of a thousand subwords gets smaller ones."""
ABOVE, BELOW = "#1b5c94", "#a34c0a"
"""The colours of numbers above and below zero; a dark page shows them brighter."""
NOT_IN_FONTS = "□"
_FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Arial Unicode MS", "Noto Sans", "Noto Emoji"),
    "Segoe UI Symbol",
)
"""Fonts that have what matplotlib's own lacks; those that are installed are used."""


def add_cells(axes: Axes, shares: np.ndarray, **options: Any) -> None:
    """Fill the axes with a cell for each share from −1 to 1: the stronger its colour, the further from 0."""
    from matplotlib.colors import to_rgb

    colours = np.where(shares[..., None] < 0, to_rgb(BELOW), to_rgb(ABOVE))
    axes.imshow(np.dstack([colours, np.clip(np.abs(shares), 0, 1)]), aspect="auto", interpolation="none", **options)
    axes.spines[:].set(visible=True, color=colour("rule"))


def add_scale(figure: Figure, box: Box, ticks: Mapping[float, str]) -> None:
    """The colours from the first to the last of these shares, with what is written below each of them."""
    low, high = min(ticks), max(ticks)
    axes = add_axes(figure, box)
    add_cells(axes, np.linspace(low, high, 128)[None, :], extent=(low, high, 0, 1))
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_yticks([])


def png(figure: Figure, *, scale: float = 2.0) -> bytes:
    """The picture with so many pixels for each of its own; words that need more room than it has get it."""
    from matplotlib.text import Text

    for words in figure.findobj(Text):
        families, text = _drawable(words.get_text())
        words.set(text=text, fontfamily=families, parse_math=False)
    box = figure.get_tightbbox().padded(MARGIN / PIXELS_PER_INCH)
    drawn = io.BytesIO()
    dpi = min(PIXELS_PER_INCH * scale, _MOST_PIXELS / max(box.size))
    figure.savefig(drawn, format="png", dpi=dpi, facecolor="white", bbox_inches=box)
    return drawn.getvalue()


def _drawable(text: str) -> tuple[list[str], str]:
    """The fonts to use, and the text with a box for each character that none of them has."""
    wanted = set(map(ord, text))
    families, had = ["DejaVu Sans"], _characters("DejaVu Sans")
    for family in _FALLBACKS:
        if not wanted <= had and (new := _characters(family) & wanted - had):
            families.append(family)
            had |= new
    return families, "".join(character if ord(character) in had else NOT_IN_FONTS for character in text)


@functools.cache
def _characters(family: str) -> frozenset[int]:
    """The code points that an installed font has; none where it is not installed."""
    from matplotlib.font_manager import fontManager, get_font

    paths = [font.fname for font in fontManager.ttflist if font.name == family and font.style == "normal"]
    return frozenset(get_font(paths[0]).get_charmap()) if paths else frozenset()
