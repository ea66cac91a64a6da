"""Arrays of numbers as pictures with named axes: attention with its subwords, all heads of a kind, positions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from heedful.evaluation.alignments import Links
from heedful.report.picture import Cells, Frame, Mark, Picture, Words, inset
from heedful.report.scales import linear_ticks

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


def attention_map(
    weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str], links: Links = frozenset()
) -> Picture:
    """Which source subwords (columns) each position of a translation (rows) attends to; ``links`` get a frame."""
    columns, rows = labels(source), labels(target)
    reach = max(map(_width, columns))
    left, top = max(map(_width, rows)) + 8, reach * _SLANT + 20
    width, height = _CELL * len(columns), _CELL * len(rows)
    names: list[Mark] = [
        Words("subword end", name, (left - 6, top + (place + 0.5) * _CELL + 4)) for place, name in enumerate(rows)
    ]
    names += [
        Words("subword", name, (left + (place + 0.6) * _CELL, top - 5), turned=45) for place, name in enumerate(columns)
    ]
    box = (left, top, width, height)
    framed = [
        Frame("link", (left + column * _CELL, top + row * _CELL, _CELL, _CELL)) for column, row in sorted(links)
    ]  # fmt: skip
    marks = [*names, Cells(_shares(weights_TS), box), Frame("outline", box), *framed]
    total = left + width + max(6.0, reach * _SLANT - _CELL / 2 + 6), top + height + 4
    return Picture(*total, marks, "cross-attention: translation in rows, source in columns", kind="map")


def weight_scale() -> Picture:
    """The colours of the weights."""
    marks: list[Mark] = [Cells(np.linspace(0, 1, 128)[None, :], (10, 2, 220, 12))]
    marks += [Words("tick middle", f"{weight:g}", (10 + 220 * weight**0.5, 27)) for weight in _WEIGHTS]
    return Picture(240, 32, marks, "colours from weight 0 to weight 1", kind="scale")


def with_weight_scale(picture: Picture, *about: str) -> Picture:
    """A picture that stands alone: lines of what it shows, and its colours, below it."""
    scale, below = weight_scale(), picture.height + 16
    lines = [Words("axis-name", line, (8, below + 16 * place)) for place, line in enumerate(about)]
    top = below + 16 * len(about)
    marks = [*picture.marks, *lines, Words("axis-name", "weight", (8, top + 12)), inset(scale, 52, top)]
    return Picture(max(picture.width, 52 + scale.width), top + scale.height, marks, picture.label)


def heads_map(weights_LHQK: np.ndarray) -> Picture:
    """The maps of all layers (rows) and heads (columns) of a kind."""
    layers, heads, queries, keys = weights_LHQK.shape
    height = _HEAD * min(max(queries / keys, 0.5), 2.0)
    left, top = 34.0, 34.0
    marks: list[Mark] = [
        Words("axis-name", "layer ↓", (4, top - 20)),
        *(
            Words("tick middle", f"{head + 1}", (left + head * (_HEAD + _GAP) + _HEAD / 2, top - 5))
            for head in range(heads)
        ),
        *(Words("tick end", f"{n + 1}", (left - 8, top + n * (height + _GAP) + height / 2 + 4)) for n in range(layers)),
    ]
    for layer, head in np.ndindex(layers, heads):
        box = (left + head * (_HEAD + _GAP), top + layer * (height + _GAP), _HEAD, height)
        marks += [Cells(_shares(weights_LHQK[layer, head]), box), Frame("outline", box)]
    right, bottom = left + heads * (_HEAD + _GAP), top + layers * (height + _GAP)
    marks.append(Words("axis-name end", "head →", (right - _GAP, top - 20)))
    return Picture(right, bottom, marks, "all heads: layers in rows, heads in columns")


def position_map(table_LD: np.ndarray) -> Picture:
    """Encodings, positions from top to bottom and dimensions from left to right, blue below zero, orange above."""
    rows, columns = table_LD.shape
    most = float(np.abs(table_LD).max()) or 1.0
    left, top, width, height = 40.0, 24.0, 590.0, 256.0
    box, right, bottom = (left, top, width, height), left + width, top + height
    marks: list[Mark] = [
        Words("axis-name", "position ↓", (4, 13)),
        Words("axis-name end", "dimension →", (right, bottom + 31)),
        Cells(table_LD / most / 2 + 0.5, box, "signed"),
        Frame("outline", box),
        Cells(np.linspace(1, 0, 65)[:, None], (right + 16, top, 12, height), "signed"),
    ]
    marks += [
        Words("tick end", f"{tick:g}", (left - 6, top + height * (tick + 0.5) / rows + 4))
        for tick in linear_ticks(0, rows - 1)
    ]
    marks += [
        Words("tick middle", f"{tick:g}", (left + width * (tick + 0.5) / columns, bottom + 15))
        for tick in linear_ticks(0, columns - 1, 8)
    ]
    marks += [
        Words("tick", f"{value:.2g}".replace("-", "−"), (right + 34, top + height * share + 4))
        for share, value in ((0.0, most), (0.5, 0.0), (1.0, -most))
    ]
    return Picture(right + 68, bottom + 36, marks, "positional encodings", kind="positions")


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


def _shares(weights: np.ndarray) -> np.ndarray:
    """The square roots of weights, so that weak attention can be seen."""
    return np.sqrt(np.clip(weights, 0, 1))


def _width(label: str) -> float:
    """How much room a label may need; no font is at hand here to ask."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return _LETTERS * (0.6 * (len(label) - wide) + 1.05 * wide)
