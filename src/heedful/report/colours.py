"""Numbers as colours: scales of even steps of lightness, for light and for dark surroundings, and pixels in them.

The colours are points of OKLCH (lightness, chroma, hue), a space in which equal steps look equal.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np

_STEPS = 65
"""Colours in a scale."""


def weight_colours(*, dark: bool = False) -> list[str]:
    """The colours from weight 0, close to the paper, to weight 1, far from it: ``#rrggbb``."""
    return [_colour(step / (_STEPS - 1), dark=dark) for step in range(_STEPS)]


def signed_colours(*, dark: bool = False) -> list[str]:
    """The colours from −1, blue, over 0, close to the paper, to 1, orange."""
    return [_signed_colour(2 * step / (_STEPS - 1) - 1, dark=dark) for step in range(_STEPS)]


SCALES = {"weights": weight_colours, "signed": signed_colours}


def pixels(shares: np.ndarray, colours: Sequence[str]) -> np.ndarray:
    """The colour of each share of ``[rows, columns]``, from 0 to 1: ``[rows, columns, 3]``, bytes."""
    return _channels(colours)[_places(shares, colours)]


def indexed_png(shares: np.ndarray, colours: Sequence[str]) -> bytes:
    """The same as a small PNG, a pixel for each share."""
    from PIL import Image

    assert shares.size, "a picture has pixels"
    image, memory = Image.fromarray(_places(shares, colours)), io.BytesIO()
    image.putpalette(_channels(colours).tobytes())
    image.save(memory, format="PNG", optimize=True)
    return memory.getvalue()


def _places(shares: np.ndarray, colours: Sequence[str]) -> np.ndarray:
    assert len(colours) <= 256, "one byte a pixel"
    return np.rint(np.clip(shares, 0, 1) * (len(colours) - 1)).astype(np.uint8)


def _channels(colours: Sequence[str]) -> np.ndarray:
    return np.array([list(bytes.fromhex(colour.removeprefix("#"))) for colour in colours], np.uint8)


def _signed_colour(value: float, *, dark: bool) -> str:
    size = abs(value)
    lightness = 0.24 + 0.58 * size if dark else 0.98 - 0.5 * size
    return _hexadecimal(lightness, 0.004 + 0.12 * size**0.8, 255 if value < 0 else 50)


def _colour(share: float, *, dark: bool) -> str:
    if dark:
        lightness, hue = 0.25 + 0.68 * share, 265 - 75 * share
    else:
        lightness, hue = 0.975 - 0.68 * share, 205 + 65 * share
    # Hardly any colour at the ends, where the screen has none to give.
    chroma = 0.004 + 0.105 * math.sin(math.pi * (0.01 + 0.89 * share))
    return _hexadecimal(lightness, chroma, hue)


def _hexadecimal(lightness: float, chroma: float, hue: float) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in _srgb(lightness, chroma, math.radians(hue)))


def _srgb(lightness: float, chroma: float, hue: float) -> list[float]:
    """OKLCH to sRGB, each channel from 0 to 1; the constants are those that define OKLab."""
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return [_encoded(min(max(channel, 0.0), 1.0)) for channel in linear]


def _encoded(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
