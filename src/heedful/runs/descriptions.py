"""``run.json``, ``status.json`` and the ``state.json`` of a checkpoint: what they say, typed. Needs no torch.

A file may be anybody's: what is missing, of another type, or does not fit is a CheckpointError that names the place.
docs/formats.md describes every field.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heedful.config import SECTIONS, Config
from heedful.data.manifest import MANIFEST, SIDES, StoredVocabularies
from heedful.errors import CheckpointError, ConfigError, NotARunError
from heedful.files import is_plain_name, read_json, reason, require_format, sha256, write_json
from heedful.tasks import TASKS
from heedful.typed import typed

RUN, STATUS = "run.json", "status.json"
STATE, MODEL, OPTIMIZER = "state.json", "model.safetensors", "optimizer.safetensors"
_FORMATS, _VERSION = {RUN: "heedful run", STATE: "heedful checkpoint"}, 1

MAY_CHANGE = frozenset(
    f"training.{name}"
    for name in (
        *("steps", "minutes", "checkpoint_minutes", "checkpoint_steps", "keep_last", "average_last", "patience"),
        *("validation_steps", "samples", "best_by", "log_steps", "max_skipped", "micro_batches", "compile"),
    )
)
"""Settings that a resumed run may be given anew; any other would make it another run. (micro_batches changes where
dropout falls but not what is learned; a run that needs less memory must be able to raise it.)"""


@dataclass(frozen=True)
class TrainedOn:
    """The prepared corpus of a run; a bundle does not say where it was."""

    folder: str | None = None
    manifest_sha256: str | None = None


@dataclass(frozen=True)
class Languages:
    """As in en and de."""

    source: str
    target: str


@dataclass(frozen=True)
class TypedCommand:
    """What was typed to begin a run, and where."""

    words: tuple[str, ...]
    folder: str


@dataclass(frozen=True, kw_only=True)
class RunDescription:
    """``run.json``: what a run, or a bundle, is."""

    heedful: str = "?"
    preset: str | None = None
    config: Config
    data: TrainedOn = TrainedOn()
    vocabularies: StoredVocabularies
    vocab_size: int
    source_vocab_size: int | None = None
    parameters: int
    init: str | None = None
    started: str | None = None
    command: TypedCommand | None = None
    fitted_to: float | None = None
    """What `--minutes` said; `training.minutes` is what was left of it. None once another time was asked for."""
    environment: dict[str, Any] | None = None
    bundle: bool = False
    languages: Languages | None = None
    task: str = "translation"
    """What it learned, by the names of `heedful.tasks`."""

    def __post_init__(self) -> None:
        for side in SIDES:
            folder = getattr(self.vocabularies, side).folder
            if not is_plain_name(folder):
                raise ValueError(f"vocabularies.{side}.folder is {folder!r:.80}, not the name of a folder inside")
        source, target = self.vocabularies.source.size, self.vocabularies.target.size
        separate = self.vocabularies.source.folder != self.vocabularies.target.folder
        if self.task not in TASKS:
            raise ValueError(f"task is {self.task!r:.40}, which this version does not know")
        if self.vocab_size != target or self.source_vocab_size != (source if separate else None):
            raise ValueError("the sizes of its vocabularies do not fit each other")

    @property
    def kind(self) -> str:
        """The preset's name, or the sizes of the model."""
        model = self.config.model
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers"
        return self.preset or f"{layers}, {model.d_model}, {model.d_ff}"


@dataclass(frozen=True)
class Best:
    """The best validation so far."""

    step: int
    metric: str
    value: float


@dataclass(frozen=True)
class Status:
    """``status.json``: how a run goes. What it does not say is None."""

    state: str = "unknown"
    step: int | None = None
    steps: int | None = None
    best: Best | None = None
    why: str = ""
    minutes: float | None = None
    updated: str | None = None
    pid: int | None = None
    host: str | None = None


@dataclass(frozen=True, kw_only=True)
class CheckpointState:
    """``state.json``: what a checkpoint is, the hash of each file beside it, and what training keeps."""

    step: int
    scheduled: bool
    storage: str | None = None
    files: dict[str, str]
    averaged_steps: tuple[int, ...] | None = None
    state: dict[str, Any]


