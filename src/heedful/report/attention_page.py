"""Every head of a translation as one HTML page that needs nothing but a browser.

The page's own HTML, CSS and JavaScript are files in ``page/``; here they are joined with the data. The weights travel
as whole numbers in base64, and the page says how exact that is. This module does not know how a weight came about.
"""

from __future__ import annotations

import base64
import dataclasses
import html
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.evaluation.heads import head_table
from heedful.report.colours import weight_colours
from heedful.report.labels import labels
from heedful.report.new_files import written
from heedful.report.page_files import filled, page_file, page_style, script_json
from heedful.symbols import START_LABEL

if TYPE_CHECKING:
    from heedful.search.attention_maps import AttentionMaps

FINE_WEIGHTS = 1_100_000
"""Up to so many weights, 16 bits each: a page of at most 3 MB. More get 8."""
KINDS = ("encoder", "decoder", "cross")
SCRIPTS = ("weights.js", "views.js", "attention.js")


def write_attention_page(maps: AttentionMaps, path: Path, *, overwrite: bool = False) -> Path:
    """Write the page; returns its path."""
    return written(path, attention_page(maps).encode("utf-8"), overwrite=overwrite)


def attention_page(maps: AttentionMaps) -> str:
    """The whole page as text."""
    parts = {
        "title": html.escape(maps.source_text),
        "style": page_style("attention.css"),
        "data": script_json(_data(maps)),
        "script": "\n".join(page_file(name) for name in SCRIPTS),
    }
    return filled(page_file("attention.html"), parts)


def stored_weights(weights: np.ndarray, *, bits: int) -> str:
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
                "weights": stored_weights(array, bits=bits),
                "heads": [dataclasses.asdict(head) for head in head_table(array, causal=kind == "decoder")],
            }
            for kind, array in arrays.items()
        },
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
