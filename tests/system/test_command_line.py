"""The commands as a user meets them: real processes, pipes, wrong words."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import heedful
from heedful.cli import main as commands
from heedful.cli.main import COMMANDS, main
from heedful.presets import ALL, resolve


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "heedful", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)


def test_version_is_one_line() -> None:
    assert run("--version").stdout == f"{heedful.__version__}\n"


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    shown, _, examples = capsys.readouterr().out.partition("Examples")
    assert shown.startswith(f"Usage: heedful {command}")
    assert len(re.findall(f"^heedful {command}\\b", examples, flags=re.MULTILINE)) == 2


def test_heedful_alone_shows_the_commands() -> None:
    alone = run()
    assert alone.returncode == 0
    assert alone.stdout == run("--help").stdout
    assert alone.stdout.startswith("Usage: heedful COMMAND")


def test_compare_offers_only_what_it_takes() -> None:
    shown = run("compare", "--help").stdout
    assert "--device" in shown
    assert "--model" not in shown


def test_commands_stand_in_the_order_of_a_users_journey() -> None:
    lines = [line.split() for line in run("--help").stdout.splitlines()]
    shown = [words[1] for words in lines if len(words) > 2 and words[0] == "│"]
    journey = [
        *("demo", "prepare", "data", "plan", "train", "average", "models", "translate", "score", "attention"),
        *("evaluate", "compare", "runs", "curves", "report", "bundle", "presets", "config"),
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
        assert result.returncode == 2
        assert result.stderr.startswith("error: ")
        assert nearest in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], 'error: Command "train" parameter DATA requires an argument.\nheedful train --help shows'),
        (["runs", "a", "b", "c"], "error: more was given than it takes: b c\nheedful runs --help shows"),
        (["data", "x", "--samples", "many"], "error: --samples many: must be a whole number, at least 0 and at most"),
        (["average", "x", "--last", "2.9"], "error: --last 2.9: must be a whole number, at least 1 and at most"),
        (["translate", "x", "--threads", "-7"], "error: --threads -7: must be at least 1 and at most 4,096\n"),
        (["translate", "x", "--length-penalty", "nan"], "error: --length-penalty nan: must be at least 0 and at most"),
        (["translate", "x", "--top-p", "0"], "error: --top-p 0: must be above 0 and at most 1\n"),
        (["compare", "a" * 300, "b", "--reference", "c", "--x" + "y" * 300], "error: Unknown option: --x" + "y" * 300),
    ],
)
def test_a_mistyped_command_is_told_on_a_line_of_its_own(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert err.startswith(message)
    assert out == ""


def test_what_the_machine_refuses_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "run/metrics.jsonl")

    monkeypatch.setattr(commands, "app", refused)
    number = errno.EACCES
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: run/metrics.jsonl: Permission denied\n"
    number = errno.EBADF  # a mistake of ours
    with pytest.raises(OSError, match="Bad file descriptor"):
        main([])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", ["config", "presets --json", "--help"])
def test_a_full_disk_under_standard_output_is_a_message(arguments: str) -> None:
    script = f"{sys.executable} -m heedful {arguments} > /dev/full"
    result = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr == "error: No space left on device\n"


def test_ctrl_c_while_the_commands_are_loaded_is_no_traceback() -> None:
    impatient = """
import sys
class Impatient:
    def find_spec(self, name, *_):
        if name == "heedful.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatient())
from heedful.cli.start import main
main()
"""
    result = subprocess.run([sys.executable, "-c", impatient], check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("arguments", ["presets", "presets --json", "config", "--help"])
def test_a_reader_that_leaves_early_is_no_error(arguments: str) -> None:
    script = f"set -o pipefail; {sys.executable} -m heedful {arguments} | head -1"
    result = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr == ""
