"""Messages between the process that decodes and its fronts: lists of JSON, as many at a time as there are."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from heedful.search.sentence import Hypothesis, Sentence

_LENGTH = struct.Struct("!Q")
_SECONDS_TO_GATHER = 0.001
"""What comes within these goes together: every time that the other end wakes up, whoever decodes there may wait."""


class Wire:
    """One end. Whoever sends does not wait for the other end."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._out: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send_all, name="wire", daemon=True)
        self._sender.start()

    def send(self, *message: Any) -> None:
        self._out.put(message)

    def messages(self) -> Iterator[list[Any]]:
        """Those that come, until the other end is closed."""
        with contextlib.suppress(OSError):
            while head := self._read(_LENGTH.size):
                yield from json.loads(self._read(*_LENGTH.unpack(head)) or b"[]")

    def close(self) -> None:
        """Send what there is to be sent, and no more."""
        self._out.put(None)
        self._sender.join(timeout=1)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            some = self._socket.recv(min(size - len(content), 1 << 20))
            if not some:
                return b""
            content += some
        return bytes(content)

    def _send_all(self) -> None:
        ended = False
        while not ended:
            together = [self._out.get()]
            time.sleep(_SECONDS_TO_GATHER)
            with contextlib.suppress(queue.Empty):
                while True:
                    together.append(self._out.get_nowait())
            ended = None in together
            content = json.dumps([one for one in together if one is not None], separators=(",", ":")).encode()
            try:
                self._socket.sendall(_LENGTH.pack(len(content)) + content)
            except OSError:  # nobody reads any more, which whoever reads here is told too
                ended = True


def packed_sentence(sentence: Sentence) -> list[Any]:
    required = [[[way.ids, way.longer] for way in term] for term in sentence.required]
    own = (sentence.prefix, required, sentence.avoided, sentence.begins, sentence.n_best, sentence.limit)
    return [sentence.number, sentence.source.tolist(), *own]


def unpacked_sentence(packed: Sequence[Any]) -> Sentence:
    number, source, prefix, required, avoided, begins, n_best, limit = packed
    terms: tuple[Any, ...] = ()
    if required:
        from heedful.search.required import Way

        terms = tuple(tuple(Way(tuple(ids), tuple(longer)) for ids, longer in term) for term in required)
    return Sentence(number, np.array(source, np.int32), tuple(prefix), terms, tuple(avoided), begins, n_best, limit)


def packed_hypotheses(hypotheses: Sequence[Hypothesis]) -> list[Any]:
    """Without the beams in which they were found, for which only an engine has a use."""
    return [[one.ids.tolist(), one.log_probability, one.score] for one in hypotheses]


def unpacked_hypotheses(packed: Sequence[Any]) -> list[Hypothesis]:
    nothing = np.empty(0, np.int64)
    return [Hypothesis(np.array(ids, np.int64), sums, score, nothing) for ids, sums, score in packed]
