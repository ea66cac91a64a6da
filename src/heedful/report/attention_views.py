"""Every head of a translation: as one HTML page that needs nothing but a browser, and as pictures with named axes.

The weights travel in the page as whole numbers in base64, and the page says how exact that is. This module does not
know how a weight came about.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.errors import ReportError
from heedful.evaluation.alignments import Links, soft_alignment
from heedful.evaluation.heads import head_table
from heedful.files import require_free, write_file
from heedful.report.pages import page, write_page
from heedful.report.picture import Cells, Frame, Inset, Mark, Picture, Words, colour_scale
from heedful.symbols import START_LABEL

if TYPE_CHECKING:
    from heedful.search.attention_maps import AttentionMaps

FINE_WEIGHTS = 1_100_000
"""Up to so many weights, 16 bits each: a page of at most 3 MB. More get 8."""
_SCRIPTS = ("weights.js", "views.js", "attention.js")
_HEADS = {
    "encoder": "encoder self-attention: source subwords (rows) attend to the source (columns)",
    "decoder": "decoder self-attention: positions (rows) attend to what was produced before (columns)",
    "cross": "cross-attention: positions of the translation (rows) attend to the source (columns)",
}
KINDS = tuple(_HEADS)
_ALIGNMENT = "alignment.png"
PICTURES = (*(f"{kind}.png" for kind in KINDS), _ALIGNMENT)

_CELL, _LETTERS = 15.0, 11.0
"""Width of a subword's row, and the height of its letters."""
_SLANT = 0.71
"""Sine, and cosine, of the 45° at which the source is written."""
LONGEST_LABEL = 24
"""Characters of a label; a longer subword is cut."""
_HEAD, _GAP = 96.0, 10.0
"""Width of one head among all of them, and the room between two."""
_WEIGHTS = (0.0, 0.05, 0.25, 0.5, 1.0)
_SPACE = "·"
"""Stands for a space at the beginning of a subword."""
_DOTTED_CIRCLE = "◌"
"""What Unicode's charts set a combining mark on."""
_JOINERS = "\u200c\u200d"


def write_attention_page(maps: AttentionMaps, path: Path, *, overwrite: bool = False) -> Path:
    """Write the page; returns its path."""
    return write_page(path, attention_page(maps), overwrite=overwrite)


def attention_page(maps: AttentionMaps) -> str:
    """The whole page as text."""
    title = f"Attention: {maps.source_text}"
    return page("attention.html", style="attention.css", scripts=_SCRIPTS, title=title, data=_data(maps))


def require_free_pictures(folder: Path, *, overwrite: bool) -> None:
    """Raise where a picture, or a file in place of the folder, is in the way."""
    for name in PICTURES:
        require_free(folder / name, overwrite=overwrite, error=ReportError)


def write_attention_pictures(maps: AttentionMaps, folder: Path, *, layer: int, overwrite: bool = False) -> list[Path]:
    """Draw every head of each kind, and the mean cross-attention of a layer (from 1); returns the pictures."""
    from heedful.report.raster import png

    require_free_pictures(folder, overwrite=overwrite)
    drawn = {f"{kind}.png": png(_with_scale(heads_map(getattr(maps, kind)), about)) for kind, about in _HEADS.items()}
    weights = soft_alignment(maps.cross[layer - 1])
    drawn[_ALIGNMENT] = alignment_picture(weights, source=maps.source, target=maps.target, layer=layer)
    return [write_file(folder / name, picture, error=ReportError) for name, picture in drawn.items()]


def alignment_picture(
    weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str], layer: int, links: Links | None = None
) -> bytes:
    """A PNG of a layer's cross-attention with its subwords or words, in which a frame marks each of the true links."""
    from heedful.report.raster import png

    about = [f"cross-attention of layer {layer}, mean of its heads"]
    if links is not None:
        about.append("framed: the true links")
    drawn = attention_map(weights_TS, source=source, target=target, links=links or frozenset())
    return png(_with_scale(drawn, *about), scale=3.0)


def attention_map(
    weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str], links: Links = frozenset()
) -> Picture:
    """Which source subwords (columns) each position of a translation (rows) attends to; ``links`` get a frame."""
    columns, rows = labels(source), labels(target)
    reach = max(map(_width, columns))
    left, top = max(map(_width, rows)) + 8, reach * _SLANT + 20
    box = (left, top, _CELL * len(columns), _CELL * len(rows))
    marks: list[Mark] = []
    for place, name in enumerate(rows):
        marks += [Words("subword end", name, (left - 6, top + (place + 0.5) * _CELL + 4))]
    for place, name in enumerate(columns):
        marks += [Words("subword", name, (left + (place + 0.6) * _CELL, top - 5), turned=45)]
    marks += [Cells(_shares(weights_TS), box), Frame("outline", box)]
    for column, row in sorted(links):
        marks += [Frame("link", (left + column * _CELL, top + row * _CELL, _CELL, _CELL))]
    width, height = left + box[2] + max(6.0, reach * _SLANT - _CELL / 2 + 6), top + box[3] + 4
    return Picture(width, height, marks, "cross-attention: translation in rows, source in columns", kind="map")


