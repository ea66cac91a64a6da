"""A trained model as a run left it: its weights, its configuration, its subwords; ready to be used, or given away.

A bundle, the model to give away, is the folder of a run without what only its training needs, its weights as small as
asked for: whatever takes a model takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from heedful.config import Config
from heedful.errors import CheckpointError
from heedful.files import new_folder, read_small, reason, require_replaceable
from heedful.model.transformer import Transformer
from heedful.runs.checkpoints import as_stored, read_checkpoint, require_finite, require_same_shapes, write_tensors
from heedful.runs.descriptions import MODEL, RUN, STATE, Languages, RunDescription, read_run, write_run
from heedful.runs.folder import (
    AVERAGED,
    CARD,
    TEXT_FILES,
    copy_text_files,
    entries,
    model_folder,
    newest_weights,
    subword_file,
)
from heedful.runs.lists import languages
from heedful.text.profile import Profile, read_profile, write_profile
from heedful.text.subwords import Subwords

_FILES = (RUN, CARD, f"{AVERAGED}/{MODEL}", f"{AVERAGED}/{STATE}", *TEXT_FILES)
"""All that a bundle may hold."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything that is needed to translate."""

    run: Path
    weights_from: Path
    step: int
    description: RunDescription
    model: Transformer
    """On the CPU, in the precision it was trained in."""
    source_subwords: Subwords
    target_subwords: Subwords
    profile: Profile | None = None
    """What its training text was like; None for a model from before there were profiles."""

    @property
    def config(self) -> Config:
        return self.description.config


def read_model(place: Path | str) -> SavedModel:
    """The model in a run folder, or of one of its checkpoints: ``RUN``, ``RUN/averaged``, ``RUN/checkpoints/step-N``.

    Where there is no such folder, it is the model of that name that comes with heedful. Of a run it is the average of
    the last checkpoints where there is one, and otherwise, or when the run has gone on since, the newest checkpoint.
    """
    run, named = _run_and_weights(place)
    known = read_run(run)
    weights_from = named or newest_weights(run)
    if weights_from is None:
        raise CheckpointError(f"{run} has no checkpoint yet: its training has just begun, or was stopped before one")
    try:
        checkpoint = read_checkpoint(weights_from, optimizer=False)
    except CheckpointError as error:
        before = [entry.folder for entry in entries(run)][:-1]
        advice = f"; the one before is {before[-1]}: give that" if before and not named else ""
        raise CheckpointError(f"{error}{advice}") from None
    require_finite(checkpoint.model, where=str(weights_from))
    layers = known.config.model.encoder_layers + known.config.model.decoder_layers
    if layers > len(checkpoint.model):  # or they would take hours to build
        raise CheckpointError(f"{weights_from} is of another model: it has fewer parameters than {RUN} has layers")
    with torch.device("meta"):
        model = Transformer(known.config.model, vocab_size=known.vocab_size, source_vocab_size=known.source_vocab_size)
    load_weights(model, checkpoint.model, where=str(weights_from), assign=True)
    subwords = read_subwords(run, known)
    return SavedModel(run, weights_from, checkpoint.step, known, model.eval(), *subwords, read_profile(run))


def read_subwords(run: Path, description: RunDescription) -> tuple[Subwords, Subwords]:
    """The subwords of a run's source and target, once it is sure that they are those it was trained with."""
    loaded: dict[str, Subwords] = {}  # most often one for both
    for stored in {description.vocabularies.source, description.vocabularies.target}:
        subword_file(run, stored)
        found = loaded[stored.folder] = Subwords.load(run / stored.folder)
        if found.vocab_size != stored.size:
            raise CheckpointError(
                f"{run / stored.folder} has {found.vocab_size:,} subwords, and the model {stored.size:,}"
            )
    return loaded[description.vocabularies.source.folder], loaded[description.vocabularies.target.folder]


