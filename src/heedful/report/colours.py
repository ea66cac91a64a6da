"""Numbers as colours, in scales for light and for dark surroundings, and fields of cells as small PNG pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

_STEPS = 65
"""Colours in a scale."""
# Nine colours of each, equally far apart in OKLCH's lightness, a space in which equal steps look equal.
_WEIGHTS = {
    "light": "f1f8f9 bbe3ec 89cbe1 5eb0d5 4194c4 3477ac 315b8c 2e4267 252c3f",
    "dark": "202225 28384d 285073 1f6c95 1a89af 34a6c2 61c2d1 96dadd cdf0ed",
}
_SIGNED = {
    "light": "255ea2 5884bc 89aad5 bdd1ec fbf8f6 e8c8b7 ce9b7f b16f49 934406",
    "dark": "8cc7ff 6c99d3 4f6e96 34455b 211f1e 573d2f 8e5f45 c8845e ffac79",
}


def weight_colours(*, dark: bool = False) -> list[str]:
    """The colours from weight 0, close to the paper, to weight 1, far from it: ``#rrggbb``."""
    return _between(_WEIGHTS["dark" if dark else "light"])


def signed_colours(*, dark: bool = False) -> list[str]:
    """The colours from −1, blue, over 0, close to the paper, to 1, orange."""
    return _between(_SIGNED["dark" if dark else "light"])


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


def _between(anchors: str) -> list[str]:
    known = _channels(anchors.split())
    places = np.linspace(0, len(known) - 1, _STEPS)
    channels = [np.interp(places, range(len(known)), known[:, channel]) for channel in range(3)]
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.rint(channels).astype(int).T.tolist()]


def _places(shares: np.ndarray, colours: Sequence[str]) -> np.ndarray:
    return np.rint(np.clip(shares, 0, 1) * (len(colours) - 1)).astype(np.uint8)


def _channels(colours: Sequence[str]) -> np.ndarray:
    return np.array([list(bytes.fromhex(colour.removeprefix("#"))) for colour in colours], np.uint8)
