"""``heedful``: the commands, in the order of a user's journey, and what happens when one fails.

Exit codes: 0 done, 2 the user's mistake (the message says what to do), 130 interrupted.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnusedCliTokensError

from heedful import __version__
from heedful.cli.attention import attention
from heedful.cli.average import average
from heedful.cli.bundle import bundle
from heedful.cli.compare import compare
from heedful.cli.config import config
from heedful.cli.curves import curves
from heedful.cli.data import data
from heedful.cli.demo import demo
from heedful.cli.evaluate import evaluate
from heedful.cli.export import export
from heedful.cli.models import models
from heedful.cli.plan import plan
from heedful.cli.prepare import prepare
from heedful.cli.presets import presets
from heedful.cli.report import report
from heedful.cli.runs import runs
from heedful.cli.score import score
from heedful.cli.terminal import PatientConsole
from heedful.cli.train import train
from heedful.cli.translate import translate
from heedful.errors import HeedfulError

app = App(
    name="heedful",
    help='The Transformer of "Attention Is All You Need", from two text files to a trained model.',
    version=__version__,
    version_flags=["--version"],
    help_format="markdown",
    console=PatientConsole(),
    suppress_keyboard_interrupt=False,  # main() says what happened
)
COMMANDS = [
    demo,
    prepare,
    data,
    plan,
    train,
    average,
    models,
    translate,
    score,
    attention,
    evaluate,
    compare,
    runs,
    curves,
    report,
    bundle,
    export,
    presets,
    config,
]
for order, command in enumerate(COMMANDS):
    # cyclopts leaves a docstring's examples out of the help; a user looks for them first.
    _, _, examples = (command.__doc__ or "").partition("Examples\n    --------\n")
    app.command(command, sort_key=order, help_epilogue="**Examples**\n\n" + inspect.cleandoc(examples))

REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
"""What a machine refuses whatever the program: no permission, no room."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        # On a line like every other mistake: a box would fold what somebody wants to search for.
        extra = " ".join(error.unused_tokens or ()) if isinstance(error, UnusedCliTokensError) else ""
        problem = f"more was given than it takes: {extra}" if extra else error
        words = " ".join(["heedful", *(error.command_chain or ())])
        print(f"error: {problem}\n{words} --help shows what it takes", file=sys.stderr)
        raise SystemExit(2) from None
    except HeedfulError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:  # the reader (`| head`) has all it wanted
        _leave_standard_output()
        raise SystemExit(0) from None
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        if error.filename is None:  # perhaps standard output itself, on a full disk
            _leave_standard_output()
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"error: {where}{error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def _leave_standard_output() -> None:
    """Python would complain once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
