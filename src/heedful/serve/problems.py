"""What goes wrong, as it is answered and as it is logged: without the text of a user in either log."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError, ServeError, is_out_of_memory

LOG = logging.getLogger("heedful.serve")


def log(level: int, event: str, **facts: Any) -> None:
    """Write one line."""
    if not LOG.isEnabledFor(level):
        return
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    LOG.log(level, json.dumps({"time": now, "event": event, **facts}))


def status_and_message(error: Exception) -> tuple[int, str]:
    """What is answered; a mistake of ours is logged, and not told."""
    if isinstance(error, ServeError):
        if error.status == 500:
            _log_mistake(error.__cause__ or error)
        return error.status, str(error)
    if isinstance(error, HeedfulError):
        return 400, str(error)
    _log_mistake(error)
    if is_out_of_memory(error):
        return 503, "out of memory"
    return 500, "a mistake of the server's own; its log has the details"


def _log_mistake(error: BaseException) -> None:
    """Where it happened, but not what it says: that may hold the text of a user."""
    places = [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
    log(logging.ERROR, "mistake", type=type(error).__name__, at=places[-6:])


class Lines(logging.Formatter):
    """Every line a JSON object, those of other packages too; of these without what an exception says."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == LOG.name:
            return record.getMessage()
        now = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = {"time": now, "event": "log", "logger": record.name, "level": record.levelname.lower()}
        return json.dumps({**facts, "message": record.getMessage().partition("\n")[0][:200]})


def log_to_stderr(*, quiet: bool) -> None:
    """Log from now on: everything, or mistakes alone."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(handlers=[handler], level=logging.ERROR)
    LOG.setLevel(logging.ERROR if quiet else logging.INFO)
