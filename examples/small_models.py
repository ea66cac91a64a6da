"""The models that come with heedful, both directions, stage by stage, from the corpora to the folders that are shipped.

    python examples/small_models.py text --data DATA
    python examples/small_models.py corpus original --data DATA
    python examples/small_models.py train teacher --corpus original --size base --minutes 16 --stop-after 9
    python examples/small_models.py translate teacher --minutes 8
    python examples/small_models.py corpus taught --data DATA --taught 1 --back 0.5
    python examples/small_models.py train student --corpus taught --size small --minutes 10
    python examples/small_models.py score student --data DATA --bundle

`examples/small_models.sh` is this list with its reasons. Everything lies in the folder --work. A stage that was stopped
by whatever goes on when the same line is given again; one that is done says so. Both directions run side by side:
on one GPU they make more steps together than one after the other, best under CUDA's MPS. What a stage
did and how long it took is printed and written into WORK/results. --miniature makes models of 16 dimensions
out of a few hundred lines, to try the whole chain on a CPU in a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from small_models_text import read_weights, text_options, write_texts

from heedful.cli.long_texts import lines_of_shard

EXAMPLES = Path(__file__).parent
AUGMENT = ("upper=0.05", "title=0.05", "typos=0.02", "copy=0.03", "joined=0.1")
TINY = ("model.d_model=16", "model.d_ff=16", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
        "training.source_tokens=400", "training.target_tokens=400", "training.steps=8", "training.checkpoint_steps=4",
        "training.warmup_steps=4", "training.learning_rate_scale=0.01")  # fmt: skip


@dataclass(frozen=True)
class Size:
    """A model to train and its schedule, whose length the minutes decide."""

    options: tuple[str, ...]
    d_model: int
    peak: float
    """The highest learning rate."""
    warmup: int
    """The steps in which it is reached; then it falls in a straight line, which is at 0 when the minutes are over."""


SIZES = {
    # The paper's peak, 512^-0.5 · 4000^-0.5, reached sooner: minutes are not the paper's twelve hours.
    "base": Size(("--preset", "base"), 512, 7e-4, 1600),
    "small": Size(("--config", str(EXAMPLES / "small_models.toml")), 384, 1.1e-3, 1900),
}


class Stopped(Exception):  # noqa: N818
    """The time of this call is over; the same call goes on."""


def together(commands: Mapping[Path, list[str | Path]], *, seconds: float = math.inf) -> None:
    """Run commands of heedful side by side, each with its log; all of them end when one fails or time is over."""
    begun = {log: _begin(words, log) for log, words in commands.items()}
    end = time.monotonic() + seconds
    try:
        while any(process.poll() is None for process in begun.values()):
            _require_none_failed(begun)
            if time.monotonic() > end:
                raise Stopped
            time.sleep(0.1)
        _require_none_failed(begun)
    finally:
        for process in begun.values():
            if process.poll() is None:
                process.terminate()  # a training writes a checkpoint first
        for process in begun.values():
            process.wait()


def _require_none_failed(begun: Mapping[Path, subprocess.Popen[bytes]]) -> None:
    for log in (log.with_suffix(".log") for log, process in begun.items() if process.poll()):
        raise SystemExit(f"{log}: {log.read_text(encoding='utf-8')[-2000:]}")


def _begin(words: list[str | Path], log: Path) -> subprocess.Popen[bytes]:
    """Start a command of heedful, or a program. A log that is JSON is what it prints; what it says stands beside."""
    log.parent.mkdir(parents=True, exist_ok=True)
    program = [sys.executable] if str(words[0]).endswith(".py") else [sys.executable, "-m", "heedful"]
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    with log.open("ab") as output, log.with_suffix(".log").open("ab") as errors:
        return subprocess.Popen([*program, *map(str, words)], stdout=output, stderr=errors, env=environment)


def text(given: argparse.Namespace) -> dict[str, Any]:
    folder = given.work / "text"
    if not (folder / "all.de.json").exists():
        write_texts(given.data, folder, given.more, miniature=given.miniature)
    return {"lines": {path.name: path.read_bytes().count(b"\n") for path in sorted(folder.iterdir())}}


def corpus(given: argparse.Namespace) -> dict[str, Any]:
    """Prepare the text of every direction; all have the subwords that the first one learned."""
    subwords, outputs = given.work / "subwords", {pair: given.work / pair / given.name for pair in given.pairs}
    logs = {pair: given.work / "logs" / f"{pair}-{given.name}-corpus.log" for pair in given.pairs}
    commands = {
        logs[pair]: ["prepare", *_texts(given, pair), "--output", output]
        for pair, output in outputs.items()
        if not output.exists()
    }
    if not subwords.exists():
        learned = ["--vocab-size", 500 if given.miniature else given.vocab_size, "--sample-pairs", given.sample_pairs]
        first = given.pairs[0]
        if logs[first] in commands:
            together({logs[first]: [*commands.pop(logs[first]), *map(str, learned)]})
        shutil.copytree(outputs[first] / "tokenizer", subwords)
    commands = {log: [*words, "--tokenizer", subwords] for log, words in commands.items()}
    for some in [{log: words} for log, words in commands.items()] if given.one_by_one else [commands]:
        together(some)
    return {pair: _corpus_facts(json.loads((output / "report.json").read_text())) for pair, output in outputs.items()}


def _texts(given: argparse.Namespace, pair: str) -> list[str]:
    """The options of `prepare`: what people wrote, and what the teachers said.

    This direction's is a target; what the other's said is a source, with a tag.
    """
    source, target = pair.split("-")
    own, other = given.work / pair, given.work / f"{target}-{source}"
    words = text_options(given.data, given.work / "text", pair)
    words += ["--tag", "bt"]  # has its place from the beginning: all models have the same subwords
    for folder, share in ((own, given.taught), (other, given.back)):
        for path in sorted(folder.glob(f"taught-*.{source}")) if share else ():
            weight = share * float(path.stem.removeprefix("taught-"))
            if path.stat().st_size:
                words += ["--source", f"{path}@{weight:g}", "--target", f"{path.with_suffix(f'.{target}')}@{weight:g}"]
                words += ["--tag", f"bt={path}"] if folder == other else []
    return [*words, *(["--augment", *given.augment] if given.augment else [])]


def _corpus_facts(report: dict[str, Any]) -> dict[str, Any]:
    removed = {name: rule["removed"] for name, rule in report["rules"].items() if rule["removed"]}
    added = {kind: found["added"] for kind, found in report["augmented"].items()}
    tokens = {side: lengths["tokens"] for side, lengths in report["lengths"].items()}
    return {"pairs": report["pairs"], "removed": removed, "added": added, "tokens": tokens}


def train(given: argparse.Namespace) -> dict[str, Any]:
    """All directions at once, for so many minutes."""
    runs = {pair: given.work / pair / given.name for pair in given.pairs}
    commands = {
        given.work / "logs" / f"{pair}-{given.name}.log": _train(given, pair, run) for pair, run in runs.items()
    }
    together(commands, seconds=60 * given.stop_after or math.inf)
    return {pair: _run_facts(run) for pair, run in runs.items()}


def _train(given: argparse.Namespace, pair: str, run: Path) -> list[str | Path]:
    words: list[str | Path] = ["train", given.work / pair / given.corpus, *SIZES[given.size].options, "--output", run]
    tiny = TINY if given.miniature else ()
    for setting in (*_schedule(given), *tiny, *given.set):
        words += ["--set", setting]
    return [*words, "--device", given.device, "--resume"]


def _schedule(given: argparse.Namespace) -> list[str]:
    """Warm-up to the peak, a straight line that ends with the minutes, and the mean of its last checkpoints."""
    size = SIZES[given.size]
    scale = (given.peak or size.peak) * math.sqrt(size.d_model * size.warmup)  # Equation 3, read backwards
    ended = {"minutes": given.minutes, "steps": 1_000_000, "decay": "linear"}
    saved = {"checkpoint_minutes": given.minutes / 20, "checkpoint_steps": 0, "keep_last": 2, "average_last": 2}
    rate = {"warmup_steps": size.warmup, "learning_rate_scale": f"{scale:.4f}"}
    told = {"validation_steps": 5000, "log_steps": 100}
    return [f"training.{name}={value}" for name, value in {**ended, **saved, **rate, **told}.items()]


def _metrics(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["kind"] == kind]


def _run_facts(run: Path) -> dict[str, Any]:
    status = json.loads((run / "status.json").read_text(encoding="utf-8"))
    found = {name: status[name] for name in ("state", "step", "steps", "minutes")}
    speeds = sorted(line["wall"]["tokens_per_second"] for line in _metrics(run, "train")) or [0.0]
    validated = {line["step"]: round(line["perplexity"], 3) for line in _metrics(run, "validation")}
    return {**found, "target_tokens_a_second": speeds[len(speeds) // 2], "validation_perplexity": validated}


def translate(given: argparse.Namespace) -> dict[str, Any]:
    """Every direction's teachers translate all text of their source language, as far as the minutes go.

    What a teacher says is found sooner than written down: several processes keep a GPU busier than one.
    """
    began, commands = time.monotonic(), {}
    for pair in given.pairs:
        source = pair.split("-")[0]
        models = [word for name in given.teachers for word in ("--model", given.work / pair / name)]
        words = ["translate", *models, "--input", given.work / "text" / f"all.{source}", "--as-is", "--split", "never"]
        words += ["--max-length", "8"] if given.miniature else []
        words += ["--beam-size", str(given.beam_size), "--device", given.device, "--resume"]
        for shard, output in _shards(given, pair).items():
            commands[given.work / "logs" / f"{output.name}-translate.log"] = [
                *words,
                "--output",
                output,
                "--shard",
                shard,
            ]
    before = sum(_taught(given, pair)["lines"] for pair in given.pairs)
    with contextlib.suppress(Stopped):  # what is there is used, and more may come later
        together(commands, seconds=60 * given.minutes)
    counts = {pair: _taught(given, pair) for pair in given.pairs}
    if not all(count["lines"] for count in counts.values()):
        raise SystemExit(f"not a line of {counts} is done; {given.work}/logs says why")
    lines = sum(count["lines"] for count in counts.values()) - before
    return {**counts, "lines_a_minute": round(60 * lines / (time.monotonic() - began))}


def _shards(given: argparse.Namespace, pair: str) -> dict[str, Path]:
    """The parts of a direction's text, and what the teachers say of each."""
    parts = [f"{part}/{given.at_once}" for part in range(1, given.at_once + 1)]
    return {part: given.work / pair / f"said-{part.replace('/', '-of-')}.{pair.split('-')[1]}" for part in parts}


