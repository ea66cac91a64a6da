"""What the server counts, for Prometheus. No text, key or address is a label."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters of one server; a registry of its own, so that two in one process do not meet."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self.requests = Counter("heedful_requests", "Requests that were answered.", ["route", "status"], registry=own)
        self.seconds = Histogram(
            "heedful_request_seconds",
            "Seconds until an answer was complete.",
            ["route"],
            buckets=_SECONDS,
            registry=own,
        )
        self.generated = Counter("heedful_generated_tokens", "Subwords of finished translations.", registry=own)
        self.cancelled = Counter("heedful_cancelled_sentences", "Sentences nobody waited for.", registry=own)
        self.rejected = Counter("heedful_rejected", "Requests that were refused for a full queue.", registry=own)
        self.faults = Counter("heedful_engine_faults", "Turns of an engine that failed.", registry=own)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def refused(self) -> None:
        """Count a request that was refused for a full queue."""
        self.rejected.inc()

    def watch(self, *, tokens: Callable[[], float], running: Callable[[], float]) -> None:
        """Ask these functions whenever somebody looks."""
        queued = Gauge(
            "heedful_queued_tokens", "Subwords of sources that wait or are decoded.", registry=self._registry
        )
        queued.set_function(tokens)
        inside = Gauge("heedful_running_sentences", "Sentences that are being decoded.", registry=self._registry)
        inside.set_function(running)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)
