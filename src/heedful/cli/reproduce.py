"""``heedful reproduce``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from heedful.cli.options import AsJson, Device, Flag, Minutes, Overwrite, Quiet, Repeated, Threads, whole_number
from heedful.cli.terminal import print_json, print_text, progress, say
from heedful.data.manifest import MANIFEST
from heedful.errors import HeedfulError, ReportError

if TYPE_CHECKING:
    from heedful.reproduction.records import Asked, Page

Subject = Literal["table1", "dot-product", "positions", "table2", "table3", "table4", "figures"]
_TAKES: dict[str, tuple[str, ...]] = {
    "table1": ("miniature",),
    "dot-product": ("miniature",),
    "positions": ("steps", "miniature"),
    "table2": ("source", "reference"),
    "table3": ("steps", "minutes", "batch_tokens", "rows", "seeds", "keep_models", "miniature"),
    "table4": ("reference", "baseline", "miniature"),
    "figures": (),
}
"""The options that only some subjects have a use for."""
_PLACES = {"positions": "a prepared corpus", "table2": "runs", "table3": "a prepared corpus", "table4": "parsers' runs"}
_PLACES |= {"figures": "a model"}
_ONE_PLACE = ("positions", "table3", "figures")
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
    baseline: Path | None = None,
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
    runs, `table3` every variation of the base model, trained on a corpus, `table4` F1 of parsers, and `figures` what
    heads of a model attend to. Each leaves a folder: a page of Markdown, its pictures, the numbers as JSON, the
    command.

    Args:
        subject: table1, dot-product, positions, table2, table3, table4 or figures.
        places: The corpus (positions, table3), the runs (table2, table4) or the model (figures) to measure with. Or
            what earlier commands wrote, their JSON or their folders: they are put on one page, and nothing is
            measured (table3 also runs the rows that are missing, if a corpus is among them).
        output: The folder; reproduction/SUBJECT-DATE when not given. table3 goes on with what is there.
        steps: table3: steps of each row. positions: steps of both models; 3,000 when not given.
        minutes: table3: train each row for so long instead.
        batch_tokens: table3: tokens of a batch, on each side; 25,000 as in the paper when not given.
        rows: table3: run this row alone, such as a-h1, base or big; may be repeated. All when not given.
        seeds: table3: train each row so often, with other seeds; once when not given, and base always 4 times.
        keep_models: table3: keep the models of rows that are done; they are large.
        source: table2: a text to translate; each run's own validation text when not given.
        reference: table2: how it should be translated. table4: the trees to score on; each run's own validation trees
            when not given.
        baseline: table4: another parser's trees for the reference's sentences, or their scores as JSON by `heedful
            evaluate`. With one run it counts as trained on the same trees.
        miniature: Everything tiny, to see in seconds that it works; its numbers say nothing of the paper. Not
            for table2 and figures, whose models are there already.
        no_page: Measure only, without the page and its pictures, to draw them elsewhere.

    Examples:
        heedful reproduce table1
        heedful reproduce table3 corpus --minutes 2 --rows base --rows a-h1 --output reproduction/table3
    """
    given = {"steps": steps, "minutes": minutes, "batch_tokens": batch_tokens, "rows": rows, "seeds": seeds}
    given |= {"keep_models": keep_models, "source": source, "reference": reference, "baseline": baseline}
    given["miniature"] = miniature
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
    if len(new) > 1 and subject in _ONE_PLACE:
        raise HeedfulError(f"{' '.join(map(str, new))}: {subject} takes {_PLACES[subject]}, one at a time")
    import torch

    from heedful.reproduction.records import Asked, new_record, read_record, write_page, write_records

    if threads is not None:
        torch.set_num_threads(threads)
    words = {**given, "threads": threads}
    with progress(unit="", quiet=quiet) as report:
        command = _command(subject, places, words, device=device)
        asked = Asked(subject, new, given, device, command, report)
        if subject == "table3":
            made = _table3(asked, output, written, quiet=quiet)
        else:
            module = importlib.import_module(f"heedful.reproduction.{subject.replace('-', '_')}")
            records = [read_record(place, subject=subject) for place in written]
            records = records or [new_record(asked, module.measured(asked))]
            write_records(output, records)
            made = partial(module.page, records)
    files = [output]
    if not no_page:
        page = made()
        files = [write_page(output, subject, page), *(output / name for name in page.pictures)]
        if not as_json:
            print_text(page.text)
    if as_json:
        print_json({"subject": subject, "output": output, "files": files})
    else:
        say(f"{files[0]} is written")


