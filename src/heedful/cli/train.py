"""``heedful train``."""

from __future__ import annotations

import sys
from pathlib import Path

from heedful.cli.options import Configured, Device, Flag, Overwrite, Threads
from heedful.presets import resolve


def train(
    data: Path,
    /,
    *,
    output: Path,
    chosen: Configured = Configured(),  # noqa: B008
    resume: Flag = False,
    init: Path | None = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    auto_micro_batches: Flag = False,
    threads: Threads = None,
    quiet: Flag = False,
) -> None:
    """Train a model on a prepared corpus.

    Ctrl-C, SIGTERM and the closing of the terminal finish the step, write a checkpoint and say how to go on. Whatever
    stops a run, even a power cut, --resume goes on from the last checkpoint as if nothing had happened. On several GPUs
    or machines, put `torchrun --nproc-per-node 8 -m` before `heedful` and set training.micro_batches to a multiple of
    the processes.

    Args:
        data: The folder that `heedful prepare` made.
        output: The folder of the run: configuration, checkpoints, metrics, subwords.
        chosen.preset: Start from this preset; when neither this nor the file names one, from `base`, or with --init
            from what that model is.
        resume: Go on from the last checkpoint of --output; without one, start and say so.
        init: Start from the weights of this model, a folder or a name such as en-de-small (fine-tuning); the data must
            have been prepared with --tokenizer and the same.
        auto_micro_batches: If the largest batch does not fit into memory, cut the steps finer instead of stopping.
        quiet: Print warnings and errors only.

    Examples:
        heedful train corpus --preset base --output run
        heedful train corpus --preset small --output run --set training.minutes=30 --resume
    """
    otherwise = None
    if init is not None:
        from heedful.runs.models import config_of

        otherwise = config_of(init)
    resolved = resolve(name=chosen.preset, file=chosen.config, settings=chosen.set_, otherwise=otherwise)
    import torch

    from heedful.cli.training_display import TrainingDisplay
    from heedful.search.model_search import greedy_translations
    from heedful.training.loop import train as run_training
    from heedful.training.setup import Task

    if threads is not None:
        torch.set_num_threads(threads)
    command = _command()
    task = Task(
        config=resolved,
        data=data,
        run=output,
        preset=chosen.preset,
        resume=resume,
        init=init,
        overwrite=overwrite,
        device=device,
        auto_micro_batches=auto_micro_batches,
        command=command,
    )
    with TrainingDisplay(quiet=quiet, command=command) as display:
        run_training(task, report=display, translate=greedy_translations)
    if display.interrupted:
        raise SystemExit(130)  # what waits for a finished model must not go on


def _command() -> tuple[str, ...]:
    """What was typed; nothing where `main` was called by another program."""
    program, *arguments = sys.argv
    typed = Path(program).name in ("heedful", "heedful.exe") or Path(program).parts[-2:] == ("heedful", "__main__.py")
    return ("heedful", *arguments) if typed else ()
