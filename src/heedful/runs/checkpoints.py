"""A checkpoint: a folder ``step-N`` with weights and optimiser in safetensors and everything else in ``state.json``.

``state.json`` is written last and holds the hash of each other file, so a checkpoint whose state is there and whose
hashes agree is complete. This module does not know what a training step is.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from heedful.errors import CheckpointError
from heedful.runs.atomic import new_folder, sha256, write_json
from heedful.runs.entries import FORMAT, FORMAT_VERSION, MODEL, OPTIMIZER, STATE, Entry, entries, read_state
from heedful.runs.storage import unpacked

WITH_OPTIMIZER = 2
"""Of the last checkpoints, how many keep their optimiser: the newest, and one to fall back on."""


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on."""

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]
    """Plain data: configuration, counters, scores."""
    scheduled: bool = True
    """False for one written because somebody stopped the run: it counts neither for averages nor for keeping."""


def write_checkpoint(run: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint whole or not at all; a full disk leaves the earlier ones as they are."""
    place = run / "checkpoints" / f"step-{checkpoint.step:08d}"
    if place.exists() and not _damaged(place):
        return place  # the same step of the same run: nothing to add, and nothing to risk
    try:
        with new_folder(place) as folder:
            save_file(checkpoint.model, folder / MODEL)
            save_file(checkpoint.optimizer, folder / OPTIMIZER)
            head = {"format": FORMAT, "format_version": FORMAT_VERSION, "step": checkpoint.step}
            head["scheduled"] = checkpoint.scheduled
            head["files"] = {name: sha256(folder / name) for name in (MODEL, OPTIMIZER)}
            write_json(folder / STATE, {**head, "state": checkpoint.state})
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"the checkpoint of step {checkpoint.step} could not be written to {place}: {error}; "
            "the earlier checkpoints are untouched"
        ) from None
    return place


def read_checkpoint(folder: Path, *, optimizer: bool = True) -> Checkpoint:
    """Read a checkpoint, once its hashes have been found right; small weights (`storage`) come as float32."""
    head = read_state(folder)
    tensors: dict[str, dict[str, Tensor]] = {MODEL: {}, OPTIMIZER: {}}
    for name in (MODEL, OPTIMIZER) if optimizer else (MODEL,):
        path = folder / name
        if not path.is_file():
            raise CheckpointError(f"{path} is missing")
        if sha256(path) != head["files"][name]:
            raise CheckpointError(f"{path} is damaged: its contents are not what was written")
        tensors[name] = load_file(path)
    model = unpacked(tensors[MODEL], head.get("storage"), where=str(folder / MODEL))
    return Checkpoint(head["step"], model, tensors[OPTIMIZER], head["state"], head["scheduled"])


def newest_sound(run: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that can be read, and what was wrong with newer ones."""
    problems: list[str] = []
    for entry in reversed(entries(run)):
        try:
            return read_checkpoint(entry.folder), problems
        except CheckpointError as error:
            problems.append(str(error))
    return None, problems


def prune(run: Path, *, keep: int, best: int | None) -> None:
    """Remove what is no longer needed: all but the last ``keep`` scheduled checkpoints, the newest, and the best.

    Only the newest two keep their optimiser; the others are there to be averaged.
    """
    there = entries(run)
    scheduled = [entry for entry in there if _is_scheduled(entry)]
    kept = {entry.step for entry in [*scheduled[-keep:], *there[-1:]]} | {best}
    remaining = []
    for entry in there:
        if entry.step in kept:
            remaining.append(entry)
        else:
            shutil.rmtree(entry.folder, ignore_errors=True)
    for entry in remaining[:-WITH_OPTIMIZER]:
        (entry.folder / OPTIMIZER).unlink(missing_ok=True)


def scheduled_entries(run: Path) -> list[Entry]:
    """The checkpoints that count for an average, oldest first."""
    return [entry for entry in entries(run) if _is_scheduled(entry)]


def _damaged(folder: Path) -> bool:
    try:
        read_checkpoint(folder)
    except CheckpointError:
        return True
    return False


def _is_scheduled(entry: Entry) -> bool:
    try:
        return bool(read_state(entry.folder)["scheduled"])
    except CheckpointError:
        return False
