"""Attention as pictures: all heads of a kind in one, and one layer's cross-attention with its subwords."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.evaluation.alignments import Links, soft_alignment
from heedful.report.colours import weight_colours
from heedful.report.labels import labels
from heedful.report.new_files import require_free, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from heedful.search.attention_maps import AttentionMaps

PICTURES = ("encoder.png", "decoder.png", "cross.png", "alignment.png")
NOT_IN_FONTS = "□"
TRUE_LINK = "#d1603d"
FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *(
        "Hiragino Sans",
        "Microsoft YaHei",
        "Yu Gothic",
        "Arial Unicode MS",
        "Noto Sans",
        "Noto Emoji",
        "Segoe UI Symbol",
    ),
)
"""Fonts that have what matplotlib's own lacks; those that are installed are used."""


def require_free_pictures(folder: Path, *, overwrite: bool) -> None:
    """Raise where a picture, or a file in place of the folder, is in the way."""
    for name in PICTURES:
        require_free(folder / name, overwrite=overwrite)


def write_attention_pictures(maps: AttentionMaps, folder: Path, *, layer: int, overwrite: bool = False) -> list[Path]:
    """Draw every head of each kind, and the mean cross-attention of a layer (from 1); returns the pictures."""
    require_free_pictures(folder, overwrite=overwrite)
    figures = [
        _heads(maps.encoder, "encoder self-attention: source subwords (rows) attend to the source (columns)"),
        _heads(maps.decoder, "decoder self-attention: positions (rows) attend to what was produced before (columns)"),
        _heads(maps.cross, "cross-attention: positions of the translation (rows) attend to the source (columns)"),
        _labelled(maps, layer),
    ]
    pictures = [_png(figure) for figure in figures]
    return [
        written(folder / name, picture, overwrite=overwrite) for name, picture in zip(PICTURES, pictures, strict=True)
    ]


def alignment_picture(
    weights: np.ndarray, *, source: Sequence[str], target: Sequence[str], links: Links, layer: int
) -> bytes:
    """A PNG of a soft alignment of words, ``[target, source]``, in which a frame marks each of the true links."""
    from matplotlib.patches import Rectangle

    names = [0.09 * max(map(len, side)) for side in (source, target)]
    figure, axis = _figure(max(4.5, 0.45 * len(source) + names[1] + 1.8), 0.45 * len(target) + names[0] + 1.2)
    image = axis.imshow(weights, interpolation="nearest", cmap=_colours(), norm=_norm())
    for column, row in sorted(links):
        axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=TRUE_LINK, linewidth=2))
    axis.xaxis.tick_top()
    _name_ticks(axis, source, target, fontsize=10)
    axis.set_xlabel(f"cross-attention of layer {layer}, mean of its heads; framed: the true links", fontsize=9)
    axis.tick_params(length=0)
    axis.spines[:].set_color("#c8ccd0")
    _scale(figure, image, axis)
    return _png(figure)


def heads_mosaic(weights: np.ndarray) -> np.ndarray:
    """The maps of ``[layers, heads, queries, keys]`` side by side in one matrix, with gaps of NaN between them."""
    layers, heads, queries, keys = weights.shape
    gap = _gap(queries, keys)
    tiles = np.full((layers, queries + gap, heads, keys + gap), np.nan)
    tiles[:, :queries, :, :keys] = weights.transpose(0, 2, 1, 3)
    return tiles.reshape(layers * (queries + gap), heads * (keys + gap))[:-gap, :-gap]


def _gap(queries: int, keys: int) -> int:
    return max(1, round(max(queries, keys) / 10))