def _taught(given: argparse.Namespace, pair: str) -> dict[str, int]:
    """Write the lines that are done, a file for each weight of their texts; how many they are, and of how many.

    What a teacher says of a text weighs as the text does.
    """
    source, target = pair.split("-")
    weights = read_weights(given.work / "text", source)
    sources = (given.work / "text" / f"all.{source}").read_bytes().splitlines(keepends=True)
    done: list[tuple[int, bytes]] = []
    for shard, said in _shards(given, pair).items():
        record = said.with_name(f"{said.name}.progress.json")  # what --resume writes
        if record.exists():
            lines = json.loads(record.read_text())["lines"]
            path = said if said.exists() else said.with_name(f"{said.name}.part")
            first = lines_of_shard(shard, len(sources)).start
            outputs = path.read_bytes().splitlines(keepends=True)[:lines]
            done += zip(range(first, first + lines), outputs, strict=True)
    ends = [*itertools.accumulate(weights.values())]
    for weight, end, count in zip(weights, ends, weights.values(), strict=True) if done else ():
        some = [(sources[place], output) for place, output in done if end - count <= place < end]
        for language, side in zip((source, target), zip(*some, strict=True) if some else ((), ()), strict=True):
            (given.work / pair / f"taught-{weight}.{language}").write_bytes(b"".join(side))
    return {"lines": len(done), "of": len(sources)}