def _require_useful(subject: str, given: dict[str, Any], places: Sequence[Path]) -> None:
    for name, value in given.items():
        if value and name not in _TAKES[subject]:
            takers = ", ".join(taker for taker, names in _TAKES.items() if name in names)
            raise HeedfulError(f"--{name.replace('_', '-')}: for {takers} alone, and this is {subject}")
    if not places and subject in ("positions", "table2", "table3", "table4"):
        raise HeedfulError(f"heedful reproduce {subject} needs {_PLACES[subject]}, or what it wrote before")
    if places and subject not in _PLACES and not all(_is_written(place, subject) for place in places):
        raise HeedfulError(f"{subject} is measured without any file, or drawn from the JSON that it wrote: {places[0]}")
    if subject == "table2" and (given["source"] is None) != (given["reference"] is None):
        raise HeedfulError("--source and --reference belong together: what to translate, and how it should be")
    for place in places:
        if not place.exists() and subject not in ("table2", "figures"):  # these may be names of models
            raise HeedfulError(f"there is no file or folder {place}")


def _is_written(place: Path, subject: str) -> bool:
    """Whether this is what an earlier command wrote."""
    if subject == "table3":
        return place.is_dir() and not (place / MANIFEST).is_file()
    return place.suffix == ".json" or (place / f"{subject}.json").is_file()


def _table3(asked: Asked, output: Path, written: Sequence[Path], *, quiet: bool) -> Callable[[], Page]:
    """Run the rows that are missing, if there is a corpus; returns what makes the page of all."""
    from heedful.reproduction.records import write_records
    from heedful.reproduction.rows import read_rows, wanted_rows
    from heedful.reproduction.table3 import table3_page, table3_record

    given, folders = asked.options, [output, *written]
    wanted = wanted_rows(given["rows"], seeds=given["seeds"] or 1)
    if asked.places:
        if (given["steps"] is None) == (given["minutes"] is None):
            raise HeedfulError("table3: give each row its budget, either --steps or --minutes")
        _run_rows(asked, wanted, folders, quiet=quiet)
    elif unused := [name for name in ("steps", "minutes", "batch_tokens", "seeds", "rows") if given[name]]:
        raise HeedfulError(f"--{unused[0].replace('_', '-')}: for rows that are to be run, and no corpus was given")
    found = read_rows(folders)
    if not found:
        raise ReportError(f"there are no rows in {' or '.join(map(str, folders))}")
    write_records(output, [table3_record(found)])
    return partial(table3_page, found)


def _run_rows(asked: Asked, wanted: Sequence[tuple[str, int]], folders: Sequence[Path], *, quiet: bool) -> None:
    """Train and score the rows that are in none of the folders, into the first."""
    from heedful.cli.training_display import DemoDisplay
    from heedful.reproduction.rows import Budget, row_file, write_row

    given = asked.options
    budget = Budget(
        steps=given["steps"] or 0,
        minutes=given["minutes"] or 0.0,
        tokens=given["batch_tokens"] or _TOKENS,
        shrink=_SHRINK if asked.miniature else 1,
    )
    for place, (name, seed) in enumerate(wanted, start=1):
        if any(row_file(folder, name, seed).is_file() for folder in folders):
            continue
        say(f"row {place} of {len(wanted)}: {name}, seed {seed}", quiet=quiet)
        with DemoDisplay(quiet=quiet) as display:
            row = write_row(folders[0], name, seed, asked, budget=budget, report=display)
        if row is None:
            say("stopped; the same command goes on from here", quiet=quiet)
            raise KeyboardInterrupt
        say(f"  perplexity {row.perplexity:.2f}, BLEU {row.bleu:.2f}, {row.steps:,} steps", quiet=quiet)


def _command(subject: str, places: Sequence[Path], given: dict[str, Any], *, device: str) -> list[str]:
    """What was asked for, as it would be typed."""
    words = ["heedful", "reproduce", subject, *map(str, places)]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, tuple):
            words += [word for one in value for word in (option, str(one))]
        elif value is True:
            words.append(option)
        elif value:
            words += [option, str(value)]
    return [*words, *(["--device", device] if device != "auto" else [])]
