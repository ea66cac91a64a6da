"""``heedful models``, ``average``, ``bundle`` and ``export``: what can be done with trained models."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from heedful.cli.options import AsJson, Overwrite, whole_number
from heedful.cli.terminal import console, figure, plain_table, print_result
from heedful.errors import ExportError, HeedfulError
from heedful.files import folder_size, read_small, reason, sha256
from heedful.runs.descriptions import MODEL, Languages, read_run
from heedful.runs.folder import AVERAGED, CARD
from heedful.runs.lists import ListedModel, bundled, models_in, usual_folders
from heedful.tasks import TRANSLATION


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
    found = [*bundled(), *models_in(folders or usual_folders())]
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


def average(
    run: Path, /, *, last: Annotated[int | None, whole_number(1, 100_000)] = None, as_json: AsJson = False
) -> None:
    """Average a run's last checkpoints into RUN/averaged.

    The mean is better than any of its checkpoints. A finished run has done this already, with training.average_last.

    Args:
        run: The folder of the run.
        last: How many checkpoints; when not given, training.average_last of the run, or 5 where that is 1, or all.

    Examples:
        heedful average run
        heedful average run --last 20
    """
    from heedful.runs.checkpoints import scheduled_entries, write_average

    description = read_run(run)
    if description.bundle:
        raise HeedfulError(f"{run} is a model to give away: it has no checkpoints, and its weights are final")
    if last is None:
        own = description.config.training.average_last
        last = min(own if own > 1 else 5, len(scheduled_entries(run)) or 1)
    steps, folder = write_average(run, last=last), run / AVERAGED
    said = f"the mean of the checkpoints {', '.join(f'{step:,}' for step in steps)} is in {folder}"
    print_result({"steps": steps, "folder": folder}, as_json=as_json, show=said)


def bundle(
    model: str,
    /,
    *,
    output: Path,
    storage: str = "int8",
    card: Path | None = None,
    languages: str | None = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make a model to give away: weights, subwords, configuration and card, and nothing else of the run.

    Every command takes the folder as it takes a run's; training goes on from it with `heedful train --init`. It
    does not say where it was trained. What was written is read again before the command ends. The model is tried with
    text in CAPITALS: if it translates that badly, it will be given such text in small letters.

    Args:
        model: The folder of a run or of one of its checkpoints (RUN/checkpoints/step-N), or the name of a model.
        output: The new folder.
        storage: How its weights are stored: int8 (a quarter of the bytes), bfloat16 (half) or float32 (as they are).
        card: A text about the model, which becomes README.md: its data and their licences, scores, what it is bad at.
        languages: Of source and target, as in en-de; by default the names of the corpus's files tell, if they do.

    Examples:
        heedful bundle run --output en-de --card card.md
        heedful bundle run/checkpoints/step-00005000 --output exact --storage float32 --languages en-de
    """
    spoken = _languages(languages)
    text = None if card is None else _text(card)
    from heedful.runs.bundles import write_bundle
    from heedful.runs.saved import read_model

    saved = read_model(model)
    if saved.profile is not None and saved.description.task == TRANSLATION.name:
        from heedful.translation.translator import Translator

        tried = Translator(read_model(model), device="cpu").does_capitals()
        saved = replace(saved, profile=replace(saved.profile, does_capitals=tried))
    write_bundle(saved, output, storage=storage, card=text, spoken=spoken, overwrite=overwrite)
    again = read_model(output)
    spoken, weights = again.description.languages, again.weights_from / MODEL
    stored = {"file": weights, "bytes": weights.stat().st_size, "sha256": sha256(weights)}
    facts: dict[str, Any] = {
        "folder": output,
        "storage": storage,
        "step": again.step,
        "parameters": again.description.parameters,
        "bytes": folder_size(output),
        "weights": stored,
        "languages": None if spoken is None else f"{spoken.source}-{spoken.target}",
        "card": output / CARD if (output / CARD).exists() else None,
    }
    said = [
        f"{output} is written: {facts['bytes'] / 1e6:.2f} MB, {facts['parameters']:,} parameters",
        f"weights: {storage}, {stored['bytes'] / 1e6:.2f} MB, step {again.step:,}",
        f"sha256: {stored['sha256']}  {weights}",
    ]
    if facts["card"] is None:
        said.append("it has no card: --card FILE adds a text that says what it was trained on, and what it is good for")
    print_result(facts, as_json=as_json, show="\n".join(said))


def _languages(given: str | None) -> Languages | None:
    if given is None:
        return None
    match = re.fullmatch(r"([a-z]{2,3})-([a-z]{2,3})", given)
    if match is None:
        raise HeedfulError(f"--languages {given}: must be two codes with a hyphen between them, such as en-de")
    return Languages(match[1], match[2])


def _text(path: Path) -> bytes:
    """A card: text, so that every program can show it."""
    try:
        content = read_small(path, most=1 << 20)
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise HeedfulError(f"--card {path} is not UTF-8 text") from None
    except OSError as error:
        raise HeedfulError(f"--card {path} cannot be read: {reason(error)}") from None
    if not content.strip():
        raise HeedfulError(f"--card {path} is empty")
    return content


def export(
    model: str,
    /,
    *,
    to: str,
    output: Path,
    storage: str = "float32",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a model for another engine: CTranslate2, or Hugging Face's transformers.

    The folder holds the weights, the subwords and a README.md with the lines of Python that translate with it. In
    float32 the engine computes the same numbers; heedful is not needed to use it.

    Args:
        model: The folder of a run or of one of its checkpoints (RUN/checkpoints/step-N), or the name of a model.
        to: ctranslate2, whose package need not be there, or marian, as transformers calls the architecture.
        output: The new folder.
        storage: How its weights are stored: float32, float16 or bfloat16, and for ctranslate2 int8.

    Examples:
        heedful export run --to ctranslate2 --output engine --storage int8
        heedful export en-de-small --to marian --output en-de-marian
    """
    if to not in ("ctranslate2", "marian"):
        raise ExportError(f"--to {to}: must be ctranslate2 or marian")
    from heedful.runs.saved import read_model

    saved = read_model(model)
    if to == "ctranslate2":
        from heedful.export.ctranslate2_model import write_ctranslate2

        write_ctranslate2(saved, output, storage=storage, overwrite=overwrite)
    else:
        from heedful.export.marian_model import write_marian

        write_marian(saved, output, storage=storage, overwrite=overwrite)
    facts = {"folder": output, "engine": to, "storage": storage, "step": saved.step, "bytes": folder_size(output)}
    said = f"{output} is written: {to}, {storage}, {facts['bytes'] / 1e6:.2f} MB, step {saved.step:,}"
    print_result(facts, as_json=as_json, show=f"{said}\n{output / 'README.md'} says how it is used")
