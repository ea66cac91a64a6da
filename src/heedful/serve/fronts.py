"""Several fronts around the one process that decodes: HTTP and text take more of Python than one process has.

A front (`heedful.serve.front`) is a process with a socket of its own on the port that all share, and a wire to this
one. What a front asks for is a job here as any other: the order, the limits and the faults are the engine thread's. A
front that dies takes its requests with it; what it had asked for is forgotten, and another one takes its place.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.errors import GoneError, ServeError
from heedful.search.sentence import Sentence
from heedful.serve.access import Keys
from heedful.serve.engines import Arrival, Job, Live, job_of
from heedful.serve.libretranslate import Ready
from heedful.serve.problems import status_and_message
from heedful.serve.server import SECONDS_TO_DRAIN, bound_socket, give_back_memory
from heedful.serve.service import Service
from heedful.serve.wire import Wire, packed_hypotheses, unpacked_sentence

_SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_TRIMS = 0.1, 20.0
_SECONDS_TO_END = 10
"""For a front, after it should have drained."""
_DEATHS, _WITHIN_SECONDS = 3, 60.0


@dataclass(frozen=True)
class Settings:
    """What a front must know, but for the models."""

    keys: Keys = dataclasses.field(default_factory=Keys)
    origins: Sequence[str] = ()
    quiet: bool = False


class _Replies(queue.SimpleQueue[Any]):
    """In the place of a job's results: sent to the front."""

    def __init__(self, wire: Wire, number: int) -> None:
        self._wire, self._number = wire, number
        self.places: dict[Sentence, int] = {}
        """The place of each sentence among all that the job has asked for."""

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if not isinstance(item, BaseException):
            for sentence, hypotheses in item:
                self._wire.send("found", self._number, self.places[sentence], packed_hypotheses(hypotheses))
        elif not isinstance(item, GoneError):  # then the front knows
            self._wire.send("failed", self._number, *_said(item))

    def show(self, live: Live) -> None:
        """Hypotheses that are not finished yet."""
        seen = [[self.places[sentence], *map(packed_hypotheses, own)] for sentence, own in live.items()]
        self._wire.send("live", self._number, seen)


def _said(error: BaseException) -> tuple[int, str, int | None]:
    status, message = status_and_message(error if isinstance(error, Exception) else RuntimeError())
    return status, message, error.retry_after if isinstance(error, ServeError) else None


