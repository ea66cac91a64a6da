"""``heedful reproduce``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from heedful.cli.options import AsJson, Device, Flag, Minutes, Overwrite, Quiet, Repeated, Threads, whole_number
from heedful.cli.terminal import print_json, print_text, progress, say
from heedful.data.manifest import MANIFEST
from heedful.errors import HeedfulError, ReportError

if TYPE_CHECKING:
    from heedful.reproduction.records import Page, Record

Subject = Literal["table1", "dot-product", "positions", "table2", "table3", "figures"]
_TAKES: dict[str, tuple[str, ...]] = {
    "table1": (),
    "dot-product": (),
    "positions": ("steps",),
    "table2": ("source", "reference"),
    "table3": ("steps", "minutes", "batch_tokens", "rows", "seeds", "keep_models"),
    "figures": (),
}
"""The options that only some subjects have a use for."""
_PLACES = {"positions": "a prepared corpus", "table2": "runs", "table3": "a prepared corpus", "figures": "a model"}
_TOKENS = 25_000
_SHRINK = 16
"""What a miniature's sizes are divided by."""


def reproduce(
    subject: Subject,
    /,
    *places: Path,
    output: Path | None = None,
    steps: Annotated[int | None, whole_number(1)] = None,
    minutes: Minutes = None,
    batch_tokens: Annotated[int | None, whole_number(1)] = None,
    rows: Repeated = (),
    seeds: Annotated[int | None, whole_number(1, 1000)] = None,
    keep_models: Flag = False,
    source: Path | None = None,
    reference: Path | None = None,
    miniature: Flag = False,
    no_page: Flag = False,
    overwrite: Overwrite = False,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure a table or a figure of the paper again, and write it beside the paper's own.

    `table1` is what layers cost, what must wait in them, and how far a signal travels. `dot-product` is the argument
    for scaled dot products, and `positions` the one for sinusoids, on a corpus. `table2` is BLEU and training cost of
    runs, `table3` every variation of the base model, trained on a corpus, and `figures` what heads of a model attend
    to. Each leaves a folder: a page of Markdown, its pictures, the numbers as JSON, the command.

    Args:
        subject: table1, dot-product, positions, table2, table3 or figures.
        places: The corpus (positions, table3), the runs (table2) or the model (figures) to measure with. Or what
            earlier commands wrote, their JSON or their folders: they are put on one page, and nothing is measured
            (table3 also runs the rows that are missing, if a corpus is among them).
        output: The folder; reproduction/SUBJECT-DATE when not given. table3 goes on with what is there.
        steps: table3: steps of each row. positions: steps of both models; 3,000 when not given.
        minutes: table3: train each row for so long instead.
        batch_tokens: table3: tokens of a batch, on each side; 25,000 as in the paper when not given.
        rows: table3: run this row alone, such as a-h1, base or big; may be repeated. All when not given.
        seeds: table3: train each row so often, with other seeds; once when not given, and base always 4 times.
        keep_models: table3: keep the models of rows that are done; they are large.
        source: table2: a text to translate; each run's own validation text when not given.
        reference: table2: how it should be translated.
        miniature: Everything tiny, to see in seconds that it works; its numbers say nothing of the paper.
        no_page: Measure only, without the page and its pictures, to draw them elsewhere.

    Examples:
        heedful reproduce table1
        heedful reproduce table3 corpus --minutes 2 --rows base --rows a-h1 --output reproduction/table3
    """
    given = {"steps": steps, "minutes": minutes, "batch_tokens": batch_tokens, "rows": rows, "seeds": seeds}
    given |= {"keep_models": keep_models, "source": source, "reference": reference}
    _require_useful(subject, given, places)
    output = output or Path("reproduction") / f"{subject}-{datetime.now(UTC).date().isoformat()}"
    written = [place for place in places if _is_written(place, subject)]
    new = [place for place in places if place not in written]
    if subject != "table3" and output.exists() and not overwrite:
        raise ReportError(f"{output} is there already: give another --output, or --overwrite to replace what is there")
    if new and written and subject != "table3":
        raise HeedfulError(
            f"{new[0]} is to be measured and {written[0]} was: measure first, then give what was written"
        )
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    command = _command(subject, places, given, device=device, threads=threads, miniature=miniature)
    with progress(unit="", quiet=quiet) as report:
        common: dict[str, Any] = {"command": command, "report": report}
        if subject == "table3":
            page = _table3(output, new, written, given, device=device, miniature=miniature, quiet=quiet, common=common)
        else:
            page = _page(subject, output, new, written, given, device=device, miniature=miniature, common=common)
    _finish(subject, output, None if no_page else page, as_json=as_json)


def _require_useful(subject: str, given: dict[str, Any], places: Sequence[Path]) -> None:
    for name, value in given.items():
        if value and name not in _TAKES[subject]:
            takers = ", ".join(taker for taker, names in _TAKES.items() if name in names)
            raise HeedfulError(f"--{name.replace('_', '-')}: for {takers} alone, and this is {subject}")
    if not places and subject in ("positions", "table2", "table3"):
        raise HeedfulError(f"heedful reproduce {subject} needs {_PLACES[subject]}, or what it wrote before")
    if (given["source"] is None) != (given["reference"] is None):
        raise HeedfulError("--source and --reference belong together: what to translate, and how it should be")
    for place in places:
        if not place.exists() and subject not in ("table2", "figures"):  # these may be names of models
            raise HeedfulError(f"there is no file or folder {place}")


def _is_written(place: Path, subject: str) -> bool:
    """Whether this is what an earlier command wrote."""
    if subject == "table3":
        return place.is_dir() and not (place / MANIFEST).is_file()
    return place.suffix == ".json" or (place / f"{subject}.json").is_file()


def _page(
    subject: str,
    output: Path,
    new: Sequence[Path],
    written: Sequence[Path],
    given: dict[str, Any],
    *,
    device: str,
    miniature: bool,
    common: dict[str, Any],
) -> Callable[[], Page]:
    """Measure, unless records were given, and write the record down; returns what makes the page."""
    from heedful.reproduction.records import read_record, write_records

    measure, draw = _subject(subject, new, given, device=device, miniature=miniature, common=common)
    records = [read_record(place, subject=subject) for place in written]
    records = records or [measure()]
    write_records(output, records)
    return lambda: draw(records)


def _subject(
    subject: str, new: Sequence[Path], given: dict[str, Any], *, device: str, miniature: bool, common: dict[str, Any]
) -> tuple[Callable[[], Record], Callable[[Sequence[Record]], Page]]:
    """How a subject is measured, and how it is drawn."""
    from heedful.training.setup import training_device

    if subject == "table2":
        from heedful.reproduction.table2 import measured_table2, table2_page

        test = (given["source"], given["reference"]) if given["source"] else None
        return lambda: measured_table2(new, test=test, device=device, **common), table2_page
    if subject == "figures":
        from heedful.reproduction.figures import figures_page, measured_figures
        from heedful.runs.folder import DEFAULT_MODEL

        model = _only(new, subject) if new else Path(DEFAULT_MODEL)
        return lambda: measured_figures(model, device=device, command=common["command"]), figures_page
    options = {"device": training_device(device), "miniature": miniature, **common}
    if subject == "positions":
        from heedful.reproduction.positions import measured_positions, positions_page

        return lambda: measured_positions(_only(new, subject), steps=given["steps"], **options), positions_page
    _only(new, subject)
    if subject == "table1":
        from heedful.reproduction.table1 import measured_table1, table1_page

        return lambda: measured_table1(**options), table1_page
    from heedful.reproduction.dot_product import dot_product_page, measured_dot_product

    return lambda: measured_dot_product(**options), dot_product_page


def _only(places: Sequence[Path], subject: str) -> Path:
    """The one place that a subject takes; any where it takes none."""
    if subject not in _PLACES and places:
        raise HeedfulError(f"{places[0]}: {subject} is measured without any file, or drawn from the JSON that it wrote")
    if len(places) > 1:
        raise HeedfulError(f"{' '.join(map(str, places))}: {subject} takes {_PLACES[subject]}, one at a time")
    return places[0] if places else Path()


def _table3(
    output: Path,
    new: Sequence[Path],
    written: Sequence[Path],
    given: dict[str, Any],
    *,
    device: str,
    miniature: bool,
    quiet: bool,
    common: dict[str, Any],
) -> Callable[[], Page]:
    """Run the rows that are missing, if there is a corpus; returns what makes the page of all."""
    from heedful.cli.training_display import DemoDisplay
    from heedful.reproduction.records import write_records
    from heedful.reproduction.rows import Budget, read_rows, row_file, wanted_rows, write_row
    from heedful.reproduction.table3 import table3_page, table3_record

    folders = [output, *written]
    wanted = wanted_rows(given["rows"], seeds=given["seeds"] or 1)
    if new:
        data = _only(new, "table3")
        if (given["steps"] is None) == (given["minutes"] is None):
            raise HeedfulError("table3: give each row its budget, either --steps or --minutes")
        sizes = {"tokens": given["batch_tokens"] or _TOKENS, "shrink": _SHRINK if miniature else 1}
        budget = Budget(steps=given["steps"] or 0, minutes=given["minutes"] or 0.0, **sizes)
        for place, (name, seed) in enumerate(wanted, start=1):
            if any(row_file(folder, name, seed).is_file() for folder in folders):
                continue
            say(f"row {place} of {len(wanted)}: {name}, seed {seed}", quiet=quiet)
            with DemoDisplay(quiet=quiet) as display:
                row = write_row(
                    *(output, name, seed),
                    data=data,
                    budget=budget,
                    device=device,
                    keep_models=given["keep_models"],
                    command=common["command"],
                    report=display,
                    progress=common["report"],
                )
            if row is None:
                say("stopped; the same command goes on from here", quiet=quiet)
                raise KeyboardInterrupt
            say(f"  perplexity {row.perplexity:.2f}, BLEU {row.bleu:.2f}, {row.steps:,} steps", quiet=quiet)
    elif unused := [name for name in ("steps", "minutes", "batch_tokens", "seeds", "rows") if given[name]]:
        raise HeedfulError(f"--{unused[0].replace('_', '-')}: for rows that are to be run, and no corpus was given")
    found = read_rows(folders)
    if not found:
        raise ReportError(f"there are no rows in {' or '.join(map(str, folders))}")
    write_records(output, [table3_record(found)])
    return lambda: table3_page(found)


def _finish(subject: str, output: Path, page: Callable[[], Page] | None, *, as_json: bool) -> None:
    """Write the page, and say where all of it is."""
    if page is None:
        files = [output]
    else:
        from heedful.reproduction.records import write_page

        made = page()
        files = [write_page(output, subject, made), *(output / name for name in made.pictures)]
        if not as_json:
            print_text(made.text)
    if as_json:
        print_json({"subject": subject, "output": output, "files": files})
    else:
        say(f"{files[0]} is written")


def _command(
    subject: str, places: Sequence[Path], given: dict[str, Any], *, device: str, threads: int | None, miniature: bool
) -> list[str]:
    """What was asked for, as it would be typed."""
    words = ["heedful", "reproduce", subject, *map(str, places)]
    for name, value in {**given, "threads": threads, "miniature": miniature}.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, tuple):
            words += [word for one in value for word in (option, str(one))]
        elif value is True:
            words.append(option)
        elif value:
            words += [option, str(value)]
    return [*words, *(["--device", device] if device != "auto" else [])]
