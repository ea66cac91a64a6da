"""`heedful prepare` against what its subword library alone needs for the same files, on all cores, in one run.

    python benchmarks/bench_prepare.py --source a.en.gz --target a.de.gz --tsv b.tsv.xz --output results/NAME.md

The rival, `tokenizers` alone: read the same compressed files, learn a byte-level BPE of the same size from the same
number of pairs, encode every line (`encode_batch_fast`) and take the ids. It does not clean, check or store anything.
heedful runs twice: as users run it, and with every rule off, so that it encodes exactly the rival's lines.
sentencepiece (BPE of the same size, same number of lines, all threads) stands beside them where it is installed.
Without arguments a corpus is generated. Each runs in a process of its own; the median of --repeats counts.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import itertools
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate_text import generate
from hardware import described

RULES = ("empty", "identical", "validation", "excluded", "duplicate", "too-long", "ratio")
MOST_PAIRS = 500_000
BATCH = 10_000


def read(path: str) -> list[str]:
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix, open)
    with opened(path, "rb") as file:
        lines = file.read().decode("utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def pairs_of(files: dict) -> tuple[list[str], list[str]]:
    sources = [line for path in files["source"] for line in read(path)]
    targets = [line for path in files["target"] for line in read(path)]
    for path in files["tsv"]:
        for line in read(path):
            source, _, target = line.partition("\t")
            sources.append(source)
            targets.append(target)
    return sources, targets


def sampled(sources: list[str], targets: list[str]) -> list[str]:
    if len(sources) <= MOST_PAIRS:
        return sources + targets
    chosen = random.Random(1).sample(range(len(sources)), MOST_PAIRS)
    return [sources[place] for place in chosen] + [targets[place] for place in chosen]


def tokenizers_alone(files: dict) -> dict:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    clock = [time.monotonic()]
    sources, targets = pairs_of(files)
    clock.append(time.monotonic())
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=files["vocab_size"], initial_alphabet=alphabet, show_progress=False,
                                  min_frequency=2, special_tokens=["<pad>", "<s>", "</s>"])  # fmt: skip
    tokenizer.train_from_iterator(sampled(sources, targets), trainer=trainer)
    clock.append(time.monotonic())
    tokens = 0
    for lines in (sources, targets):
        for start in range(0, len(lines), BATCH):
            encoded = tokenizer.encode_batch_fast(lines[start : start + BATCH], add_special_tokens=False)
            tokens += sum(len(line.ids) for line in encoded)
    clock.append(time.monotonic())
    return _timed(clock, pairs=len(sources), tokens=tokens)


def sentencepiece_alone(files: dict) -> dict:
    import sentencepiece  # pyright: ignore[reportMissingImports]

    clock = [time.monotonic()]
    sources, targets = pairs_of(files)
    clock.append(time.monotonic())
    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(  # pyright: ignore[reportAttributeAccessIssue]
            sentence_iterator=iter(sampled(sources, targets)), model_prefix=f"{folder}/m", model_type="bpe",
            vocab_size=files["vocab_size"], byte_fallback=True, num_threads=os.cpu_count(), minloglevel=2,
            character_coverage=0.9995, max_sentence_length=100_000)  # fmt: skip
        model = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/m.model")
    clock.append(time.monotonic())
    tokens = 0
    for lines in (sources, targets):
        for start in range(0, len(lines), BATCH):
            encoded = model.encode(lines[start : start + BATCH], num_threads=os.cpu_count())
            tokens += sum(len(line) for line in encoded)
    clock.append(time.monotonic())
    return _timed(clock, pairs=len(sources), tokens=tokens)


def heedful(files: dict, *, keep: tuple[str, ...] = ()) -> dict:
    from heedful.prepare.pipeline import prepare
    from heedful.prepare.request import Request
    from heedful.text.cleaning import Rules
    from heedful.text.pairs import tsv, two_files

    two = [two_files(Path(s), Path(t)) for s, t in zip(files["source"], files["target"], strict=True)]
    request = Request(
        (*two, *(tsv(Path(path)) for path in files["tsv"])),
        vocab_size=files["vocab_size"],
        rules=Rules(keep=frozenset(keep)),
        sample_pairs=MOST_PAIRS,
    )
    first: dict[str, float] = {}

    def progress(stage: str, done: int, total: int | None) -> None:
        first.setdefault(stage, time.monotonic())

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = prepare(request, output=Path(folder) / "corpus", progress=progress)
        end = time.monotonic()
    tokens = sum(report["lengths"][side]["tokens"] - report["pairs"]["kept"] for side in ("source", "target"))
    clock = [began, first["learning subwords from"], first["encoding"], end]
    return _timed(clock, pairs=report["pairs"]["kept"], tokens=tokens)


def _timed(clock: list[float], **counts: int) -> dict:
    stages = dict(zip(("read", "learn", "encode"), (b - a for a, b in itertools.pairwise(clock)), strict=True))
    return stages | {"all": clock[-1] - clock[0], **counts}


RUNS = {
    "tokenizers alone": tokenizers_alone,
    "heedful prepare": heedful,
    "heedful prepare, every rule off": lambda files: heedful(files, keep=RULES),
    "sentencepiece alone": sentencepiece_alone,
}


def in_own_process(name: str, files: dict) -> dict:
    command = [sys.executable, __file__, "--child", name, "--files", json.dumps(files)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def table(files: dict, *, repeats: int) -> list[str]:
    names = [name for name in RUNS if "sentencepiece" not in name or importlib.util.find_spec("sentencepiece")]
    results: dict[str, list[dict]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:
            results[name].append(in_own_process(name, files))
    median = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for name, runs in results.items()
    }
    base = median["tokenizers alone"]["all"]
    lines = ["| | read and clean, s | learn, s | encode (and store), s | all, s | ratio | pairs | M subwords |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for name, run in median.items():
        cells = [f"{run[stage]:.1f}" for stage in ("read", "learn", "encode", "all")]
        cells += [f"{run['all'] / base:.2f}", f"{run['pairs']:,.0f}", f"{run['tokens'] / 1e6:.2f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--source", "--target", "--tsv"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--vocab-size", type=int, default=37_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", choices=RUNS)
    parser.add_argument("--files", type=json.loads)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(RUNS[arguments.child](arguments.files)))
        return
    with contextlib.ExitStack() as stack:
        files = {name: getattr(arguments, name) for name in ("source", "target", "tsv", "vocab_size")}
        what = f"{len(files['source']) + len(files['tsv'])} corpora"
        if not files["source"] and not files["tsv"]:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            source, target = generate(100_000, folder)
            files |= {"source": [str(source)], "target": [str(target)]}
            what = "100,000 generated pairs"
        packages = ["sentencepiece"] if importlib.util.find_spec("sentencepiece") else []
        lines = ["# `heedful prepare` and its rivals", "", described(*packages), ""]
        lines += [f"{what}, median of {arguments.repeats}; ratio: to `tokenizers` alone (at most 1.3 wanted)", ""]
        lines += table(files, repeats=arguments.repeats)
    print("\n".join(lines))
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
