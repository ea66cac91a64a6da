"""A bundle, a model to give away: the folder of a run without what only its training needs, its weights as small as
asked for: whatever takes a model takes it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from safetensors import SafetensorError

from heedful.errors import CheckpointError
from heedful.files import new_folder, read_small, reason, require_replaceable
from heedful.runs.checkpoints import as_stored, write_tensors
from heedful.runs.descriptions import MODEL, RUN, STATE, Languages, read_run, write_run
from heedful.runs.folder import AVERAGED, CARD, TEXT_FILES, copy_text_files
from heedful.runs.lists import languages
from heedful.runs.saved import SavedModel
from heedful.text.profile import given_away, write_profile

_FILES = (RUN, CARD, f"{AVERAGED}/{MODEL}", f"{AVERAGED}/{STATE}", *TEXT_FILES)
"""All that a bundle may hold."""


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