def _heads(weights: np.ndarray, title: str) -> Figure:
    layers, heads, queries, keys = weights.shape
    tall = min(max(queries / keys, 0.5), 2.0)
    figure, axis = _figure(1.2 * heads + 1.6, 1.2 * tall * layers + 1.2)
    gap = _gap(queries, keys)
    image = axis.imshow(heads_mosaic(weights), aspect="auto", interpolation="nearest", cmap=_colours(), norm=_norm())
    axis.set_xticks((keys + gap) * np.arange(heads) + (keys - 1) / 2, [str(head + 1) for head in range(heads)])
    axis.set_yticks((queries + gap) * np.arange(layers) + (queries - 1) / 2, [str(row + 1) for row in range(layers)])
    axis.set_xlabel("head")
    axis.set_ylabel("layer")
    axis.set_title(title, fontsize=10, wrap=True)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    _scale(figure, image, axis)
    return figure


def _labelled(maps: AttentionMaps, layer: int) -> Figure:
    source, target = labels(maps.source), labels(maps.target)
    longest = [max(map(len, side)) for side in (source, target)]
    size = max(0.16, min(0.4, 12 / max(len(source), len(target))))
    figure, axis = _figure(
        max(4.5, size * len(source) + 0.09 * longest[1] + 1.8), size * len(target) + 0.09 * longest[0] + 1.2
    )
    image = axis.imshow(soft_alignment(maps.cross[layer - 1]), interpolation="nearest", cmap=_colours(), norm=_norm())
    axis.xaxis.tick_top()
    _name_ticks(axis, source, target, fontsize=min(10.0, 50 * size))
    axis.set_xlabel(f"source; cross-attention of layer {layer}, mean of its heads", fontsize=9)
    axis.set_ylabel("produces")
    axis.tick_params(length=0)
    axis.spines[:].set_color("#c8ccd0")
    _scale(figure, image, axis)
    return figure


def _name_ticks(axis: Axes, source: Sequence[str], target: Sequence[str], *, fontsize: float) -> None:
    families, (source, target) = _drawable([source, target])
    axis.set_xticks(range(len(source)), source, rotation=90)
    axis.set_yticks(range(len(target)), target)
    for text in (*axis.get_xticklabels(), *axis.get_yticklabels()):
        text.set_fontfamily(families)
        text.set_fontsize(fontsize)
        text.set_parse_math(False)  # a dollar sign is a dollar sign


def _drawable(sides: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The fonts to use, and the labels with a box for each character that none of them has."""
    wanted = {ord(character) for side in sides for label in side for character in label}
    families, had = ["DejaVu Sans"], _characters("DejaVu Sans")
    for family in FALLBACKS:
        if not wanted <= had and (new := _characters(family) & wanted - had):
            families.append(family)
            had |= new
    return families, [[_boxed(label, had) for label in side] for side in sides]


def _boxed(label: str, had: Iterable[int]) -> str:
    return "".join(character if ord(character) in had else NOT_IN_FONTS for character in label)


@functools.cache
def _characters(family: str) -> frozenset[int]:
    """The code points that an installed font has; none where it is not installed."""
    from matplotlib.font_manager import fontManager, get_font

    paths = [font.fname for font in fontManager.ttflist if font.name == family and font.style == "normal"]
    return frozenset(get_font(paths[0]).get_charmap()) if paths else frozenset()


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _colours() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weights", weight_colours(), N=256)


def _norm() -> Any:
    """The square root of the weight, as on the page: weak attention can be seen."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=1)


def _scale(figure: Figure, image: Any, axis: Axes) -> None:
    bar = figure.colorbar(image, ax=axis, ticks=[0, 0.01, 0.1, 0.25, 0.5, 1], fraction=0.04, aspect=30)
    bar.ax.set_yticklabels(["0", "0.01", "0.1", "0.25", "0.5", "1"], fontsize=8)
    bar.set_label("weight", fontsize=9)
    bar.outline.set_visible(False)  # pyright: ignore


def _png(figure: Figure) -> bytes:
    memory = io.BytesIO()
    # The layout makes room for the labels before the cells are made square, which takes some of it away again.
    figure.savefig(memory, format="png", dpi=120, bbox_inches="tight", pad_inches=0.1)
    return memory.getvalue()
