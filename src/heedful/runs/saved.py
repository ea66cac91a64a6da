"""What a trained model is, without its weights: which run and checkpoint, its configuration, subwords and profile.

Needs no torch: that comes with the weights, when somebody asks for them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.config import Config
from heedful.data.manifest import SIDES
from heedful.errors import CheckpointError
from heedful.files import reason
from heedful.runs.descriptions import MODEL, RUN, STATE, RunDescription, read_run, read_state, sound_file
from heedful.runs.folder import AVERAGED, entries, model_folder, newest_weights, subword_file
from heedful.tasks import TASKS
from heedful.text.closed_vocabulary import Vocabulary, load_vocabulary
from heedful.text.profile import Profile, read_profile
from heedful.text.subwords import Subwords

if TYPE_CHECKING:
    from heedful.model.transformer import Transformer


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything that is needed to translate, or to parse."""

    run: Path
    weights_from: Path
    step: int
    description: RunDescription
    source_subwords: Subwords
    target_vocabulary: Vocabulary
    profile: Profile | None = None
    """What its training text was like; None for a model from before there were profiles."""

    @property
    def config(self) -> Config:
        return self.description.config

    @property
    def target_subwords(self) -> Subwords:
        """For what needs a model that writes text."""
        if not isinstance(self.target_vocabulary, Subwords):
            task = TASKS[self.description.task]
            used = f"`heedful {task.uses[0].split()[0]}` takes it"
            raise CheckpointError(f"{self.run} was trained for {task.name}, and writes no text: {used}")
        return self.target_vocabulary

    @property
    def fingerprint(self) -> str:
        """The hash of all that its translations depend on."""
        around = repr((self.profile, self.description.languages))
        subwords = self.source_subwords.sha256, self.target_subwords.sha256
        parts = (weights_sha256(self.weights_from), *subwords, around)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @functools.cached_property
    def model(self) -> Transformer:
        """On the CPU, in the precision it was trained in; read when it is first asked for."""
        from heedful.runs.checkpoints import model_with_weights

        with _advice(self.run, self.weights_from):
            return model_with_weights(self.description, self.weights_from)


def read_model(place: Path | str) -> SavedModel:
    """The model in a run folder, or of one of its checkpoints: ``RUN``, ``RUN/averaged``, ``RUN/checkpoints/step-N``.

    Where there is no such folder, it is the model of that name that comes with heedful. Of a run it is the average of
    the last checkpoints where there is one, and otherwise, or when the run has gone on since, the newest checkpoint.
    """
    saved = known_model(place)
    _ = saved.model  # what is wrong with its weights is said now
    return saved


def known_model(place: Path | str) -> SavedModel:
    """The same, but its weights are not read yet."""
    run, named = _run_and_weights(place)
    known = read_run(run)
    weights_from = named or newest_weights(run)
    if weights_from is None:
        raise CheckpointError(f"{run} has no checkpoint yet: its training has just begun, or was stopped before one")
    with _advice(run, weights_from):
        step = read_state(weights_from).step
    return SavedModel(run, weights_from, step, known, *read_subwords(run, known), read_profile(run))


@contextlib.contextmanager
def _advice(run: Path, weights_from: Path) -> Iterator[None]:
    """Where the newest checkpoint cannot be read, say which one is before it."""
    try:
        yield
    except CheckpointError as error:
        there = [entry.folder for entry in entries(run)]
        advice = f"; the one before is {there[-2]}: give that" if there[1:] and there[-1] == weights_from else ""
        raise CheckpointError(f"{error}{advice}") from None


def weights_sha256(weights_from: Path) -> str:
    """The hash of a checkpoint's weights, once it is sure that they are what was written."""
    state = read_state(weights_from)
    sound_file(weights_from, MODEL, state)
    return state.files[MODEL]


def read_subwords(run: Path, description: RunDescription) -> tuple[Subwords, Vocabulary]:
    """The subwords of a run's source and target, once it is sure that they are those it was trained with."""
    loaded: dict[str, Vocabulary] = {}  # most often one for both
    for stored in {description.vocabularies.source, description.vocabularies.target}:
        subword_file(run, stored)
        found = loaded[stored.folder] = load_vocabulary(run / stored.folder)
        if found.vocab_size != stored.size:
            raise CheckpointError(
                f"{run / stored.folder} has {found.vocab_size:,} subwords, and the model {stored.size:,}"
            )
    source, target = (loaded[getattr(description.vocabularies, side).folder] for side in SIDES)
    if not isinstance(source, Subwords) or isinstance(target, Subwords) == bool(
        TASKS[description.task].target_vocabulary
    ):
        raise CheckpointError(f"{run} says that it was trained for {description.task}, but its vocabularies are others")
    return source, target


def description_of(place: Path | str) -> RunDescription:
    """What a model's ``run.json`` says."""
    return read_run(_run_and_weights(place)[0])


def config_of(place: Path) -> Config:
    """What a model is and how it is searched; how it was trained is not asked."""
    config = description_of(place).config
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
