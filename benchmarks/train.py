"""Training speed: ours and the rivals in one run.

    python benchmarks/train.py --device cuda --sizes base --corpus CORPUS --output benchmarks/results/NAME.md
    python benchmarks/train.py --setup rivals-env                        # once: the rivals' environments, with pip
    python benchmarks/train.py --environments rivals-env --output benchmarks/results/NAME.md

On CUDA ours is the real command, `heedful train`, on a corpus of the speed workload (`speed_workload.py`), and what
counts is what its own metrics say. The rivals train on sentences of the same lengths, sorted and padded, in bfloat16 by
autocast, with torch's fused Adam; every one has been warmed up on every shape before the clock runs, the ids lie on the
GPU already, and nobody computes a norm or reads a loss. They take turns, each in a process of its own, while the others
wait; ours has the GPU to itself.

On a CPU everybody, ours too, trains in one thread on the same padded batches, in turns batch by batch, without dropout,
and what counts is the processor time of its process: on a shared machine the clock on the wall says nothing.

Target tokens are counted without padding. A toolkit that fails is a line of the table.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import numpy as np
from hardware import described
from rivals.contestants import COMPILED, NO_ANSWER, TRAINERS, Contestant, Process, ToolkitError, set_up
from rivals.engine import Sizes
from speed_workload import LENGTHS, write_corpus
from train_command import CommandError, command_run

from heedful.config import ModelConfig
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus, Lengths
from heedful.training.flops import batch_flops

SIZES = {
    "tiny": Sizes(layers=2, d_model=64, d_ff=128, num_heads=4, vocab_size=1000),
    "small": Sizes(layers=3, d_model=256, d_ff=1024, num_heads=4, vocab_size=8000),
    "base": Sizes(layers=6, d_model=512, d_ff=2048, num_heads=8, vocab_size=32_000),
    "big": Sizes(layers=6, d_model=1024, d_ff=4096, num_heads=16, vocab_size=32_000),
}
OURS = TRAINERS[0]
ALIKE = 0.01
"""Parameters that a rival may have more or fewer: an output bias, a norm at the end of a stack, none in attention."""


@dataclass
class Entrant:
    """Who takes part, and what was measured of it."""

    label: str
    parameters: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    speeds: list[float] = field(default_factory=list)
    """Target tokens a second, of each turn."""
    milliseconds: list[float] = field(default_factory=list)
    memory_gib: float = 0.0
    loss: float = 0.0
    problem: str = ""
    process: Process | None = None
    limit: float = 0.0
    """Seconds after which it counts as hanging."""

    @property
    def speed(self) -> float:
        return statistics.median(self.speeds) if self.speeds else 0.0

    def ask(self, **request: Any) -> dict[str, Any]:
        """Its answer, empty if it has failed, now or before."""
        self.send(**request)
        return self.answer()

    def send(self, **request: Any) -> None:
        if self.process and not self.problem:
            self.process.send(**request)

    def answer(self) -> dict[str, Any]:
        if not self.process or self.problem:
            return {}
        try:
            return self.process.answer(seconds=self.limit)
        except ToolkitError as error:
            self.problem = str(error)
            print(f"{self.label}: {error}", flush=True)
            return {}


@contextlib.contextmanager
def started(
    contestants: list[Contestant], arguments: argparse.Namespace, *, sizes: Sizes, lengths: list[Any], dropout: float
) -> Iterator[list[Entrant]]:
    """Everybody who is installed, built, given these batches and warmed up on each of them, all at the same time."""
    device, half = arguments.worker_device, arguments.half
    with tempfile.TemporaryDirectory() as logs, contextlib.ExitStack() as stack:
        found = []
        for contestant in contestants:
            entrant = Entrant(contestant.label, limit=arguments.limit)
            found.append(entrant)
            python = contestant.python(arguments.environments)
            if python is None:
                entrant.problem = "not installed"
                continue
            log = Path(logs) / f"{contestant.label}.log"
            entrant.process = Process(contestant, python, log=log, threads=1 if device == "cpu" else None)
            stack.callback(_close, entrant, log)
            options = {"dropout": dropout, **contestant.options}
            where = {"folder": None, "device": device, "half": half, "options": options}
            entrant.send(cmd="build", sizes=asdict(sizes), **where)
        for entrant in found:
            if answer := entrant.answer():
                entrant.parameters, entrant.versions = answer["parameters"], answer["versions"]
            entrant.send(cmd="batches", sizes=asdict(sizes), device=device, lengths=lengths)
        for entrant in found:
            entrant.answer()
            entrant.send(cmd="train", batches=list(range(len(lengths))), seconds=0)
            if device == "cpu":  # which has no room for all of them at once
                _wait_for_warm_up(entrant)
        if device != "cpu":
            for entrant in found:
                _wait_for_warm_up(entrant)
        yield found


def _wait_for_warm_up(entrant: Entrant) -> None:
    if answer := entrant.answer():
        print(f"{entrant.label}: {entrant.parameters:,} parameters, warmed up in {answer['wall']:.1f} s", flush=True)


def _close(entrant: Entrant, log: Path) -> None:
    """End its process; of one that failed show the end of what it said."""
    assert entrant.process, "only what was started is closed"
    entrant.process.close()
    if entrant.problem:
        print(f"--- {entrant.label}\n{log.read_text(errors='replace')[-3000:]}", flush=True)


def padded_lengths(pairs: np.ndarray, *, tokens: int, count: int) -> list[list[list[int]]]:
    """Batches of pairs of similar lengths, at most so many tokens with padding on the larger side, short to long.

    The number of pairs is a multiple of 8, which toolkits make it for tensor cores.
    """
    ordered = pairs[np.argsort(pairs.max(1), kind="stable")].astype(int)
    widths, batches, begin = ordered.max(1), [], 0
    while begin < len(ordered):
        rows = np.arange(1, len(ordered) - begin + 1)
        fitting = int((rows * widths[begin:] <= tokens).sum())
        end = begin + max(8, fitting // 8 * 8)
        batches.append(ordered[begin:end].tolist())
        begin = end
    chosen = np.linspace(0, len(batches) - 1, min(count, len(batches)) + 2).round().astype(int)[1:-1]
    return [batches[number] for number in chosen]


def scheduled_lengths(pairs: np.ndarray, *, tokens: int, count: int) -> list[list[list[int]]]:
    """The first batches that our own schedule makes."""
    pairs = pairs.astype(np.int64)
    schedule = Schedule(Lengths(pairs[:, 0], pairs[:, 1]), source_budget=tokens, target_budget=tokens, seed=1)
    return [pairs[schedule.batch(step)].tolist() for step in range(count)]


def shape_in_words(sizes: Sizes) -> str:
    layers = f"{sizes.layers}+{sizes.layers} layers"
    return f"{layers}, {sizes.d_model}, {sizes.d_ff}, {sizes.num_heads} heads, {sizes.vocab_size:,} words"


def flops_per_token(sizes: Sizes, pairs: np.ndarray) -> float:
    """Operations of forward and backward for each target token of these sentences."""
    shape = ModelConfig(
        d_model=sizes.d_model,
        d_ff=sizes.d_ff,
        num_heads=sizes.num_heads,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
    )
    lengths = Lengths(pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64))
    return batch_flops(shape, vocab_size=sizes.vocab_size, lengths=lengths) / lengths.totals[1]


def rivals_turns(name: str, contestants: list[Contestant], arguments: argparse.Namespace) -> list[Entrant]:
    """Each rival's turns by the clock, A B C D A B C D; who fails among the others has another chance alone."""
    sizes = SIZES[name]
    lengths = padded_lengths(np.load(LENGTHS), tokens=arguments.tokens[0], count=arguments.batches)
    everything = list(range(len(lengths)))
    with started(contestants, arguments, sizes=sizes, lengths=lengths, dropout=0.1) as entrants:
        for turn in range(arguments.rounds):
            for entrant in entrants:
                if not turn:  # once more, now that the GPU is its own
                    entrant.ask(cmd="train", batches=everything, seconds=0)
                answer = entrant.ask(cmd="train", batches=everything, seconds=arguments.seconds)
                if answer:
                    entrant.speeds.append(answer["tokens"] / answer["wall"])
                    entrant.milliseconds.append(1e3 * answer["wall"] / answer["steps"])
                    entrant.memory_gib, entrant.loss = answer["memory_gib"], answer["loss"]
                    print(f"  {entrant.label}: {entrant.speeds[-1]:,.0f} tokens/s, loss {entrant.loss:.3f}", flush=True)
    if len(contestants) > 1:
        for number, (contestant, entrant) in enumerate(zip(contestants, entrants, strict=True)):
            if entrant.problem and entrant.process and not entrant.problem.startswith(NO_ANSWER):
                print(f"{entrant.label}: once more, alone", flush=True)
                entrants[number] = rivals_turns(name, [contestant], arguments)[0]
    return entrants


