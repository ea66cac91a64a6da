"""How long a seek takes: one epoch plan for many pairs, in seconds and in memory beyond the lengths themselves.

    python benchmarks/bench_batching.py --pairs 36000000 --output benchmarks/results/NAME.md

The rival is the floor: sorting that many 64-bit numbers with numpy. WMT14 en-fr, the paper's larger corpus, has 36 M
pairs. Each size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from hardware import described

BUDGET = 25_000


def lengths(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Token counts as long text has them, made in pieces so that the making costs no memory of its own."""
    rng = np.random.default_rng(1)
    source, target = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    for start in range(0, pairs, 1 << 20):
        end = min(start + (1 << 20), pairs)
        source[start:end] = np.clip(rng.lognormal(3.2, 0.6, end - start), 2, 1024)
        target[start:end] = np.clip(source[start:end] * rng.normal(1.1, 0.2, end - start), 2, 1024)
    return source, target


def measured(pairs: int) -> dict:
    from heedful.data.batching import Schedule
    from heedful.data.corpus import Lengths

    source, target = lengths(pairs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    schedule = Schedule(Lengths(source, target), source_budget=BUDGET, target_budget=BUDGET, seed=1)
    steps = schedule.steps_per_epoch
    counted = time.monotonic()
    schedule.batch(1000 * steps + steps // 2)
    planned = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    numbers = np.random.default_rng(1).integers(0, 1 << 62, pairs, np.int64)
    sorting = time.monotonic()
    numbers.sort()
    return {
        "steps": steps,
        "count": counted - began,
        "plan": planned - counted,
        "sort": time.monotonic() - sorting,
        "extra_bytes": (after - before) * 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 4_500_000, 36_000_000])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", type=int)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measured(arguments.child)))
        return
    lines = [
        "# One epoch plan",
        "",
        described(),
        "",
        f"Budget {BUDGET:,} tokens a side. A seek in a new process is both",
    ]
    lines[-1] += " columns: counting the steps of an epoch (once) and planning the epoch."
    lines += ["", "| pairs | steps an epoch | count, s | plan, s | a seek, s | sorting alone, s | extra GiB |"]
    lines.append("|" + "---:|" * 7)
    for pairs in arguments.pairs:
        command = [sys.executable, __file__, "--child", str(pairs)]
        run = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        seconds = (run["count"], run["plan"], run["count"] + run["plan"], run["sort"])
        cells = [f"{pairs:,}", f"{run['steps']:,}", *(f"{value:.1f}" for value in seconds)]
        cells.append(f"{run['extra_bytes'] / 2**30:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    print("\n".join(lines))
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
