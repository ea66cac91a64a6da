"""What every export has in common: which models can be exported at all, and the folder it goes into."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from heedful import __version__
from heedful.errors import ExportError
from heedful.runs.atomic import new_folder, write_json
from heedful.runs.models import SavedModel

MARK = "heedful.json"
"""Says of a folder that it is an export, and of what."""
POSITIONS = 1024
"""The longest sequence that sinusoids are written for: engines keep a table of them."""


def require_plain(saved: SavedModel, engine: str) -> None:
    """Refuse what the paper has and other engines have not."""
    model = saved.config.model
    if (model.d_k or model.d_v) and (model.key_size, model.value_size) != (model.d_model // model.num_heads,) * 2:
        sizes = f"heads with keys of {model.key_size} and values of {model.value_size}"
        raise ExportError(f"{saved.run} has {sizes}: {engine} knows only d_model / num_heads")
    if model.neighbourhood:
        raise ExportError(f"{saved.run} has restricted self-attention (section 4), which {engine} does not know")


@contextlib.contextmanager
def export_folder(place: Path, saved: SavedModel, *, engine: str, overwrite: bool) -> Iterator[Path]:
    """A folder to fill; it takes its place, with its mark, when the block ends."""
    if place.exists() and not overwrite:
        raise ExportError(f"{place} is there already: give another folder, or --overwrite to replace it")
    if place.exists() and not _is_export(place):
        raise ExportError(f"{place} is not an export, and only exports are overwritten: give another folder")
    try:
        with new_folder(place) as folder:
            yield folder
            facts = {"format": "heedful export", "engine": engine, "step": saved.step, "heedful": __version__}
            write_json(folder / MARK, facts)
    except OSError as error:
        raise ExportError(f"{place} could not be written: {error}") from None


def _is_export(place: Path) -> bool:
    try:
        return json.loads((place / MARK).read_text(encoding="utf-8"))["format"] == "heedful export"
    except (OSError, ValueError, KeyError, TypeError):
        return place.is_dir() and not any(place.iterdir())
