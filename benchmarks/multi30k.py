"""Multi30k from scratch: three seeds of each language, scored on the validation set and once on the two test sets.

    python benchmarks/multi30k.py --data MULTI30K --output OUT
    python benchmarks/multi30k.py --data MULTI30K --output OTHER --sets val --set training.steps=24000
    python benchmarks/multi30k.py --data MULTI30K --output OUT --ensemble

MULTI30K holds train, val, test_2016_flickr and test_2017_flickr as .en.gz, .de.gz and .fr.gz. Everything goes through
the real commands; several runs share the GPU, best under CUDA MPS. The preset `multi30k` was chosen on the validation
set (docs/log.md), and so is whatever else is tried: with `--sets val`. The test sets are scored here and nowhere else.
What is there is not made again: runs that were stopped go on, and those that are done are only scored.
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

SETS = ("val", "test_2016_flickr", "test_2017_flickr")


def heedful(*arguments: str | Path, log: Path | None = None) -> str:
    """Run a command of ours; its output, or the end of what it said if it failed."""
    command = [sys.executable, "-m", "heedful", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    if log:
        log.write_text(done.stdout + done.stderr)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def prepare(data: Path, work: Path, language: str, given: argparse.Namespace) -> Path:
    corpus = work / f"corpus-{language}"
    cut = (
        "--vocab-size",
        str(given.vocab_size),
        "--bpe-dropout",
        str(given.bpe_dropout),
        "--copies",
        str(given.copies),
    )
    if not corpus.exists():
        excluded = [
            part for name in SETS for side in ("en", language) for part in ("--exclude", data / f"{name}.{side}.gz")
        ]
        sides = {"--source": "train.en", "--target": f"train.{language}"}
        sides |= {"--valid-source": "val.en", "--valid-target": f"val.{language}"}
        files = [part for option, name in sides.items() for part in (option, data / f"{name}.gz")]
        heedful("prepare", *files, *excluded, *cut, "--output", corpus, "--quiet")
    return corpus


def train(corpus: Path, run: Path, seed: int, settings: list[str]) -> float:
    """Train one seed; seconds it took."""
    began = time.perf_counter()
    given = [part for setting in (f"training.seed={seed}", *settings) for part in ("--set", setting)]
    options = ("--preset", "multi30k", "--output", run, "--resume", *given)
    heedful("train", corpus, *options, log=run.with_suffix(".log"))
    return time.perf_counter() - began


def evaluate(runs: list[Path], data: Path, language: str, name: str) -> dict[str, Any]:
    """Scores of a set, and its translations beside the runs, which translate together where they are several."""
    files = ("--source", data / f"{name}.en.gz", "--reference", data / f"{name}.{language}.gz")
    called = "+".join(run.name for run in runs)
    saved = ("--output", runs[0].with_name(f"{called}.{name}.{language}"), "--overwrite")
    models = [part for run in runs for part in ("--model", run)]
    return json.loads(heedful("evaluate", *models, *files, *saved, "--json", "--quiet"))


def bleus(facts: dict[str, Any]) -> tuple[float, float | None]:
    """sacreBLEU and, where Moses' tokenizer is installed, paper-style BLEU."""
    found = {score["name"]: score["value"] for score in facts["scores"]}
    return found["BLEU"], found.get("paper-style BLEU")


def table(results: dict[tuple[str, int], dict[str, dict[str, Any]]], languages: list[str], sets: list[str]) -> str:
    lines = ["| language | seed | " + " | ".join(f"{name}: BLEU | paper-style" for name in sets) + " |"]
    lines.append("|---|---:|" + "---:|" * 2 * len(sets))
    for language in languages:
        own = {seed: found for (each, seed), found in results.items() if each == language}
        rows = [(seed, [bleus(found[name]) for name in sets]) for seed, found in own.items()]
        cells = [(str(seed), [value for pair in pairs for value in pair]) for seed, pairs in rows]
        columns = list(zip(*(values for _, values in cells), strict=True))
        for label, values in [*cells, ("mean", [_mean(column) for column in columns])]:
            shown = " | ".join("–" if value is None else f"{value:.2f}" for value in values)
            lines.append(f"| en→{language} | {label} | {shown} |")
        spread = " | ".join(_spread(column) for column in columns)
        lines.append(f"| en→{language} | standard deviation | {spread} |")
    return "\n".join(lines)


def _mean(values: tuple[float | None, ...]) -> float | None:
    return None if None in values else statistics.fmean(value for value in values if value is not None)


def _spread(values: tuple[float | None, ...]) -> str:
    there = [value for value in values if value is not None]
    return f"±{statistics.stdev(there):.2f}" if len(there) == len(values) > 1 else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--languages", nargs="+", default=["de", "fr"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--at-once", type=int, default=6, help="runs that share the GPU")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="what to score; val alone for choices")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--bpe-dropout", type=float, default=0.1)
    parser.add_argument("--copies", type=int, default=32, help="of each pair, each cut anew")
    parser.add_argument("--set", nargs="+", default=[], help="settings on top of the preset")
    parser.add_argument("--ensemble", action="store_true", help="score all seeds of a language together as well")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(given.at_once) as pool:
        made = pool.map(lambda language: prepare(given.data, given.output, language, given), given.languages)
        corpora = dict(zip(given.languages, made, strict=True))
    jobs = [(language, seed) for language in given.languages for seed in given.seeds]
    runs = {job: given.output / f"{job[0]}-{job[1]}" for job in jobs}

    def trained_and_scored(job: tuple[str, int]) -> dict[str, dict[str, Any]]:
        seconds = train(corpora[job[0]], runs[job], job[1], given.set)
        print(f"{runs[job].name}: trained in {seconds:.0f} s", flush=True)
        return {name: evaluate([runs[job]], given.data, job[0], name) for name in given.sets}

    with ThreadPoolExecutor(given.at_once) as pool:
        results = dict(zip(jobs, pool.map(trained_and_scored, jobs), strict=True))
    named = {f"{language}-{seed}": sets for (language, seed), sets in results.items()}
    for language in given.languages if given.ensemble else ():
        every = [run for (own, _), run in runs.items() if own == language]
        together = {name: evaluate(every, given.data, language, name) for name in given.sets}
        named[f"{language}-together"] = together
        print(f"en→{language} together:", {name: round(bleus(facts)[0], 2) for name, facts in together.items()})
    (given.output / "scores.json").write_text(json.dumps(named, indent=1, ensure_ascii=False))
    print(table(results, given.languages, given.sets))


if __name__ == "__main__":
    main()
