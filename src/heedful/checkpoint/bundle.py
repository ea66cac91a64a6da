"""A model to give away: the folder of a run without what only its training needs, its weights as small as asked for.

It is a run folder still, so whatever takes a model takes it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from heedful.checkpoint.atomic import new_folder, sha256, write_json
from heedful.checkpoint.entries import AVERAGED, FORMAT, FORMAT_VERSION, MODEL, STATE
from heedful.checkpoint.models import SavedModel
from heedful.checkpoint.run_folder import RUN
from heedful.errors import CheckpointError


def write_bundle(
    saved: SavedModel, folder: Path, *, dtype: torch.dtype = torch.bfloat16, overwrite: bool = False
) -> Path:
    """Write a model's weights, configuration and subwords into a new folder."""
    if folder.exists() and not overwrite:
        raise CheckpointError(f"{folder} is there already; give another folder, or say that it may be overwritten")
    weights = {name: value.to(dtype).contiguous() for name, value in saved.model.state_dict().items()}
    # Where it was trained is nobody's business.
    description = {**saved.description, "data": {**saved.description["data"], "folder": None}, "init": None}
    with new_folder(folder) as place:
        for side in saved.description["vocabularies"].values():
            shutil.copytree(saved.run / side["folder"], place / side["folder"], dirs_exist_ok=True)
        (place / AVERAGED).mkdir()
        save_file(weights, place / AVERAGED / MODEL)
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, "step": saved.step, "scheduled": False}
        head["files"] = {MODEL: sha256(place / AVERAGED / MODEL)}
        write_json(place / AVERAGED / STATE, {**head, "state": {}})
        write_json(place / RUN, description)
    return folder
