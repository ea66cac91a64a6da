"""``heedful train``."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from heedful.cli.options import Configured, Device, Flag, Minutes, Overwrite, Threads
from heedful.cli.terminal import say
from heedful.config import Config
from heedful.data.manifest import SIDES, read_manifest
from heedful.errors import HeedfulError
from heedful.prepare.held_out import HELD_OUT
from heedful.presets import preset_named, resolve
from heedful.runs.descriptions import RUN, read_run
from heedful.tasks import TASKS


def train(
    data: Path,
    /,
    *,
    output: Path,
    minutes: Minutes = None,
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
        minutes: Train for so long. Without a preset, size, batches and schedule are fitted to that time and to this
            machine; --config and --set still decide what they name, and --init what the size is.
        chosen.preset: Start from this preset; when neither this nor the file names one, from what --minutes fits, with
            --init from what that model is, else from `base`.
        resume: Go on from the last checkpoint of --output, with the run's own settings where no preset is named;
            without a checkpoint, start and say so.
        init: Start from the weights of this model, a folder or a name such as en-de-small (fine-tuning); the data must
            have been prepared with --tokenizer and the same.
        auto_micro_batches: If the largest batch does not fit into memory, cut the steps finer instead of stopping.
        quiet: Print warnings and errors only.

    Examples:
        heedful train corpus --minutes 15 --output run
        heedful train corpus --preset small --minutes 30 --output run --resume
    """
    began = time.monotonic()
    preset = preset_named(chosen.preset, chosen.config)
    otherwise = begun = None
    if not preset and resume and (output / RUN).exists():
        stored = read_run(output)
        # Its own minutes are those that it was fitted to, without what had gone by when it began.
        otherwise, minutes = stored.config, None if minutes == stored.fitted_to else minutes
    elif init is not None:
        from heedful.runs.saved import config_of

        otherwise = begun = config_of(init)
    config, settings = None, (*((f"training.minutes={minutes}",) if minutes else ()), *chosen.set_)
    if preset or not minutes or (otherwise and not begun):
        config = resolve(name=preset, file=chosen.config, settings=settings, otherwise=otherwise)
    import torch

    from heedful.cli.training_display import TrainingDisplay
    from heedful.search.model_search import greedy_translations
    from heedful.training.loop import train as run_training
    from heedful.training.setup import Task, require_new

    if threads is not None:
        torch.set_num_threads(threads)
    is_fitted = config is None
    if is_fitted:
        require_new(output, overwrite=overwrite)  # before steps are timed
    task = Task(
        config=config or _fitted(data, minutes or 0, chosen, begun, device=device, began=began, quiet=quiet),
        data=data,
        run=output,
        preset=preset,
        resume=resume,
        init=init,
        overwrite=overwrite,
        device=device,
        auto_micro_batches=auto_micro_batches or is_fitted,
        command=_command(),
        fitted_to=minutes if is_fitted else None,
    )
    on = ["--device", device] if device != "auto" else []
    on += ["--threads", str(threads)] if threads is not None else []
    again = shlex.join(["heedful", "train", str(data), "--output", str(output), *on, "--resume"])
    with TrainingDisplay(quiet=quiet, again=again, **_next(data)) as display:
        run_training(task, report=display, translate=greedy_translations)
    if display.interrupted:
        raise SystemExit(130)  # what waits for a finished model must not go on


def _next(data: Path) -> dict[str, Any]:
    """What to do with the model, and the text that was put aside for that."""
    manifest = read_manifest(data)
    found: dict[str, Any] = {"uses": TASKS[manifest.task].uses}
    source, reference = (f"{HELD_OUT}/test.{side}" for side in SIDES)
    if {source, reference} <= manifest.files.keys():
        found["text"] = shlex.join(["--source", str(data / source), "--reference", str(data / reference)])
    return found


def _fitted(
    data: Path, minutes: float, chosen: Configured, begun: Config | None, *, device: str, began: float, quiet: bool
) -> Config:
    """What suits the time and this machine, said before it is begun."""
    from heedful.planning.fit import FEW_STEPS, fitted_run
    from heedful.training.setup import training_device

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise HeedfulError("--minutes fits a run to one process: with several, give --preset too")
    options = {"device": training_device(device), "file": chosen.config, "settings": chosen.set_, "began": began}
    found = fitted_run(data, minutes=minutes, begun=begun, **options)
    say(f"fitted to {minutes:g} minute{'s' * (minutes != 1)} here: {found.about}", quiet=quiet)
    if found.steps < FEW_STEPS and not begun:
        say(f"note: in fewer than {FEW_STEPS:,} steps a model hardly begins to translate: give it more {found.lacks}")
    return found.config


def _command() -> tuple[str, ...]:
    """What was typed; nothing where `main` was called by another program."""
    program, *arguments = sys.argv
    typed = Path(program).name in ("heedful", "heedful.exe") or Path(program).parts[-2:] == ("heedful", "__main__.py")
    return ("heedful", *arguments) if typed else ()
