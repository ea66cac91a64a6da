"""`heedful prepare` on generated text of growing size: seconds for each stage, microseconds a pair, peak memory.

    python benchmarks/bench_prepare_scale.py --pairs 100000 1000000 10000000 --output benchmarks/results/NAME.md

Each size runs in a process of its own, whose peak memory the operating system tells.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate_text import generate
from hardware import described

STAGES = ("reading", "learning subwords from", "encoding")


def prepare_and_time(folder: Path) -> None:
    """In the process that is measured: prepare, and print when each stage began."""
    from heedful.prepare.pipeline import prepare
    from heedful.prepare.request import Request
    from heedful.text.pairs import two_files

    began = time.monotonic()
    first: dict[str, float] = {"reading": 0.0}

    def progress(stage: str, done: int, total: int | None) -> None:
        first.setdefault(stage, time.monotonic() - began)

    request = Request((two_files(folder / "text.en", folder / "text.de"),))
    report = prepare(request, output=folder / "corpus", overwrite=True, progress=progress)
    ends = [*(first[stage] for stage in STAGES[1:]), time.monotonic() - began]
    seconds = [end - first[stage] for stage, end in zip(STAGES, ends, strict=True)]
    print(json.dumps({"seconds": seconds, "report": report}))


def measured(folder: Path) -> dict:
    """One run in a process of its own."""
    process = subprocess.Popen([sys.executable, __file__, "--child", str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    process.stdout.close()
    if status:
        sys.exit("the measured process failed")
    return json.loads(output) | {"peak_bytes": usage.ru_maxrss * 1024, "cpu": usage.ru_utime + usage.ru_stime}


def row(pairs: int, folder: Path) -> str:
    generate(pairs, folder)
    distinct = len({word for name in ("text.en", "text.de") for word in _words(folder / name)})
    size = sum((folder / name).stat().st_size for name in ("text.en", "text.de"))
    run = measured(folder)
    report, seconds = run["report"], run["seconds"]
    tokens = sum(report["lengths"][side]["tokens"] for side in ("source", "target"))
    cells = [f"{pairs:,}", f"{size / 1e6:,.0f}", f"{distinct:,}", f"{tokens / 1e6:,.1f}"]
    cells += [f"{value:.1f}" for value in (*seconds, sum(seconds))]
    cells += [f"{value / pairs * 1e6:.1f}" for value in (seconds[0] + seconds[2], sum(seconds))]
    cells.append(f"{run['peak_bytes'] / 2**30:.2f}")
    shutil.rmtree(folder)
    return "| " + " | ".join(cells) + " |"


def _words(path: Path):
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield from line[:-2].split(" ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", type=Path)
    arguments = parser.parse_args()
    if arguments.child:
        prepare_and_time(arguments.child)
        return
    header = ["pairs", "MB", "distinct words", "M tokens", "read and clean, s", "learn, s", "encode and store, s",
              "all, s", "µs a pair without learning", "µs a pair", "peak GiB"]  # fmt: skip
    lines = ["# `heedful prepare` at scale", "", described(), "", "| " + " | ".join(header) + " |"]
    lines.append("|" + "---:|" * len(header))
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for pairs in arguments.pairs:
            lines.append(row(pairs, Path(folder) / str(pairs)))
            print(lines[-1], flush=True)
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