def our_entrant(
    label: str, corpus: Path, name: str, arguments: argparse.Namespace, *, scratch: Path, into: Entrant | None = None
) -> Entrant:
    """The real command, alone on the machine."""
    entrant = into or Entrant(label)
    preset = name if name in ("base", "big") else "base"
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            run = command_run(
                corpus,
                Path(folder) / "run",
                preset=preset,
                sizes=SIZES[name],
                device=arguments.worker_device,
                tokens=arguments.tokens[0],
                steps=arguments.our_steps,
            )
    except CommandError as error:
        entrant.problem = str(error)
        print(f"{label}: {error}", flush=True)
        return entrant
    entrant.parameters, entrant.memory_gib, entrant.loss = run.parameters, run.memory_gib, run.loss
    entrant.speeds.append(run.speed)
    entrant.milliseconds.append(statistics.median(run.milliseconds))
    spread = f"windows {min(run.speeds):,.0f}–{max(run.speeds):,.0f}"
    print(f"  {label}: {run.speed:,.0f} tokens/s ({spread}), {run.seconds:.0f} s in all", flush=True)
    return entrant


def clock_table(name: str, arguments: argparse.Namespace) -> list[str]:
    """On CUDA: by the clock on the wall, ours through the real command."""
    sizes, began = SIZES[name], time.perf_counter()
    pairs = np.load(LENGTHS)
    rivals = [contestant for contestant in chosen(name, arguments) if contestant is not OURS]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        corpus = arguments.corpus
        if corpus is None:
            corpus = scratch / "corpus"
            write_corpus(corpus, vocabulary=sizes.vocab_size)
        found = Corpus(corpus, verify=False).manifest.vocabularies.source.size
        assert found == sizes.vocab_size, (
            f"{corpus} has {found:,} subwords; {name} is measured with {sizes.vocab_size:,}"
        )
        ours = our_entrant("heedful train", corpus, name, arguments, scratch=scratch)
        entrants = [ours, *rivals_turns(name, rivals, arguments)]
        if arguments.compiled:  # apart, for the GPU's memory does not hold everybody
            entrants += rivals_turns(name, [c for c in COMPILED if name != "big" or "Eole" in c.label], arguments)
        for _ in range(arguments.our_runs - 1):
            our_entrant("heedful train", corpus, name, arguments, scratch=scratch, into=ours)
        limit = arguments.peak / flops_per_token(sizes, pairs)
        lines = [
            f"{name}: {shape_in_words(sizes)}, dropout 0.1, label smoothing 0.1. Ours: {arguments.tokens[0]:,} tokens "
            f"a side, packed; {arguments.our_runs} time(s) {arguments.our_steps} steps, median of the windows of the "
            f"second half. Rivals: {arguments.batches} shapes of at most {arguments.tokens[0]:,} tokens with padding "
            f"on the larger side, {arguments.rounds} turns of {arguments.seconds:g} s. At {arguments.peak / 1e12:,.0f} "
            f"TFLOP/s the limit is {limit:,.0f} target tokens/s.",
            "",
            *rows(entrants, limit=limit),
        ]
        if arguments.short:
            stored = Corpus(arguments.short, verify=False)
            both = np.stack([stored.lengths.source, stored.lengths.target], 1)
            shape = Sizes(**{**asdict(sizes), "vocab_size": stored.manifest.vocabularies.source.size})
            limit = arguments.peak / flops_per_token(shape, both)
            short = our_entrant("heedful train", arguments.short, name, arguments, scratch=scratch)
            lines += [
                "",
                f"The same on short sentences ({both[:, 0].mean():.1f} and {both[:, 1].mean():.1f} tokens a side, "
                f"{shape.vocab_size:,} words), where the limit is {limit:,.0f}:",
                "",
                *rows([short], limit=limit),
            ]
    return [*lines, "", f"All of it took {time.perf_counter() - began:.0f} s."]


