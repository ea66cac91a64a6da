"""Where the process begins: what must be in order before a command is loaded."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Run the command that the process was started with."""
    try:
        signal.signal(signal.SIGINT, _interrupt)
        from heedful.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    run()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C. While modules are loaded Python may swallow a KeyboardInterrupt, and the command would go on."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"interrupted\n")
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
