"""From a raw TSV to a score in three commands, beside settings made by hand with the same minutes.

    python benchmarks/first_hour.py tatoeba.tsv.xz --minutes 15 --seeds 1 2 3 --output OUT
    python benchmarks/first_hour.py multi30k.en.gz multi30k.fr.gz --minutes 15 --output OUT

One file is TSV; two are the source's and the target's. Everything goes through the real commands: prepare with
--valid-pairs and --test-pairs, train with --minutes, evaluate on the pairs that were put aside. The other side trains
on the same corpus with a settings file, the tutorial's as it was first published unless --against names another, and
ends by the same minutes. Its time begins with its first step; that of the fitted run when its command begins. For a
quiet machine, or with --processor-time, which counts what the processor spent on a run and not what others made it
wait (the table's minutes are the clock's all the same). --at-once 6 trains six at a time, each on one thread, where
there are more cores than that.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hardware import described

TUTORIAL = """
preset = "tiny"

[model]
d_model = 128
d_ff = 512
num_heads = 4
dropout = 0.1

[training]
steps = 1000000
source_tokens = 2048
target_tokens = 2048
warmup_steps = 400
learning_rate_scale = 1.0
validation_steps = 250
"""


PROCESSOR_TIME = """
import runpy, sys, time
time.monotonic = time.perf_counter = time.process_time
sys.argv[0] = "heedful"
runpy.run_module("heedful", run_name="__main__")
"""


def heedful(*arguments: str | Path, processor_time: bool = False) -> str:
    """Run a command of ours; its output, or the end of what it said if it failed."""
    program = ["-c", PROCESSOR_TIME] if processor_time else ["-m", "heedful"]
    command = [sys.executable, *program, *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def trained(corpus: Path, run: Path, arguments: list[str], *, processor_time: bool) -> dict[str, Any]:
    """Train a run that is not there yet and score it on the pairs that were put aside."""
    place = run.with_suffix(".json")
    if place.exists():
        return json.loads(place.read_text())
    began = time.perf_counter()
    told = heedful("train", corpus, "--output", run, "--overwrite", *arguments, processor_time=processor_time)
    took = time.perf_counter() - began
    test = [
        f"--{option}={corpus}/held-out/test.{side}" for option, side in (("source", "source"), ("reference", "target"))
    ]
    facts = json.loads(heedful("evaluate", "--model", run, *test, "--json", "--quiet"))
    scores = {score["name"]: score["value"] for score in facts["scores"]}
    status = json.loads((run / "status.json").read_text())
    chosen = next((line for line in told.splitlines() if line.startswith("fitted to")), "as the file says")
    found = {"minutes": took / 60, "steps": status["step"], "chosen": chosen, "scores": scores}
    place.write_text(json.dumps(found, indent=1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="+", help="one TSV file, or the source's and the target's")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, default=1000, help="put aside for validation, and as many for the test")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="so many runs side by side, a thread each")
    parser.add_argument("--processor-time", action="store_true", help="the minutes are the processor's")
    parser.add_argument("--columns", help="as prepare takes them")
    parser.add_argument("--against", type=Path, help="a settings file instead of the tutorial's")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    corpus = given.output / "corpus"
    if not corpus.exists():
        text = given.text if len(given.text) == 1 else ["--source", given.text[0], "--target", given.text[1]]
        columns = ["--columns", given.columns] if given.columns else []
        aside = ["--valid-pairs", str(given.pairs), "--test-pairs", str(given.pairs)]
        print(heedful("prepare", *text, *columns, *aside, "--output", corpus))
    against = given.against or given.output / "tutorial.toml"
    if given.against is None:
        against.write_text(TUTORIAL)
    minutes = ["--minutes", f"{given.minutes:g}"]
    ways = {"fitted": minutes, "by hand": ["--config", str(against), *minutes]}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    print(described("torch"))
    print("| seed | run | minutes | steps | BLEU | chrF2 | choice |\n|---:|---|---:|---:|---:|---:|---|", flush=True)
    if given.at_once > 1:
        os.environ["OMP_NUM_THREADS"] = "1"
    runs = [(seed, name) for seed in given.seeds for name in ways]  # in turns, so that both meet the same machine

    def facts_of(run: tuple[int, str]) -> dict[str, Any]:
        seed, name = run
        place = given.output / f"{name.replace(' ', '-')}-{seed}"
        arguments = [*ways[name], "--set", f"training.seed={seed}"]
        return trained(corpus, place, arguments, processor_time=given.processor_time)

    with ThreadPoolExecutor(given.at_once) as workers:
        for (seed, name), facts in zip(runs, workers.map(facts_of, runs), strict=True):
            found[name].append(facts)
            scores = f"{facts['scores']['BLEU']:.1f} | {facts['scores']['chrF2']:.1f}"
            row = f"| {seed} | {name} | {facts['minutes']:.1f} | {facts['steps']:,} | {scores} | {facts['chosen']} |"
            print(row, flush=True)
    means = {name: statistics.mean(run["scores"]["BLEU"] for run in runs) for name, runs in found.items()}
    print(", ".join(f"{name} {mean:.2f}" for name, mean in means.items()), "BLEU on average")


if __name__ == "__main__":
    main()
