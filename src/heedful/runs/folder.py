"""The folder of a run: who may write in it, and what in it is ours to remove. Needs no torch."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from heedful.data.manifest import StoredVocabularies
from heedful.errors import CheckpointError, TrainingError
from heedful.files import (
    LOCK,
    foreign_files,
    is_plain_name,
    locked,
    read_json,
    read_small,
    reason,
    require_format,
    sha256,
    write_file,
)
from heedful.runs.entries import AVERAGED, MODEL, OPTIMIZER, STATE
from heedful.runs.metrics import METRICS
from heedful.runs.run_folder import FORMAT, FORMAT_VERSION, RUN, STATUS
from heedful.text.subwords import FILE_NAME

CHECKPOINTS = "checkpoints"
_SUBWORDS = ("tokenizer", "source-tokenizer", "target-tokenizer")
_WRITTEN_LATER = ("curves.png", "report.html")
_OURS = (RUN, STATUS, METRICS, CHECKPOINTS, AVERAGED, *_SUBWORDS, *_WRITTEN_LATER)


@contextlib.contextmanager
def locked_run(run: Path) -> Iterator[None]:
    """Make the folder of a run, and keep other trainings out of it while the block runs.

    The lock dies with its process. A folder in which nothing came to be is not left behind.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_if_empty, run)
        try:
            run.mkdir(parents=True, exist_ok=True)
            _require_ours_or_a_run(run)
            stack.enter_context(locked(run, error=TrainingError, busy=f"another process is training in {run}"))
        except OSError as error:
            problem = "it is a file" if run.is_file() else reason(error)
            raise TrainingError(f"{run} cannot be the folder of a run: {problem}") from None
        yield


def remove_run(run: Path, *, corpus: Path) -> None:
    """Empty the folder of a run, if that removes nothing but what a run has: no other files, and not the corpus.

    The folder itself stays, as does a link to it. ``run.json`` goes last, so that what a kill leaves is a run still.
    """
    if _holds(run, corpus):
        raise TrainingError(f"{run} holds the corpus {corpus}, which --overwrite would remove: give another folder")
    description = read_json(run / RUN, error=CheckpointError)
    require_format(description, run / RUN, name=FORMAT, version=FORMAT_VERSION, error=CheckpointError)
    if description.get("bundle"):
        raise TrainingError(f"{run} is a model to give away, and only a run is overwritten: give another folder")
    if foreign := _foreign(run):
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise TrainingError(
            f"{run} holds {', '.join(foreign[:3])}{more} beside the run, and --overwrite would remove that too: "
            "move it elsewhere, or give another folder"
        )
    for path in sorted(run.iterdir(), key=lambda path: path.name == RUN):
        if path.name != LOCK:
            _remove(path)


def copy_subwords(corpus: Path, run: Path, vocabularies: StoredVocabularies) -> None:
    """Copy the subwords of a corpus into a run that does not have them, or has others: the file and nothing else."""
    for stored in {vocabularies.source, vocabularies.target}:
        if not is_plain_name(stored.folder):
            raise CheckpointError(f"the subwords of {corpus} are in {stored.folder!r:.80}, which is not inside it")
        source, place = corpus / stored.folder / FILE_NAME, run / stored.folder / FILE_NAME
        try:
            content = read_small(source)
        except OSError as error:
            raise CheckpointError(f"{source} cannot be read: {reason(error)}") from None
        if not place.is_file() or sha256(place) != stored.sha256:
            if place.parent.is_symlink():
                raise CheckpointError(f"{place.parent} is a link to other subwords than the corpus has: remove it")
            write_file(place, content, error=CheckpointError)


def _require_ours_or_a_run(run: Path) -> None:
    """Raise for a folder of other things. What a run leaves that was killed before its ``run.json`` is nothing."""
    if not (run / RUN).exists() and (foreign := foreign_files(run, ours=_SUBWORDS) or _foreign(run)):
        raise TrainingError(
            f"{run} holds other files and is not a run (no {RUN} in it, but {', '.join(foreign[:3])}): "
            "give another folder"
        )


def _foreign(run: Path) -> list[str]:
    """What lies in the folder of a run, at any depth, and no run writes."""
    found = [name for name in foreign_files(run, ours=_OURS) if not _holds_only_events(run / name)]
    inner = {AVERAGED: (MODEL, STATE), **dict.fromkeys(_SUBWORDS, (FILE_NAME,))}
    if (run / CHECKPOINTS).is_dir():
        steps = [path.name for path in (run / CHECKPOINTS).iterdir() if re.fullmatch(r"step-\d+", path.name)]
        inner |= {CHECKPOINTS: tuple(steps)} | {f"{CHECKPOINTS}/{step}": (MODEL, OPTIMIZER, STATE) for step in steps}
    for place, ours in inner.items():
        folder = run / place
        if folder.is_dir() and not folder.is_symlink():  # a link is removed, what it leads to is not
            found += [f"{place}/{name}" for name in foreign_files(folder, ours=ours)]
    return found


def _holds_only_events(path: Path) -> bool:
    """Whether this is a folder, or a file, of TensorBoard's that `heedful curves` wrote."""
    inside = list(path.iterdir()) if path.is_dir() and not path.is_symlink() else [path]
    return bool(inside) and all(each.name.startswith("events.out.tfevents.") and each.is_file() for each in inside)


def _holds(run: Path, corpus: Path) -> bool:
    inner, outer = corpus.resolve(), run.resolve()
    return inner == outer or outer in inner.parents


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
