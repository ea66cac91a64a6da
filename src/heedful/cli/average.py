"""``heedful average``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from heedful.cli.options import AsJson, whole_number
from heedful.cli.terminal import print_result
from heedful.errors import HeedfulError


def average(run: Path, /, *, last: Annotated[int, whole_number(1, 100_000)] = 5, as_json: AsJson = False) -> None:
    """Average a run's last checkpoints (section 6.1) into RUN/averaged.

    The mean is better than any of its checkpoints. A finished run has done this already, with training.average_last.

    Args:
        run: The folder of the run.
        last: How many checkpoints: the paper takes 5 for the base model and 20 for the big one.

    Examples:
        heedful average run
        heedful average run --last 20
    """
    from heedful.runs.checkpoints import write_average
    from heedful.runs.descriptions import read_run
    from heedful.runs.folder import AVERAGED

    if read_run(run).bundle:
        raise HeedfulError(f"{run} is a model to give away: it has no checkpoints, and its weights are final")
    steps, folder = write_average(run, last=last), run / AVERAGED
    said = f"the mean of the checkpoints {', '.join(f'{step:,}' for step in steps)} is in {folder}"
    print_result({"steps": steps, "folder": folder}, as_json=as_json, show=said)
