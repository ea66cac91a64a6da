"""The folder of a run: which one is meant, what lies in it, who may write there, what is ours to remove.

Needs no torch. What the files say is known to `descriptions` and `metrics`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.config import did_you_mean
from heedful.data.manifest import TOKENIZER, StoredVocabularies, StoredVocabulary
from heedful.errors import CheckpointError, TrainingError
from heedful.files import LOCK, foreign_files, locked, read_small, reason, require_only_ours, write_file
from heedful.runs.descriptions import MODEL, OPTIMIZER, RUN, STATE, STATUS, read_own, read_state
from heedful.runs.metrics import METRICS
from heedful.text.profile import PROFILE, read_profile, write_profile

BUNDLED = Path(__file__).parent.parent / "bundled"
DEFAULT_MODEL = "en-de-small"
"""The model where none is named."""
AVERAGED, CARD = "averaged", "README.md"
_CHECKPOINTS = "checkpoints"
_VOCABULARIES = ("tokenizer", "source-tokenizer", "target-tokenizer")
TEXT_FILES = (PROFILE, *(f"{folder}/{TOKENIZER}" for folder in _VOCABULARIES))
"""What a run takes over from its corpus."""


def bundled_models() -> dict[str, Path]:
    """The models that come with heedful, by name."""
    return {path.parent.name: path.parent for path in sorted(BUNDLED.glob(f"*/{RUN}"))}


def default_model() -> str | None:
    """The name of the model where none is given; None where heedful came without it."""
    return DEFAULT_MODEL if DEFAULT_MODEL in bundled_models() else None


def model_folder(model: Path | str) -> Path:
    """The folder that is meant: what is there under this path, or else the model of this name."""
    path, known = Path(model), bundled_models()
    try:
        there = path.exists()
    except (OSError, ValueError) as error:
        raise CheckpointError(f'"{str(model)[:80]}" cannot be a model: {reason(error)}') from None
    if there or not known or len(path.parts) > 1:  # a name has no folders in it
        return path
    if str(model) in known:
        return known[str(model)]
    near = did_you_mean(str(model), list(known))
    raise CheckpointError(
        f"there is no folder {model}, and no model of that name{near}: heedful comes with {', '.join(known)}"
    )


@dataclass(frozen=True)
class Entry:
    """A checkpoint on disk, not read yet."""

    step: int
    folder: Path


def entries(run: Path) -> list[Entry]:
    """The checkpoints of a run, oldest first."""
    folder = run / _CHECKPOINTS
    try:
        found = [(re.fullmatch(r"step-([0-9]+)", path.name), path) for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be read: {reason(error)}") from None
    return sorted((Entry(int(match[1]), path) for match, path in found if match), key=lambda entry: entry.step)


def newest_weights(run: Path) -> Path | None:
    """The folder of the weights that a run's model has: the average, unless a checkpoint is newer."""
    there = entries(run)
    averaged = run / AVERAGED
    if averaged.is_dir() and (not there or read_state(averaged).step >= there[-1].step):
        return averaged
    return there[-1].folder if there else None


def subword_file(run: Path, stored: StoredVocabulary) -> bytes:
    """The file of subwords that a run or a corpus says it has, once it is sure that it is that one."""
    path = run / stored.folder / TOKENIZER
    try:
        content = read_small(path)
    except FileNotFoundError:
        raise CheckpointError(f"there are no subwords in {path.parent}: {TOKENIZER} is missing") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {reason(error)}") from None
    if stored.sha256 and hashlib.sha256(content).hexdigest() != stored.sha256:
        raise CheckpointError(f"{path} is damaged: its contents are not the subwords that the model was trained with")
    return content


def copy_text_files(source: Path, run: Path, vocabularies: StoredVocabularies) -> None:
    """Copy the subwords and the profile of a corpus, or of a run, into a run that does not have them."""
    profile = read_profile(source)
    if profile is not None and not (run / PROFILE).exists():
        write_profile(run, profile)
    for stored in {vocabularies.source, vocabularies.target}:
        content, place = subword_file(source, stored), run / stored.folder / TOKENIZER
        with contextlib.suppress(CheckpointError):
            if subword_file(run, stored) == content:
                continue
        if place.parent.is_symlink():
            raise CheckpointError(f"{place.parent} is a link to other subwords than {source} has: remove it")
        write_file(place, content, error=CheckpointError)


@contextlib.contextmanager
def locked_run(run: Path) -> Iterator[None]:
    """Make the folder of a run, and keep other trainings out of it while the block runs.

    The lock dies with its process. A folder in which nothing came to be is not left behind.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_if_empty, run)
        try:
            run.mkdir(parents=True, exist_ok=True)
            # What a run leaves that was killed before its run.json is nothing.
            if not (run / RUN).exists() and (foreign := foreign_files(run, ours=TEXT_FILES)):
                found = f"no {RUN} in it, but {', '.join(foreign[:3])}"
                raise TrainingError(f"{run} holds other files and is not a run ({found}): give another folder")
            stack.enter_context(locked(run, error=TrainingError, busy=f"another process is training in {run}"))
        except OSError as error:
            problem = "it is a file" if run.is_file() else reason(error)
            raise TrainingError(f"{run} cannot be the folder of a run: {problem}") from None
        yield


def remove_run(run: Path, *, corpus: Path) -> None:
    """Empty the folder of a run, if that removes nothing but what a run has: no other files, and not the corpus.

    The folder itself stays, as does a link to it. ``run.json`` goes last, so that what a kill leaves is a run still.
    """
    if run.resolve() in (corpus.resolve(), *corpus.resolve().parents):
        raise TrainingError(f"{run} holds the corpus {corpus}, which --overwrite would remove: give another folder")
    try:
        if read_own(run, RUN).get("bundle"):
            raise CheckpointError(f"{run} is a model to give away, not a run")
    except CheckpointError as error:
        raise TrainingError(f"{error}; --overwrite removes nothing but a run: give another folder") from None
    weights = [AVERAGED, *(f"{_CHECKPOINTS}/{entry.folder.name}" for entry in entries(run))]
    checkpoints = [f"{folder}/{name}" for folder in weights for name in (MODEL, OPTIMIZER, STATE)]
    events = [path.relative_to(run).as_posix() for path in run.rglob("events.out.tfevents.*")]  # TensorBoard's
    ours = [RUN, STATUS, METRICS, "curves.png", "report.html", *TEXT_FILES, *checkpoints, *events]
    require_only_ours(run, ours=ours, error=TrainingError, what="run")
    for path in sorted(run.iterdir(), key=lambda path: path.name == RUN):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
