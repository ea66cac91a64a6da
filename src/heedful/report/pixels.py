"""Arrays as small pictures inside a page: each number a pixel, in the colours of a light and of a dark page."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np


def indexed_png(places: np.ndarray, colours: Sequence[str]) -> bytes:
    """A PNG of ``[rows, columns]``, each number the place of its colour (``#rrggbb``) in the list."""
    rows, columns = places.shape
    assert len(colours) <= 256, "one byte a pixel"
    assert places.size, "a picture has pixels"
    # Each row begins with the number of its filter: 0, none.
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), places.astype(np.uint8)], axis=1)
    palette = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in colours)
    head = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def images(
    shares: np.ndarray, *, light: Sequence[str], dark: Sequence[str], box: tuple[float, float, float, float]
) -> str:
    """Shares from 0 to 1 as two SVG images over a box (x, y, width, height); the style sheet shows one of them."""
    places = np.rint(np.clip(shares, 0, 1) * (len(light) - 1))
    x, y, width, height = box
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none"'
    return "".join(
        f'<image class="{name}" {size} href="data:image/png;base64,'
        f'{base64.b64encode(indexed_png(places, colours)).decode("ascii")}"/>'
        for name, colours in (("for-light", light), ("for-dark", dark))
    )
