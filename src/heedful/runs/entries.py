"""Which checkpoints a run has, and what their ``state.json`` says. Reads no weights, and so needs no torch."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import CheckpointError

FORMAT, FORMAT_VERSION = "heedful checkpoint", 1
STATE, MODEL, OPTIMIZER = "state.json", "model.safetensors", "optimizer.safetensors"
AVERAGED = "averaged"


@dataclass(frozen=True)
class Entry:
    """A checkpoint on disk, not read yet."""

    step: int
    folder: Path


def entries(run: Path) -> list[Entry]:
    """The checkpoints of a run, oldest first."""
    folder = run / "checkpoints"
    found = [(re.fullmatch(r"step-(\d+)", path.name), path) for path in (folder.iterdir() if folder.is_dir() else ())]
    return sorted((Entry(int(match[1]), path) for match, path in found if match), key=lambda entry: entry.step)


def newest_weights(run: Path) -> Path | None:
    """The folder of the weights that a run's model has: the average, unless a checkpoint is newer."""
    there = entries(run)
    averaged = run / AVERAGED
    if averaged.is_dir() and (not there or read_state(averaged)["step"] >= there[-1].step):
        return averaged
    return there[-1].folder if there else None


def read_state(folder: Path) -> dict[str, Any]:
    """The ``state.json`` of a checkpoint, once it is sure that it is one and of this version."""
    path = folder / STATE
    try:
        head = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{folder} is not a checkpoint: no {STATE} in it") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not the state of a checkpoint")
    if head.get("format_version") != FORMAT_VERSION:
        version = head.get("format_version")
        raise CheckpointError(f"{path} is of format version {version}; this heedful reads version {FORMAT_VERSION}")
    if absent := [name for name in ("step", "scheduled", "files", "state") if name not in head]:
        raise CheckpointError(f"{path} is damaged: it has no {', '.join(absent)}")
    return head