def load_weights(model: Transformer, weights: dict[str, Tensor], *, where: str, assign: bool = False) -> None:
    """Put saved weights into a model that must have the same parameters; ``assign``: in place of its own."""
    ours = model.state_dict()
    require_same_shapes(weights, ours, where=where, other="the one that is asked for")
    if wrong := [name for name, value in weights.items() if value.dtype != ours[name].dtype]:
        raise CheckpointError(f"{where}: {wrong[0]} is of type {weights[wrong[0]].dtype}, not {ours[wrong[0]].dtype}")
    model.load_state_dict(weights, assign=assign)


def config_of(place: Path) -> Config:
    """What a model is and how it is searched; how it was trained is not asked."""
    config = read_run(_run_and_weights(place)[0]).config
    return Config(model=config.model, search=config.search)


def _run_and_weights(model: Path | str) -> tuple[Path, Path | None]:
    """The run folder of a model, and the folder of its weights if that is what was named."""
    place = model_folder(model)
    if place.is_file():
        raise CheckpointError(f"{place} is {_kind_of_file(place)}; a model is the folder of a run (`heedful train`)")
    if place.name in ("", ".."):
        place = place.resolve()
    if (place / STATE).exists() or place.name.startswith("step-"):
        return (place.parent if place.name == AVERAGED else place.parent.parent), place
    return place, None


def _kind_of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError as error:
        return f"a file that cannot be read ({reason(error)})"
    pickled = head[:1] == b"\x80" or (head[:2] == b"PK" and path.suffix in {".pt", ".pth", ".bin", ".ckpt", ".zip"})
    if pickled:
        return "a pickle, as PyTorch writes them: reading one can run any program hidden in it, so heedful never does"
    if path.name == RUN:
        return f"the description of a run, not the run: give its folder, {path.parent}"
    if path.suffix == ".safetensors":
        return "a file of weights without a description of the model and its subwords"
    return "a file"


def write_bundle(
    saved: SavedModel,
    folder: Path,
    *,
    storage: str = "int8",
    card: bytes | None = None,
    spoken: Languages | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a model's weights, configuration, subwords and card into a new folder.

    ``card``: what ``README.md`` says of the model, the one in the model's own folder when not given. ``spoken``: the
    languages of source and target, what `languages` finds when not given.
    """
    require_replaceable(
        folder, overwrite=overwrite, what="a bundle", is_one=_is_bundle, ours=_FILES, error=CheckpointError
    )
    card = _own_card(saved.run) if card is None else card
    _require_no_links(saved)
    weights = as_stored(saved.model.state_dict(), storage)
    # run.json without what tells where it was trained: that is nobody's business.
    known, environment = saved.description, saved.description.environment
    if environment is not None:  # the system's name often holds its builder's or owner's
        environment = {name: value for name, value in environment.items() if name != "platform"}
    secret = {"environment": environment, "data": replace(known.data, folder=None), "init": None, "command": None}
    description = replace(known, **secret, bundle=True, languages=spoken or languages(known))
    try:
        with new_folder(folder, error=CheckpointError) as place:
            if saved.profile is not None:  # without sentences of the training text
                write_profile(place, replace(saved.profile, samples=()))
            copy_text_files(saved.run, place, description.vocabularies)
            (place / AVERAGED).mkdir()
            known = {"step": saved.step, "scheduled": False, "storage": storage, "state": {}}
            write_tensors(place / AVERAGED, {MODEL: weights}, **known)
            write_run(place, description)
            if card is not None:
                (place / CARD).write_bytes(card)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder} could not be written: {error}") from None
    return folder


def _own_card(run: Path) -> bytes | None:
    path = run / CARD
    if path.is_symlink():
        raise CheckpointError(f"{path} is a link, and what it leads to would be given away: give --card")
    try:
        return read_small(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {reason(error)}") from None


def _require_no_links(saved: SavedModel) -> None:
    """Raise where the subwords are a link: it may lead to anything, and that would be given away."""
    for name in {saved.description.vocabularies.source.folder, saved.description.vocabularies.target.folder}:
        folder = saved.run / name
        if linked := [path for path in (folder, *folder.iterdir()) if path.is_symlink()]:
            raise CheckpointError(f"{linked[0]} is a link, and what it leads to would be given away: put a copy there")


def _is_bundle(folder: Path) -> bool:
    return (folder / RUN).is_file() and read_run(folder).bundle
