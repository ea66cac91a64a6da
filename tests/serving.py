"""A server in a thread of the test, on a port of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import heedful
import heedful.serve
from heedful.runs.descriptions import Languages

pytest.importorskip("starlette", reason="heedful[serve] is not installed")
pytest.importorskip("prometheus_client", reason="heedful[serve] is not installed")
from heedful.serve.access import Keys
from heedful.serve.app import app
from heedful.serve.server import Server, bound_socket
from heedful.serve.service import ServedModel, Service


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    service: Service
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """``body``: bytes as they are, a list of pairs as a form, anything else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, list):
            body, kind = urlencode(body).encode(), "application/x-www-form-urlencoded"
            headers = {"content-type": kind, **headers}
        elif body is not None and not isinstance(body, bytes):
            body, headers = json.dumps(body).encode(), {"content-type": "application/json", **headers}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.headers, answer.read())
        connection.close()
        return found


def served(name: str, *, engine: str = "torch", **options: Any) -> ServedModel:
    """A model as the command loads it."""
    translator = heedful.load(name, device="cpu", engine=engine)
    spoken = translator.saved.description.languages or Languages("en", "de")

    return ServedModel(name, translator, spoken, replace(translator.options, **options))


@contextlib.contextmanager
def running(
    *models: ServedModel,
    keys: Keys | None = None,
    queue_tokens: int = 20_000,
    most_characters: int = 50_000,
    origins: tuple[str, ...] = (),
    workers: int | None = None,
) -> Iterator[Running]:
    """A server with these models. At its end nothing of any job may be left behind."""
    service = Service(models, queue_tokens=queue_tokens, most_characters=most_characters, workers=workers)
    sock = bound_socket("127.0.0.1", 0)
    server = Server(app(service, keys or Keys(), origins=origins), service)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Running(service, sock.getsockname()[1])
    until = time.monotonic() + 5
    while not (service.thread.idle and service.jobs == 0) and time.monotonic() < until:
        time.sleep(0.02)
    idle = service.thread.idle and service.jobs == 0
    server.should_exit = True
    thread.join(timeout=10)
    service.close()
    sock.close()
    assert idle, "a sentence or a job is left behind"


def openapi() -> dict[str, Any]:
    """The routes that are described."""
    return json.loads((Path(heedful.serve.__file__).parent / "page" / "openapi.json").read_text())["paths"]
