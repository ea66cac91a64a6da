"""``heedful runs`` and ``heedful curves``: how training went, or goes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from heedful.cli.options import AsJson
from heedful.cli.terminal import console, figure, plain_table, print_result
from heedful.runs.lists import Run, runs_below

_COLOURS = {"running": "green", "interrupted": "yellow", "failed": "red", "killed": "red"}

_WIDE = 100
"""Columns of a terminal on which the whole list can be read."""


def runs(folder: Path = Path(), /, *, as_json: AsJson = False) -> None:
    """List the training runs below a folder: state, progress, loss, and the best validation so far.

    States: running, finished, interrupted (asked to stop), failed, killed (it says running, but its process is gone),
    bundle (`heedful bundle` made it) and unknown. A file that is broken is named below the list.

    Args:
        folder: Where to look, as deep as it goes; here when not given.

    Examples:
        heedful runs runs/
        heedful runs . --json
    """
    found = runs_below(folder)
    print_result(found, as_json=as_json, show=_print if found else f"no runs below {folder}")


def _print(found: list[Run]) -> None:
    out = console()
    numbers = ("step", "loss", "best", "minutes")
    models = ["model"] if out.width >= _WIDE else []  # `heedful models` shows them too
    table = plain_table("run", *models, "state", *numbers, "written", right=numbers)
    table.columns[0].overflow = "fold"  # a path is there to be copied
    table.columns[1 + len(models)].no_wrap = True
    for run in found:
        table.add_row(run.folder, *([run.model] if models else []), *_cells(run))
    out.print(table)
    for run in found:
        if run.why and run.state in ("failed", "interrupted"):
            out.print(f"{run.folder}: {run.why}")
        if run.state == "killed":
            out.print(f"{run.folder}: its process is gone; --resume goes on from its last checkpoint")
    for problem in [problem for run in found for problem in run.problems]:
        out.print(f"note: {problem}")


def _cells(run: Run) -> list[str | Text]:
    best = run.best
    return [
        Text(run.state, style=_COLOURS.get(run.state, "")),
        f"{figure(run.step, ',')} of {figure(run.steps, ',')}",
        figure(run.loss, ".3f"),
        f"{best.metric} {figure(best.value, '.3f' if best.metric == 'loss' else '.1f')} at {best.step:,}"
        if best
        else "–",
        figure(run.minutes, ",.1f"),
        _time(run.written),
    ]


def _time(written: str | None) -> str:
    """An ISO time as this machine's clock reads: the hour where it is of today, else the day."""
    try:
        then = datetime.fromisoformat(written or "").astimezone()
    except ValueError:
        return written or "–"
    return then.strftime("%H:%M" if then.date() == datetime.now(UTC).astimezone().date() else "%Y-%m-%d")


def curves(run: Path, /, *, tensorboard: Path | None = None, as_json: AsJson = False) -> None:
    """Draw how a training run went, or is going, into curves.png in its folder.

    Loss and perplexity of training and validation, BLEU where it was measured, learning rate, gradient norm, speed. The
    picture is drawn anew each time, over the one before: no other file is replaced without being asked for.

    Args:
        run: The run's folder.
        tensorboard: Also write the metrics as TensorBoard's event files into this folder; needs
            `pip install 'heedful[tensorboard]'`.

    Examples:
        heedful curves run
        heedful curves run --tensorboard events
    """
    from heedful.report.curves import write_curves, write_events

    picture = write_curves(run)
    events = None if tensorboard is None else write_events(run, output=tensorboard)
    said = f"{picture} is drawn"
    if events is not None:
        said += f"\n{events} has the events; tensorboard --logdir {events}"
    print_result({"picture": picture, "events": events}, as_json=as_json, show=said)
