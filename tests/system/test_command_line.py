"""The commands as a user meets them: real processes, pipes, wrong words."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.commands import run_here

import heedful
from heedful.cli import main as commands
from heedful.cli.main import COMMANDS, GROUPS, _without_dashes, command_named, main, overview
from heedful.presets import ALL, resolve


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "heedful", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)


def test_version_is_one_line() -> None:
    assert run("--version").stdout == f"{heedful.__version__}\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GNU's OpenMP is on Linux")
@pytest.mark.parametrize(
    ("asked", "spins"),
    [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "30000000000")],
)
def test_threads_that_wait_leave_the_cores_to_others(asked: dict[str, str], spins: str) -> None:
    """As OpenMP itself says it when PyTorch loads it."""
    code = "from heedful.cli import start\nstart._share_cores()\nimport torch\n"
    others = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    environment = {**others, "OMP_DISPLAY_ENV": "VERBOSE", **asked}
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert f"GOMP_SPINCOUNT = '{spins}'" in told.stderr


@pytest.mark.parametrize("command", COMMANDS)
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


def test_help_may_be_asked_for_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help"])
    assert capsys.readouterr().out.startswith("Usage: heedful COMMAND")
    with pytest.raises(SystemExit):
        main(["help", "config"])
    assert capsys.readouterr().out.startswith("Usage: heedful config")


def test_compare_offers_only_what_it_takes() -> None:
    shown = run("compare", "--help").stdout
    assert "--device" in shown
    assert "--model" not in shown


def test_commands_stand_in_groups() -> None:
    lines = overview(width=80).splitlines()
    for title, group in GROUPS.items():
        start = lines.index(f"{title}:")
        shown = [line.split()[0] for line in lines[start + 1 : lines.index("", start)] if line[:3].strip()]
        assert shown == list(group)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_overview_has_the_first_line_of_each_commands_help(command: str) -> None:
    assert COMMANDS[command] == (command_named(command).__doc__ or "").splitlines()[0]


@pytest.mark.parametrize("width", [0, 1, 40, 80, 200])
def test_the_overview_fits_any_terminal(width: int) -> None:
    lines = overview(width=width).splitlines()
    assert max(map(len, lines)) <= max(width, 40)
    assert " ".join(" ".join(lines).split()).count(" ".join(COMMANDS["evaluate"].split())) == 1


@pytest.mark.parametrize("arguments", ["--version", "--help"])
def test_what_needs_no_command_loads_none(arguments: str) -> None:
    """Processor time differs from machine to machine; what takes it does not."""
    code = (
        f"import sys; sys.argv = ['heedful', '{arguments}']\nfrom heedful.cli.start import main\nmain()\n"
        "heavy = {'cyclopts', 'rich', 'torch', 'numpy', 'json', 'heedful.config'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def options_in(help_text: str, *, explained: bool) -> set[str]:
    """The options that a help explains in its boxes, or that it only names."""
    lines = [line for line in help_text.partition("Examples")[0].splitlines() if line.startswith("│") is explained]
    found = [re.findall(r"^│ [* ]*(--[a-z-]+)" if explained else r"--[a-z-]+", line) for line in lines]
    return {name for names in found for name in names} - {"--help-all"}


@pytest.mark.parametrize("command", ["translate", "evaluate", "prepare"])
def test_the_short_help_explains_what_people_use_and_names_the_rest(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, short, _ = run_here(capsys, command, "--help")
    _, whole, _ = run_here(capsys, command, "--help-all")
    usual = options_in(short, explained=True)
    assert 10 <= len(usual) <= 18
    assert options_in(whole, explained=True) == usual | options_in(short[short.index("\nMore ") :], explained=False)
    assert len(options_in(whole, explained=True)) > len(usual)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_completion_script_of_a_shell_has_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, script, _ = run_here(capsys, "completion", shell)
    assert code == 0
    assert all(command in script for command in COMMANDS)
    assert "beam-size" in script


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    given = " ".join(f"'{word}'" for word in words)
    asked = (
        f"{script}\nCOMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _heedful; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return subprocess.run(["bash", "-c", asked], check=True, capture_output=True, text=True).stdout.split()


def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    _, script, _ = run_here(capsys, "completion", "bash")
    assert completed(script, "heedful", "tra") == ["translate", "translate-file", "train"]
    assert completed(script, "heedful", "translate", "--beam") == ["--beam-size"]


@pytest.mark.parametrize("dash", [["--input", "-", "--output", "-"], ["--input=-", "--output=-"]])
def test_a_dash_is_standard_input_or_output(dash: list[str]) -> None:
    assert list(_without_dashes(["translate", *dash, "--model", "m"])) == ["translate", "--model", "m"]
    assert list(_without_dashes(["translate", "--input", "a", "--", "-"])) == ["translate", "--input", "a", "--", "-"]
    assert list(_without_dashes(["translate", "--input"])) == ["translate", "--input"]


def test_completion_is_installed_below_the_users_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    code, out, _ = run_here(capsys, "--install-completion", "bash")
    written = Path(out.split(" is written")[0])
    assert code == 0
    assert written.is_relative_to(tmp_path)
    assert "_heedful" in written.read_text()


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a command says on standard error where that is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "heedful", *arguments]
    given = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | environment
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, env=given)
    os.close(theirs)
    said = os.read(ours, 100_000).decode()
    os.close(ours)
    return said


def test_the_word_error_is_in_colour_only_for_a_person_who_wants_it() -> None:
    assert on_a_terminal("translat").startswith("\x1b[1;31merror:\x1b[0m there is no command translat")
    assert on_a_terminal("translat", NO_COLOR="1").startswith("error: there is no command translat")
    assert on_a_terminal("translat", TERM="dumb").startswith("error: ")
    assert run("translat").stderr.startswith("error: ")


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
        (
            ["train", "x", "--output", "y", "--beam-size=2"],
            "Unknown option: --beam-size. It is a setting: --set search.beam_size=…",
        ),
        (["config", "--set", "steps=3"], "no section of that name (did you mean training.steps?); there are model"),
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


def test_what_is_like_no_command_suggests_none() -> None:
    assert run("nope").stderr.startswith("error: there is no command nope\nheedful --help")
    assert "did you mean evaluate?" in run("eval").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "error: heedful train needs DATA\nheedful train --help shows"),
        (["train", "x", "--output"], "error: --output needs a value\nheedful train --help shows"),
        (
            ["evaluate", "--referense", "x"],
            "error: heedful evaluate needs --reference: Did you mean --reference",
        ),
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


def ended_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command in which this is raised."""

    def failing(_: object) -> None:
        raise error

    monkeypatch.setattr(commands, "run_command", failing)
    with pytest.raises(SystemExit) as ended:
        main(["config"])
    return int(ended.value.code or 0)


