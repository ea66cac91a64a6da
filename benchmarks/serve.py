"""How long people wait for `heedful serve`, beside rivals; and whether it keeps memory.

    python benchmarks/serve.py --libretranslate PYTHON --output benchmarks/results/serve_MACHINE_DATE.md
    python benchmarks/serve.py --device cuda --fronts 4 8 --output benchmarks/results/serve_MACHINE_DATE.md
    python benchmarks/serve.py --stand-in --fronts 2
    python benchmarks/serve.py --memory 50000 --output benchmarks/results/serve_memory_MACHINE_DATE.md

The first sends requests at given shares of what the library translates in one batch with PyTorch, and to servers that
compute in int8 also of what it does with CTranslate2, whether earlier ones are answered or not (open loop, a Poisson
process). It prints for each rate sentences a second and the median, the 95th and the 99th percentile of the seconds to
an answer; then as much as the server can take, as a share of the library with the same engine, also where every request
has 32 sentences, as programs that translate documents ask. Most requests are one sentence, some a few, one in ten a
page of them. On a GPU several processes ask (`--clients`), since one cannot ask for all that a server can answer, and
`heedful serve` is tried with fronts too (`--fronts`). Beside it stands CTranslate2 behind a front of Starlette and
uvicorn: whatever has come while a batch is translated is the next batch. Every server is a process of its own with the
same model, beam and threads. Two cores take twenty minutes; nothing else may run.
LibreTranslate's own server (`pip install libretranslate protobuf spacy` in an environment of its own, whose Python
--libretranslate names) gets our models too, since it cannot fetch its own without the network; it is asked in its own
interface, which `heedful serve` has as well: that row has "as LibreTranslate".

With `--stand-in` there is no model but a sleep in its place, of as long as a step takes on a fast GPU: what is left is
what everything around the model takes, and how much processor time that is in which process.

The last sends that many requests of all kinds, right and wrong ones, some of which are given up, and draws the
resident memory of the server. With `--model` a small run of your own it takes minutes, not hours.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

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
SHARES = {"cpu": (0.25, 0.5, 0.75, 0.9), "cuda": (0.05, 0.1, 0.2, 0.5, 0.75)}
"""Of what the library reaches, for the rates that are asked for."""
CLIENTS = {"cpu": 1, "cuda": 8}
"""Processes that ask."""
AT_ONCE = 128
"""Requests that are open while a server is saturated, for each of its fronts; of large ones an eighth."""
LARGE = 32
"""Sentences of a request of those who translate documents."""

_AS_LIBRETRANSLATE = "LibreTranslate"
_OURS = ("heedful", "stand-in")
_ON_TORCH = ("torch", "float32", "--fronts", "stand-in")


@dataclass(frozen=True)
class Outcome:
    """What people saw at a rate, in sentences and seconds; saturated: as many as it takes."""

    server: str
    asked: str
    answered: float
    median: float
    p95: float
    p99: float
    refused: int
    requests: int

    @property
    def row(self) -> str:
        waits = " | ".join(f"{one:.2f}" for one in (self.median, self.p95, self.p99))
        return f"| {self.server} | {self.asked} | {self.answered:.1f} | {waits} | {self.refused} |"


@dataclass(frozen=True)
class Plan:
    """What is compared."""

    model: str
    device: str
    threads: int
    seconds: float
    workers: Sequence[int] = ()
    fronts: Sequence[int] = ()
    clients: int = 1
    stand_in: bool = False
    libretranslate: str = ""
    only: Sequence[str] = ()

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
        if self.stand_in:
            stand_in = [sys.executable, str(Path(__file__).with_name("serve_stand_in.py")), self.model]
            return {"stand-in" + self._with(number): [*stand_in, str(number)] for number in (0, *self.fronts)}
        if self.workers:
            return {f"heedful --workers {number}": [*own, "--workers", str(number)] for number in self.workers}
        found = {"heedful": own}
        for number in self.fronts:
            found["heedful" + self._with(number)] = [*own, "--engine", "torch", "--fronts", str(number)]
        if self.device == "cpu":
            found["heedful --engine torch"] = [*own, "--engine", "torch"]
        if self.libretranslate:
            found[f"heedful, asked as {_AS_LIBRETRANSLATE}"] = own
            found[_AS_LIBRETRANSLATE] = [*rival, "libretranslate", "--libretranslate", self.libretranslate]
        for kind in ("float32", "int8") if self.device == "cpu" else ("bfloat16",):
            found[f"static batches, CTranslate2 in {kind}"] = [*rival, kind]
        if self.device == "cpu" and self.threads > 1:
            several = f"static batches, {self.threads} at a time, CTranslate2 in int8"
            found[several] = [*rival, "int8", "--rival-batches", str(self.threads)]
        if self.only:
            found = {name: command for name, command in found.items() if any(one in name for one in self.only)}
        if self.device == "cuda":
            found["static batches, Hugging Face Marian"] = [*rival, "marian"]
        return found

    @staticmethod
    def _with(fronts: int) -> str:
        return f" --fronts {fronts}" if fronts else ""

    def engine(self, server: str) -> str:
        """The engine of the library whose speed a server's is compared with."""
        return "ctranslate2" if self.device == "cpu" and not any(one in server for one in _ON_TORCH) else "torch"

    def library(self, engine: str) -> float:
        """Sentences a second of the library, with all of them in one call."""
        if self.stand_in:
            from serve_stand_in import stand_in_translator

            translator = stand_in_translator(self.model)
        else:
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
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise ServerError(f"{' '.join(command)} did not start")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        while True:  # some say where before they are there
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(found[1]))):
                break
            time.sleep(0.1)
        yield found[0] + "/", process.pid
        process.terminate()


