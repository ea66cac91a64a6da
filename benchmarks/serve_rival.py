"""Rivals of `heedful serve`: LibreTranslate, and another engine with static batches behind Starlette and uvicorn.

CTranslate2 in a kind of number (float32, int8, …), or Hugging Face's Marian, if the kind is `marian`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heedful.runs.saved import SavedModel, read_model
from heedful.serve.server import bound_socket
from heedful.symbols import END, PAD

MOST = {"cpu": 64, "cuda": 256}
"""Sentences of a batch."""
Decode = Callable[[list[list[int]]], list[list[int]]]
"""Sources to translations, subwords without control symbols."""


def on_ctranslate2(folder: Path, saved: SavedModel, kind: str, *, device: str, threads: int, at_once: int) -> Decode:
    import ctranslate2

    shared = {"intra_threads": threads // at_once, "inter_threads": at_once}
    engine = ctranslate2.Translator(str(folder), device=device, compute_type=kind, **shared)
    names = json.loads((folder / "shared_vocabulary.json").read_text())
    numbers = {name: number for number, name in enumerate(names)}

    def decode(sources: list[list[int]]) -> list[list[int]]:
        named = [[*(names[id_] for id_ in ids), "</s>"] for ids in sources]
        found = engine.translate_batch(named, beam_size=saved.config.search.beam_size, max_batch_size=MOST[device])
        return [[numbers[name] for name in result.hypotheses[0] if name != "</s>"] for result in found]

    return decode


def on_transformers(folder: Path, saved: SavedModel, kind: str, *, device: str, threads: int, at_once: int) -> Decode:
    del kind, at_once
    import torch
    from transformers import MarianMTModel

    torch.set_num_threads(threads)
    kind_of_number = torch.float32 if device == "cpu" else torch.bfloat16
    model: Any = MarianMTModel.from_pretrained(folder, attn_implementation="sdpa")
    model.to(device, kind_of_number).eval()

    def decode(sources: list[list[int]]) -> list[list[int]]:
        width = max(map(len, sources)) + 1
        rows = [[*ids, END, *[PAD] * (width - 1 - len(ids))] for ids in sources]
        ids = torch.tensor(rows, device=device)
        with torch.inference_mode():
            found = model.generate(
                input_ids=ids,
                attention_mask=(ids != PAD).long(),
                num_beams=saved.config.search.beam_size,
                do_sample=False,
                max_new_tokens=width + 50,
                length_penalty=saved.config.search.length_penalty,
                early_stopping=True,
            )
        return [[id_ for id_ in row if id_ not in (PAD, END)] for row in found[:, 1:].tolist()]

    return decode


class StaticBatches:
    """What has come while a batch is translated, or so many batches, is the next."""

    def __init__(self, saved: SavedModel, decode: Decode, *, most: int, at_once: int) -> None:
        self._saved, self._decode, self._most = saved, decode, most
        self._waiting: list[tuple[str, Future[str]]] = []
        self._news = threading.Condition()
        for _ in range(at_once):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, texts: Sequence[str]) -> list[Future[str]]:
        futures: list[Future[str]] = [Future() for _ in texts]
        with self._news:
            self._waiting += zip(texts, futures, strict=True)
            self._news.notify()
        return futures

    def _work(self) -> None:
        while True:
            with self._news:
                while not self._waiting:
                    self._news.wait()
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            encoded = self._saved.source_subwords.encode([text for text, _ in batch])
            found = self._decode([list(map(int, ids)) for ids in encoded])
            for (_, future), ids in zip(batch, found, strict=True):
                future.set_result(self._saved.target_subwords.decode(ids))


def serve_static_batches(model: str, kind: str, *, device: str, threads: int, at_once: int) -> None:
    """Answer until somebody stops it, with so many batches at the same time; says where on standard error."""
    form, begin = ("marian", on_transformers) if kind == "marian" else ("ctranslate2", on_ctranslate2)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "engine"
        command = [sys.executable, "-m", "heedful", "export", model, "--to", form, "--output", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        saved = read_model(model)
        decode = begin(folder, saved, kind, device=device, threads=threads, at_once=at_once)
        rival = StaticBatches(saved, decode, most=MOST[device], at_once=at_once)

        async def translate(request: Request) -> Response:
            texts = (await request.json())["text"]
            futures: list[Any] = [asyncio.wrap_future(one) for one in rival.submit(texts)]
            return JSONResponse({"texts": await asyncio.gather(*futures)})

        app = Starlette(routes=[Route("/api/translate", translate, methods=["POST"])])
        sock = bound_socket("127.0.0.1", 0)
        print(f"http://127.0.0.1:{sock.getsockname()[1]}/", file=sys.stderr, flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off")).run(sockets=[sock])


def serve_libretranslate(models: dict[str, str], python: str, *, threads: int) -> None:
    """Become LibreTranslate's server, which is installed for that Python, with our models for its directions."""
    folder = Path(tempfile.mkdtemp())
    for direction, model in models.items():
        command = [sys.executable, "-m", "heedful", "export", model, "--to", "ctranslate2"]
        subprocess.run([*command, "--output", str(folder / direction)], check=True, capture_output=True)
    with bound_socket("127.0.0.1", 0) as sock:
        port = str(sock.getsockname()[1])
    script = Path(__file__).with_name("rivals") / "libretranslate_server.py"
    os.execv(python, [python, "-W", "ignore", str(script), str(folder), port, str(threads)])
