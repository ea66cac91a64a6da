"""How long people wait: requests come at given rates, whether earlier ones are answered or not (open loop).

Beside the server's own engine, which takes sentences in as they come, stands CTranslate2 behind the same front:
whatever has come while a batch is translated becomes the next batch. Both have the same model, beam and threads.

    python benchmarks/serve.py --model en-de-small --rates 2,5,10,20 --seconds 30 --output results.json

Prints, for each rate, sentences a second and the median, the 95th and the 99th percentile of the seconds to an answer;
and, for the saturated server, its share of what the library reaches with all sentences in one batch. Run it on a
machine with nothing else on it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx

import heedful

_SENTENCES = (
    "A dog runs through the snow. Two men are talking about a plan that nobody else has seen. Where is the station? "
    "The committee met on Tuesday, but it could not agree on anything. She has never been to the sea, and neither has "
    "her brother. Please close the door. I would like to know how much this costs and when it can be delivered. The "
    "old house at the end of the street was sold last year. Children are playing football in the park. It is raining. "
    "We should have left an hour earlier, because the traffic is terrible at this time of the day. Thank you very much!"
)


@dataclass(frozen=True)
class Outcome:
    """What people saw at a rate."""

    engine: str
    asked_per_second: float
    answered_per_second: float
    median: float
    p95: float
    p99: float
    refused: int


class _StaticBatches:
    """CTranslate2 with static batches: what has come while the last was translated is the next."""

    def __init__(self, model: str, *, beam_size: int, threads: int) -> None:
        from heedful.runs.models import read_model

        self._folder = tempfile.TemporaryDirectory()
        place = Path(self._folder.name) / "engine"
        subprocess.run(
            [sys.executable, "-m", "heedful", "export", model, "--to", "ctranslate2", "--output", str(place)],
            check=True,
        )
        import ctranslate2

        self._engine = ctranslate2.Translator(str(place), device="cpu", intra_threads=threads, compute_type="float32")
        self._saved, self._beam = read_model(model), beam_size
        self._names = json.loads((place / "shared_vocabulary.json").read_text())
        self._waiting: list[tuple[str, Future[str]]] = []
        self._news = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, text: str) -> Future[str]:
        future: Future[str] = Future()
        with self._news:
            self._waiting.append((text, future))
            self._news.notify()
        return future

    def _work(self) -> None:
        numbers = {name: number for number, name in enumerate(self._names)}
        while True:
            with self._news:
                while not self._waiting:
                    self._news.wait()
                batch, self._waiting = self._waiting[:64], self._waiting[64:]
            sources = [
                [*(self._names[id_] for id_ in ids), "</s>"]
                for ids in self._saved.source_subwords.encode([text for text, _ in batch])
            ]
            found = self._engine.translate_batch(sources, beam_size=self._beam, max_batch_size=64)
            for (_, future), result in zip(batch, found, strict=True):
                ids = [numbers[name] for name in result.hypotheses[0] if name != "</s>"]
                future.set_result(self._saved.target_subwords.decode(ids))


def _static_front(rival: _StaticBatches) -> Any:
    """The same front: Starlette and uvicorn, one route."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def translate(request: Request) -> Response:
        text = (await request.json())["text"]
        return JSONResponse({"text": await asyncio.wrap_future(rival.submit(text))})

    return Starlette(routes=[Route("/api/translate", translate, methods=["POST"])])


def _started(app: Any) -> tuple[int, Callable[[], None]]:
    """The port of a server in a thread, and a function that stops it."""
    import uvicorn

    from heedful.serve.server import bound_socket

    sock = bound_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def stop() -> None:
        server.should_exit = True
        thread.join()

    return sock.getsockname()[1], stop


async def _load(port: int, texts: Sequence[str], rate: float, seconds: float) -> tuple[list[float], int, float]:
    """The seconds to each answer, how many were refused, and how long all took; arrivals are a Poisson process."""
    rng, waits, refused = random.Random(1), [], 0
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=600) as client:

        async def ask(text: str) -> None:
            nonlocal refused
            began = time.perf_counter()
            answer = await client.post("/api/translate", json={"text": text})
            if answer.status_code == 200:
                waits.append(time.perf_counter() - began)
            else:
                refused += 1

        began, tasks, due = time.perf_counter(), [], 0.0
        while (due := due + rng.expovariate(rate)) < seconds:
            await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
            tasks.append(asyncio.create_task(ask(rng.choice(texts))))
        await asyncio.gather(*tasks)
        return waits, refused, time.perf_counter() - began


def _outcome(engine: str, port: int, texts: Sequence[str], rate: float, seconds: float) -> Outcome:
    waits, refused, took = asyncio.run(_load(port, texts, rate, seconds))
    cuts = statistics.quantiles(waits, n=100) if len(waits) > 1 else [float("nan")] * 99
    return Outcome(engine, rate, len(waits) / took, cuts[49], cuts[94], cuts[98], refused)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", default="en-de-small")
    parser.add_argument("--rates", default="2,5,10,20", help="requests a second")
    parser.add_argument("--seconds", type=float, default=30, help="of each rate")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    import torch

    from heedful.runs.lists import languages
    from heedful.serve.access import Keys
    from heedful.serve.app import app
    from heedful.serve.service import ServedModel, Service

    torch.set_num_threads(chosen.threads)
    texts = [
        sentence.strip() + "." for sentence in _SENTENCES.replace("!", ".").replace("?", ".").split(".") if sentence
    ]
    translator = heedful.load(chosen.model)
    spoken = languages(translator.saved.description)
    assert spoken is not None, "the model says which languages it has"
    service = Service(
        [ServedModel(chosen.model, translator, spoken, translator.options)], queue_tokens=10**9, most_characters=10**6
    )
    fronts = {"heedful": app(service, Keys())}
    rival = _StaticBatches(chosen.model, beam_size=translator.options.beam_size, threads=chosen.threads)
    fronts["CTranslate2, static batches"] = _static_front(rival)
    outcomes: list[Outcome] = []
    for name, front in fronts.items():
        port, stop = _started(front)
        asyncio.run(_load(port, texts, 5.0, 2.0))  # warm
        for rate in map(float, chosen.rates.split(",")):
            outcomes.append(_outcome(name, port, texts, rate, chosen.seconds))
            one = outcomes[-1]
            print(
                f"{name:28} {rate:6.1f}/s asked {one.answered_per_second:6.1f}/s answered  "
                f"median {one.median:6.2f} s  p95 {one.p95:6.2f} s  p99 {one.p99:6.2f} s  refused {one.refused}"
            )
        stop()
    many = texts * 40
    began = time.perf_counter()
    translator.translate(many)
    library = len(many) / (time.perf_counter() - began)
    best = max(one.answered_per_second for one in outcomes if one.engine == "heedful")
    print(f"the library, all in one batch: {library:.1f}/s; the server at its highest rate: {best / library:.0%} of it")
    service.close()
    if chosen.output:
        facts = {"machine": platform.processor(), "threads": chosen.threads, "torch": torch.__version__}
        chosen.output.write_text(
            json.dumps({**facts, "library": library, "outcomes": [asdict(one) for one in outcomes]}, indent=1)
        )


if __name__ == "__main__":
    main()
