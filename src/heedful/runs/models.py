"""A trained model as a run left it, with its weights: ready to be used, or given away.

A bundle, the model to give away, is the folder of a run without what only its training needs, its weights as small as
asked for: whatever takes a model takes it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from heedful.errors import CheckpointError
from heedful.files import new_folder, read_small, reason, require_replaceable
from heedful.model.draft_heads import heads_like
from heedful.model.transformer import Transformer
from heedful.runs.checkpoints import as_stored, read_checkpoint, require_finite, require_same_shapes, write_tensors
from heedful.runs.descriptions import MODEL, RUN, STATE, Languages, RunDescription, read_run, write_run
from heedful.runs.folder import AVERAGED, CARD, TEXT_FILES, copy_text_files
from heedful.runs.lists import languages
from heedful.runs.saved import SavedModel
from heedful.text.profile import given_away, write_profile

_FILES = (RUN, CARD, f"{AVERAGED}/{MODEL}", f"{AVERAGED}/{STATE}", *TEXT_FILES)
"""All that a bundle may hold."""


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
            if saved.profile is not None:
                write_profile(place, given_away(saved.profile))
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
