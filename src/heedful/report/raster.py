"""Pictures as PNG, drawn by matplotlib: the same marks at the same places as in SVG, in the colours of a light page."""

from __future__ import annotations

import functools
import io
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from heedful.report.colours import SCALES, pixels
from heedful.report.pages import page_style
from heedful.report.picture import Box, Cells, Frame, Inset, Mark, Picture, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_PER_INCH = 100
"""A picture's own pixels; matplotlib measures in inches, and strokes and letters in seventy-seconds of one."""
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


@dataclass(frozen=True)
class _Sheet:
    """Where marks are drawn: moved so far, and cut off outside a box."""

    axes: Axes
    x: float = 0.0
    y: float = 0.0
    cut: Box | None = None


def png(picture: Picture, *, scale: float = 2.0) -> bytes:
    """The picture with so many pixels for each of its own; words that need more room than it has get it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    size = picture.width, picture.height
    figure = Figure(figsize=(size[0] / _PER_INCH, size[1] / _PER_INCH))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.add_patch(Rectangle((0, 0), *size, facecolor="white", edgecolor="none", zorder=-1))
    for mark in picture.marks:
        _draw(mark, _Sheet(axes))
    axes.set(xlim=(0, size[0]), ylim=(size[1], 0))
    axes.set_axis_off()
    memory = io.BytesIO()
    dpi = _PER_INCH * min(scale, _MOST_PIXELS / max(size))
    figure.savefig(memory, format="png", dpi=dpi, facecolor="white", bbox_inches="tight", pad_inches=0.05)
    return memory.getvalue()


def _draw(mark: Mark, sheet: _Sheet) -> None:
    match mark:
        case Stroke():
            _draw_stroke(mark, sheet)
        case Words():
            _draw_words(mark, sheet)
        case Frame():
            _draw_frame(mark, sheet)
        case Cells():
            x, y, width, height = _moved(mark.box, sheet)
            colours = pixels(mark.shares, SCALES[mark.scale]())
            sheet.axes.imshow(colours, extent=(x, x + width, y + height, y), aspect="auto", interpolation="nearest")
        case Inset():
            x, y = sheet.x + mark.box[0] - mark.view[0], sheet.y + mark.box[1] - mark.view[1]
            inner = replace(sheet, x=x, y=y, cut=_moved(mark.box, sheet) if mark.cut else sheet.cut)
            for one in mark.marks:
                _draw(one, inner)


def _draw_stroke(stroke: Stroke, sheet: _Sheet) -> None:
    xs, ys = [sheet.x + x for x, _ in stroke.points], [sheet.y + y for _, y in stroke.points]
    wide = _inches(_of_kind(_WIDTHS, stroke.kind, 1.0))
    if stroke.dots:
        look = {"linestyle": "", "marker": "o", "markersize": wide, "markeredgewidth": 0}
    else:
        dashes = _of_kind(_DASHES, stroke.kind, None)
        look = {"linewidth": wide, "linestyle": (0, dashes) if dashes else "-"}
    (line,) = sheet.axes.plot(xs, ys, color=_colour(stroke.kind), **look)
    _cut_off(line, sheet)


def _draw_words(words: Words, sheet: _Sheet) -> None:
    kinds = words.kind.split()
    families, text = _drawable(words.text)
    sheet.axes.text(
        sheet.x + words.at[0],
        sheet.y + words.at[1],
        text,
        color=_colour(words.kind),
        fontsize=_inches(_of_kind(_SIZES, words.kind, 12.0)),
        fontweight="bold" if "strong" in kinds else "normal",
        fontfamily=families,
        ha="right" if "end" in kinds else "center" if "middle" in kinds else "left",
        va="baseline",
        rotation=words.turned,
        rotation_mode="anchor",
        parse_math=False,  # a dollar sign is a dollar sign
    )


def _draw_frame(frame: Frame, sheet: _Sheet) -> None:
    from matplotlib.patches import Rectangle

    x, y, width, height = _moved(frame.box, sheet)
    look = {"linewidth": _inches(_of_kind(_WIDTHS, frame.kind, 1.0)), "edgecolor": _colour(frame.kind), "fill": False}
    if "bar" in frame.kind.split():
        look = {"linewidth": 0, "facecolor": _colour(frame.kind)}
    _cut_off(sheet.axes.add_patch(Rectangle((x, y), width, height, **look)), sheet)


def _cut_off(mark: Artist, sheet: _Sheet) -> None:
    from matplotlib.transforms import Bbox, TransformedBbox

    if sheet.cut is None:
        mark.set_clip_on(False)
    else:  # only now: to be added to the axes has set another box
        mark.set_clip_box(TransformedBbox(Bbox.from_bounds(*sheet.cut), sheet.axes.transData))


def _moved(box: Box, sheet: _Sheet) -> Box:
    return sheet.x + box[0], sheet.y + box[1], box[2], box[3]


def _inches(length: float) -> float:
    return length * 72 / _PER_INCH


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
