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
from markupsafe import Markup

from heedful.errors import ReportError
from heedful.evaluation.alignments import Links, Word, aligning_layer, soft_alignment, word_weights, words_of
from heedful.evaluation.heads import head_table
from heedful.files import require_free, write_file
from heedful.report.charts import add_axes, new_figure
from heedful.report.pages import colour, page, svg, write_page
from heedful.report.pictures import ABOVE, add_cells, add_scale, png
from heedful.symbols import END_LABEL, START_LABEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
_LINKS, _ROW = 110.0, 24.0
"""Width of the lines between words, and the height of a word's row."""
_FAINT_LINK = 0.12
"""Words that attend less to each other have no line."""
LONGEST_LABEL = 24
"""Characters of a label; a longer subword is cut."""
_HEAD, _GAP = 96.0, 10.0
"""Width of one head among all of them, and the room between two."""
_WEIGHTS = {weight**0.5: f"{weight:g}" for weight in (0.0, 0.05, 0.25, 0.5, 1.0)}
"""Those that the scale of colours names, by their shares."""
_SPACE = "·"
"""Stands for a space at the beginning of a subword."""
_DOTTED_CIRCLE = "◌"
"""What Unicode's charts set a combining mark on."""
_JOINERS = "\u200c\u200d"


def write_attention_page(maps: AttentionMaps, path: Path, *, overwrite: bool = False) -> Path:
    return write_page(path, attention_page(maps), overwrite=overwrite)


def attention_page(maps: AttentionMaps) -> str:
    title = f"Attention: {maps.source_text}"
    return page("attention.html", style="attention.css", scripts=_SCRIPTS, title=title, data=_data(maps))


def require_free_pictures(folder: Path, *, overwrite: bool) -> None:
    """Raise where a picture, or a file in place of the folder, is in the way."""
    for name in PICTURES:
        require_free(folder / name, overwrite=overwrite, error=ReportError)


def write_attention_pictures(maps: AttentionMaps, folder: Path, *, layer: int, overwrite: bool = False) -> list[Path]:
    """Draw every head of each kind, and the mean cross-attention of a layer (from 1); returns the pictures."""
    require_free_pictures(folder, overwrite=overwrite)
    drawn = {f"{kind}.png": png(_with_scale(_heads_map(getattr(maps, kind)), about)) for kind, about in _HEADS.items()}
    weights = soft_alignment(maps.cross[layer - 1])
    drawn[_ALIGNMENT] = alignment_picture(weights, source=maps.source, target=maps.target, layer=layer)
    return [write_file(folder / name, picture, error=ReportError) for name, picture in drawn.items()]


def alignment_picture(
    weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str], layer: int, links: Links | None = None
) -> bytes:
    """A PNG of a layer's cross-attention with its subwords or words, in which a frame marks each of the true links."""
    about = [f"cross-attention of layer {layer}, mean of its heads"]
    if links is not None:
        about.append("framed: the true links")
    drawn = attention_map(weights_TS, source=source, target=target, links=links or frozenset())
    return png(_with_scale(drawn, *about), scale=3.0)


def attention_map(
    weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str], links: Links = frozenset()
) -> Figure:
    """Which source subwords (columns) each position of a translation (rows) attends to; ``links`` get a frame."""
    columns, rows = labels(source), labels(target)
    figure = new_figure(_CELL * len(columns), _CELL * len(rows))
    axes = add_axes(figure, (0, 0, _CELL * len(columns), _CELL * len(rows)))
    add_cells(axes, _shares(weights_TS))
    axes.set(xticks=[], yticks=[])
    for place, name in enumerate(rows):
        axes.text(-0.8, place, name, fontsize=_LETTERS, ha="right", va="center_baseline")
    for place, name in enumerate(columns):
        axes.text(place, -0.8, name, fontsize=_LETTERS, rotation=45, rotation_mode="anchor")
    for column, row in links:
        corners = zip(*[(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)], strict=True)
        xs, ys = (np.array(side) - 0.5 for side in corners)
        axes.plot(column + xs, row + ys, color=colour("mark"), linewidth=2, clip_on=False)
    return figure


def links_picture(weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str]) -> Markup:
    """The words of a sentence and of its translation in two columns, and a line from each to what it attends to."""
    words = words_of(source), words_of(target)
    weights = word_weights(weights_TS, source=words[0], target=words[1])
    rows = max(map(len, words)) or 1
    figure = new_figure(_LINKS, _ROW * rows)
    axes = add_axes(figure, (0, 0, _LINKS, _ROW * rows), xlim=(-1, 1), ylim=(rows, 0))
    axes.set_axis_off()
    # The shorter side is spread over the height of the longer one.
    places = [[(place + 0.5) * rows / len(side) for place in range(len(side))] for side in words]
    for row, column in np.argwhere(weights >= _FAINT_LINK):
        weight = float(weights[row, column])
        ends = [places[0][column], places[1][row]]
        axes.plot([-0.9, 0.9], ends, color=colour("accent"), alpha=min(1.0, weight), linewidth=1 + 2 * weight)
    for x, side, at, align in ((-1, words[0], places[0], "right"), (1, words[1], places[1], "left")):
        for name, y in zip(labels([word.text for word in side]), at, strict=True):
            axes.text(x, y, name, fontsize=14, ha=align, va="center_baseline")
    return svg(figure, label="which words of the translation attend to which of the source", kind="links")


