"""Commands run inside the test's own process, which saves seconds of imports each."""

from __future__ import annotations

from pathlib import Path

import pytest

from heedful.cli.main import main


def run_here(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """The exit code of a command, and what it printed on standard output and standard error."""
    code = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as error:
        code = int(error.code or 0)
    out, errors = capsys.readouterr()
    return code, out, errors
