"""Every head of a translation: as one HTML page that needs nothing but a browser, and as pictures.

The weights travel in the page as whole numbers in base64, and the page says how exact that is. This module does not
know how a weight came about.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.errors import ReportError
from heedful.evaluation.alignments import Links, soft_alignment
from heedful.evaluation.heads import head_table
from heedful.files import require_free, write_file
from heedful.report.colours import weight_colours
from heedful.report.heat_maps import attention_map, heads_map, labels, with_weight_scale
from heedful.report.pages import page, write_page
from heedful.symbols import START_LABEL

if TYPE_CHECKING:
    from heedful.search.attention_maps import AttentionMaps

FINE_WEIGHTS = 1_100_000
"""Up to so many weights, 16 bits each: a page of at most 3 MB. More get 8."""
KINDS = ("encoder", "decoder", "cross")
_SCRIPTS = ("weights.js", "views.js", "attention.js")
_HEADS = {
    "encoder": "encoder self-attention: source subwords (rows) attend to the source (columns)",
    "decoder": "decoder self-attention: positions (rows) attend to what was produced before (columns)",
    "cross": "cross-attention: positions of the translation (rows) attend to the source (columns)",
}
_ALIGNMENT = "alignment.png"
PICTURES = (*(f"{kind}.png" for kind in KINDS), _ALIGNMENT)


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
    drawn = {
        f"{kind}.png": png(with_weight_scale(heads_map(getattr(maps, kind)), about)) for kind, about in _HEADS.items()
    }
    weights = soft_alignment(maps.cross[layer - 1])
    drawn[_ALIGNMENT] = alignment_picture(weights, source=maps.source, target=maps.target, layer=layer)
    return [write_file(folder / name, picture, error=ReportError) for name, picture in drawn.items()]


def alignment_picture(
    weights_TS: np.ndarray, *, source: Sequence[str], target: Sequence[str], layer: int, links: Links | None = None
) -> bytes:
    """A PNG of a layer's cross-attention with its subwords or words, in which a frame marks each of the true links."""
    from heedful.report.raster import png

    about = [
        f"cross-attention of layer {layer}, mean of its heads",
        *([] if links is None else ["framed: the true links"]),
    ]
    drawn = attention_map(weights_TS, source=source, target=target, links=links or frozenset())
    return png(with_weight_scale(drawn, *about), scale=3.0)


def _stored_weights(weights: np.ndarray, *, bits: int) -> str:
    """Weights as whole numbers from 0 to 2^bits − 1, little-endian, in base64; 0 and 1 stay exact.

    It is the square root of a weight that is rounded, so that among hundreds of positions weak attention keeps its
    differences: a weight w is right to within √w / (2^bits − 1).
    """
    whole = np.rint(np.sqrt(np.clip(weights, 0, 1).astype(np.float64)) * (2**bits - 1))
    return base64.b64encode(whole.astype(f"<u{bits // 8}").tobytes()).decode("ascii")


def _data(maps: AttentionMaps) -> dict[str, Any]:
    arrays = {kind: getattr(maps, kind) for kind in KINDS}
    bits = 16 if sum(array.size for array in arrays.values()) <= FINE_WEIGHTS else 8
    source, target, given = (labels(side) for side in (maps.source, maps.target, [START_LABEL, *maps.target[:-1]]))
    sides = {"encoder": (source, source), "decoder": (target, given), "cross": (target, source)}
    return {
        "source": maps.source_text,
        "target": maps.target_text,
        "score": _finite(maps.score),
        "log_probability": _finite(maps.log_probability),
        "bits": bits,
        "colours": {"light": weight_colours(), "dark": weight_colours(dark=True)},
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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
