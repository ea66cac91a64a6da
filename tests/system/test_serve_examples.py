"""examples/serve, as far as a machine without containers and services can tell."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import run_here

EXAMPLES = Path(__file__).parents[2] / "examples" / "serve"


def commands() -> list[list[str]]:
    """What each example runs, from the name of heedful on."""
    unit, container = (EXAMPLES / name for name in ("heedful.service", "Containerfile"))
    (service,) = re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.M)
    (entry,) = re.findall(r"^ENTRYPOINT (.+)$", container.read_text(), re.M)
    return [service.split(), json.loads(entry)]


@pytest.mark.parametrize("command", commands(), ids=["unit", "container"])
def test_they_run_a_command_that_there_is(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    program, *arguments = command
    assert Path(program).name == "heedful"
    keys = [] if "--keys" in arguments else ["--keys", "none/keys.toml"]
    code, _, said = run_here(capsys, *arguments, *keys)
    assert code == 2
    assert "keys.toml cannot be read" in said, "options are understood, and the first thing that is missing is said"


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze")
    unit = (EXAMPLES / "heedful.service").read_text().replace("/opt/heedful/bin/heedful", sys.executable)
    (tmp_path / "heedful.service").write_text(unit)
    command = [analyze, "verify", str(tmp_path / "heedful.service")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
