"""Section 6.1: the mean of the last checkpoints, which is better than any of them."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from heedful.errors import CheckpointError
from heedful.runs.atomic import new_folder, sha256, write_json
from heedful.runs.checkpoints import read_checkpoint, scheduled_entries
from heedful.runs.entries import AVERAGED, FORMAT, FORMAT_VERSION, MODEL, STATE, Entry


def average(run: Path, *, last: int) -> list[int]:
    """Write the mean of a run's last checkpoints to ``RUN/averaged``; returns the steps that were averaged."""
    chosen = scheduled_entries(run)[-last:]
    if len(chosen) < last:
        steps = ", ".join(str(entry.step) for entry in chosen) or "none"
        advice = f"; --last {len(chosen)} takes them all" if chosen else ""
        raise CheckpointError(f"{run} has {len(chosen)} checkpoints to average ({steps}), not {last}{advice}")
    mean = averaged_weights(chosen)
    state = read_checkpoint(chosen[-1].folder, optimizer=False).state
    with new_folder(run / AVERAGED) as folder:
        save_file(mean, folder / MODEL)
        head = {"format": FORMAT, "format_version": FORMAT_VERSION, "step": chosen[-1].step, "scheduled": False}
        head["files"] = {MODEL: sha256(folder / MODEL)}
        head["averaged_steps"] = [entry.step for entry in chosen]
        write_json(folder / STATE, {**head, "state": state})
    return [entry.step for entry in chosen]


def averaged_weights(chosen: list[Entry]) -> dict[str, Tensor]:
    """The mean of each tensor, summed in float64; one checkpoint in memory at a time."""
    sums: dict[str, Tensor] = {}
    types: dict[str, torch.dtype] = {}
    for entry in chosen:
        for name, tensor in read_checkpoint(entry.folder, optimizer=False).model.items():
            types[name] = tensor.dtype
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    return {name: (total / len(chosen)).to(types[name]) for name, total in sums.items()}