def score(given: argparse.Namespace) -> dict[str, Any]:
    """BLEU on what models are chosen by, and the lines of benchmarks/robustness.py; of int8 where it is bundled."""
    models = {pair: given.work / pair / given.name for pair in given.pairs}
    if given.bundle:
        models = {pair: _bundled(given, pair, run) for pair, run in models.items()}
    few = ["--resamples", "20", "--max-length", "8"] if given.miniature else []
    commands = {}
    for pair, model in models.items():
        folder = given.work / "scores" / model.name if given.bundle else given.work / "scores" / f"{pair}-{given.name}"
        source, target = pair.split("-")
        for name, stem in _sets(given).items():
            files = ["--source", stem.format(source), "--reference", stem.format(target), "--language", target]
            words = ["evaluate", "--model", model, *files, "--json", "--quiet", "--device", given.device, *few]
            commands[folder / f"{name}.json"] = [*words, "--output", folder / f"{name}.out", "--overwrite"]
        robust = [EXAMPLES.parent / "benchmarks" / "robustness.py", "--model", model, "--from", source, "--json"]
        if not given.miniature:  # whose outputs have no end
            commands[folder / "robustness.json"] = [*robust, "--device", given.device]
    for file, words in commands.items():
        file.unlink(missing_ok=True)
        together({file: words})
    return {f"{file.parent.name}/{file.stem}": _scored(json.loads(file.read_text())) for file in commands}


