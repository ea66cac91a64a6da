"""Wrong values, others' control characters, missing streams, poor encodings: always a message, never a mess."""

from __future__ import annotations

import ast
import dataclasses
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
from cyclopts import Parameter
from tests.commands import run_here

import heedful
from heedful.cli.main import COMMANDS, command_named
from heedful.cli.options import MOST, Bounds
from heedful.cli.terminal import console, plain_table, print_json, print_text, say, visible
from heedful.config import Rule
from heedful.errors import HeedfulError
from heedful.typed import typed

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[31mred\x9b1m\r\x7f[/x] [bold]b[/bold] \u202eabc"
BUNDLED = Path(heedful.__file__).parent / "bundled" / "en-de-small"
FORBIDDEN = "\x1b\x07\x9b\r\x7f\u202e"


# Numbers


@dataclasses.dataclass(frozen=True)
class Given:
    """An option with its value, as cyclopts hands it on."""

    keyword: str
    value: str


def bounded_options(kind: Any) -> dict[str, Bounds]:
    """The options of a command, or of a dataclass of them, that take a number with bounds."""
    found: dict[str, Bounds] = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        if dataclasses.is_dataclass(hint):
            found |= bounded_options(hint)
        for extra in getattr(hint, "__metadata__", ()):
            if isinstance(extra, Parameter) and isinstance(extra.converter, Bounds):
                found[f"--{name.strip('_').replace('_', '-')}"] = extra.converter
    return found


def plain_numbers(kind: Any) -> list[str]:
    """The options that take a number without bounds."""
    found: list[str] = []
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        if dataclasses.is_dataclass(hint):
            found += plain_numbers(hint)
        if hint in (int, float, int | None, float | None):
            found.append(name)
    return found


def wrong_values(bounds: Bounds) -> list[str]:
    """What is refused: just outside, no number, a number too long to be one."""
    rule, step = bounds.rule, 1 if bounds.whole else 0.001
    lowest, highest = rule.above, rule.below
    if lowest is None:
        assert rule.at_least is not None, "both bounds are said"
        lowest = rule.at_least - step
    if highest is None:
        assert rule.at_most is not None, "both bounds are said"
        highest = rule.at_most + step
    wrong = [f"{lowest}", f"{highest}", "many", "nan", "inf", "-inf", "1e999", "9" * 5000, ""]
    return wrong + (["1.5", "2.9"] if bounds.whole else [])


OPTIONS = [(command, *option) for command in COMMANDS for option in bounded_options(command_named(command)).items()]
NEEDED = {"prepare": ["--output=x"], "train": ["x", "--output=x"], "score": ["--source=x", "--target=x"]}
NEEDED |= {"evaluate": ["--reference=x"], "compare": ["a", "b", "--reference=x"], "attention": ["A."]}
NEEDED |= {"reproduce": ["table3", "x"], "translate-file": ["x", "--output=y"]}
NEEDED |= {command: ["x"] for command in ("data", "plan", "average", "report", "runs", "curves")}


@pytest.mark.parametrize(("command", "option", "bounds"), OPTIONS, ids=lambda value: str(value)[:24])
def test_a_number_out_of_bounds_is_refused_by_name(
    command: str, option: str, bounds: Bounds, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    outside, *others = wrong_values(bounds)
    code, out, error = run_here(capsys, command, *NEEDED.get(command, []), f"{option}={outside}")
    assert (code, out) == (2, "")
    assert error == f"error: {option} {outside}: must be {bounds.rule.allowed()}\n"
    assert not list(tmp_path.iterdir())
    for value in others:
        with pytest.raises(HeedfulError, match=f"{option} {re.escape(value[:40])}.*{re.escape(bounds.rule.allowed())}"):
            bounds(None, [Given(option, value)])  # pyright: ignore[reportArgumentType]


def test_every_number_of_every_command_has_bounds() -> None:
    assert len(OPTIONS) >= 50
    assert {command: plain_numbers(command_named(command)) for command in COMMANDS} == {name: [] for name in COMMANDS}


def test_whole_numbers_are_read_as_they_are_written() -> None:
    for text, value in {"7": 7, "1e3": 1000, "5.0": 5, "1_000": 1000, str(MOST): MOST}.items():
        assert Bounds(Rule("", at_least=0, at_most=MOST))(None, [Given("--n", text)]) == value  # pyright: ignore[reportArgumentType]


# Names of files

NAMES = [
    "a" * 300,
    "a/" * 3000,
    "circle",
    "circle/x",
    "",
    "/dev/null",
    "/dev/null/x",
    "nowhere/x",
    "\udcff",
    "\x1b[31m",
]
READING = {
    "prepare": "prepare --output=o --source={} --target={}",
    "excluded": "prepare --output=o --source=text --target=text --exclude={}",
    "data": "data {}",
    "plan": "plan {} --preset=tiny",
    "train": "train {} --output=o --preset=tiny",
    "config": "config --config={}",
    "average": "average {}",
    "runs": "runs {}",
    "models": "models {}",
    "curves": "curves {}",
    "report": "report {} --no-scores",
    "bundle": "bundle {} --output=o",
    "export": "export {} --output=o --to=marian",
    "translate": "translate --input={}",
    "score": "score --source={} --target=text",
    "evaluate": "evaluate --hypothesis={} --reference=text --resamples=9",
    "compare": "compare {} text --reference=text --resamples=9 --trials=9",
    "model": "translate Hi. --model={}",
}


@pytest.mark.parametrize("case", READING)
def test_a_name_that_leads_nowhere_is_a_message(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a line\n")
    (tmp_path / "circle").symlink_to("circle")
    for name in NAMES:
        code, _, error = run_here(capsys, *(word.format(name) for word in READING[case].split()))
        listing = case in {"runs", "models"} and not name  # this folder
        assert code == (0 if listing else 2), (name[:20], error[:500])
        assert error.startswith("error: ") or listing
        assert not set(error) & set(FORBIDDEN)


# What would control a terminal


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_what_controls_a_terminal_becomes_visible_and_the_rest_stays() -> None:
    assert not set(visible(HOSTILE)) & set(FORBIDDEN)
    for text in ("Grüße\t1\n2", "می‌خواهم", "👩‍👩‍👧", "[bold]x[/bold]", "日本語"):
        assert visible(text) == text
    for code in [*range(32), *range(127, 160)]:
        assert (visible(chr(code)) == "�") == (chr(code) not in "\n\t")
    assert visible("a" * 50, most=10) == "a" * 9 + "…"


def test_nothing_that_is_printed_controls_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    table = plain_table("name", HOSTILE)
    table.add_row(HOSTILE, HOSTILE)
    console().print(table, HOSTILE)
    console(stderr=True).print(HOSTILE)
    print_text(HOSTILE)
    print_json({"name": HOSTILE})
    say(HOSTILE)
    for shown in (out.getvalue(), err.getvalue()):
        assert "[/x] [bold]b[/bold]" in shown
        assert not set(shown) & set(FORBIDDEN)


def test_a_pipe_gets_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(HOSTILE)
    assert capsys.readouterr().out == HOSTILE + "\n"
    print_json({"name": HOSTILE, "numbers": [float("nan"), float("inf"), 1.5], "text": "Grüße"})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"name": HOSTILE, "numbers": [None, None, 1.5], "text": "Grüße"}


def test_only_one_module_prints() -> None:
    """So that nobody need remember the above."""
    allowed = {"terminal.py", "start.py", "main.py"}  # the last two print what is our own, before rich is loaded
    for path in (Path(heedful.__file__).parent / "cli").glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
        assert path.name in allowed or not called & {"print", "sys.stdout.write", "sys.stderr.write"}, path.name


def on_a_terminal(*arguments: str) -> str:
    """What a person's terminal gets from a command."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "heedful", *arguments]
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "400"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux's way of saying that the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return shown.decode(errors="surrogateescape")


def test_names_and_titles_of_others_do_not_reach_a_real_terminal(tmp_path: Path) -> None:
    run = tmp_path / "a\x1b[31mrun"
    shutil.copytree(BUNDLED, run)
    (run / "README.md").write_text(f"# {HOSTILE}\n")
    for command, shown_of_it in (("runs", "[31mrun"), ("models", "[31mred")):
        shown = on_a_terminal(command, str(tmp_path))
        assert shown_of_it in shown
        shown = re.sub("\x1b\\[[012]m|\r\n", "", shown)  # our own: bold, dim, and the ends of lines
        assert not set(shown) & set(FORBIDDEN), command


# Streams that are missing, full, or of another encoding


def shell(script: str, *, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    program = f'heedful() {{ {sys.executable} -m heedful "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", program + script],
        check=False,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=60,
    )


STREAMS = {
    "nothing to print to": ("heedful config >&-", 2),
    "JSON and nothing to print to": ("heedful models --json >&-", 2),
    "no standard error": ("heedful config 2>&- >out; grep -q d_model out", 0),
    "no standard error for the message": ("heedful config --preset x 2>&-", 2),
    "no standard input": ("heedful config <&- >out; grep -q d_model out", 0),
    "none at all": ("heedful --version <&- >&- 2>&-", 0),
    "a full log": ("heedful config --preset x 2>/dev/full", 2),
    "no columns": ("COLUMNS=0 heedful config --help >out; grep -q preset out", 0),
    "one column": ("COLUMNS=1 heedful config --help >out; grep -q preset out", 0),
    "a billion columns": ("COLUMNS=1000000000 heedful config --help >out; grep -q preset out", 0),
    "a folder that is gone": ("mkdir gone; cd gone; rmdir ../gone; heedful models", 0),
    "files of at most a kilobyte": ("ulimit -f 1; heedful config >out", 2),
    "the same, unbuffered": ("ulimit -f 1; PYTHONUNBUFFERED=1 heedful config >out", 2),
    "text that is not UTF-8": ("heedful runs $'\\xff\\xfe'", 2),
    "a long name": (f"heedful runs {'a' * 300}", 2),
    "a very long path": (f"heedful runs {'a/' * 3000}", 2),
    "links in a circle": ("ln -s b a; ln -s a b; heedful runs a/x", 2),
    "a NUL-like name": ("heedful config --config ''", 2),
}


@pytest.mark.parametrize("case", STREAMS)
def test_whatever_the_streams_there_is_no_traceback(case: str, tmp_path: Path) -> None:
    script, code = STREAMS[case]
    result = shell(script, cwd=tmp_path)
    assert b"Traceback" not in result.stderr
    assert b"mistake of heedful" not in result.stderr
    assert result.returncode == code, result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_without_our_characters_gets_replacements(encoding: str, tmp_path: Path) -> None:
    run = tmp_path / "läufe-日本"
    run.mkdir()
    shutil.copy(BUNDLED / "run.json", run)
    script = "heedful runs . && heedful config && heedful translate --help && heedful config --preset ünicode-日本"
    result = shell(script, cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr
    assert b"no preset called" in result.stderr
    listed = shell("heedful runs . --json", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert json.loads(listed.stdout.decode(encoding))[0]["folder"].endswith("läufe-日本")  # JSON has escapes for them


SPACES = "5\u202f000\xa0€\u2009!\u3000x"
"""As French and Japanese text has them: no-break, thin and wide."""


def test_spaces_of_every_kind_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = plain_table("text")
    table.add_row(SPACES)
    console().print(table, SPACES)
    print_text(SPACES)
    print_json({"text": SPACES})
    say(SPACES)
    out, errors = capsys.readouterr()
    assert out.count(SPACES) == 4
    assert SPACES in errors
    _, _, errors = run_here(capsys, "translate", "--model", SPACES, "x")
    assert SPACES in errors
    with pytest.raises(ValueError, match=SPACES):
        typed(int, SPACES)
