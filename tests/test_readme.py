"""The README's commands and code run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.trained_toys import train_toy

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]
CODE = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_readme_begins_with_a_translation_and_has_code() -> None:
    assert [command.split()[0] for command in COMMANDS[:3]] == ["git", "make", ".venv/bin/heedful"]
    assert COMMANDS[2].split()[1] == "translate"
    assert "make test" in COMMANDS
    assert CODE


def test_its_commands_run_in_order(tmp_path: Path) -> None:
    """In an empty folder, so that a file one command writes is there for the next."""
    for command in COMMANDS:
        if command.startswith("make ") or (command.startswith("git ") and not (ROOT / ".git").exists()):
            continue
        words = command.replace(".venv/bin/heedful", f"{sys.executable} -m heedful").replace("ADDRESS", str(ROOT))
        result = subprocess.run(["bash", "-c", words], check=False, capture_output=True, text=True, cwd=tmp_path)
        assert result.returncode == 0, f"{command}\n{result.stderr}"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_its_make_targets_exist() -> None:
    for command in [command for command in COMMANDS if command.startswith("make ")]:
        result = subprocess.run([*command.split(), "--dry-run"], check=False, capture_output=True, text=True, cwd=ROOT)
        assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def folder_with_a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("readme"), steps=8).parent


@pytest.mark.parametrize("code", CODE)
@pytest.mark.filterwarnings("ignore:the input does not look like")  # to a toy that was taught other words
def test_its_code_runs(code: str, folder_with_a_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_with_a_run)
    # Smaller sizes for the same lines: the claim is that they run, not that a test machine has the memory.
    exec(compile(code.replace("vocab_size=37_000", "vocab_size=50"), "README.md", "exec"), {})


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
