"""Commands run inside the test's own process, which saves seconds of imports each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from heedful.cli.main import main


def heedful(*arguments: object) -> int:
    """The exit code of a command."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def run_here(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The exit code of a command, and what it printed on standard output and standard error."""
    capsys.readouterr()
    code = heedful(*arguments)
    out, errors = capsys.readouterr()
    return code, out, errors


@contextlib.contextmanager
def somebody() -> Iterator[None]:
    """A user whom permissions bind: not root."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if own == 0:
            os.seteuid(0)
