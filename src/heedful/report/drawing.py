"""Pictures, drawn by matplotlib: as SVG in the colours of the reader's screen, and as PNG in those of a light page.

A colour is one of the style sheet's, by its name. Weights are the strength of a colour over whatever lies below it, so
that one picture serves light and dark pages. This module does not know what is drawn.
"""

from __future__ import annotations

import functools
import io
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from heedful.report.pages import page_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]
"""left, top, width, height."""

_PER_INCH = 72
"""A picture's own pixels: as many as matplotlib has points, so that both are SVG's units too."""
_MOST_PIXELS = 8000
"""Of a side: a picture of a thousand subwords gets smaller ones."""
_MARGIN = 4
ABOVE, BELOW = "#1b5c94", "#a34c0a"
"""The colours of numbers above and below zero; a dark page shows them brighter."""
NOT_IN_FONTS = "□"
_FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Arial Unicode MS", "Noto Sans", "Noto Emoji"),
    "Segoe UI Symbol",
)
"""Fonts that have what matplotlib's own lacks; those that are installed are used."""


def new_figure(width: float, height: float) -> Figure:
    """An empty sheet of so many pixels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / _PER_INCH, height / _PER_INCH), dpi=_PER_INCH)


def add_axes(figure: Figure, box: Box, **settings: Any) -> Axes:
    """Axes in a part of the sheet or beside it, with small soft numbers and no frame."""
    (width, height), (left, top, wide, high) = figure.get_size_inches() * _PER_INCH, box
    axes = figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))
    axes.tick_params(length=0, pad=5, labelsize=12, labelcolor=colour("soft"))
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    axes.set(**settings)
    return axes


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


@functools.cache
def _page_colours() -> dict[str, str]:
    """The colours of a light page, by their names."""
    light = re.sub(r"@media[^{]*\{\s*:root\s*\{[^}]*\}\s*\}", "", page_style("report.css"))
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))


def colour(name: str) -> str:
    """A colour of the style sheet as a light page has it."""
    return _page_colours()[name]


def svg(figure: Figure, *, label: str, kind: str = "") -> Markup:
    """The picture for a page. One of a kind has its own size; others are as wide as their place. ``label``: what
    somebody is told who cannot see it."""
    import matplotlib

    for words in _all_words(figure):
        words.set_parse_math(False)  # a dollar sign is a dollar sign
    drawn = io.StringIO()
    # A browser finds a font for every character, also for those that are not to be found here.
    with (
        warnings.catch_warnings(action="ignore"),
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}),
    ):
        tight = {"bbox_inches": "tight", "pad_inches": _MARGIN / _PER_INCH} if kind else {}
        figure.savefig(drawn, format="svg", transparent=True, **tight)
    names = {code: f"var(--{name})" for name, code in _page_colours().items()}

    def plain(tag: re.Match[str]) -> str:
        """A tag without what a page does not need, in the page's own fonts and colours."""
        text = re.sub(r'font-family: [^;"]*;? ?|id="(?![mp][0-9a-f]{10}")[^"]*"|xlink:', "", tag[0])
        return re.sub("#[0-9a-f]{6}", lambda code: names.get(code[0], code[0]), text)

    body = re.sub("<metadata>.*?</metadata>|<style.*?</style>", "", drawn.getvalue(), flags=re.DOTALL)
    head, _, body = body.partition("<svg")[2].partition(">")
    size = re.findall(r"[\d.]+", head.partition("viewBox")[2])[2:4]
    own = f'class="{kind}" width="{size[0]}" height="{size[1]}" ' if kind else ""
    about = f'{own}viewBox="0 0 {" ".join(size)}" role="img" aria-label="{escape(label)}"'
    return Markup(f"<svg {about}>{re.sub('<[^>]*>', plain, body)}")


def png(figure: Figure, *, scale: float = 2.0) -> bytes:
    """The picture with so many pixels for each of its own; words that need more room than it has get it."""
    for words in _all_words(figure):
        families, text = _drawable(words.get_text())
        words.set(text=text, fontfamily=families, parse_math=False)
    box = figure.get_tightbbox().padded(_MARGIN / _PER_INCH)
    drawn = io.BytesIO()
    dpi = min(_PER_INCH * scale, _MOST_PIXELS / max(box.size))
    figure.savefig(drawn, format="png", dpi=dpi, facecolor="white", bbox_inches=box)
    return drawn.getvalue()


def _all_words(figure: Figure) -> list[Any]:
    from matplotlib.text import Text

    return figure.findobj(Text)


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