class Client:
    """Somebody who asks, and what they saw."""

    def __init__(self, url: str, *, as_libretranslate: bool) -> None:
        self._port = int(url.rstrip("/").rpartition(":")[2])
        self._path = "/translate" if as_libretranslate else "/api/translate"
        self._direction = {"source": "en", "target": "de"} if as_libretranslate else {}
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.waits: list[float] = []
        self.sentences = self.refused = 0

    async def ask(self, texts: Sequence[str]) -> None:
        """By hand, since HTTP clients take as long as a server does."""
        field = "q" if self._direction else "text"
        began, body = time.perf_counter(), json.dumps({field: texts, **self._direction}).encode()
        head = f"POST {self._path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        head += f"content-length: {len(body)}"
        while True:
            is_new = not self._idle
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port) if is_new else self._idle.pop()
            try:
                writer.write(f"{head}\r\n\r\n".encode() + body)
                said = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(said.partition(b"content-length: ")[2].split()[0]))
                break
            except (OSError, asyncio.IncompleteReadError):  # it was idle for too long
                writer.close()
                if is_new:
                    raise
        self._idle.append((reader, writer))
        if said.split()[1] == b"200":
            self.waits.append(time.perf_counter() - began)
            self.sentences += len(texts)
        else:
            self.refused += 1
            await asyncio.sleep(0.01)

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()


def requests(seed: int, sizes: Sequence[int] = SIZES) -> Iterator[tuple[str, ...]]:
    """The sentences of each request, for ever."""
    rng = random.Random(seed)
    while True:
        yield tuple(rng.choices(SENTENCES, k=rng.choice(sizes)))


async def at_rate(client: Client, rate: float, seconds: float, *, seed: int) -> None:
    """Send sentences at a rate, at random times."""
    rng, come = random.Random(seed + 1), requests(seed + 2)
    began, due, tasks = time.perf_counter(), 0.0, []
    while (due := due + rng.expovariate(rate * len(SIZES) / sum(SIZES))) < seconds:
        await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
        tasks.append(asyncio.create_task(client.ask(next(come))))
    await asyncio.gather(*tasks)


async def saturated(client: Client, seconds: float, *, seed: int, sizes: Sequence[int], at_once: int) -> None:
    """Keep so many requests open that the server never waits."""
    come, end = requests(seed + 3, sizes), time.perf_counter() + seconds

    async def keep_asking() -> None:
        while time.perf_counter() < end:
            await client.ask(next(come))

    await asyncio.gather(*(keep_asking() for _ in range(at_once)))


@dataclass(frozen=True)
class Asking:
    """What one process asks for. ``rate``: of sentences; 0: as many as there are answers, ``at_once`` open."""

    url: str
    seconds: float
    rate: float = 0.0
    sizes: Sequence[int] = SIZES
    at_once: int = AT_ONCE
    seed: int = 0
    as_libretranslate: bool = False

    async def seen(self) -> dict[str, Any]:
        client, began = Client(self.url, as_libretranslate=self.as_libretranslate), time.perf_counter()
        if self.rate:
            await at_rate(client, self.rate, self.seconds, seed=self.seed)
        else:
            await saturated(client, self.seconds, seed=self.seed, sizes=self.sizes, at_once=self.at_once)
        took = time.perf_counter() - began
        client.close()
        return {
            "waits": client.waits,
            "sentences": client.sentences,
            "refused": client.refused,
            "speed": client.sentences / took,
        }


