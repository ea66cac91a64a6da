"""The folder of a run: ``run.json`` (what it is), ``status.json`` (how it goes), ``metrics.jsonl``, ``checkpoints/``.

docs/formats.md describes every field.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heedful.config import SECTIONS
from heedful.errors import CheckpointError
from heedful.runs.atomic import write_json

FORMAT, FORMAT_VERSION = "heedful run", 1
RUN, STATUS = "run.json", "status.json"

MAY_CHANGE = frozenset(
    f"training.{name}"
    for name in (
        *("steps", "minutes", "checkpoint_minutes", "checkpoint_steps", "keep_last", "average_last", "patience"),
        *("validation_steps", "samples", "best_by", "log_steps", "max_skipped", "micro_batches", "compile"),
    )
)
"""Settings that a resumed run may be given anew; any other would make it another run. (micro_batches changes where
dropout falls but not what is learned; a run that needs less memory must be able to raise it.)"""


def now() -> str:
    """The time, as it is written everywhere."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_run(run: Path) -> dict[str, Any]:
    """``run.json``, once it is sure that the folder is a run."""
    path = run / RUN
    try:
        description = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        problem = f"there is no folder {run}" if not run.exists() else f"{run} is not a run: no {RUN} in it"
        raise CheckpointError(problem) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise CheckpointError(f"{path} does not describe a run")
    if description.get("format_version") != FORMAT_VERSION:
        version = description.get("format_version")
        raise CheckpointError(f"{path} is of format version {version}; this heedful reads version {FORMAT_VERSION}")
    return description


def write_run(run: Path, description: dict[str, Any]) -> None:
    """Make the folder and say what it is."""
    run.mkdir(parents=True, exist_ok=True)
    write_json(run / RUN, {"format": FORMAT, "format_version": FORMAT_VERSION, **description})


def write_status(run: Path, status: dict[str, Any]) -> None:
    """Say how the run goes."""
    write_json(run / STATUS, {**status, "updated": now(), "pid": os.getpid(), "host": platform.node()})


def differing_settings(stored: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """The settings in which a run differs from what is asked for, ``section.key: stored, wanted`` each.

    A setting that the run does not have is younger than it, and counts as its default.
    """
    found: list[str] = []
    for section in sorted({*stored, *wanted}):
        defaults = dataclasses.asdict(SECTIONS[section]()) if section in SECTIONS else {}
        old, new = {**defaults, **stored.get(section, {})}, wanted.get(section, {})
        keys = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
        found += [f"{section}.{key}: {old.get(key)} there, {new.get(key)} now" for key in keys]
    return found
