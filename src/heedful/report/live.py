"""The page of a run in progress, served to this machine alone; a browser asks for it again every few seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from heedful.errors import HeedfulError, ReportError
from heedful.files import reason
from heedful.report.pages import Section, fragment
from heedful.report.run_page import run_page, run_sections
from heedful.runs.descriptions import STATUS
from heedful.runs.metrics import METRICS
from heedful.runs.record import run_record

_SECONDS = 5
"""Between two looks at the run."""
_HOST = "127.0.0.1"
_WHY_NOT = "the page of a run in progress shows what training measured"


@contextmanager
def live_server(run: Path, *, port: int = 0) -> Iterator[HTTPServer]:
    """A server of the run's page, not serving yet; port 0: a free one. Its address is ``http://127.0.0.1:PORT``."""
    kept: dict[tuple[float, ...], str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A page elsewhere that has this address by another name is not to read it.
            known = self.headers.get("Host") in {f"{name}:{server.server_port}" for name in (_HOST, "localhost")}
            status = 200 if known and self.path == "/" else 404
            text = _page(run, kept) if status == 200 else "There is one page here: /"
            body = text.encode("utf-8")
            self.send_response(status)
            self.send_header("Content-Type", f"text/{'html' if status == 200 else 'plain'}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Every look of the browser would be a line on the terminal."""

    try:
        server = HTTPServer((_HOST, port), Handler)
    except OSError as error:
        raise ReportError(
            f"--port {port} cannot be used: {reason(error)}; leave it out, and a free one is taken"
        ) from None
    with server:
        yield server


def _page(run: Path, kept: dict[tuple[float, ...], str]) -> str:
    """The page as the run is now; made anew only where something was written. One that has ended is not asked again."""
    files = [run / name for name in (METRICS, STATUS)]
    # Once a minute in any case: a run that was killed writes nothing more.
    now = (time.time() // 60, *(path.stat().st_mtime if path.exists() else 0.0 for path in files))
    if now not in kept:
        kept.clear()
        try:
            record = run_record(run)
            sections = run_sections(record, why_not=_WHY_NOT)
            seconds = _SECONDS if record.run.state in ("running", "unknown") else 0
        except HeedfulError as error:  # a file may be read while it is being replaced
            problem = fragment('<p class="warning">{{ problem }}</p>', problem=str(error))
            return run_page(f"Run {run.absolute().name}", [Section("The run", problem)], refresh_seconds=_SECONDS)
        kept[now] = run_page(f"Run {run.absolute().name}", sections, refresh_seconds=seconds)
    return kept[now]
