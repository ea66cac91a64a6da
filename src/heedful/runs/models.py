"""A trained model as a run left it: its weights, its configuration, its subwords; ready to be used, not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heedful.config import SECTIONS, Config
from heedful.errors import CheckpointError, ConfigError
from heedful.model.transformer import Transformer
from heedful.runs.checkpoints import read_checkpoint
from heedful.runs.entries import AVERAGED, STATE, entries, newest_weights, read_state
from heedful.runs.names import model_folder
from heedful.runs.run_folder import RUN, read_run
from heedful.text.subwords import Subwords


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything that is needed to translate."""

    run: Path
    weights_from: Path
    """The checkpoint, or the average, that the weights are of."""
    step: int
    config: Config
    description: dict[str, Any]
    """``run.json``."""
    model: Transformer
    """On the CPU, in the precision it was trained in."""
    source_subwords: Subwords
    target_subwords: Subwords


def read_model(place: Path | str) -> SavedModel:
    """The model in a run folder, or of one of its checkpoints: ``RUN``, ``RUN/averaged``, ``RUN/checkpoints/step-N``.

    Where there is no such folder, it is the model of that name that comes with heedful. Of a run it is the average of
    the last checkpoints where there is one, and otherwise, or when the run has gone on since, the newest checkpoint.
    """
    run, weights_from = located(place)
    description = read_run(run)
    config = run_config(description, run)
    checkpoint = read_checkpoint(weights_from, optimizer=False)
    sizes = {"vocab_size": description["vocab_size"], "source_vocab_size": description["source_vocab_size"]}
    with torch.device("meta"):
        model = Transformer(config.model, **sizes)
    load_weights(model, checkpoint.model, where=str(weights_from), assign=True)
    folders = [description["vocabularies"][side]["folder"] for side in ("source", "target")]
    loaded = {folder: Subwords.load(run / folder) for folder in set(folders)}  # most often one for both
    source, target = (loaded[folder] for folder in folders)
    return SavedModel(run, weights_from, checkpoint.step, config, description, model.eval(), source, target)


def load_weights(model: Transformer, weights: dict[str, Tensor], *, where: str, assign: bool = False) -> None:
    """Put saved weights into a model that must have the same parameters; ``assign``: in place of its own."""
    ours = {name: list(value.shape) for name, value in model.state_dict().items()}
    theirs = {name: list(value.shape) for name, value in weights.items()}
    if ours != theirs:
        differing = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
        shown = ", ".join(f"{name} ({theirs.get(name)} there, {ours.get(name)} here)" for name in differing[:3])
        raise CheckpointError(f"{where} is of another model: {len(differing)} parameters differ, such as {shown}")
    model.load_state_dict(weights, assign=assign)


def located(model: Path | str) -> tuple[Path, Path]:
    """The run folder of a model, and the folder of its weights."""
    place = model_folder(model)
    if place.is_file():
        raise CheckpointError(f"{place} is {_kind_of_file(place)}; a model is the folder of a run (`heedful train`)")
    if (place / STATE).is_file() or place.name.startswith("step-"):
        run = place.parent if place.name == AVERAGED else place.parent.parent
        read_state(place)
        return run, place
    read_run(place)
    return place, _newest_weights(place)


def _newest_weights(run: Path) -> Path:
    newest = newest_weights(run)
    if newest is None:
        raise CheckpointError(f"{run} has no checkpoint yet: its training has just begun, or was stopped before one")
    if newest.name == AVERAGED:
        return newest
    try:
        read_checkpoint(newest, optimizer=False)
    except CheckpointError as error:
        there = entries(run)
        advice = f"; the one before is {there[-2].folder}: give that" if len(there) > 1 else ""
        raise CheckpointError(f"{error}{advice}") from None
    return newest


def _kind_of_file(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(64)
    pickled = head[:1] == b"\x80" or (head[:2] == b"PK" and path.suffix in {".pt", ".pth", ".bin", ".ckpt", ".zip"})
    if pickled:
        return "a pickle, as PyTorch writes them: reading one can run any program hidden in it, so heedful never does"
    if path.name == RUN:
        return f"the description of a run, not the run: give its folder, {path.parent}"
    if path.suffix == ".safetensors":
        return "a file of weights without a description of the model and its subwords"
    return "a file"


def config_of(place: Path) -> Config:
    """What a model is and how it is searched; how it was trained is not asked."""
    run, _ = located(place)
    config = run_config(read_run(run), run)
    return Config(model=config.model, search=config.search)


def run_config(description: dict[str, Any], run: Path) -> Config:
    """The configuration that a ``run.json`` holds."""
    try:
        return Config(**{name: kind(**description["config"][name]) for name, kind in SECTIONS.items()})
    except (KeyError, TypeError, ConfigError) as error:
        made_by = f"written by heedful {description.get('heedful')}"
        raise CheckpointError(f"{run / RUN} ({made_by}) holds settings that this version cannot use: {error}") from None
