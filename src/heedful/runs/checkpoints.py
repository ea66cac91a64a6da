"""A checkpoint: a folder ``step-N`` with weights and optimiser in safetensors and everything else in ``state.json``.

``state.json`` is written last and holds the hash of each other file, so a checkpoint whose state is there and whose
hashes agree is complete. This module does not know what a training step is.

Weights lie in a file as they are, in half the bytes (bfloat16), or in a quarter (int8): a matrix is whole numbers from
−127 to 127, and one float32 scale for each row, under the matrix's name with ``/scale`` behind it, which no parameter's
name has in it. Vectors (biases, norms) are few and stay float32. Whatever the storage, they are read back as float32.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from heedful.errors import CheckpointError
from heedful.files import new_folder, reason, sha256
from heedful.model.draft_heads import heads_like
from heedful.model.transformer import Transformer
from heedful.runs.descriptions import (
    MODEL,
    OPTIMIZER,
    RUN,
    STATE,
    CheckpointState,
    RunDescription,
    read_state,
    sound_file,
    write_state,
)
from heedful.runs.folder import AVERAGED, Entry, entries

_WITH_OPTIMIZER = 2
"""Of the last checkpoints, how many keep their optimiser: the newest, and one to fall back on."""
_STORAGES = ("float32", "bfloat16", "int8")
SCALE = "/scale"
LARGEST = 127
"""−128 is left out, so that a matrix and its negative are stored alike."""
CLIPPING = tuple(1 - step / 64 for step in range(33))
"""Shares of a row's largest weight that its largest number may stand for. Where one weight is far beyond the others,
to clip it costs less than to store all of them coarsely."""


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on."""

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]
    scheduled: bool = True
    """False for one written because somebody stopped the run: it counts neither for averages nor for keeping."""