def weight_scale() -> Picture:
    """The colours of the weights."""
    marks: list[Mark] = [Cells(np.linspace(0, 1, 128)[None, :], (10, 2, 220, 12))]
    marks += [Words("tick middle", f"{weight:g}", (10 + 220 * weight**0.5, 27)) for weight in _WEIGHTS]
    return Picture(240, 32, marks, "colours from weight 0 to weight 1", kind="scale")


def heads_map(weights_LHQK: np.ndarray) -> Picture:
    """The maps of all layers (rows) and heads (columns) of a kind."""
    layers, heads, queries, keys = weights_LHQK.shape
    height = _HEAD * min(max(queries / keys, 0.5), 2.0)
    left = top = 34.0
    xs, ys = ([left + n * (_HEAD + _GAP) for n in range(heads)], [top + n * (height + _GAP) for n in range(layers)])
    marks: list[Mark] = [Words("axis-name", "layer ↓", (4, top - 20))]
    marks += [Words("tick middle", f"{n}", (x + _HEAD / 2, top - 5)) for n, x in enumerate(xs, start=1)]
    marks += [Words("tick end", f"{n}", (left - 8, y + height / 2 + 4)) for n, y in enumerate(ys, start=1)]
    for layer, head in np.ndindex(layers, heads):
        box = (xs[head], ys[layer], _HEAD, height)
        marks += [Cells(_shares(weights_LHQK[layer, head]), box), Frame("outline", box)]
    right, bottom = left + heads * (_HEAD + _GAP), top + layers * (height + _GAP)
    marks.append(Words("axis-name end", "head →", (right - _GAP, top - 20)))
    return Picture(right, bottom, marks, "all heads: layers in rows, heads in columns")


def labels(subwords: Sequence[str]) -> list[str]:
    """Each subword as a picture can show it: nothing invisible, nothing that disturbs what stands beside it.

    >>> labels([" Haus", "tür", " ", "\\n", "\\u0301a", "\\u200b"])
    ['·Haus', 'tür', '·', '⟨a⟩', '◌\\u0301a', '⟨200b⟩']
    """
    return [_label(subword) for subword in subwords]


def _label(subword: str) -> str:
    text = re.sub("^ +", lambda spaces: _SPACE * len(spaces.group()), subword)
    head = text[: len(text) - len(text.lstrip(_SPACE))]
    if unicodedata.category((text + " ")[len(head)]).startswith("M"):
        text = head + _DOTTED_CIRCLE + text[len(head) :]
    # The joiners are part of how some words, and some emoji, are written; alone they cannot be seen.
    joiners = _JOINERS if text.strip(_JOINERS) else ""
    text = "".join(character if character in joiners else _visible(character) for character in text)
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _visible(character: str) -> str:
    """The character, or its number where it has no shape of its own or would turn the direction of writing."""
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    return f"⟨{ord(character):x}⟩"


def _width(label: str) -> float:
    """How much room a label may need; no font is at hand here to ask."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return _LETTERS * (0.6 * (len(label) - wide) + 1.05 * wide)


def _shares(weights: np.ndarray) -> np.ndarray:
    """The square roots of weights, so that weak attention can be seen."""
    return np.sqrt(np.clip(weights, 0, 1))


def _with_scale(picture: Picture, *about: str) -> Picture:
    """A picture that stands alone: lines of what it shows, and its colours, below it."""
    scale, below = weight_scale(), picture.height + 16
    lines = [Words("axis-name", line, (8, below + 16 * place)) for place, line in enumerate(about)]
    top = below + 16 * len(about)
    marks = [*picture.marks, *lines, Words("axis-name", "weight", (8, top + 12)), Inset(scale.marks, (52, top))]
    return Picture(max(picture.width, 52 + scale.width), top + scale.height, marks, picture.label)


def _stored_weights(weights: np.ndarray, *, bits: int) -> str:
    """Weights as whole numbers from 0 to 2^bits − 1, little-endian, in base64; 0 and 1 stay exact.

    It is the square root of a weight that is rounded, so that among hundreds of positions weak attention keeps its
    differences: a weight w is right to within √w / (2^bits − 1).
    """
    whole = np.rint(_shares(weights.astype(np.float64)) * (2**bits - 1))
    return base64.b64encode(whole.astype(f"<u{bits // 8}").tobytes()).decode("ascii")


def _data(maps: AttentionMaps) -> dict[str, Any]:
    arrays = {kind: getattr(maps, kind) for kind in KINDS}
    bits = 16 if sum(array.size for array in arrays.values()) <= FINE_WEIGHTS else 8
    source, target, given = (labels(side) for side in (maps.source, maps.target, [START_LABEL, *maps.target[:-1]]))
    sides = {"encoder": (source, source), "decoder": (target, given), "cross": (target, source)}
    colours = {
        theme: [f"#{bytes(colour).hex()}" for colour in colour_scale("weights", theme)] for theme in ("light", "dark")
    }
    score, log_probability = (n if math.isfinite(n) else None for n in (maps.score, maps.log_probability))
    return {
        "source": maps.source_text,
        "target": maps.target_text,
        "score": score,
        "log_probability": log_probability,
        "bits": bits,
        "colours": colours,
        "kinds": {
            kind: {
                "queries": sides[kind][0],
                "keys": sides[kind][1],
                "shape": list(array.shape),
                "weights": _stored_weights(array, bits=bits),
                "heads": [dataclasses.asdict(head) for head in head_table(array, causal=kind == "decoder")],
            }
            for kind, array in arrays.items()
        },
    }
