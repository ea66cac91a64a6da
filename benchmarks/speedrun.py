"""The speed run: Multi30k en→de from raw text to a greedy validation BLEU of 40, everything on the clock.

    python benchmarks/speedrun.py --data MULTI30K --output OUT [--seeds 1 2 3] [--warm] [--set NAME=VALUE …]

MULTI30K holds train and val as .en.gz and .de.gz. The clock runs from the first command to the last score: `heedful
prepare`, `heedful train` (loading, compiling kernels, training, saving), `heedful translate --greedy` with the mean of
the last checkpoints, and sacreBLEU. Kernels compiled by earlier runs are forgotten first, unless --warm. The paper's
model and optimiser, smaller; `speedrun.md` has the records.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sacrebleu

PREPARED = ("--vocab-size", "8000", "--bpe-dropout", "0.1", "--copies", "4")
SETTINGS = [
    *("training.steps=5600", "training.source_tokens=12288", "training.target_tokens=12288"),
    *("training.learning_rate_scale=0.7", "training.warmup_steps=700", "training.decay=inverse-sqrt"),
    *("training.validation_steps=0",),
    *("training.checkpoint_steps=200", "training.average_last=6", "training.keep_last=6", "training.log_steps=600"),
]
GOAL = 40.0


def heedful(*arguments: str | Path, cache: Path, text: str = "") -> str:
    """Run a command of ours, its compiled kernels under ``cache``; its output, or the end of what it said."""
    command = [sys.executable, "-m", "heedful", *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1", "TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, input=text)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
    return done.stdout


def timed_run(data: Path, work: Path, *, seed: int, settings: list[str], cache: Path) -> dict[str, float]:
    """Seconds of each stage and of all, and the score."""
    corpus, run = work / "corpus", work / "run"
    pairs = {"--source": "train.en", "--target": "train.de", "--valid-source": "val.en", "--valid-target": "val.de"}
    files = [part for option, name in pairs.items() for part in (option, data / f"{name}.gz")]
    given = [part for setting in (*SETTINGS, *settings, f"training.seed={seed}") for part in ("--set", setting)]
    began = time.perf_counter()
    heedful("prepare", *files, *PREPARED, "--output", corpus, "--quiet", cache=cache)
    prepared = time.perf_counter()
    heedful("train", corpus, "--preset", "multi30k", "--output", run, *given, cache=cache)
    trained = time.perf_counter()
    said = heedful("translate", "--model", run, "--greedy", "--quiet", cache=cache, text=lines(data / "val.en.gz"))
    score = sacrebleu.corpus_bleu(said.splitlines(), [lines(data / "val.de.gz").splitlines()]).score
    ended = time.perf_counter()
    seconds = {"prepare": prepared - began, "train": trained - prepared, "translate": ended - trained}
    return {**seconds, "all": ended - began, "bleu": score}


def lines(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="a folder for corpora and runs, one for each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--warm", action="store_true", help="use kernels that earlier runs compiled")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    results = []
    for seed in arguments.seeds:
        work = arguments.output / f"seed-{seed}"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as cold:
            cache = arguments.output / "kernels" if arguments.warm else Path(cold)
            found = timed_run(arguments.data, work, seed=seed, settings=arguments.settings, cache=cache)
        results.append(found)
        stages = ", ".join(f"{stage} {found[stage]:.1f}" for stage in ("prepare", "train", "translate"))
        print(f"seed {seed}: {found['all']:.1f} s ({stages}), greedy BLEU {found['bleu']:.2f}", flush=True)
    middle = statistics.median(result["all"] for result in results)
    reached = sum(result["bleu"] >= GOAL for result in results)
    print(f"median {middle:.1f} s; {reached} of {len(results)} seeds reached {GOAL}")


if __name__ == "__main__":
    main()