TOO_MUCH = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to"
OUT_OF_MEMORY = "out of memory"
THE_MACHINES: dict[str, tuple[BaseException, str]] = {
    "no permission": (PermissionError(errno.EACCES, "Permission denied", "run/x"), "run/x: Permission denied"),
    "a long name": (OSError(errno.ENAMETOOLONG, "File name too long", "aa"), "aa: File name too long"),
    "links in a circle": (OSError(errno.ELOOP, "Too many levels of symbolic links", "a"), "a: Too many levels of"),
    "no folder": (NotADirectoryError(errno.ENOTDIR, "Not a directory", "a/b"), "a/b: Not a directory"),
    "too large": (OSError(errno.EFBIG, "File too large"), "File too large"),
    "no room": (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
    "a copy": (
        shutil.Error([("a", "b", "[Errno 27] File too large")]),
        "a cannot be copied: [Errno 27] File",
    ),
    "memory": (MemoryError(), OUT_OF_MEMORY),
    "an array": (MemoryError("Unable to allocate 7.45 GiB for an array"), f"{OUT_OF_MEMORY}: Unable to allocate 7.45"),
    "a tensor": (RuntimeError(TOO_MUCH), f"{OUT_OF_MEMORY}: {TOO_MUCH}"),
}


@pytest.mark.parametrize("case", THE_MACHINES)
def test_what_the_machine_refuses_is_a_message(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error, message = THE_MACHINES[case]
    assert ended_with(error, monkeypatch) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


OURS = [KeyError("folder"), RecursionError("too deep"), AssertionError("a batch is empty"), OSError(errno.EBADF, "Bad")]


@pytest.mark.parametrize("error", OURS, ids=lambda error: type(error).__name__)
def test_a_mistake_of_ours_is_one_line_and_a_file_with_the_details(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ended_with(error, monkeypatch) == 70
    out, said = capsys.readouterr()
    (file,) = tmp_path.iterdir()
    assert re.fullmatch(r"error: a mistake of heedful's own \(.*\); please report it with what is in .*\n", said)
    assert said.endswith(f" {file}\n")
    assert out == ""
    details = file.read_text()
    for part in (heedful.__version__, repr(sys.argv), "Traceback", "in failing", type(error).__name__):
        assert part in details
    monkeypatch.setenv("HEEDFUL_TRACEBACK", "1")
    assert ended_with(error, monkeypatch) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_mistake_of_ours_on_a_full_disk_is_still_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert ended_with(KeyError("folder"), monkeypatch) == 70
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", ["config", "presets --json", "--help"])
def test_a_full_disk_under_standard_output_is_a_message(arguments: str) -> None:
    script = f"{sys.executable} -m heedful {arguments} > /dev/full"
    result = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr == "error: No space left on device\n"


@pytest.mark.parametrize("module", ["heedful.cli.main", "cyclopts"])
@pytest.mark.parametrize("swallowed", [False, True])
def test_ctrl_c_while_a_command_is_loaded_ends_it(module: str, swallowed: bool) -> None:
    impatient = f"""
import os, signal, sys
class Impatient:
    def find_spec(self, name, *_):
        if name == "{module}":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:  # as Python does in some moments
                if not {swallowed}:
                    raise
sys.meta_path.insert(0, Impatient())
sys.argv = ["heedful", "config"]
from heedful.cli.start import main
main()
"""
    result = subprocess.run([sys.executable, "-c", impatient], check=False, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("arguments", ["presets", "presets --json", "config", "--help"])
def test_a_reader_that_leaves_early_is_no_error(arguments: str) -> None:
    script = f"set -o pipefail; {sys.executable} -m heedful {arguments} | head -1"
    result = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr == ""
