"""What a measurement leaves: ``SUBJECT.json`` with every number, where and when and by what command it came about; and
from one or several of these, of several machines, a page of Markdown with its pictures.

Measuring needs no matplotlib: it can be done on one machine and drawn on another. So each subject's module has two
functions: ``measured``, which finds everything that its page shows, and ``page``, of the records of one machine or
several. Table 3 alone has its own, since its rows are trained one by one.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import torch

from heedful import __version__
from heedful.background import Report
from heedful.errors import ReportError
from heedful.files import read_typed, write_file, write_typed
from heedful.model.devices import chosen_device
from heedful.runs.folder import AVERAGED, model_folder
from heedful.training.machine import device_name, processor
from heedful.typed import typed

T = TypeVar("T")
FORMAT = "heedful reproduction"
COMMANDS = "commands.sh"


@dataclass(frozen=True)
class Record:
    """One measurement of one subject (table1, dot-product, …)."""

    subject: str
    machine: str
    date: str
    command: str
    found: dict[str, Any]
    heedful: str = __version__
    torch: str = torch.__version__

    def rows(self, name: str, kind: type[T]) -> list[T]:
        """A list of what was found, as dataclasses."""
        try:
            return [typed(kind, row, where=name) for row in typed(list[dict[str, Any]], self.found.get(name))]
        except ValueError as error:
            raise ReportError(f"what was found of {self.subject} on {self.machine} is damaged: {error}") from None

    @property
    def where(self) -> str:
        """The machine, the version and the day, in words."""
        return f"{self.machine}, torch {self.torch}, heedful {self.heedful}, {self.date}"


@dataclass(frozen=True)
class Asked:
    """What is to be measured, with what, and where."""

    subject: str
    places: Sequence[Path]
    """The corpus, the runs or the model to measure with."""
    options: Mapping[str, Any]
    """What was asked for, by the names of the command's options; falsy where it was not."""
    device: str
    command: Sequence[str]
    report: Report

    @property
    def miniature(self) -> bool:
        return bool(self.options["miniature"])


Found = Mapping[str, Iterable[Any]]
"""What a subject has measured: lists of dataclasses, by name."""


@dataclass(frozen=True)
class Page:
    """A page of Markdown and the pictures that it shows, by their names."""

    text: str
    pictures: Mapping[str, str]


def new_record(asked: Asked, found: Found) -> Record:
    """What was found just now, on the device that was asked for."""
    device = chosen_device(asked.device, error=ReportError)
    machine = device_name(device) if device.type == "cuda" else f"{processor()}: {device_name(device)}"
    date = datetime.now(UTC).date().isoformat()
    return Record(asked.subject, machine, date, shlex.join(asked.command), plain(**found))


def plain(**found: Iterable[Any]) -> dict[str, Any]:
    """Lists of dataclasses as JSON has them, the same before and after a file."""
    return json.loads(json.dumps({name: [dataclasses.asdict(row) for row in own] for name, own in found.items()}))


def write_records(folder: Path, records: Sequence[Record]) -> None:
    """Write ``SUBJECT.json``, or ``SUBJECT-1.json`` and so on of several, and the commands that they came from."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, record in enumerate(records, start=1):
        name = record.subject if len(records) == 1 else f"{record.subject}-{number}"
        write_typed(folder / f"{name}.json", record, name=FORMAT)
    commands = "".join(f"{record.command}\n" for record in records)
    write_file(folder / COMMANDS, commands.encode(), error=ReportError)


def read_record(path: Path, *, subject: str) -> Record:
    """A record that an earlier command wrote: its file, or the folder that this lies in."""
    path = path / f"{subject}.json" if path.is_dir() else path
    try:
        record = read_typed(path, Record, name=FORMAT, error=ReportError)
    except (FileNotFoundError, NotADirectoryError):
        raise ReportError(f"there is no file {path}: give what `heedful reproduce {subject}` wrote") from None
    if record.subject != subject:
        raise ReportError(f"{path} is of {record.subject}, and {subject} was asked for")
    return record


def run_name(place: Path) -> str:
    """What a model is called on a page: by its folder, or its run's where that is the average."""
    folder = model_folder(place)
    return folder.parent.name if folder.name == AVERAGED else folder.name


def write_page(folder: Path, subject: str, page: Page) -> Path:
    """Write ``SUBJECT.md`` and its pictures; returns the former."""
    for name, picture in page.pictures.items():
        write_file(folder / name, picture.encode(), error=ReportError)
    return write_file(folder / f"{subject}.md", page.text.encode(), error=ReportError)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> str:
    """A table; ``right``: the columns of numbers."""
    lines = [columns, ["---:" if column in right else "---" for column in columns]]
    lines += [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
