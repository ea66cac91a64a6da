"""Models exported once and kept: in the user's folder for caches, each under the hash of all that it was made of.

A model that has changed has another hash, so what is there under a hash never has to be written again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from heedful.export.ctranslate2_model import write_ctranslate2
from heedful.runs.saved import SavedModel, weights_sha256

_MADE_BY = 1
"""Another number for another way to export: what the last one wrote is left alone and in time removed."""
_KEPT = 8
"""Exports at most; then the one that was used least lately goes."""


def export_once(saved: SavedModel, *, storage: str, notice: Callable[[str], object]) -> Path:
    """The folder of a model for CTranslate2; written now if it is not there yet, which is said."""
    place = cache_folder() / "ctranslate2" / _key(saved, storage)
    if not (place / "model.bin").is_file():
        kept = f"{saved.run.name} is made ready for CTranslate2 in {storage}, once, and kept in {place.parent}"
        notice(f"{kept}; --engine torch translates with PyTorch in float32 instead")
        write_ctranslate2(saved, place, storage=storage, overwrite=True)
        others = sorted(place.parent.glob("[0-9a-f]*"), key=lambda folder: folder.stat().st_mtime)
        for folder in others[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # others' folders can be used too
        os.utime(place)
    return place


def cache_folder() -> Path:
    """Where heedful keeps what it can make again: of the XDG base directories the one for caches."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "heedful"


def _key(saved: SavedModel, storage: str) -> str:
    made_of = {
        "by": _MADE_BY,
        "storage": storage,
        "weights": weights_sha256(saved.weights_from),
        "subwords": [saved.source_subwords.sha256, saved.target_subwords.sha256],
        "config": dataclasses.asdict(saved.config.model),
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:32]
