"""``heedful bench``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

from heedful.cli.options import AsJson, Configured, Device, Quiet, Threads, whole_number
from heedful.cli.terminal import console, plain_table, print_result, progress
from heedful.presets import preset, resolve

if TYPE_CHECKING:
    from heedful.planning.bench import Bench, Work

_MEANING = {
    "arithmetic": "most of the time goes into products; a smaller model is faster",
    "memory": "most of the time numbers are fetched and written, not computed with",
    "overhead": "much time goes into starting small pieces of work; larger batches are faster",
    "input": "batches are made more slowly than they are used",
}


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
    print_result(dataclasses.asdict(found), as_json=as_json, show=lambda _: _print(found))


def _print(found: Bench) -> None:
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
