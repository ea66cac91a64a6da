"""How long people wait for `heedful serve`, beside rivals; and whether it keeps memory.

    python benchmarks/serve.py --output benchmarks/results/serve_MACHINE_DATE.md
    python benchmarks/serve.py --memory 50000 --output benchmarks/results/serve_memory_MACHINE_DATE.md

The first sends requests at given shares of what the library translates in one batch with PyTorch, and to servers that
compute in int8 also of what it does with CTranslate2, whether earlier ones are answered or not (open loop, a Poisson
process). It prints for each rate sentences a second and the median, the 95th and the 99th percentile of the seconds to
an answer; then as much as the server can take, as a share of the library with the same engine. Most requests are one
sentence, some a few, one in ten a page of them. Beside `heedful serve` stands CTranslate2 behind a front of Starlette
and uvicorn: whatever has come while a batch is translated is the next batch. Every server is a process of its own with
the same model, beam and threads. Two cores take twelve minutes; nothing else may run.
LibreTranslate's own server is not among them: version 1.9.6 installs, but it fetches its models from its authors when
it starts, and without them, on a machine without the network, it ends with an IndexError.

The second sends that many requests of all kinds, right and wrong ones, some of which are given up, and draws the
resident memory of the server. With `--model` a small run of your own it takes minutes, not hours.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).parent))
from hardware import described
from serve_memory import measure_memory

import heedful

SENTENCES = (
    "A dog runs through the snow.",
    "Two men are talking about a plan that nobody else has seen.",
    "Where is the station?",
    "The committee met on Tuesday, but it could not agree on anything.",
    "She has never been to the sea, and neither has her brother.",
    "Please close the door.",
    "I would like to know how much this costs and when it can be delivered.",
    "The old house at the end of the street was sold last year.",
    "Children are playing football in the park.",
    "It is raining.",
    "We should have left an hour earlier, because the traffic is terrible at this time of the day.",
    "Thank you very much!",
)
SIZES = (1, 1, 1, 1, 1, 1, 1, 2, 4, 12)
"""Sentences of a request, each as probable."""
SHARES = {"cpu": (0.25, 0.5, 0.75, 0.9), "cuda": (0.02, 0.05, 0.1, 0.2)}
"""Of what the library reaches, for the rates that are asked for: on a GPU this one client cannot ask for more."""
AT_ONCE = 128
"""Requests that are open while the server is saturated."""
SLOWEST = 600.0


@dataclass(frozen=True)
class Outcome:
    """What people saw at a rate, in sentences and seconds; saturated: as many as it takes."""

    server: str
    asked: float | None
    answered: float
    median: float
    p95: float
    p99: float
    refused: int

    @property
    def row(self) -> str:
        asked = "saturated" if self.asked is None else f"{self.asked:.1f}"
        waits = " | ".join(f"{one:.2f}" for one in (self.median, self.p95, self.p99))
        return f"| {self.server} | {asked} | {self.answered:.1f} | {waits} | {self.refused} |"


@dataclass(frozen=True)
class Plan:
    """What is compared."""

    model: str
    device: str
    threads: int
    seconds: float
    workers: Sequence[int] = ()

    @property
    def shares(self) -> tuple[float, ...]:
        return SHARES[self.device]

    @property
    def servers(self) -> dict[str, list[str]]:
        """The commands that start each, and print where."""
        where = ["--device", self.device, "--threads", str(self.threads)]
        own = [sys.executable, "-m", "heedful", "serve", "--model", self.model, "--port", "0", "--quiet", *where]
        own += ["--queue-tokens", "1000000000"]
        rival = [sys.executable, __file__, "--model", self.model, *where, "--rival"]
        if self.workers:
            return {f"heedful --workers {number}": [*own, "--workers", str(number)] for number in self.workers}
        found = {"heedful": own}
        if self.device == "cpu":
            found["heedful --engine torch"] = [*own, "--engine", "torch"]
        for kind in ("float32", "int8") if self.device == "cpu" else ("bfloat16",):
            found[f"static batches, CTranslate2 in {kind}"] = [*rival, kind]
        if self.device == "cuda":
            found["static batches, Hugging Face Marian"] = [*rival, "marian"]
        return found

    def engine(self, server: str) -> str:
        """The engine of the library whose speed a server's is compared with."""
        return "ctranslate2" if self.device == "cpu" and "torch" not in server and "float32" not in server else "torch"

    def library(self, engine: str) -> float:
        """Sentences a second of the library, with all of them in one call."""
        translator = heedful.load(self.model, device=self.device, threads=self.threads, engine=engine)
        translator.translate(SENTENCES)
        lines, took = list(SENTENCES) * 4, 0.0
        while took < self.seconds / 2:
            lines, began = lines * 2, time.perf_counter()
            translator.translate(lines)
            took = time.perf_counter() - began
        return len(lines) / took


class ServerError(Exception):
    """A server ended before it said where it is."""


@contextlib.contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The address of a server and its process id; it ends with the block."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
                break
        else:
            raise ServerError(f"{' '.join(command)} did not start")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield found[0], process.pid
        process.terminate()


