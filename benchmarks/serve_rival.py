"""A rival of `heedful serve`: CTranslate2 with static batches behind a front of Starlette and uvicorn."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ctranslate2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heedful.runs.models import read_model
from heedful.serve.server import bound_socket

MOST = 64
"""Sentences of a batch."""


class StaticBatches:
    """What has come while a batch is translated is the next."""

    def __init__(self, folder: Path, model: str, engine: ctranslate2.Translator) -> None:
        self._saved, self._engine = read_model(model), engine
        self._beam = self._saved.config.search.beam_size
        self._names = json.loads((folder / "shared_vocabulary.json").read_text())
        self._waiting: list[tuple[str, Future[str]]] = []
        self._news = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, texts: Sequence[str]) -> list[Future[str]]:
        futures: list[Future[str]] = [Future() for _ in texts]
        with self._news:
            self._waiting += zip(texts, futures, strict=True)
            self._news.notify()
        return futures

    def _work(self) -> None:
        numbers = {name: number for number, name in enumerate(self._names)}
        while True:
            with self._news:
                while not self._waiting:
                    self._news.wait()
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            encoded = self._saved.source_subwords.encode([text for text, _ in batch])
            sources = [[*(self._names[id_] for id_ in ids), "</s>"] for ids in encoded]
            found = self._engine.translate_batch(sources, beam_size=self._beam, max_batch_size=MOST)
            for (_, future), result in zip(batch, found, strict=True):
                ids = [numbers[name] for name in result.hypotheses[0] if name != "</s>"]
                future.set_result(self._saved.target_subwords.decode(ids))


def serve_static_batches(model: str, kind: str, *, device: str, threads: int) -> None:
    """Answer until somebody stops it; says where on standard error."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "engine"
        command = [sys.executable, "-m", "heedful", "export", model, "--to", "ctranslate2", "--output", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        engine = ctranslate2.Translator(str(folder), device=device, intra_threads=threads, compute_type=kind)
        rival = StaticBatches(folder, model, engine)

        async def translate(request: Request) -> Response:
            texts = (await request.json())["text"]
            futures: list[Any] = [asyncio.wrap_future(one) for one in rival.submit(texts)]
            return JSONResponse({"texts": await asyncio.gather(*futures)})

        app = Starlette(routes=[Route("/api/translate", translate, methods=["POST"])])
        sock = bound_socket("127.0.0.1", 0)
        print(f"http://127.0.0.1:{sock.getsockname()[1]}/", file=sys.stderr, flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off")).run(sockets=[sock])