def processor_table(name: str, arguments: argparse.Namespace) -> list[str]:
    """On a CPU: by processor time in one thread, batch by batch."""
    sizes, pairs = SIZES[name], np.load(LENGTHS)[:20_000]
    peak = matrix_product_speed()
    limit = peak / flops_per_token(sizes, pairs)
    lines = [
        f"{name}: {shape_in_words(sizes)}, float32, dropout 0, label smoothing 0.1, fused Adam. {arguments.batches} "
        f"batches, {arguments.rounds} rounds, in turns batch by batch; median of the rounds. Target tokens per second "
        f"of processor time, one thread. Matrix products reach {peak / 1e9:.0f} GFLOP/s: the limit is {limit:,.0f}.",
    ]
    for tokens in arguments.tokens:
        lengths = scheduled_lengths(pairs, tokens=tokens, count=arguments.batches)
        with started(chosen(name, arguments), arguments, sizes=sizes, lengths=lengths, dropout=0.0) as entrants:
            for _ in range(arguments.rounds):
                sums = {entrant.label: np.zeros(3) for entrant in entrants}
                for number in range(len(lengths)):
                    for entrant in entrants:
                        if answer := entrant.ask(cmd="train", batches=[number], seconds=0):
                            sums[entrant.label] += answer["tokens"], answer["cpu"], answer["steps"]
                            entrant.loss = answer["loss"]
                for entrant in entrants:
                    if not entrant.problem:
                        count, seconds, steps = sums[entrant.label]
                        entrant.speeds.append(count / seconds)
                        entrant.milliseconds.append(1e3 * seconds / steps)
        lines += ["", f"{tokens:,} tokens a batch:", "", *rows(entrants, limit=limit)]
        print("\n".join(lines[-len(entrants) - 4 :]), flush=True)
    return lines