def outcome(server: str, asked: str, asking: Asking, *, clients: int) -> Outcome:
    """What people saw who asked for this from so many processes."""
    if clients == 1:
        seen = [asyncio.run(asking.seen())]
    else:
        shares = [
            replace(asking, rate=asking.rate / clients, at_once=max(1, asking.at_once // clients), seed=10 * number)
            for number in range(clients)
        ]
        begun = [
            subprocess.Popen(
                [sys.executable, __file__, "--ask", json.dumps(asdict(share))], stdout=subprocess.PIPE, text=True
            )
            for share in shares
        ]
        seen = [json.loads(process.communicate()[0]) for process in begun]
    waits = [wait for one in seen for wait in one["waits"]]
    cuts = statistics.quantiles(waits, n=100) if len(waits) > 1 else [float("nan")] * 99
    refused = sum(one["refused"] for one in seen)
    return Outcome(server, asked, sum(one["speed"] for one in seen), cuts[49], cuts[94], cuts[98], refused, len(waits))


def processor_seconds(pid: int) -> tuple[float, float]:
    """That a process has used, and the processes that it has begun."""

    def used(one: int) -> float:
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return used(pid), sum(used(int(one)) for one in children)


def compare(plan: Plan) -> Iterator[str]:
    """The lines of the report, as they come."""
    engines = ["torch", "ctranslate2"] if plan.device == "cpu" and not plan.stand_in else ["torch"]
    library = {engine: plan.library(engine) for engine in engines}
    packages = described("torch", "ctranslate2", "starlette", "uvicorn")
    kind = " --stand-in" if plan.stand_in else ""
    yield f"# heedful serve and rivals\n\n`python benchmarks/serve.py{kind}`: {packages}."
    threads, clients = f"{plan.threads} thread(s)", f"{plan.clients} client(s)"
    yield f"{plan.model} on {plan.device}, {threads}, {clients}, {plan.seconds:g} s at each rate.\n"
    speeds = ", ".join(f"{speed:.1f} with {engine}" for engine, speed in library.items())
    yield f"Sentences a second of the library, all in one call: {speeds}.\n"
    yield f"| server | sentences/s asked | answered | median s | p95 | p99 | refused |\n|---|{6 * '---:|'}"
    best: dict[str, list[float]] = {}
    took: list[str] = []
    for name, command in plan.servers.items():
        same = library[plan.engine(name)]
        try:
            with started(command) as (url, pid):
                anew = partial(Asking, url, as_libretranslate=name.endswith(_AS_LIBRETRANSLATE))
                asyncio.run(anew(2.0, rate=5.0).seen())  # warm
                rates = sorted({share * speed for share in plan.shares for speed in (library["torch"], same)})
                for rate in () if plan.stand_in else rates:
                    asking = anew(plan.seconds, rate=rate)
                    yield outcome(name, f"{rate:.1f}", asking, clients=plan.clients).row
                fronts = max(1, int(name.rpartition("--fronts ")[2])) if "--fronts" in name else 1
                best[name] = []
                for sizes, at_once in ((SIZES, AT_ONCE), ([LARGE], AT_ONCE // 8)):
                    asking = anew(plan.seconds, sizes=sizes, at_once=at_once * fronts)
                    asked = "saturated" if sizes is SIZES else f"saturated, {LARGE} in each request"
                    before = processor_seconds(pid)
                    found = outcome(name, asked, asking, clients=plan.clients)
                    parts = [1e6 * (now - then) for now, then in zip(processor_seconds(pid), before, strict=True)]
                    yield found.row
                    best[name].append(found.answered)
                    shown = " | ".join(f"{part / max(1, found.requests):,.0f}" for part in parts)
                    took.append(f"| {name} | {asked} | {shown} |")
        except ServerError:
            yield f"| {name} | did not start | | | | | |"
    yield f"\n| saturated | sentences/s | of the library with the same engine | {LARGE} in each request | |"
    yield "|---|---:|---:|---:|---:|"
    for name, speeds in best.items():
        shown = [
            f"{speed:.1f} | " + (f"{speed / library[plan.engine(name)]:.0%}" if name.startswith(_OURS) else "")
            for speed in speeds
        ]
        yield f"| {name} | {' | '.join(shown)} |"
    yield "\n| processor time, µs a request | | the process that was started | its fronts |\n|---|---|---:|---:|"
    yield from took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", default="en-de-small")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=18, help="of each rate")
    parser.add_argument("--workers", type=int, nargs="*", default=(), help="compare these numbers, and no rivals")
    parser.add_argument("--fronts", type=int, nargs="*", default=(), help="try these numbers too")
    parser.add_argument("--clients", type=int, default=0, help="processes that ask; 1 on a CPU, 8 on CUDA by itself")
    parser.add_argument("--stand-in", action="store_true", help="a sleep in the place of the model")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="send N requests, and watch the memory")
    parser.add_argument("--rival", metavar="KIND", help="be the rival, computing in this kind of number")
    parser.add_argument("--rival-batches", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=(), metavar="PART", help="servers with this in their name alone")
    parser.add_argument("--libretranslate", default="", metavar="PYTHON", help="that has LibreTranslate: a rival more")
    parser.add_argument("--output", type=Path, help="a file of Markdown")
    chosen = parser.parse_args()
    if chosen.ask:
        print(json.dumps(asyncio.run(Asking(**json.loads(chosen.ask)).seen())))
        return
    plan = Plan(
        chosen.model,
        chosen.device,
        chosen.threads,
        chosen.seconds,
        chosen.workers,
        chosen.fronts,
        chosen.clients or CLIENTS[chosen.device],
        chosen.stand_in,
        chosen.libretranslate,
        chosen.only,
    )
    if chosen.rival == "libretranslate":
        from serve_rival import serve_libretranslate

        models = {"en_de": plan.model, "de_en": "de-en-small"}  # it wants two directions, one of which is asked for
        serve_libretranslate(models, plan.libretranslate, threads=plan.threads)
    elif chosen.rival:
        from serve_rival import serve_static_batches

        running = {"device": plan.device, "threads": plan.threads, "at_once": chosen.rival_batches}
        serve_static_batches(plan.model, chosen.rival, **running)
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
