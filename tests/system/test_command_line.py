"""The commands as a user meets them: real processes, pipes, wrong words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import heedful
from heedful.presets import ALL, resolve


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "heedful", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)


def test_version_is_one_line() -> None:
    assert run("--version").stdout == f"{heedful.__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        *([], ["demo"], ["plan"], ["models"], ["attention"], ["evaluate"], ["compare"], ["runs"], ["curves"]),
        *(["bundle"], ["presets"], ["config"]),
    ],
)
def test_help_teaches(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.returncode == 0
    assert "Usage: heedful" in result.stdout
    if command:
        assert result.stdout.count(f"heedful {command[0]}") >= 3  # the usage line and two examples


def test_commands_stand_in_the_order_of_a_users_journey() -> None:
    lines = [line.split() for line in run("--help").stdout.splitlines()]
    shown = [words[1] for words in lines if len(words) > 2 and words[0] == "│"]
    journey = [
        "demo",
        "prepare",
        "data",
        "plan",
        "models",
        "attention",
        "evaluate",
        "compare",
        "runs",
        "curves",
        "bundle",
        "presets",
        "config",
    ]
    assert [word for word in shown if word in journey] == journey


def test_presets_prints_exact_counts_beside_the_papers() -> None:
    lines = run("presets").stdout.splitlines()
    base = next(line for line in lines if line.startswith("base "))
    big = next(line for line in lines if line.startswith("big "))
    assert "63,082,496" in base
    assert "65 M" in base
    assert "214,245,376" in big
    assert "213 M" in big
    assert sum(line.split()[0] in {preset.name for preset in ALL} for line in lines if line) == len(ALL)


def test_presets_json_is_for_programs() -> None:
    rows = json.loads(run("presets", "base", "--vocab-size", "32000", "--json").stdout)
    assert [row["name"] for row in rows] == ["base"]
    assert rows[0]["parameters"] == 63_082_496 - 5000 * 512
    assert rows[0]["config"]["model"]["d_model"] == 512


def test_config_writes_a_file_that_config_reads(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(run("config", "--preset", "big", "--set", "training.steps=9").stdout)
    assert resolve(file=file) == resolve(name="big", settings=["training.steps=9"])
    as_json = json.loads(run("config", "--config", str(file), "--json").stdout)
    assert as_json["training"]["steps"] == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["config", "--set", "model.dropout=1.5"], "model.dropout = 1.5 (--set model.dropout=1.5): must be a number"),
        (["config", "--config", "nowhere.toml"], "there is no file nowhere.toml"),
        (["config", "--config", "."], "is a folder"),
        (["config", "--preset", "bas"], "no preset called bas (did you mean base?)"),
        (["presets", "bigg"], "no preset called bigg (did you mean big?)"),
        (["presets", "--vocab-size", "-3"], "--vocab-size -3"),
    ],
)
def test_a_users_mistake_is_a_message_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_unknown_commands_and_options_suggest_the_nearest() -> None:
    for arguments, nearest in ((["preset"], "presets"), (["config", "--presett", "x"], "--preset")):
        result = run(*arguments)
        assert result.returncode != 0
        assert nearest in result.stderr + result.stdout
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", ["presets", "presets --json", "config", "--help"])
def test_a_reader_that_leaves_early_is_no_error(arguments: str) -> None:
    script = f"set -o pipefail; {sys.executable} -m heedful {arguments} | head -1"
    result = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr == ""
