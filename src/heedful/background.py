"""Long work: one thread that makes things a few ahead of whoever takes them, and how far a piece of work is."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")
Report = Callable[[str, int, int | None], None]
"""To be called with what is being done, how many are done, and of how many where that is known."""


def no_report(stage: str, done: int, total: int | None) -> None:
    """For whoever does not want to know."""


def in_background(items: Iterable[T], *, ahead: int = 4, name: str | None = None) -> Generator[T, None, None]:
    """The same items, made by another thread at most so many ahead; what it raises is raised here.

    Closing the generator, or dropping it, ends the thread before its next item.
    """
    waiting: queue.Queue[tuple[bool, T | BaseException | None]] = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def work() -> None:
        try:
            for item in items:
                waiting.put((True, item))
                if stopped.is_set():
                    return
            waiting.put((False, None))
        except BaseException as error:  # handed over to, and raised in, the thread that takes
            waiting.put((False, error))

    thread = threading.Thread(target=work, daemon=True, name=name)
    thread.start()
    try:
        while True:
            more, item = waiting.get()
            if not more:
                if isinstance(item, BaseException):
                    raise item
                return
            yield item  # pyright: ignore[reportReturnType]
    finally:
        stopped.set()
        while not waiting.empty():  # the thread may be waiting for room
            waiting.get_nowait()
