"""``heedful curves``."""

from __future__ import annotations

from pathlib import Path

from heedful.cli.options import AsJson
from heedful.cli.terminal import console, print_json
from heedful.report.curves import write_curves, write_events


def curves(run: Path, /, *, tensorboard: Path | None = None, as_json: AsJson = False) -> None:
    """Draw how a training run went, or is going, into curves.png in its folder.

    Loss and perplexity of training and validation, BLEU where it was measured, learning rate, gradient norm, speed.

    Parameters
    ----------
    run
        The run's folder.
    tensorboard
        Also write the metrics as TensorBoard's event files into this folder; needs `pip install heedful[tensorboard]`.
    as_json
        Print as JSON where both are.

    Examples
    --------
    heedful curves runs/base

    heedful curves runs/base --tensorboard events/base
    """
    picture = write_curves(run)
    events = None if tensorboard is None else write_events(run, output=tensorboard)
    if as_json:
        print_json({"picture": str(picture), "events": None if events is None else str(events)})
        return
    console().print(f"{picture} is drawn", soft_wrap=True)
    if events is not None:
        console().print(f"{events} has the events; tensorboard --logdir {events}", soft_wrap=True)