def now() -> str:
    """The time, as it is written everywhere."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_run(run: Path) -> RunDescription:
    """``run.json``, once it is sure that the folder is a run."""
    path, value = run / RUN, read_own(run, RUN)
    try:
        _require_known_settings(value)
        return typed(RunDescription, value)
    except ConfigError as error:
        made_by = f"written by heedful {value.get('heedful')!s:.20}"
        raise CheckpointError(f"{path} ({made_by}) holds settings that this version cannot use: {error}") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None


def write_run(run: Path, description: RunDescription) -> None:
    """Say what a folder is."""
    value = {"format": _FORMATS[RUN], "format_version": _VERSION, **dataclasses.asdict(description)}
    if not description.bundle:
        del value["bundle"]
        if description.languages is None:
            del value["languages"]
    write_json(run / RUN, value)


def differing_settings(stored: Config, wanted: Config) -> list[str]:
    """The settings in which a run differs from what is asked for, ``section.key: stored, wanted`` each."""
    old, new = stored.settings, wanted.settings
    return [f"{path}: {old[path]} there, {value} now" for path, value in sorted(new.items()) if old[path] != value]


def read_status(run: Path) -> Status:
    """How a run goes, as far as it has said so."""
    try:
        return typed(Status, read_json(run / STATUS, error=CheckpointError))
    except (FileNotFoundError, NotADirectoryError):
        return Status()
    except ValueError as error:
        raise CheckpointError(f"{run / STATUS}: {error}") from None


def write_status(run: Path, status: Status) -> None:
    """Say how the run goes, when, and by which process."""
    here = {"updated": now(), "pid": os.getpid(), "host": platform.node()}
    write_json(run / STATUS, {**dataclasses.asdict(status), **here})


def read_state(folder: Path) -> CheckpointState:
    """The ``state.json`` of a checkpoint, once it is sure that it is one, and says what was written."""
    path, value = folder / STATE, read_own(folder, STATE)
    # Those that version 0.1.0 wrote have no hash of their own.
    if "sha256" in value and value["sha256"] != _own_hash(value):
        raise CheckpointError(f"{path} is damaged: its contents are not what was written")
    try:
        state = typed(CheckpointState, value)
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    named = re.fullmatch(r"step-([0-9]+)", folder.resolve().name)
    if named and int(named[1]) != state.step:
        raise CheckpointError(f"{folder} is of step {state.step}: it is a copy, or was renamed")
    return state


def sound_file(folder: Path, name: str, state: CheckpointState) -> Path:
    """A file of a checkpoint, once it is sure that it is what was written."""
    path = folder / name
    if not path.is_file():
        raise CheckpointError(f"{path} is missing")
    try:
        if sha256(path) != state.files.get(name):
            raise CheckpointError(f"{path} is damaged: its contents are not what was written")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {reason(error)}") from None
    return path


def write_state(folder: Path, state: CheckpointState) -> None:
    """Say what a checkpoint is: its last file."""
    value = {"format": _FORMATS[STATE], "format_version": _VERSION, **dataclasses.asdict(state)}
    value = {name: field for name, field in value.items() if field is not None}
    write_json(folder / STATE, {**value, "sha256": _own_hash(value)})


def _own_hash(value: dict[str, Any]) -> str:
    """The hash of a JSON object without its field ``sha256``, however it is laid out."""
    rest = {name: field for name, field in value.items() if name != "sha256"}
    try:
        return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    except RecursionError:  # deeper than anything that we write
        return ""


def read_own(folder: Path, file: str) -> dict[str, Any]:
    """What a run's ``run.json`` or a checkpoint's ``state.json`` says; of it only the format is sure."""
    name, foreign = _FORMATS[file], NotARunError if file == RUN else CheckpointError
    try:
        value = read_json(folder / file, error=CheckpointError)
    except (FileNotFoundError, NotADirectoryError):
        absent = f"{folder} is not a {name.removeprefix('heedful ')}: no {file} in it"
        if (folder / MANIFEST).is_file():
            absent = f"{folder} is a prepared corpus, not a run: `heedful train {folder} --output run` makes one"
        raise foreign(absent if folder.exists() else f"there is no folder {folder}") from None
    error = CheckpointError if value.get("format") == name else foreign
    require_format(value, folder / file, name=name, version=_VERSION, error=error)
    return value


def _require_known_settings(value: dict[str, Any]) -> None:
    """A setting that a run does not have is younger than it, and counts as its default; an unknown one may matter."""
    config = typed(dict[str, dict[str, Any]], value.get("config"), where="config")
    known = {name: {field.name for field in dataclasses.fields(kind)} for name, kind in SECTIONS.items()}
    for section, settings in config.items():
        if unknown := [name for name in settings if name not in known.get(section, set())]:
            raise ConfigError([f"{section}.{unknown[0]} is not known"])
