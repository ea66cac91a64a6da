"""A model to give away: the folder of a run without what only its training needs, its weights as small as asked for.

It is a run folder still, so whatever takes a model takes it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save
from torch import Tensor

from heedful.errors import CheckpointError
from heedful.files import new_folder, require_replaceable, sha256, write_json
from heedful.runs.card import CARD, languages
from heedful.runs.entries import AVERAGED, FORMAT, FORMAT_VERSION, MODEL, STATE
from heedful.runs.models import SavedModel
from heedful.runs.run_folder import RUN, read_run
from heedful.runs.storage import packed

_FILES = (RUN, CARD, AVERAGED, "tokenizer", "source-tokenizer", "target-tokenizer")
"""All that a bundle may hold."""


def write_bundle(
    saved: SavedModel,
    folder: Path,
    *,
    storage: str = "int8",
    card: bytes | None = None,
    spoken: tuple[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a model's weights, configuration, subwords and card into a new folder.

    ``card``: what ``README.md`` says of the model, the one in the model's own folder when not given. ``spoken``: the
    languages of source and target, what `languages` finds when not given.
    """
    require_replaceable(
        folder, overwrite=overwrite, what="a bundle", is_one=_is_bundle, ours=_FILES, error=CheckpointError
    )
    own_card = saved.run / CARD
    if card is None and own_card.is_file():
        card = own_card.read_bytes()
    description = _description(saved, spoken or languages(saved.description))
    try:
        with new_folder(folder, error=CheckpointError) as place:
            for name in {side["folder"] for side in saved.description["vocabularies"].values()}:
                shutil.copytree(saved.run / name, place / name)
            _write_weights(packed(saved.model.state_dict(), storage), place / AVERAGED, saved.step, storage=storage)
            write_json(place / RUN, description)
            if card is not None:
                (place / CARD).write_bytes(card)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder} could not be written: {error}") from None
    return folder


def _write_weights(weights: dict[str, Tensor], folder: Path, step: int, *, storage: str) -> None:
    folder.mkdir()
    (folder / MODEL).write_bytes(save(weights))  # save_file would let nobody but its owner read it
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "step": step, "scheduled": False}
    head |= {"storage": storage, "files": {MODEL: sha256(folder / MODEL)}}
    write_json(folder / STATE, {**head, "state": {}})


def _description(saved: SavedModel, spoken: tuple[str, str] | None) -> dict[str, Any]:
    """``run.json`` without what tells where it was trained: that is nobody's business."""
    known = saved.description
    environment = known.get("environment")
    if isinstance(environment, dict):  # the system's name often holds its builder's or owner's
        environment = {name: value for name, value in environment.items() if name != "platform"}
    return {
        **known,
        "environment": environment,
        "data": {**known["data"], "folder": None},
        "init": None,
        "command": None,
        "bundle": True,
        "languages": {"source": spoken[0], "target": spoken[1]} if spoken else None,
    }


def _is_bundle(folder: Path) -> bool:
    return (folder / RUN).is_file() and bool(read_run(folder).get("bundle"))