def _bundled(given: argparse.Namespace, pair: str, run: Path) -> Path:
    output = given.work / f"{pair}-{given.bundle}"
    words = ["bundle", run, "--output", output, "--languages", pair, "--overwrite"]
    card = [f"--card={given.cards}/{pair}.md"] if given.cards else []
    together({given.work / "logs" / f"{pair}-bundle.log": [*words, *card]})
    return output


def _sets(given: argparse.Namespace) -> dict[str, str]:
    """newstest2014 is scored by hand, once."""
    return {
        "newstest2013": f"{given.data}/wmt-news/newstest2013.en-de.{{}}.gz",
        "tatoeba-dev": f"{given.work}/text/tatoeba-dev.{{}}",
        "multi30k-val": f"{given.data}/multi30k/val.{{}}.gz",
    }


def _scored(facts: dict[str, Any]) -> dict[str, Any]:
    if "kinds" in facts:
        return {"right": facts["right"], **{kind: row["right"] for kind, row in facts["kinds"].items()}}
    return {one["name"]: round(one["value"], 2) for one in facts["scores"]}


def _write(path: Path, facts: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(dest="stage", required=True)
    made = {name: stages.add_parser(name) for name in ("text", "corpus", "train", "translate", "score")}
    for stage in made.values():
        stage.add_argument("--work", type=Path, default=Path("small"))
        stage.add_argument("--pairs", nargs="+", default=["en-de", "de-en"], choices=["en-de", "de-en"])
        stage.add_argument("--device", default="auto")
        stage.add_argument("--miniature", action="store_true", help="tiny models, a few steps: does it run?")
    for name in ("text", "corpus", "score"):
        made[name].add_argument("--data", type=Path, required=True, help="small_models.sh says what it holds")
    for name, about in {"corpus": "of the corpus", "train": "of the run", "score": "of the run"}.items():
        made[name].add_argument("name", help=about)
    made["text"].add_argument("--more", type=Path, nargs="+", default=[], help="text alone, NAME.en or NAME.de")
    one = made["corpus"]
    one.add_argument("--taught", type=float, default=0, help="weight of what this direction's teachers said")
    one.add_argument("--back", type=float, default=0, help="weight of what the other's said, as sources")
    one.add_argument("--augment", nargs="*", default=AUGMENT)
    one.add_argument("--vocab-size", type=int, default=12_000)
    one.add_argument("--sample-pairs", type=int, default=1_000_000, help="that subwords are learned from")
    one.add_argument("--one-by-one", action="store_true", help="not both directions at once: half the memory")
    one = made["train"]
    one.add_argument("--corpus", default="original")
    one.add_argument("--size", choices=SIZES, default="small")
    one.add_argument("--minutes", type=float, required=True, help="of training, later calls included")
    one.add_argument("--stop-after", type=float, default=0, help="minutes of this call; the next one goes on")
    one.add_argument("--peak", type=float, help="the highest learning rate")
    one.add_argument("--set", nargs="+", default=[], help="other settings, as in model.dropout=0.2")
    one = made["translate"]
    one.add_argument("teachers", nargs="+", help="runs; several translate together")
    one.add_argument("--minutes", type=float, default=math.inf)
    one.add_argument("--beam-size", type=int, default=4)
    one.add_argument("--at-once", type=int, default=1, help="processes of each direction; the same in later calls")
    one = made["score"]
    one.add_argument("--bundle", nargs="?", const="small", help="in int8 first, as WORK/en-de-small")
    one.add_argument("--cards", type=Path, help="the folder of en-de.md and de-en.md")
    return parser


def main() -> None:
    given = options().parse_args()
    stages = {"text": text, "corpus": corpus, "train": train, "translate": translate, "score": score}
    began = time.monotonic()
    name = "-".join([given.stage, *([given.name] if "name" in given else [])])
    try:
        facts = stages[given.stage](given)
    except Stopped:
        raise SystemExit(
            f"{name}: stopped after {(time.monotonic() - began) / 60:.1f} minutes; go on with the same line"
        ) from None
    facts = {"stage": name, "seconds": round(time.monotonic() - began, 1), **facts}
    _write(given.work / "results" / f"{name}.json", facts)
    print(json.dumps(facts, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
