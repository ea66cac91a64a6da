"""Pictures as PNG, drawn by matplotlib: the same marks at the same places as in SVG, in the colours of a light page."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heedful.report.pages import page_style
from heedful.report.picture import Cells, Frame, Inset, Mark, Picture, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.transforms import BboxBase, Transform

_PER_INCH = 100
"""A picture's own pixels; matplotlib measures in inches, and strokes and letters in seventy-seconds of one."""
_POINT = 72 / _PER_INCH
_MOST_PIXELS = 8000
"""Of a side: a picture of a thousand subwords gets smaller ones."""
NOT_IN_FONTS = "□"
_FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Arial Unicode MS", "Noto Sans", "Noto Emoji"),
    "Segoe UI Symbol",
)
"""Fonts that have what matplotlib's own lacks; those that are installed are used."""
_WIDTHS = {"line": 1.7, "dense": 1.1, "dots": 4.5, "mark": 9.0, "link": 2.0}
"""Of strokes, by their kind, as in the style sheet; others are 1."""
_DASHES = {"plan": (5, 4), "vertical": (2, 3)}
_SIZES = {"subword": 11.0, "headline": 16.0}
"""Of letters, as in the style sheet; others are 12."""
_COLOURS = {"grid": "rule", "outline": "rule", "vertical": "plan", "link": "mark", "tick": "soft", "axis-name": "soft"}
"""The style sheet's names of the colours of those kinds that are not called like theirs."""


def png(picture: Picture, *, scale: float = 2.0) -> bytes:
    """The picture with so many pixels for each of its own; words that need more room than it has get it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    size = picture.width, picture.height
    figure = Figure(figsize=(size[0] / _PER_INCH, size[1] / _PER_INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.add_patch(Rectangle((0, 0), *size, facecolor="white", edgecolor="none", zorder=-1))
    _draw(picture.marks, axes, axes.transData)
    axes.set(xlim=(0, size[0]), ylim=(size[1], 0))
    axes.set_axis_off()
    memory = io.BytesIO()
    dpi = _PER_INCH * min(scale, _MOST_PIXELS / max(size))
    figure.savefig(memory, format="png", dpi=dpi, facecolor="white", bbox_inches="tight", pad_inches=0.05)
    return memory.getvalue()


def _draw(marks: Sequence[Mark], axes: Axes, place: Transform, cut: BboxBase | None = None) -> None:
    from matplotlib.transforms import Affine2D, Bbox, TransformedBbox

    for mark in marks:
        if isinstance(mark, Inset):
            moved = Affine2D().translate(*mark.by) + place
            inner = TransformedBbox(Bbox.from_bounds(*mark.cut), moved) if mark.cut else cut
            _draw(mark.marks, axes, moved, inner)
            continue
        artist = _drawn(mark, axes, place)
        if cut is None:
            artist.set_clip_on(False)
        else:  # only now: to be added to the axes has set another box
            artist.set_clip_box(cut)


def _drawn(mark: Stroke | Words | Frame | Cells, axes: Axes, place: Transform) -> Artist:
    from matplotlib.patches import Rectangle

    if isinstance(mark, Cells):
        x, y, width, height = mark.box
        extent = (x, x + width, y + height, y)
        return axes.imshow(mark.pixels(), extent=extent, aspect="auto", interpolation="nearest", transform=place)
    colour, wide = _colour(mark.kind), _POINT * _of_kind(_WIDTHS, mark.kind, 1.0)
    if isinstance(mark, Words):
        return axes.text(*mark.at, **_lettering(mark), color=colour, transform=place)
    if isinstance(mark, Frame):
        filled = {"linewidth": 0, "facecolor": colour}
        look = filled if "bar" in mark.kind.split() else {"linewidth": wide, "edgecolor": colour, "fill": False}
        return axes.add_patch(Rectangle(mark.box[:2], *mark.box[2:], **look, transform=place))
    look = {"linewidth": wide, "linestyle": (0, _of_kind(_DASHES, mark.kind, None))}
    if mark.dots:
        look = {"linestyle": "", "marker": "o", "markersize": wide, "markeredgewidth": 0}
    (line,) = axes.plot(*zip(*mark.points, strict=True), color=colour, **look, transform=place)
    return line


def _lettering(words: Words) -> dict[str, Any]:
    kinds = words.kind.split()
    families, text = _drawable(words.text)
    return {
        "s": text,
        "fontsize": _POINT * _of_kind(_SIZES, words.kind, 12.0),
        "fontweight": "bold" if "strong" in kinds else "normal",
        "fontfamily": families,
        "ha": "right" if "end" in kinds else "center" if "middle" in kinds else "left",
        "va": "baseline",
        "rotation": words.turned,
        "rotation_mode": "anchor",
        "parse_math": False,  # a dollar sign is a dollar sign
    }


def _of_kind(table: dict[str, Any], kind: str, otherwise: Any) -> Any:
    """What the last of the classes that the table has says: it is the narrowest."""
    return next((table[name] for name in reversed(kind.split()) if name in table), otherwise)


def _colour(kind: str) -> str:
    colours = _page_colours()
    names = (_COLOURS.get(name, name) for name in kind.split())
    return next((colours[name] for name in names if name in colours), colours["ink"])


@functools.cache
def _page_colours() -> dict[str, str]:
    """The colours of a light page, by their names."""
    light = re.sub(r"@media[^{]*\{\s*:root\s*\{[^}]*\}\s*\}", "", page_style("report.css"))
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))


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
