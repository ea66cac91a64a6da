"""How long a run has taken, and how fast it is: training itself, without validation and saving."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from heedful.training.device import DeviceFacts


class Clock:
    """Time spent on training itself, without validation and saving."""

    def __init__(self, minutes: float) -> None:
        self._earlier = minutes
        self._began = self._saved = self._line = time.monotonic()
        self._line_pauses = 0.0
        self.last_pause = 0.0
        self.tokens = 0
        self.flops = 0.0

    def start(self) -> None:
        self._began = self._saved = self._line = time.monotonic()

    def minutes(self) -> float:
        """Of the whole run, earlier sessions included, everything counted."""
        return self._earlier + (time.monotonic() - self._began) / 60

    def since_saved(self) -> float:
        return (time.monotonic() - self._saved) / 60

    def saved(self) -> None:
        self._saved = time.monotonic()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.last_pause = time.monotonic() - began
            self._line_pauses += self.last_pause

    def wall(self, facts: DeviceFacts, *, restart: bool = False) -> dict[str, Any]:
        """The figures that depend on the clock, since the last line."""
        seconds = max(1e-9, time.monotonic() - self._line - self._line_pauses)
        figures = {
            "seconds": round(self.minutes() * 60, 3),
            "tokens_per_second": round(self.tokens / seconds, 1),
            "peak_share": round(self.flops / seconds / facts.peak, 4) if facts.peak else None,
            "memory_gib": facts.memory_gib(),
        }
        if restart:
            self._line, self._line_pauses, self.tokens, self.flops = time.monotonic(), 0.0, 0, 0.0
        return figures
