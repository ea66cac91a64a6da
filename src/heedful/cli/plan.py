"""``heedful plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from heedful.cli.options import AsJson, Configured, Minutes, whole_number
from heedful.cli.terminal import console, plain_table, print_result
from heedful.planning.checks import GIB
from heedful.planning.plan import Plan, make_plan
from heedful.report.charts import duration_text

_LONG = 24 * 3600
"""Seconds after which a run is not what most people meant."""


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
        heedful plan data/ --minutes 15
        heedful plan data/ --preset big --set training.micro_batches=32 --gpus 8 --nodes 4 --accelerator A100
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
    print_result(facts, as_json=as_json, show=lambda _: _print(found, folder, minutes))


def _print(found: Plan, folder: Path, minutes: float | None) -> None:
    out = console()
    if found.fitted:
        out.print(f"fitted to {minutes:g} minutes: {found.fitted}", "")
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
