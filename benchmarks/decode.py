"""Beam search: ours and the rivals in one run, each in its own environment and its own best batch size.

    python benchmarks/decode.py --setup rivals-env                       # once: the rivals' environments, with pip
    python benchmarks/decode.py --environments rivals-env --output benchmarks/results/NAME.md
    python benchmarks/decode.py --environments rivals-env --model RUN --source test.en --reference test.de
    python benchmarks/decode.py --device cuda --sizes base --batches 256

First table, random weights: sources of 32 tokens, beam 4, and exactly 32 steps of the decoder for each sentence,
whoever decodes; generated tokens of the best hypothesis alone are counted, and beside them what one sentence takes that
is alone. Second table, with ``--model``: the weights of a run given to those that can take them, sentences that end by
themselves, and BLEU.

On a CPU each has one thread, and what counts is the processor time of its process: on a shared machine the clock on the
wall says nothing. On CUDA it is the wall clock, between synchronisations. Everybody is warmed up at each batch size,
and they take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import numpy as np
from decode_real_weights import natural_table
from hardware import described
from rivals.contestants import CONTESTANTS, OURS, Contestant, Process, ToolkitError, set_up
from rivals.engine import FIRST_WORD, Search, Sizes

SIZES = {
    "small": Sizes(layers=3, d_model=256, d_ff=1024, num_heads=4, vocab_size=8000),
    "base": Sizes(layers=6, d_model=512, d_ff=2048, num_heads=8, vocab_size=32_000),
}
TOKENS = 32
GAIN = 1.03
"""A larger batch is tried as long as the last one was so much faster."""
ALIKE = 0.02
"""Parameters that a rival may have more or fewer: some have an output bias, or no biases in attention."""


@dataclass
class Entrant:
    """A contestant that runs, and what was measured of it."""

    contestant: Contestant
    process: Process
    parameters: int
    versions: dict[str, str]
    batch: int = 0
    speeds: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    """Milliseconds of sentences decoded one by one."""

    @property
    def speed(self) -> float:
        return statistics.median(self.speeds)


@contextlib.contextmanager
def entrants(
    arguments: argparse.Namespace, *, build: dict[str, Any], real_weights: bool = False
) -> Iterator[list[Entrant]]:
    """Everybody who is installed and can be built; who is not is named."""
    found: list[Entrant] = []
    with tempfile.TemporaryDirectory() as logs, contextlib.ExitStack() as stack:
        for contestant in chosen(arguments.only):
            if real_weights and not contestant.real_weights:
                continue
            python = contestant.python(arguments.environments)
            if python is None:
                print(f"{contestant.label}: not installed, left out", flush=True)
                continue
            log = Path(logs) / f"{contestant.label}.log"
            process = Process(contestant, python, log=log, threads=1 if arguments.device == "cpu" else None)
            stack.callback(process.close)
            where = {"device": arguments.device, "half": arguments.device != "cpu", "options": contestant.options}
            try:
                answer = process.ask(cmd="build", **build, **where)
            except ToolkitError as error:
                print(f"{contestant.label}: left out, {error}", flush=True)
                continue
            found.append(Entrant(contestant, process, answer["parameters"], answer["versions"]))
        yield found


def chosen(labels: list[str]) -> list[Contestant]:
    def wanted(contestant: Contestant) -> bool:
        return any(label.lower() in contestant.label.lower() for label in labels)

    return [contestant for contestant in CONTESTANTS if not labels or wanted(contestant)]


def speed(entrant: Entrant, sources: list[list[int]], *, batch: int, device: str) -> float:
    """Tokens of the best hypotheses per second."""
    search = Search(beam_size=4, batch=batch, forced_steps=TOKENS)
    answer = entrant.process.ask(cmd="decode", sources=sources, search=asdict(search))
    assert set(answer["steps"]) == {TOKENS}, f"{entrant.contestant.label} took {set(answer['steps'])} steps"
    return TOKENS * len(sources) / answer["cpu" if device == "cpu" else "wall"]


def milliseconds_alone(entrant: Entrant, sources: list[list[int]], *, device: str) -> list[float]:
    """Of each sentence by itself, in a batch of one; the first two are for warming up."""
    times = [1000 * TOKENS / speed(entrant, [source], batch=1, device=device) for source in sources]
    return times[2:]


def find_batch(entrant: Entrant, sources: list[list[int]], arguments: argparse.Namespace) -> None:
    """Its best batch size; a toolkit that fails has none."""
    best = 0.0
    for batch in sorted(arguments.batches):
        if batch > len(sources):
            break
        try:
            for given in (sources[:batch], sources):
                found = speed(entrant, given, batch=batch, device=arguments.device)
        except (ToolkitError, AssertionError) as error:
            print(f"{entrant.contestant.label}: left out at batch {batch}, {error}", flush=True)
            break
        print(f"  {entrant.contestant.label}, batch {batch}: {found:,.0f} tokens/s", flush=True)  # pyright: ignore[reportPossiblyUnboundVariable]
        better, best, entrant.batch = found > GAIN * best, *max((best, entrant.batch), (found, batch))
        if not better:
            break


def forced_table(name: str, arguments: argparse.Namespace) -> list[str]:
    """Equal lengths, random weights."""
    sizes = SIZES[name]
    draw = random.Random(1)
    words = [
        [draw.randrange(FIRST_WORD, sizes.vocab_size) for _ in range(TOKENS - 1)] for _ in range(arguments.sentences)
    ]
    with entrants(arguments, build={"sizes": asdict(sizes), "folder": None}) as running:
        for entrant in running:
            find_batch(entrant, words, arguments)
        running = [entrant for entrant in running if entrant.batch]
        for _ in range(arguments.rounds):
            for entrant in running:
                entrant.speeds.append(speed(entrant, words, batch=entrant.batch, device=arguments.device))
        for entrant in running:
            entrant.alone = milliseconds_alone(entrant, words[: 2 + arguments.alone], device=arguments.device)
    counts = [entrant.parameters for entrant in running]
    assert not counts or max(counts) <= (1 + ALIKE) * min(counts), f"other models: {counts}"
    if not running:
        return [f"Nobody could decode {name}."]
    unit = "per second of processor time, one thread, float32 unless it says int8"
    if arguments.device != "cpu":
        unit = "per second, bfloat16 (fairseq: float16)"
    head = (
        f"{name}: {sizes.layers}+{sizes.layers} layers, {sizes.d_model}, {sizes.d_ff}, {sizes.num_heads} heads, "
        f"{sizes.vocab_size:,} words, random weights. {arguments.sentences} sources of {TOKENS} tokens, beam 4, "
        f"exactly {TOKENS} steps each. Generated tokens of the best hypothesis {unit}; median of {arguments.rounds} "
        "rounds in turns, lowest and highest beside it; each in the best of the batch sizes tried. Alone: milliseconds "
        "for one sentence in a batch of one, median and 95th percentile."
    )
    return [head, "", *rows(running)]


def rows(running: list[Entrant]) -> list[str]:
    """A line for each, ours first, with the ratio to the fastest rival that is built on torch."""
    bars = [entrant.speed for entrant in running if entrant.contestant.on_torch and entrant.contestant is not OURS]
    lines = [
        "| | tokens/s | | to the fastest on torch | batch | alone, ms | parameters | versions |",
        "|---|---:|---|---:|---:|---:|---:|---|",
    ]
    for entrant in running:
        spread = f"{min(entrant.speeds):,.0f}–{max(entrant.speeds):,.0f}"
        ratio = f"{entrant.speed / max(bars):.2f}" if bars else ""
        versions = ", ".join(f"{package} {version}" for package, version in entrant.versions.items())
        alone = "{:.1f}, {:.1f}".format(*np.percentile(entrant.alone, (50, 95))) if entrant.alone else ""
        cells = (entrant.contestant.label, f"{entrant.speed:,.0f}", spread, ratio, entrant.batch, alone)
        lines.append("| " + " | ".join(map(str, (*cells, f"{entrant.parameters:,}", versions))) + " |")
    return lines


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", type=Path, metavar="FOLDER", help="make the rivals' environments there, and end")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="where --setup made them")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of names: those alone")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--sentences", type=int, help="as many as the largest batch, unless it says otherwise")
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", type=int, default=20, help="sentences decoded one by one")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a run whose weights are given to all that take them")
    parser.add_argument("--source", type=Path, help="text to translate with it")
    parser.add_argument("--reference", type=Path, help="its translation, for BLEU")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    arguments.sentences = arguments.sentences or max(arguments.batches)
    if arguments.model and not arguments.source:
        parser.error("--model needs --source, a text to translate")
    return arguments


def main() -> None:
    arguments = parsed()
    if arguments.setup:
        set_up(arguments.setup)
        return
    lines = [f"# Beam search on {'one CPU thread' if arguments.device == 'cpu' else 'a GPU'}", "", described(), ""]
    if arguments.device == "cuda":
        import torch

        lines += [f"{torch.cuda.get_device_name()}, torch {torch.__version__}", ""]
    for name in arguments.sizes:
        lines += [*forced_table(name, arguments), ""]
    if arguments.model:
        lines += [*natural_table(arguments, entrants), ""]
    text = "\n".join(lines).rstrip() + "\n"
    print(text, end="")
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