def matrix_product_speed(size: int = 1024) -> float:
    """Operations per second of processor time that large float32 products reach in one thread."""
    import torch

    torch.set_num_threads(1)
    a, b = torch.rand(size, size), torch.rand(size, size)
    speeds = []
    for _ in range(12):
        began = time.process_time()
        torch.mm(a, b)
        speeds.append(2 * size**3 / (time.process_time() - began))
    return max(speeds)


def rows(entrants: list[Entrant], *, limit: float) -> list[str]:
    """A line for each; the ratio is to the fastest that is not ours."""
    best = max((entrant.speed for entrant in entrants if not entrant.label.startswith("heedful")), default=0.0)
    counts = [entrant.parameters for entrant in entrants if entrant.speeds]
    if counts and max(counts) > (1 + ALIKE) * min(counts):
        print(f"the models are not alike: {counts}", flush=True)
    titles = ["", "ms a step", "target tokens/s", "lowest–highest", "to the best rival", "of the limit", "parameters"]
    titles += ["GiB", "loss", "versions"]
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * 8 + "---|"]
    for entrant in entrants:
        if not entrant.speeds:
            lines.append(f"| {entrant.label} | failed: {entrant.problem} |" + " |" * 8)
            continue
        cells = [
            entrant.label,
            f"{statistics.median(entrant.milliseconds):,.1f}",
            f"{entrant.speed:,.0f}",
            f"{min(entrant.speeds):,.0f}–{max(entrant.speeds):,.0f}",
            f"{entrant.speed / best:.2f}" if best else "",
            f"{entrant.speed / limit:.0%}",
            f"{entrant.parameters:,}",
            f"{entrant.memory_gib:.1f}" if entrant.memory_gib else "",
            f"{entrant.loss:.2f}",
            ", ".join(f"{package} {version}" for package, version in entrant.versions.items()),
        ]
        problem = f" (then failed: {entrant.problem})" if entrant.problem else ""
        lines.append("| " + " | ".join(cells) + problem + " |")
    return lines


