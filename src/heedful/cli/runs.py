"""``heedful runs`` and ``heedful curves``: how training went, or goes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from rich.text import Text

from heedful.cli.options import AsJson
from heedful.cli.terminal import console, figure, plain_table, print_result
from heedful.runs.lists import Run, runs_below

_COLOURS = {"running": "green", "interrupted": "yellow", "failed": "red", "killed": "red"}


def runs(folder: Path, /, *, as_json: AsJson = False) -> None:
    """List the training runs below a folder: state, progress, loss, and the best validation so far.

    States: running, finished, interrupted (asked to stop), failed, killed (it says running, but its process is gone),
    bundle (`heedful bundle` made it) and unknown. A file that is broken is named below the list.

    Args:
        folder: Where to look, as deep as it goes.

    Examples:
        heedful runs runs/
        heedful runs . --json
    """
    found = runs_below(folder)
    print_result(found, as_json=as_json, show=_print if found else f"no runs below {folder}")


def _print(found: list[Run]) -> None:
    out = console()
    numbers = ("step", "loss", "best", "at step", "minutes")
    table = plain_table("run", "model", "state", *numbers, "last written", right=numbers)
    for run in found:
        table.add_row(*_cells(run))
    out.print(table)
    for run in found:
        if run.why and run.state in ("failed", "interrupted"):
            out.print(f"{run.folder}: {run.why}")
    for problem in [problem for run in found for problem in run.problems]:
        out.print(f"note: {problem}")


def _cells(run: Run) -> list[str | Text]:
    best = run.best
    return [
        run.folder,
        run.model,
        Text(run.state, style=_COLOURS.get(run.state, "")),
        f"{figure(run.step, ',')} of {figure(run.steps, ',')}",
        figure(run.loss, ".3f"),
        f"{best.metric} {figure(best.value, '.3f' if best.metric == 'loss' else '.1f')}" if best else "–",
        figure(best.step if best else None),
        figure(run.minutes, ",.1f"),
        _time(run.written),
    ]


def _time(written: str | None) -> str:
    """An ISO time as this machine's clock reads, to the minute."""
    try:
        return datetime.fromisoformat(written or "").astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return written or "–"


def curves(run: Path, /, *, tensorboard: Path | None = None, as_json: AsJson = False) -> None:
    """Draw how a training run went, or is going, into curves.png in its folder.

    Loss and perplexity of training and validation, BLEU where it was measured, learning rate, gradient norm, speed.

    Args:
        run: The run's folder.
        tensorboard: Also write the metrics as TensorBoard's event files into this folder; needs
            `pip install heedful[tensorboard]`.

    Examples:
        heedful curves runs/base
        heedful curves runs/base --tensorboard events/base
    """
    from heedful.report.curves import write_curves, write_events

    picture = write_curves(run)
    events = None if tensorboard is None else write_events(run, output=tensorboard)
    said = f"{picture} is drawn"
    if events is not None:
        said += f"\n{events} has the events; tensorboard --logdir {events}"
    print_result({"picture": picture, "events": events}, as_json=as_json, show=said)