class _Front:
    """A front as this process sees it."""

    def __init__(self, service: Service, ready: Ready, settings: dict[str, Any], listening: socket.socket) -> None:
        self._service, self._ready, self.is_up = service, ready, False
        self._jobs: dict[int, tuple[Job, _Replies]] = {}
        ours, its = socket.socketpair()
        with its:
            fds = its.fileno(), listening.fileno()
            command = [sys.executable, "-m", "heedful.serve.front", *map(str, fds)]
            # in a group of its own, since Ctrl-C is for this process
            self.process = subprocess.Popen(command, pass_fds=fds, process_group=0)
        self._wire = Wire(ours)
        self._wire.send(settings)
        self._listener = threading.Thread(target=self._listen, name="wire", daemon=True)
        self._listener.start()

    def stop(self) -> None:
        self._wire.send("stop")

    def end(self) -> None:
        """End it, if it has not ended; whatever it had asked for is forgotten."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self._listener.join(timeout=_SECONDS_TO_END)

    def _listen(self) -> None:
        answers: dict[str, Callable[..., Any]] = {
            "read": self._read,
            "metrics": lambda: self._service.metrics.text().decode(),
            "keep": lambda suffix, content: self._ready.add(suffix, base64.b64decode(content)),
            "kept": lambda name: base64.b64encode(self._ready.get(name)).decode(),
        }
        try:
            for kind, *about in self._wire.messages():
                if kind == "ask":
                    self._ask(*about)
                elif kind == "end":
                    self._service.thread.cancel(self._jobs.pop(about[0])[0])
                elif kind == "answered":
                    self._service.metrics.answered(*about)
                elif kind == "refused":
                    self._service.metrics.refused()
                elif kind == "started":
                    self.is_up = True
                else:
                    self._service.pool.submit(self._answer, answers[kind], *about)
        finally:  # it has ended, or there is a mistake, and without a wire it ends
            for job, _ in self._jobs.values():
                self._service.thread.cancel(job)
            self._wire.close()

    def _ask(self, number: int, model: int, is_live: bool, packed: Sequence[Any]) -> None:
        if number not in self._jobs:
            replies = _Replies(self._wire, number)
            self._jobs[number] = Job(replies.show if is_live else None, replies), replies
        job, replies = self._jobs[number]
        own, sentences = self._service.models[model], [unpacked_sentence(one) for one in packed]
        replies.places |= {sentence: len(replies.places) + place for place, sentence in enumerate(sentences)}
        try:
            own.shared.torch.require_possible(sentences, own.options)
            self._service.thread.submit(Arrival(job, own.shared.torch, own.options, sentences))
        except Exception as error:  # of this job alone
            replies.put(error)

    def _answer(self, work: Callable[..., Any], number: int, *about: Any) -> None:
        try:
            self._wire.send("told", number, work(*about))
        except Exception as error:  # of this request alone
            self._wire.send("failed", number, *_said(error))

    def _read(self, model: int, source: Sequence[int], target: Sequence[int]) -> Any:
        import numpy as np

        torch, thread = self._service.models[model].shared.torch, self._service.thread
        ids = np.array(source, np.int32), np.array(target, np.int64)
        with job_of(thread) as job:
            value, weights = thread.call(job, lambda: torch.read(*ids))
        return value, {
            name: (one.dtype.str, one.shape, base64.b64encode(np.ascontiguousarray(one).tobytes()).decode())
            for name, one in weights.items()
        }


class Fronts:
    """The fronts of a service."""

    def __init__(self, service: Service, settings: Settings, *, number: int) -> None:
        if any(model.shared.batches for model in service.models):
            raise ServeError("--fronts are for PyTorch (--engine torch): with CTranslate2 one process keeps a CPU busy")
        if any(key.requests_per_minute or key.characters_per_day for key in settings.keys.all):
            raise ServeError("--fronts and limits of keys do not go together: each front would count by itself")
        self._service, self._number, self._ready = service, number, Ready()
        self._deaths: deque[float] = deque(maxlen=_DEATHS)
        self._settings = {
            "models": [
                {
                    "name": model.name,
                    "run": str(model.translator.saved.run),
                    "languages": [model.languages.source, model.languages.target],
                    "beam_size": model.options.beam_size,
                    "batch_size": model.translator.batch_size,
                    "most_positions": model.shared.torch.most_positions,
                }
                for model in service.models
            ],
            "keys": [dataclasses.asdict(key) for key in settings.keys.all],
            "origins": list(settings.origins),
            "most_characters": service.most_characters,
            "quiet": settings.quiet,
        }
        self.fronts: list[_Front] = []
        self.told = 0
        """How often it was told to stop."""

    def run(self, sock: socket.socket, *, started: Callable[[], object]) -> None:
        """Let fronts answer until somebody stops it. ``sock``: the first of several on a port."""
        place = sock.getsockname()
        sockets = [sock, *(bound_socket(*place[:2], one_of_several=True) for _ in range(self._number - 1))]
        handled = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in handled}
        try:
            self.fronts = [self._begun(one) for one in sockets]
            self._watch(sockets, started)
        finally:
            for front in self.fronts:
                front.end()
            self._service.close()
            for one in sockets[1:]:
                one.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        """Let every request be answered, and no more come; told again, end at once."""
        self.told += 1

    def _begun(self, listening: socket.socket) -> _Front:
        return _Front(self._service, self._ready, self._settings, listening)

    def _watch(self, sockets: Sequence[socket.socket], started: Callable[[], object]) -> None:
        is_up, until, trimmed = False, float("inf"), time.monotonic()
        while self.told < 2 and time.monotonic() < until:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            ended = [place for place, front in enumerate(self.fronts) if front.process.poll() is not None]
            if self.told and len(ended) == len(self.fronts):
                return
            if not is_up and all(front.is_up for front in self.fronts):
                is_up = True
                started()
            if until == float("inf") and (self.told or self._service.thread.broken):
                self.told, until = self.told or 1, time.monotonic() + SECONDS_TO_DRAIN + _SECONDS_TO_END
                for front in self.fronts:
                    front.stop()
            for place in ended if not self.told else ():
                self.fronts[place].end()
                self._deaths.append(time.monotonic())
                if len(self._deaths) == _DEATHS and self._deaths[-1] - self._deaths[0] < _WITHIN_SECONDS:
                    raise ServeError(f"a front ended {_DEATHS} times within a minute: the log says where")
                self.fronts[place] = self._begun(sockets[place])
            self._ready.forget()
            if time.monotonic() - trimmed > _SECONDS_BETWEEN_TRIMS:
                trimmed = time.monotonic()
                give_back_memory()
