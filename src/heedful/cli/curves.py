"""``heedful curves``."""

from __future__ import annotations

from pathlib import Path

from heedful.cli.options import AsJson
from heedful.cli.terminal import print_result
from heedful.report.curves import write_curves, write_events


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
    picture = write_curves(run)
    events = None if tensorboard is None else write_events(run, output=tensorboard)
    said = f"{picture} is drawn"
    if events is not None:
        said += f"\n{events} has the events; tensorboard --logdir {events}"
    print_result({"picture": picture, "events": events}, as_json=as_json, show=said)
