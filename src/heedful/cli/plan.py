"""``heedful plan`` and ``heedful bench``: what a run would take, and what this machine gives."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from heedful.cli.options import AsJson, Configured, Device, Minutes, Quiet, Threads, whole_number
from heedful.cli.terminal import console, plain_table, print_result, progress
from heedful.planning.checks import GIB
from heedful.planning.plan import Plan, make_plan
from heedful.presets import preset, resolve
from heedful.report.charts import duration_text

if TYPE_CHECKING:
    from heedful.planning.bench import Bench, Work

_LONG = 24 * 3600
"""Seconds after which a run is not what most people meant."""
_MEANING = {
    "arithmetic": "most of the time goes into products; a smaller model is faster",
    "memory": "most of the time numbers are fetched and written, not computed with",
    "overhead": "much time goes into starting small pieces of work; larger batches are faster",
    "input": "batches are made more slowly than they are used",
}
"""Of what holds a machine back."""


def plan(
    folder: Path,
    /,
    *,
    minutes: Minutes = None,
    chosen: Configured = Configured(),  # noqa: B008
    gpus: Annotated[int, whole_number(1, 100_000)] = 1,
    nodes: Annotated[int, whole_number(1, 100_000)] = 1,
    accelerator: str | None = None,
    output: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Say what a training run would take, and find everything that would stop it.

    Checks the prepared corpus, the configuration, and whether they fit each other; all problems are reported together.
    Then: parameters, epochs, memory, operations as they are and as the paper counts them, and the time.
    Memory and time are estimates. Without --accelerator a few steps are run on this machine, which takes some seconds.

    Args:
        folder: What `heedful prepare` made.
        minutes: How long the run may take. Without a preset, say what `heedful train --minutes` would fit to that.
        gpus: GPUs, and so processes, on each machine.
        nodes: Machines.
        accelerator: Estimate the time for this device, such as "H100" or "RTX 4090", from its datasheet instead of a
            probe.
        output: The folder the run would write to: checks that its disk has room for the checkpoints.

    Examples:
        heedful plan corpus --minutes 15
        heedful plan corpus --preset big --set training.micro_batches=32 --gpus 8 --nodes 4 --accelerator A100
    """
    found = make_plan(
        folder,
        preset=chosen.preset,
        file=chosen.config,
        settings=chosen.set_,
        minutes=minutes,
        gpus=gpus,
        nodes=nodes,
        accelerator=accelerator,
        output=output,
    )
    facts = {**vars(found), "memory": {**vars(found.memory), "total": found.memory.total}}
    print_result(facts, as_json=as_json, show=lambda _: _print_plan(found, folder, minutes))


def _print_plan(found: Plan, folder: Path, minutes: float | None) -> None:
    out = console()
    if found.fitted:
        out.print(f"fitted to {minutes:g} minute{'s' * (minutes != 1)}: {found.fitted}", "")
    table = plain_table("", "", "")
    table.show_header = False
    for row in _rows(found):
        table.add_row(*row)
    out.print(table, "")
    out.print(f"time: {found.speed.about}")
    out.print("memory: an estimate by arithmetic; a quarter more or less is no surprise")
    for note in found.notes:
        out.print(f"note: {note}")
    out.print("nothing that is known would stop this run")
    if found.fitted:
        out.print(f"to train it: heedful train {folder} --minutes {minutes:g} --output run")
    elif found.seconds > _LONG:
        out.print(f"but it takes {duration_text(found.seconds)}; for a model that suits the time you have:")
        out.print(f"  heedful train {folder} --minutes 15 --output run")


def _rows(found: Plan) -> list[tuple[str, str, str]]:
    words, memory = found.vocabulary, found.memory
    both = f"{words['source']:,} source, {words['target']:,} target"
    vocabulary = f"{words['target']:,} shared" if words["shared"] else both
    parts = {
        "parameters and Adam": memory.parameters + memory.gradients + memory.adam,
        "half-precision copy": memory.working_copy,
        "activations": memory.activations,
        "loss": memory.loss,
        "captured graphs": memory.capturing,
    }
    split = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts.items() if size)
    devices = f"{found.processes} × {found.speed.capacity / 1e12:,.3g} TFLOP/s"
    time = f"{'at least' if found.at_least else 'about'} {duration_text(found.seconds)}"
    rate = f"{found.target_tokens / found.step_seconds:,.0f} target tokens a second"
    paper = f"GPUs × time × what one can do, {devices}"
    return [
        ("parameters", f"{found.parameters:,}", f"{vocabulary} subwords"),
        ("steps", f"{found.steps:,}", f"{found.epochs:,.1f} epochs of {found.steps_per_epoch:,}"),
        ("target tokens a step", f"{found.target_tokens:,.0f}", f"and {found.source_tokens:,.0f} source tokens"),
        ("memory a process", f"about {memory.total / GIB:.1f} GiB", split),
        ("operations", f"{found.flops:.2e}", f"{found.step_flops:.2e} a step"),
        ("  in the paper's way", f"{found.paper_flops:.2e}", paper),
        ("time", time, f"{found.step_seconds:.3g} s a step, {rate}"),
    ]


def bench(
    *,
    chosen: Configured = Configured(),  # noqa: B008
    seconds: Annotated[int, whole_number(1, 3600)] = 20,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure how fast this machine trains and translates, and what holds it back.

    It takes about a minute. The text is random words in sentences of real lengths; batches, training and search are the
    real ones. Speeds are in subwords of the target a second; arithmetic is the share that they reach of what a large
    matrix product does here.

    Args:
        chosen.preset: The model to measure with; `small` on a CPU and `base` on a GPU when neither this nor the file
            names one.
        seconds: How long to train, and how long to translate.

    Examples:
        heedful bench
        heedful bench --preset base --set search.beam_size=1 --seconds 60 --json
    """
    import torch

    from heedful.planning.bench import bench as measured
    from heedful.training.setup import training_device

    if threads is not None:
        torch.set_num_threads(threads)
    where = training_device(device)
    default = "base" if where.type == "cuda" else "small"
    config = resolve(name=chosen.preset, file=chosen.config, settings=chosen.set_, otherwise=preset(default).make())
    with progress(unit="s", quiet=quiet) as report:
        found = measured(config, device=where, seconds=seconds, report=report)
    print_result(dataclasses.asdict(found), as_json=as_json, show=lambda _: _print_bench(found))


def _print_bench(found: Bench) -> None:
    out = console()
    out.print(f"{found.parameters:,} parameters, {found.vocab_size:,} subwords; {found.device}, {found.precision}")
    speed, memory = f"{found.matmul_flops / 1e9:,.0f} GFLOP/s", f"{found.memory_bytes / 1e9:,.1f} GB/s"
    out.print(f"peak, measured: {speed} in a large matrix product, {memory} in copying\n")
    works: dict[str, Work] = {"training": found.training, "translating": found.translating}
    numbers = ("tokens/s", *found.training.parts, "warm-up")
    table = plain_table("", *numbers, "held back by", right=numbers)
    for name, work in works.items():
        shares = [f"{share:.0%}" for share in work.parts.values()]
        rate, warm_up = f"{work.target_tokens_per_second:,.0f}", f"{work.warm_up_seconds:.1f} s"
        table.add_row(name, rate, *shares, warm_up, work.bound)
    out.print(table)
    out.print()
    for bound in dict.fromkeys(work.bound for work in works.values()):
        out.print(f"{bound}: {_MEANING[bound]}")
    made = f"{1 / max(found.training.input_share, 1e-9):,.0f} times as fast"
    out.print(f"training: steps of up to {found.step_tokens:,} target tokens; batches are made {made}")
