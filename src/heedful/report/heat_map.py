"""Arrays of numbers as pictures with named axes: one layer's cross-attention, and positional encodings."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from heedful.report.colours import signed_colours, weight_colours
from heedful.report.labels import labels
from heedful.report.markup import text
from heedful.report.pixels import images
from heedful.report.scales import linear_ticks

CELL, SIZE = 15.0, 11.0
"""Width of a subword's row, and the height of its letters."""
SLANT = 0.71
"""Sine, and cosine, of the 45° at which the source is written."""
LONGEST = 60
"""Subwords of a side that are shown: an output that repeats itself can be very long."""
WEIGHTS = (0.0, 0.05, 0.25, 0.5, 1.0)


def attention_map(weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str]) -> str:
    """Which source subwords (columns) each position of a translation (rows) attends to."""
    columns, rows = labels(source[:LONGEST]), labels(target[:LONGEST])
    shares = np.sqrt(np.clip(weights_TS[: len(rows), : len(columns)], 0, 1))
    reach = max(map(_width, columns))
    left, top = max(map(_width, rows)) + 8, reach * SLANT + 20
    width, height = CELL * len(columns), CELL * len(rows)
    parts = [
        f'<text x="{left - 6:.0f}" y="{top + (place + 0.5) * CELL:.1f}" dy="4" class="subword end">{text(name)}</text>'
        for place, name in enumerate(rows)
    ]
    parts += [
        f'<text class="subword" transform="translate({left + (place + 0.6) * CELL:.1f} {top - 5:.1f}) rotate(-45)">'
        f"{text(name)}</text>"
        for place, name in enumerate(columns)
    ]
    box = (left, top, width, height)
    parts.append(images(shares, light=weight_colours(), dark=weight_colours(dark=True), box=box))
    parts.append(_outline(box))
    total = left + width + max(6.0, reach * SLANT - CELL / 2 + 6), top + height + 4
    hidden = max(len(source), len(target)) > LONGEST
    cut = f'<p class="note">The first {LONGEST} subwords of each side.</p>' if hidden else ""
    return _svg(parts, *total, kind="map", label="cross-attention: translation in rows, source in columns") + cut


def weight_scale() -> str:
    """The colours of the weights, for all maps of a page."""
    ramp = np.linspace(0, 1, 128)[None, :]
    parts = [images(ramp, light=weight_colours(), dark=weight_colours(dark=True), box=(10, 2, 220, 12))]
    parts += [
        f'<text x="{10 + 220 * weight**0.5:.1f}" y="27" class="tick middle">{weight:g}</text>' for weight in WEIGHTS
    ]
    return _svg(parts, 240, 32, kind="scale", label="colours from weight 0 to weight 1")


def position_map(table_LD: np.ndarray) -> str:
    """Encodings, positions from top to bottom and dimensions from left to right, blue below zero, orange above."""
    rows, columns = table_LD.shape
    most = float(np.abs(table_LD).max()) or 1.0
    left, top, width, height = 40.0, 24.0, 590.0, 256.0
    box = (left, top, width, height)
    colours = {"light": signed_colours(), "dark": signed_colours(dark=True)}
    parts = [
        f'<text x="4" y="13" class="axis-name">position ↓</text>'
        f'<text x="{left + width}" y="{top + height + 31}" class="axis-name end">dimension →</text>',
        images(table_LD / most / 2 + 0.5, box=box, **colours),
        _outline(box),
    ]
    for tick in linear_ticks(0, rows - 1):
        y = top + height * (tick + 0.5) / rows
        parts.append(f'<text x="{left - 6}" y="{y:.1f}" dy="4" class="tick end">{tick:g}</text>')
    for tick in linear_ticks(0, columns - 1, 8):
        x = left + width * (tick + 0.5) / columns
        parts.append(f'<text x="{x:.1f}" y="{top + height + 15}" class="tick middle">{tick:g}</text>')
    ramp = np.linspace(0, 1, 65)[:, None][::-1]
    parts.append(images(ramp, box=(left + width + 16, top, 12, height), **colours))
    for share, value in ((0.0, most), (0.5, 0.0), (1.0, -most)):
        name = f"{value:.2g}".replace("-", "−")
        at = f'x="{left + width + 34}" y="{top + height * share:.1f}"'
        parts.append(f'<text {at} dy="4" class="tick">{name}</text>')
    return _svg(parts, left + width + 68, top + height + 36, kind="positions", label="positional encodings")


def _outline(box: tuple[float, float, float, float]) -> str:
    x, y, width, height = box
    return f'<rect class="outline" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _svg(parts: Sequence[str], width: float, height: float, *, kind: str, label: str) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg class="{kind}" {size} role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'


def _width(label: str) -> float:
    """How much room a label may need; no font is at hand here to ask."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return SIZE * (0.6 * (len(label) - wide) + 1.05 * wide)