def weight_scale() -> Markup:
    """The colours of the weights."""
    figure = new_figure(220, 12)
    add_scale(figure, (0, 0, 220, 12), _WEIGHTS)
    return svg(figure, label="colours from weight 0 to weight 1", kind="scale")


def _heads_map(weights_LHQK: np.ndarray) -> Figure:
    """The maps of all layers (rows) and heads (columns) of a kind."""
    layers, heads, queries, keys = weights_LHQK.shape
    wide, high = _HEAD + _GAP, _HEAD * min(max(queries / keys, 0.5), 2.0) + _GAP
    figure = new_figure(heads * wide, layers * high)
    for layer, head in np.ndindex(layers, heads):
        axes = add_axes(figure, (head * wide, layer * high, wide - _GAP, high - _GAP), xticks=[], yticks=[])
        add_cells(axes, _shares(weights_LHQK[layer, head]))
        words = {"fontsize": 12, "color": colour("soft")}
        if layer == 0:
            axes.set_title(f"{'head ' if head == 0 else ''}{head + 1}", **words)
        if head == 0:
            axes.set_ylabel(f"{'layer ' if layer == 0 else ''}{layer + 1}", **words)
    return figure


def labels(subwords: Sequence[str]) -> list[str]:
    """Each subword as a picture can show it: nothing invisible, nothing that disturbs what stands beside it.

    >>> labels([" Haus", "tür", " ", "\\n", "\\u0301a", "\\u200b", "\\u202f", "5\\u202f€"])
    ['·Haus', 'tür', '·', '⟨a⟩', '◌\\u0301a', '⟨200b⟩', '⟨202f⟩', '5\\u202f€']
    """
    return [_label(subword) for subword in subwords]


def _label(subword: str) -> str:
    text = re.sub("^ +", lambda spaces: _SPACE * len(spaces.group()), subword)
    head = text[: len(text) - len(text.lstrip(_SPACE))]
    if unicodedata.category((text + " ")[len(head)]).startswith("M"):
        text = head + _DOTTED_CIRCLE + text[len(head) :]
    alone = not text.strip().strip(_JOINERS)
    text = "".join(_visible(character, alone=alone) for character in text)
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _visible(character: str, *, alone: bool) -> str:
    """The character, or its number where it has no shape of its own or would turn the direction of writing.

    Spaces of any width stay what they are, and the joiners, which are part of how some words and emoji are written;
    ``alone`` they could not be seen.
    """
    category = unicodedata.category(character)
    is_part = not alone and (category == "Zs" or character in _JOINERS)
    return character if character == " " or category[0] not in "CZ" or is_part else f"⟨{ord(character):x}⟩"


def _shares(weights: np.ndarray) -> np.ndarray:
    """The square roots of weights, so that weak attention can be seen."""
    return np.sqrt(np.clip(weights, 0, 1))


def _with_scale(figure: Figure, *about: str) -> Figure:
    """A picture that stands alone: lines of what it shows, and its colours, below it."""
    height = figure.get_size_inches()[1] * figure.dpi
    for place, line in enumerate([*about, "weight"], start=1):
        figure.text(0, -(16 * place + 4) / height, line, fontsize=12, color=colour("soft"))
    add_scale(figure, (52, height + 16 * len(about) + 10, 220, 12), _WEIGHTS)
    return figure


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
    sides = {"encoder": ("source", "source"), "decoder": ("target", "given"), "cross": ("target", "source")}
    subwords = {"source": source, "target": target, "given": given}
    score, log_probability = (n if math.isfinite(n) else None for n in (maps.score, maps.log_probability))
    words = {
        "source": [*words_of(maps.source), Word(END_LABEL, (len(maps.source) - 1,))],
        "target": [*words_of(maps.target), Word(END_LABEL, (len(maps.target) - 1,))],
    }
    # What the decoder was given is the translation, one place later.
    later = [Word(word.text, tuple(place + 1 for place in word.places)) for word in words["target"][:-1]]
    words["given"] = [Word(START_LABEL, (0,)), *later]
    groups = {name: [(labels([word.text])[0], word.places) for word in side] for name, side in words.items()}
    return {
        "source": maps.source_text,
        "target": maps.target_text,
        "score": score,
        "log_probability": log_probability,
        "bits": bits,
        "layer": aligning_layer(len(maps.cross)),
        "colour": list(bytes.fromhex(ABOVE[1:])),
        "kinds": {
            kind: {
                "queries": subwords[sides[kind][0]],
                "keys": subwords[sides[kind][1]],
                "words": {"queries": groups[sides[kind][0]], "keys": groups[sides[kind][1]]},
                "shape": list(array.shape),
                "weights": _stored_weights(array, bits=bits),
                "heads": [dataclasses.asdict(head) for head in head_table(array, causal=kind == "decoder")],
            }
            for kind, array in arrays.items()
        },
    }
