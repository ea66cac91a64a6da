"""``heedful data``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from heedful.cli.options import AsJson, Flag, Seed, whole_number
from heedful.cli.terminal import console, plain_table, print_result
from heedful.data.manifest import SIDES
from heedful.prepare.description import described, fill


def data(
    folder: Path,
    /,
    *,
    samples: Annotated[int, whole_number(0, 100_000)] = 3,
    batch_tokens: Annotated[int | None, whole_number(1, 1_000_000_000)] = None,
    seed: Seed = 1,
    verify: Flag = False,
    as_json: AsJson = False,
) -> None:
    """Describe a prepared corpus: sizes, lengths, samples with their subwords, and how full batches get.

    Args:
        folder: What `heedful prepare` made.
        samples: Pairs to show with their subword split.
        batch_tokens: Say how full batches would be with this many tokens a side.
        seed: Another number draws other samples and batches.
        verify: Check the contents of every file against its hash.

    Examples:
        heedful data corpus --batch-tokens 25000
        heedful data corpus --verify --samples 10
    """
    facts = described(folder, samples=samples, seed=seed, verify=verify)
    if batch_tokens is not None:
        facts["batches"] = fill(folder, tokens=batch_tokens, seed=seed)
    print_result(facts, as_json=as_json, show=_print)


def _print(facts: dict[str, Any]) -> None:
    out = console()
    vocabulary = facts["vocabularies"]
    sizes = " and ".join(f"{vocabulary[side]:,} {side}" for side in SIDES)
    sizes = f"{vocabulary['source']:,} shared" if facts["shared_vocabulary"] else sizes
    out.print(f"{facts['folder']}: {facts['bytes'] / 1e6:,.1f} MB, {sizes} subwords", "")
    numbers = ("pairs", "tokens", "mean", "median", "p95", "p99", "longest")
    table = plain_table("split", "side", *numbers, "lengths", right=numbers)
    for name, split in facts["splits"].items():
        for side in SIDES:
            lengths = split["lengths"][side]
            values = [f"{split['pairs']:,}", *(f"{lengths[key]:,}" for key in ("tokens", *numbers[2:]))]
            table.add_row(name, side, *values, _bars(lengths["histogram"]))
    out.print(table)
    out.print("lengths: how many pairs have 1–4, 5–8, 9–16, … tokens, END included\n", style="dim")
    for sample in facts["samples"]:
        out.print(f"{sample['corpus']}, line {sample['line']}", style="dim")
        for side in SIDES:
            out.print("  " + "·".join(sample[side]).replace("\n", "�"))
    if "batches" in facts:
        out.print(_about(facts["batches"]))
    if facts["verified"]:
        out.print(f"\nall {facts['files']} files are as they were written")


def _about(batches: dict[str, Any]) -> str:
    pairs = batches["pairs"]
    return (
        f"\nbatches of {batches['tokens']:,} tokens a side: {batches['steps_per_epoch']:,} in an epoch, "
        f"{pairs['mean']:,.0f} pairs each ({pairs['least']:,} to {pairs['most']:,})\n"
        f"  padded: {batches['padded']:.1%} of the places of both sides hold tokens\n"
        f"  packed: the fuller side is {batches['fuller']:.1%} full, source {batches['source']:.1%}, target "
        f"{batches['target']:.1%}"
    )


def _bars(histogram: dict[str, int]) -> str:
    counts = np.array(list(histogram.values()), float)
    levels = np.ceil(counts / max(1.0, counts.max(initial=1.0)) * 8).astype(int)
    return "".join(" ▁▂▃▄▅▆▇█"[level] for level in levels)
