"""Trained models for other engines: which can be exported at all, and the folder that an export goes into.

Nothing here needs torch before a model is there: the benchmarks use CTranslate2's layers where there is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import __version__
from heedful.errors import ExportError
from heedful.files import new_folder, read_json, require_replaceable, write_json

if TYPE_CHECKING:
    from heedful.runs.saved import SavedModel

POSITIONS = 1024
"""The longest sequence that sinusoids are written for: engines keep a table of them."""
NEVER = -1e4
"""Added to the scores of the control ids that no output may hold."""
_MARK, _FORMAT = "heedful.json", "heedful export"
"""The file that says of a folder that it is an export, and of what."""
_FILES = (
    *("model.bin", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json"),
    *("source/tokenizer.json", "target/tokenizer.json"),
    *("model.safetensors", "generation_config.json", "tokenizer_config.json"),
    *("config.json", "tokenizer.json", "README.md", _MARK),
)
"""All that an export may hold: CTranslate2's, Marian's, and what both have."""


def require_exportable(saved: SavedModel, engine: str, *, storage: str, storages: Iterable[str]) -> None:
    """Refuse what the paper has and other engines have not."""
    model = saved.config.model
    if storage not in storages:
        raise ExportError(f"--storage {storage}: for {engine} it must be one of {', '.join(storages)}")
    if (model.d_k or model.d_v) and (model.key_size, model.value_size) != (model.d_model // model.num_heads,) * 2:
        sizes = f"heads with keys of {model.key_size} and values of {model.value_size}"
        raise ExportError(f"{saved.run} has {sizes}: {engine} knows only d_model / num_heads")
    if model.neighbourhood:
        raise ExportError(f"{saved.run} has restricted self-attention, which {engine} does not know")


@contextlib.contextmanager
def export_folder(place: Path, saved: SavedModel, *, engine: str, overwrite: bool, **facts: Any) -> Iterator[Path]:
    """A folder to fill; it takes its place, with its mark and a ``README.md`` about its use, when the block ends.

    ``facts``: what the text about the engine, which lies beside this file, says of the model.
    """
    require_replaceable(place, overwrite=overwrite, what="an export", is_one=_is_export, ours=_FILES, error=ExportError)
    try:
        with new_folder(place, error=ExportError) as folder:
            yield folder
            use = Path(__file__).with_name(f"{engine}.md").read_text(encoding="utf-8")
            (folder / "README.md").write_text(use.format(step=saved.step, **facts), encoding="utf-8")
            mark = {"format": _FORMAT, "engine": engine, "step": saved.step, "heedful": __version__}
            write_json(folder / _MARK, mark)
    except OSError as error:
        raise ExportError(f"{place} could not be written: {error}") from None


def _is_export(place: Path) -> bool:
    return (place / _MARK).exists() and read_json(place / _MARK, error=ExportError).get("format") == _FORMAT
