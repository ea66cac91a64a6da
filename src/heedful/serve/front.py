"""A front: a process that answers HTTP and does what there is to do with text, and asks another one to decode."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import itertools
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from starlette.applications import Starlette

from heedful.errors import GoneError, ServeError
from heedful.runs.descriptions import Languages
from heedful.runs.saved import known_model
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence, with_freed
from heedful.serve.access import Key, Keys
from heedful.serve.app import app
from heedful.serve.engines import Arrival, Decoder, Found, Job
from heedful.serve.libretranslate import Ready
from heedful.serve.metrics import Metrics
from heedful.serve.problems import log_to_stderr
from heedful.serve.server import Server, serve
from heedful.serve.service import ServedModel, Service
from heedful.serve.wire import Wire, packed_sentence, unpacked_hypotheses
from heedful.translation.translator import Translator


class Elsewhere(Decoder):
    """In the place of `EngineThread`: what jobs ask for goes over the wire."""

    def __init__(self, wire: Wire, messages: Iterator[list[Any]]) -> None:
        self._wire, self._messages = wire, messages
        self.on_stop: Callable[[], object] = lambda: None
        self._wait = 1
        self._lock, self._count = threading.Lock(), itertools.count()
        self._numbers: dict[Job, int] = {}
        self._jobs: dict[int, tuple[Job, list[Sentence]]] = {}
        self._asked: dict[int, queue.SimpleQueue[Any]] = {}

    def begin(self) -> None:
        threading.Thread(target=self._read, name="wire", daemon=True).start()

    def submit(self, arrival: Arrival) -> None:
        job = arrival.job
        assert isinstance(arrival.search, RemoteModel), "there are no others"
        with self._lock:
            if job.ended is not None:
                raise job.ended
            if self.broken:
                raise _stopping()
            number = self._numbers.setdefault(job, next(self._count))
            _, sentences = self._jobs.setdefault(number, (job, []))
            sentences += arrival.sentences
            packed = [packed_sentence(one) for one in arrival.sentences]
            self._wire.send("ask", number, arrival.search.number, job.on_live is not None, packed)

    def call(self, job: Job, work: Callable[[], Any]) -> Any:
        return work()  # which asks for itself

    def cancel(self, job: Job) -> None:
        with self._lock:
            job.end(GoneError("nobody waits for this any more"))
            number = self._numbers.pop(job, None)
            if number is not None:
                del self._jobs[number]
                self._wire.send("end", number)

    @property
    def running(self) -> int:
        return sum(len(sentences) for _, sentences in list(self._jobs.values()))

    @property
    def idle(self) -> bool:
        return not (self._jobs or self._asked)

    @property
    def seconds_to_wait(self) -> int:
        return self._wait

    def stop(self) -> None:
        with self._lock:
            self.broken = True
            for answers in self._asked.values():
                answers.put(_stopping())
            for job, _ in self._jobs.values():
                job.end(_stopping())

    def asked(self, kind: str, *about: Any) -> Any:
        """What the other process answers."""
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            if self.broken:
                raise _stopping()
            number = next(self._count)
            self._asked[number] = answers
            self._wire.send(kind, number, *about)
        answer = answers.get()
        with self._lock:
            del self._asked[number]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def tell(self, *message: Any) -> None:
        self._wire.send(*message)

    def _read(self) -> None:
        try:
            for kind, *about in self._messages:
                if kind == "stop":
                    self.on_stop()
                else:
                    self._hear(kind, *about)
        finally:  # the other process has ended, or there is a mistake: nobody may wait for ever
            self.stop()
            self.on_stop()

    def _hear(self, kind: str, number: int, *about: Any) -> None:
        with self._lock:
            job, sentences = self._jobs.get(number, (None, []))
            answers = self._asked.get(number)
        if job is not None:
            self._give(job, sentences, kind, about)
        elif answers is not None:
            answers.put(_error(*about) if kind == "failed" else about[0])

    def _give(self, job: Job, sentences: Sequence[Sentence], kind: str, about: Sequence[Any]) -> None:
        if kind == "found":
            place, hypotheses = about
            job.results.put([(sentences[place], unpacked_hypotheses(hypotheses))])
        elif kind == "live" and job.on_live is not None:
            job.on_live({sentences[place]: (*map(unpacked_hypotheses, own),) for place, *own in about[0]})  # type: ignore[misc]
        elif kind == "failed":
            self._wait = about[2] or self._wait
            job.end(_error(*about))


def _error(status: int, message: str, retry_after: int | None) -> ServeError:
    return ServeError(message, status=status, retry_after=retry_after)


def _stopping() -> ServeError:
    return ServeError("the server is stopping", status=503)


class RemoteModel:
    """In the place of `ModelSearch`, for a model that another process has."""

    def __init__(self, thread: Elsewhere, number: int, most_positions: int | None) -> None:
        self._thread, self.number, self.most_positions = thread, number, most_positions
        self.shared_lengths = ()

    def search(
        self,
        sentences: Sequence[Sentence],
        options: SearchOptions,
        *,
        decode: Callable[[Sequence[Sentence], SearchOptions], Found] | None = None,
    ) -> Found:
        assert decode is not None, "it is asked by a job"
        return with_freed(decode, sentences, options)

    def read(self, source: np.ndarray, target: np.ndarray) -> tuple[float, dict[str, np.ndarray]]:
        value, weights = self._thread.asked("read", self.number, source.tolist(), np.asarray(target).tolist())
        return value, {
            name: np.frombuffer(base64.b64decode(content), kind).reshape(shape)
            for name, (kind, shape, content) in weights.items()
        }

    def require_possible(self, sentences: Sequence[Sentence], options: SearchOptions) -> None:
        """The other process sees to it."""

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> Any:
        raise AssertionError("engines are in the other process")

    def forget_engines(self) -> None:
        """They are in the other process."""


class _Metrics(Metrics):
    """Counted in the other process, for all fronts together."""

    def __init__(self, thread: Elsewhere) -> None:
        self._thread = thread

    def answered(self, route: str, status: int, seconds: float) -> None:
        self._thread.tell("answered", route, status, seconds)

    def refused(self) -> None:
        self._thread.tell("refused")

    def text(self) -> bytes:
        return self._thread.asked("metrics").encode()


class _Ready(Ready):
    """Translated documents, in the other process: the next request for one may come to another front."""

    def __init__(self, thread: Elsewhere) -> None:
        super().__init__()
        self._thread = thread

    def add(self, suffix: str, content: bytes) -> str:
        return self._thread.asked("keep", suffix, base64.b64encode(content).decode())

    def get(self, name: str) -> bytes:
        return base64.b64decode(self._thread.asked("kept", name))


class _Server(Server):
    """Stops when the other process says so, which has heard the signals."""

    def __init__(self, app: Starlette, service: Service, thread: Elsewhere) -> None:
        super().__init__(app, service)
        thread.on_stop = lambda: self.handle_exit(signal.SIGTERM, None)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def main(wired: int, listening: int) -> None:
    """Answer what comes to a socket until the process at the other end of the wire says stop, or ends."""
    wire = Wire(socket.socket(fileno=wired))
    messages = wire.messages()
    said: dict[str, Any] = next(messages)[0]
    thread = Elsewhere(wire, messages)
    log_to_stderr(quiet=said["quiet"])
    models = [_served(thread, number, **one) for number, one in enumerate(said["models"])]
    service = Service(
        models, queue_tokens=0, most_characters=said["most_characters"], elsewhere=(thread, _Metrics(thread))
    )
    keys = Keys([Key(**one) for one in said["keys"]])
    server = _Server(app(service, keys, origins=said["origins"], ready=_Ready(thread)), service, thread)
    thread.begin()
    serve(server, service, socket.socket(fileno=listening), started=lambda: thread.tell("started"))
    wire.close()


def _served(
    thread: Elsewhere,
    number: int,
    *,
    name: str,
    run: str,
    languages: Sequence[str],
    beam_size: int,
    batch_size: int,
    most_positions: int | None,
) -> ServedModel:
    search = RemoteModel(thread, number, most_positions)
    translator = Translator(known_model(run), search=search, batch_size=batch_size, device="elsewhere")
    options = dataclasses.replace(translator.options, beam_size=beam_size)
    return ServedModel(name, translator, Languages(*languages), options)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