def chosen(size: str, arguments: argparse.Namespace) -> list[Contestant]:
    """Those that were asked for; OpenNMT-py on a CPU alone, and for the big model the two fastest rivals."""

    def wanted(contestant: Contestant) -> bool:
        if arguments.only:
            return any(label.lower() in contestant.label.lower() for label in arguments.only)
        if arguments.device == "cuda" and contestant.label == "OpenNMT-py":
            return False
        return size != "big" or contestant.label in ("heedful", "Eole", "Sockeye")

    return [contestant for contestant in TRAINERS if wanted(contestant)]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", type=Path, metavar="FOLDER", help="make the rivals' environments there, and end")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="where --setup made them")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of names: those alone")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), help="small on a CPU, base on CUDA")
    parser.add_argument("--tokens", type=int, nargs="+", help="of a batch, each side; on a CPU several may be given")
    parser.add_argument("--batches", type=int, help="batches of a round: 4 on a CPU, 20 shapes on CUDA")
    parser.add_argument("--rounds", type=int, help="turns of each: 3 on a CPU, 2 on CUDA")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a turn on CUDA")
    parser.add_argument("--corpus", type=Path, help="what ours trains on, made by speed_workload.py; else it is made")
    parser.add_argument("--short", type=Path, metavar="CORPUS", help="one more of ours, on a corpus of short sentences")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds after which a rival counts as hanging")
    parser.add_argument("--compiled", action="store_true", help="on CUDA rivals compiled by torch.compile as well")
    parser.add_argument("--our-runs", type=int, default=1, help="2: ours once before the rivals and once after them")
    parser.add_argument("--our-steps", type=int, default=400)
    parser.add_argument("--peak", type=float, default=787e12, help="operations a second of large products on the GPU")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--rehearse", action="store_true", help=argparse.SUPPRESS)  # what --device cuda does, on a CPU
    arguments = parser.parse_args()
    on_cuda = arguments.device == "cuda" or arguments.rehearse
    arguments.worker_device = "cpu" if arguments.rehearse else arguments.device
    arguments.half = on_cuda
    arguments.sizes = arguments.sizes or (["base"] if on_cuda else ["small"])
    arguments.tokens = arguments.tokens or ([25_600] if on_cuda else [1024, 2048])
    arguments.batches = arguments.batches or (20 if on_cuda else 4)
    arguments.rounds = arguments.rounds or (2 if on_cuda else 3)
    return arguments


def main() -> None:
    arguments = parsed()
    if arguments.setup:
        set_up(arguments.setup)
        return
    on_cuda = arguments.device == "cuda" or arguments.rehearse
    command = " ".join(["python", "benchmarks/train.py", *sys.argv[1:]])
    lines = [
        f"# Training on {'a GPU' if on_cuda else 'one CPU thread'}",
        "",
        described("torch"),
        "",
        f"`{command}`",
        "",
    ]
    if arguments.device == "cuda":
        import torch

        lines += [f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}", ""]
    for name in arguments.sizes:
        lines += [*(clock_table if on_cuda else processor_table)(name, arguments), ""]
    text = "\n".join(lines).rstrip() + "\n"
    print(text, end="")
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
