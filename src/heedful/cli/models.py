"""``heedful models``."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from heedful.cli.options import AsJson
from heedful.cli.terminal import console, figure, plain_table, print_result
from heedful.runs.lists import ListedModel, bundled, models_in

_USUAL = (Path(), Path("runs"))


def models(*folders: Path, as_json: AsJson = False) -> None:
    """List the models that can be given to --model: those that come with heedful, and those of your runs.

    Each with the size of its weights, its parameters, its languages where they are known, after how many steps it was
    saved, and the first line of its card (README.md in its folder) or, without one, its preset and training text.
    `heedful runs` says how training goes.

    Args:
        folders: Where runs lie; the current folder and runs/ when none is given.

    Examples:
        heedful models
        heedful models experiments/ ~/bundles --json
    """
    found = [*bundled(), *models_in(folders or [folder for folder in _USUAL if folder.is_dir()])]
    places = ", ".join(map(str, folders)) or "this folder or in runs/"
    none = f"no models: none came with heedful, and there is no run in {places}; `heedful train` makes one"
    print_result(found, as_json=as_json, show=(lambda models: console().print(table_of(models))) if found else none)


def table_of(found: list[ListedModel]) -> Table:
    """A row for each model."""
    numbers = ("MB", "parameters", "steps")
    table = plain_table("model", *numbers, "languages", "about", right=numbers)
    # A long path goes on in the next line, whole: it is there to be copied.
    table.columns[0].overflow = "fold"
    for model in found:
        table.add_row(
            model.model,
            figure(None if model.bytes is None else model.bytes / 1e6, ".1f"),
            figure(model.parameters),
            figure(model.step),
            model.languages or "–",
            model.about,
        )
    return table
