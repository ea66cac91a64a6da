"""Where ``heedful`` begins: loading the commands takes half a second, and Ctrl-C in it is no traceback."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the commands, and run the one that was asked for."""
    try:
        from heedful.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    run()