def write_checkpoint(run: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint whole or not at all; a full disk leaves the earlier ones as they are."""
    place = run / "checkpoints" / f"step-{checkpoint.step:08d}"
    with contextlib.suppress(CheckpointError):
        read_checkpoint(place)
        return place  # the same step of the same run: nothing to add, and nothing to risk
    files = {MODEL: checkpoint.model, OPTIMIZER: checkpoint.optimizer}
    _write_folder(place, files, step=checkpoint.step, scheduled=checkpoint.scheduled, state=checkpoint.state)
    return place


def _write_folder(place: Path, files: Mapping[str, dict[str, Tensor]], **known: Any) -> None:
    try:
        with new_folder(place, error=CheckpointError) as folder:
            write_tensors(folder, files, **known)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{place} could not be written: {error}; the earlier checkpoints are untouched") from None


def write_tensors(folder: Path, files: Mapping[str, dict[str, Tensor]], **known: Any) -> None:
    """Write these files of a checkpoint, and last its ``state.json`` with their hashes and what else is ``known``."""
    for name, tensors in files.items():
        save_file(tensors, folder / name)
    hashes = {name: sha256(folder / name) for name in files}
    write_state(folder, CheckpointState(files=hashes, **known))
    for name in files:  # save_file lets nobody but its owner read it
        shutil.copymode(folder / STATE, folder / name)


def read_checkpoint(folder: Path, *, optimizer: bool = True) -> Checkpoint:
    """Read a checkpoint, once its hashes have been found right; weights stored small come as float32."""
    state = read_state(folder)
    model = from_stored(_read_tensors(folder, MODEL, state), state.storage, where=str(folder / MODEL))
    moments = _read_tensors(folder, OPTIMIZER, state) if optimizer else {}
    return Checkpoint(state.step, model, moments, state.state, state.scheduled)


def model_with_weights(description: RunDescription, weights_from: Path) -> Transformer:
    """A model of this description, with the weights of this checkpoint."""
    checkpoint = read_checkpoint(weights_from, optimizer=False)
    require_finite(checkpoint.model, where=str(weights_from))
    config, sizes = description.config.model, (description.vocab_size, description.source_vocab_size)
    if config.encoder_layers + config.decoder_layers > len(checkpoint.model):  # or they would take hours to build
        raise CheckpointError(f"{weights_from} is of another model: it has fewer parameters than {RUN} has layers")
    with torch.device("meta"):
        model = Transformer(config, vocab_size=sizes[0], source_vocab_size=sizes[1])
        model.draft = heads_like(checkpoint.model, d_model=config.d_model)
    load_weights(model, checkpoint.model, where=str(weights_from), assign=True)
    if model.draft is not None and not model.draft.words.lt(sizes[0]).logical_and(model.draft.words.ge(0)).all():
        raise CheckpointError(f"{weights_from}: its draft heads guess words that its vocabulary does not have")
    return model.eval()


def load_weights(model: Transformer, weights: dict[str, Tensor], *, where: str, assign: bool = False) -> None:
    """Put saved weights into a model that must have the same parameters; ``assign``: in place of its own."""
    ours = model.state_dict()
    require_same_shapes(weights, ours, where=where, other="the one that is asked for")
    if wrong := [name for name, value in weights.items() if value.dtype != ours[name].dtype]:
        raise CheckpointError(f"{where}: {wrong[0]} is of type {weights[wrong[0]].dtype}, not {ours[wrong[0]].dtype}")
    model.load_state_dict(weights, assign=assign)


def newest_sound(
    run: Path, *, require: Callable[[Checkpoint], object] | None = None
) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that can be read, and what was wrong with newer ones.

    ``require``: raises a CheckpointError for one that training cannot go on from.
    """
    problems: list[str] = []
    for entry in reversed(entries(run)):
        try:
            checkpoint = read_checkpoint(entry.folder)
            if require is not None:
                require(checkpoint)
        except CheckpointError as error:
            problems.append(str(error))
        else:
            return checkpoint, problems
    return None, problems


def prune(run: Path, *, keep: int, best: int | None) -> None:
    """Remove what is no longer needed: all but the last ``keep`` scheduled checkpoints, the newest, and the best.

    Only the newest two keep their optimiser; the others are there to be averaged.
    """
    there = entries(run)
    kept = {entry.step for entry in [*scheduled_entries(run)[-keep:], *there[-1:]]} | {best}
    for entry in there:
        if entry.step not in kept:
            shutil.rmtree(entry.folder, ignore_errors=True)
    for entry in [entry for entry in there if entry.step in kept][:-_WITH_OPTIMIZER]:
        (entry.folder / OPTIMIZER).unlink(missing_ok=True)


def scheduled_entries(run: Path) -> list[Entry]:
    """The checkpoints that count for an average, oldest first."""
    found = []
    for entry in entries(run):
        with contextlib.suppress(CheckpointError):
            found += [entry] if read_state(entry.folder).scheduled else []
    return found


def write_average(run: Path, *, last: int) -> list[int]:
    """Write the mean of a run's last checkpoints (section 6.1) to ``RUN/averaged``; returns the steps averaged."""
    chosen = scheduled_entries(run)[-last:]
    if len(chosen) < last:
        steps = ", ".join(str(entry.step) for entry in chosen) or "none"
        advice = f"; --last {len(chosen)} takes them all" if chosen else ""
        raise CheckpointError(f"{run} has {len(chosen)} checkpoints to average ({steps}), not {last}{advice}")
    mean, steps = _mean_weights([entry.folder for entry in chosen]), [entry.step for entry in chosen]
    state = read_state(chosen[-1].folder).state
    known = {"step": steps[-1], "scheduled": False, "averaged_steps": tuple(steps), "state": state}
    _write_folder(run / AVERAGED, {MODEL: mean}, **known)
    return steps


def _mean_weights(folders: list[Path]) -> dict[str, Tensor]:
    """The mean of each tensor, summed in float64; one checkpoint in memory at a time."""
    sums: dict[str, Tensor] = {}
    weights: dict[str, Tensor] = {}
    for folder in folders:
        weights = read_checkpoint(folder, optimizer=False).model
        require_finite(weights, where=str(folder))
        if sums:
            require_same_shapes(weights, sums, where=str(folder), other="the checkpoints before it")
        for name, tensor in weights.items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    return {name: (total / len(folders)).to(weights[name].dtype) for name, total in sums.items()}


def require_same_shapes(weights: Mapping[str, Tensor], others: Mapping[str, Tensor], *, where: str, other: str) -> None:
    """Raise unless these are the same parameters, whatever their values."""
    theirs, ours = ({name: list(value.shape) for name, value in each.items()} for each in (weights, others))
    if differing := [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]:
        shown = ", ".join(f"{name} ({theirs.get(name)} there, {ours.get(name)} here)" for name in differing[:3])
        raise CheckpointError(
            f"{where} is of another model than {other}: {len(differing)} parameters differ, such as {shown}"
        )


def require_finite(weights: Mapping[str, Tensor], *, where: str) -> None:
    """Raise where a weight is infinite or not a number: nothing good can be made of such a model."""
    for name, value in weights.items():
        # Whatever is not finite makes the sum so too; the sum takes a fifth of the time.
        if not value.sum().isfinite() and not value.isfinite().all():
            raise CheckpointError(f"{where}: {name} holds weights that are not numbers: its training broke down")


def as_stored(weights: Mapping[str, Tensor], storage: str) -> dict[str, Tensor]:
    """The weights as a file of this storage has them."""
    if storage not in _STORAGES:
        raise CheckpointError(f"--storage {storage}: must be one of {', '.join(_STORAGES)}")
    require_finite(weights, where="the model")
    stored: dict[str, Tensor] = {}
    for name, value in weights.items():
        if not value.is_floating_point():  # the words of draft heads
            stored[name] = value.contiguous()
        elif storage != "int8":
            stored[name] = value.to(getattr(torch, storage)).contiguous()
        elif value.dim() == 2:
            stored[name], stored[name + SCALE] = quantised(value.float())
        else:
            stored[name] = value.float().contiguous()
    return stored


def from_stored(stored: Mapping[str, Tensor], storage: str | None, *, where: str) -> dict[str, Tensor]:
    """What `as_stored` made, as float32; weights that were stored by training (``None``) stay as they are."""
    if storage is None:
        return dict(stored)
    if storage not in _STORAGES:
        raise CheckpointError(f"{where} is stored as {storage!s:.40}; this heedful reads {', '.join(_STORAGES)}")
    weights: dict[str, Tensor] = {}
    for name, value in stored.items():
        if not name.endswith(SCALE):
            scale = stored.get(name + SCALE)
            if value.dtype == torch.int8 and (scale is None or scale.shape != value.shape[:1]):
                raise CheckpointError(f"{where} has no scale for each row of {name}")
            plain = value if value.dtype == torch.long else value.float()
            weights[name] = plain if scale is None else plain * scale[:, None]
    return weights


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers, and for each row the scale that makes them the row again with the least squared error."""
    # a row of zeros has a scale too
    largest = matrix.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny * LARGEST)
    best = torch.full_like(largest, torch.inf)
    scales = largest / LARGEST
    for share in CLIPPING:
        candidate = largest * share / LARGEST
        error = (_rounded(matrix, candidate) * candidate[:, None] - matrix).square().sum(dim=1)
        scales = torch.where(error < best, candidate, scales)
        best = torch.minimum(error, best)
    return _rounded(matrix, scales).to(torch.int8), scales


def _rounded(matrix: Tensor, scales: Tensor) -> Tensor:
    """Each weight in units of its row's scale, to the nearest whole number (halves to the even one)."""
    return (matrix / scales[:, None]).round().clamp(-LARGEST, LARGEST)


def _read_tensors(folder: Path, name: str, state: CheckpointState) -> dict[str, Tensor]:
    path = sound_file(folder, name, state)
    try:
        return load_file(path)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {reason(error)}") from None
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
