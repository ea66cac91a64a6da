"""The process: a socket, uvicorn, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from heedful.errors import ServeError
from heedful.files import reason
from heedful.serve.service import Service

_SECONDS_FOR_HEADERS = 20.0
"""For a client to say what it wants; who says nothing must not keep a place."""
SECONDS_TO_DRAIN, _SECONDS_TO_REFUSE = 30, 5
_MOST_CONNECTIONS = 1000
_SECONDS_BETWEEN_TRIMS = 20

_ADVICE = {
    errno.EADDRINUSE: "another program listens there: give another --port",
    errno.EACCES: "ports below 1024 are for root: give another --port",
}


class _Protocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever for a request, neither the first of a connection nor a later one."""

    _timer: asyncio.TimerHandle | None = None
    _watched: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        # once for each request: who sends it byte by byte has no more time
        if self.cycle is not None and self.cycle.response_complete and self.cycle is not self._watched:
            self._watch()
        super().data_received(data)

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._watched = self.cycle
        self._timer = self.loop.call_later(_SECONDS_FOR_HEADERS, self._close_if_same, self.cycle)

    def _close_if_same(self, before: object) -> None:
        """Close where no request has begun since: a new one has a cycle of its own."""
        if self.cycle is before and not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """A server that stops when it is told to, and at once when it is told twice."""

    told = 0.0
    """When it was told to stop."""

    def __init__(self, app: Starlette, service: Service) -> None:
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=SECONDS_TO_DRAIN + _SECONDS_TO_REFUSE,
            h11_max_incomplete_event_size=1 << 16,
        )
        super().__init__(config)
        self._service, self.ready_files = service, app.state.ready
        app.state.crowded = lambda: len(self.server_state.connections) > _MOST_CONNECTIONS

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal lets nothing new in; the second ends what is going on."""
        self._service.ready = False
        self.told = self.told or time.monotonic()
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """While this is open, Ctrl-C and SIGTERM stop the server; they are not raised again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bound_socket(host: str, port: int, *, one_of_several: bool = False) -> socket.socket:
    """A socket that nobody listens on yet; several share what comes."""
    made: socket.socket | None = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # By the protocol asyncio knows that Nagle's algorithm is to be off, which holds answers back for 40 ms.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if one_of_several:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
        made.listen()  # or two could have it
    except OSError as error:
        if made is not None:
            made.close()
        advice = _ADVICE.get(error.errno or 0, f"{reason(error)}: --host must be an address of this machine")
        raise ServeError(f"{host}:{port} cannot be listened on: {advice}") from None
    return made


def give_back_memory() -> None:
    """Let the C library return freed memory: of the small pieces of many threads glibc keeps more with every hour."""
    with contextlib.suppress(OSError, AttributeError):  # other systems have nothing of the kind
        ctypes.CDLL(None).malloc_trim(0)


def serve(server: Server, service: Service, sock: socket.socket, *, started: Callable[[], object]) -> None:
    """Answer requests until somebody stops it. ``started``: called when the first can come."""

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        started()
        looks = 0
        while not serving.done():
            await asyncio.wait({serving}, timeout=1)
            server.ready_files.forget()
            server.should_exit |= service.thread.broken
            if server.told and time.monotonic() - server.told > SECONDS_TO_DRAIN:
                await asyncio.to_thread(service.thread.stop)  # what is not answered by now is refused, with 503
            if (looks := looks + 1) % _SECONDS_BETWEEN_TRIMS == 0:
                await asyncio.to_thread(give_back_memory)

    try:
        asyncio.run(run())
    finally:
        service.close()
