"""How a command ends that does not end well: one message, and an exit code that says whose mistake it was."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shutil
import sys
import tempfile
import traceback
from datetime import UTC, datetime

from heedful import __version__
from heedful.cli.start import INTERRUPTED
from heedful.cli.terminal import say
from heedful.errors import HeedfulError, is_out_of_memory
from heedful.files import reason

USERS_MISTAKE = 2
OUR_MISTAKE = 70
"""EX_SOFTWARE of sysexits.h."""
SHOW_TRACEBACK = "HEEDFUL_TRACEBACK"
"""Set to 1, this variable shows where a mistake of ours happened."""
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE}
"""What a machine refuses whatever the program: no permission, no room, a broken disk."""
_PACKAGES = ("torch", "numpy", "tokenizers", "safetensors", "cyclopts", "rich")


def report_failure(error: BaseException) -> int:
    """Say on standard error what went wrong; returns the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader (`| head`) has all it wanted
        leave_standard_output()
        return 0
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    message = users_message(error)
    if message is None:
        say(_our_message(error))
        return OUR_MISTAKE
    if isinstance(error, OSError) and error.filename is None:  # perhaps standard output itself, on a full disk
        leave_standard_output()
    say(f"error: {message}")
    return USERS_MISTAKE


def users_message(error: BaseException) -> str | None:
    """What the user can do something about; None for what is a mistake of ours."""
    if isinstance(error, HeedfulError):
        return str(error)
    if is_out_of_memory(error):
        detail = str(error).partition("\n")[0]
        return (
            f"out of memory{': ' + detail if detail else ''}\n"
            "Give it less at once (a smaller batch, model, beam or text), or a machine with more."
        )
    if isinstance(error, shutil.Error):  # a list of (from, to, why)
        failed = error.args[0][0] if error.args and isinstance(error.args[0], list) and error.args[0] else error
        return f"{failed[0]} cannot be copied: {failed[2]}" if isinstance(failed, tuple) else str(failed)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason(error)}"
    if isinstance(error, OSError) and error.errno in _REFUSED:
        return reason(error)
    return None


def leave_standard_output() -> None:
    """Close it for good: Python would complain once more when it ends."""
    with contextlib.suppress(OSError, ValueError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _our_message(error: BaseException) -> str:
    """One line that says so, once the details are in a file."""
    name = type(error).__name__
    shown = f"{name}: {str(error).partition(chr(10))[0][:200]}".rstrip(": ")
    details = _details(error)
    if os.environ.get(SHOW_TRACEBACK, "0") not in ("", "0"):
        return f"{details}error: a mistake of heedful's own ({shown})"
    try:
        descriptor, path = tempfile.mkstemp(prefix="heedful-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(details)
    except OSError:
        return f"error: a mistake of heedful's own ({shown}); {SHOW_TRACEBACK}=1 shows the details. Please report it"
    return f"error: a mistake of heedful's own ({shown}); please report it with what is in {path}"


def _details(error: BaseException) -> str:
    versions = [f"heedful {__version__}", f"Python {platform.python_version()}"]
    loaded = [(name, sys.modules[name]) for name in _PACKAGES if name in sys.modules]
    versions += [f"{name} {getattr(module, '__version__', '?')}" for name, module in loaded]
    lines = [
        f"time: {datetime.now(UTC).isoformat(timespec='seconds')}",
        f"versions: {', '.join(versions)}, on {platform.platform()}",
        f"command: {sys.argv!r}",
        "".join(traceback.format_exception(error)),
    ]
    return "\n".join(lines)
