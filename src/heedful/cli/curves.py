"""``heedful curves``."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from heedful.cli.terminal import console
from heedful.report.curves import write_curves


def curves(run: Path, *, tensorboard: Path | None = None) -> None:
    """Draw how a training run went, or is going, into curves.png in its folder.

    Loss and perplexity of training and validation, BLEU where it was measured, learning rate, gradient norm, speed.

    Parameters
    ----------
    run
        The run's folder.
    tensorboard
        Also write the metrics as TensorBoard's event files into this folder; needs `pip install heedful[tensorboard]`.

    Examples
    --------
    heedful curves runs/base

    heedful curves runs/base --tensorboard events/base
    """
    out = console()
    out.print(Text(f"{write_curves(run)} is drawn"))
    if tensorboard is not None:
        from heedful.report.tensorboard import write_events  # torch takes seconds to load

        out.print(Text(f"{write_events(run, output=tensorboard)} has the events; tensorboard --logdir {tensorboard}"))