class Client:
    """Somebody who asks, and what they saw."""

    def __init__(self, url: str) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE)
        self.http = httpx.AsyncClient(base_url=url, timeout=SLOWEST, limits=limits)
        self.waits: list[float] = []
        self.sentences = self.refused = 0

    async def ask(self, texts: Sequence[str]) -> None:
        began = time.perf_counter()
        answer = await self.http.post("/api/translate", json={"text": texts})
        if answer.status_code == 200:
            self.waits.append(time.perf_counter() - began)
            self.sentences += len(texts)
        else:
            self.refused += 1


def requests(seed: int) -> Iterator[tuple[str, ...]]:
    """The sentences of each request, for ever."""
    rng = random.Random(seed)
    while True:
        yield tuple(rng.choices(SENTENCES, k=rng.choice(SIZES)))


async def at_rate(client: Client, rate: float, seconds: float) -> None:
    """Send sentences at a rate, at random times."""
    rng, come = random.Random(1), requests(2)
    began, due, tasks = time.perf_counter(), 0.0, []
    while (due := due + rng.expovariate(rate * len(SIZES) / sum(SIZES))) < seconds:
        await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
        tasks.append(asyncio.create_task(client.ask(next(come))))
    await asyncio.gather(*tasks)


async def saturated(client: Client, sentences: float) -> None:
    """Keep so many requests open that the server never waits, until so many sentences are asked for."""
    come, left = requests(3), sentences

    async def keep_asking() -> None:
        nonlocal left
        while left > 0:
            texts = next(come)
            left -= len(texts)
            await client.ask(texts)

    await asyncio.gather(*(keep_asking() for _ in range(AT_ONCE)))


async def outcome(server: str, url: str, *, rate: float | None, sentences: float, seconds: float) -> Outcome:
    client, began = Client(url), time.perf_counter()
    await (saturated(client, sentences) if rate is None else at_rate(client, rate, seconds))
    took = time.perf_counter() - began
    await client.http.aclose()
    cuts = statistics.quantiles(client.waits, n=100) if len(client.waits) > 1 else [float("nan")] * 99
    return Outcome(server, rate, client.sentences / took, cuts[49], cuts[94], cuts[98], client.refused)


def compare(plan: Plan) -> Iterator[str]:
    """The lines of the report, as they come."""
    engines = ["torch", "ctranslate2"] if plan.device == "cpu" else ["torch"]
    library = {engine: plan.library(engine) for engine in engines}
    packages = described("torch", "ctranslate2", "starlette", "uvicorn")
    yield f"# heedful serve and rivals\n\n`python benchmarks/serve.py`: {packages}."
    yield f"{plan.model} on {plan.device}, {plan.threads} thread(s), {plan.seconds:g} s at each rate.\n"
    speeds = ", ".join(f"{speed:.1f} with {engine}" for engine, speed in library.items())
    yield f"Sentences a second of the library, all in one call: {speeds}.\n"
    yield f"| server | sentences/s asked | answered | median s | p95 | p99 | refused |\n|---|{6 * '---:|'}"
    best: dict[str, float] = {}
    for name, command in plan.servers.items():
        same = library[plan.engine(name)]
        try:
            with started(command) as (url, _):
                asyncio.run(outcome(name, url, rate=5.0, sentences=0, seconds=2.0))  # warm
                rates = sorted({share * speed for share in plan.shares for speed in (library["torch"], same)})
                for rate in (*rates, None):
                    likely = same * plan.seconds
                    found = asyncio.run(outcome(name, url, rate=rate, sentences=likely, seconds=plan.seconds))
                    yield found.row
                    best[name] = found.answered
        except ServerError:
            yield f"| {name} | did not start | | | | | |"
    yield "\n| saturated | sentences/s | of the library with the same engine |\n|---|---:|---:|"
    for name, speed in best.items():
        share = f"{speed / library[plan.engine(name)]:.0%}" if name.startswith("heedful") else ""
        yield f"| {name} | {speed:.1f} | {share} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", default="en-de-small")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=18, help="of each rate")
    parser.add_argument("--workers", type=int, nargs="*", default=(), help="compare these numbers, and no rivals")
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="send N requests, and watch the memory")
    parser.add_argument("--rival", metavar="KIND", help="be the rival, computing in this kind of number")
    parser.add_argument("--output", type=Path, help="a file of Markdown")
    chosen = parser.parse_args()
    plan = Plan(chosen.model, chosen.device, chosen.threads, chosen.seconds, chosen.workers)
    if chosen.rival:
        from serve_rival import serve_static_batches

        serve_static_batches(plan.model, chosen.rival, device=plan.device, threads=plan.threads)
    elif chosen.memory:
        with started(plan.servers.get("heedful --engine torch", plan.servers["heedful"])) as (url, pid):
            write(measure_memory(url, pid, chosen.memory, picture=chosen.output), chosen.output)
    else:
        write(compare(plan), chosen.output)


def write(lines: Iterator[str], output: Path | None) -> None:
    written = []
    for line in lines:
        print(line, flush=True)
        written.append(line)
    if output is not None:
        output.write_text("\n".join(written) + "\n")


if __name__ == "__main__":
    main()
