"""docs/troubleshooting.md speaks of messages that heedful gives, and of the exit codes it has."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from tests.doc_pages import DOCS

from heedful.cli import main, start

PAGE = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^### `(.*)`$", PAGE, flags=re.MULTILINE)
PACKAGE = DOCS.parent / "src" / "heedful"


@cache
def texts() -> tuple[str, ...]:
    """Every text in the source, with ``…`` where a value is put in; neighbouring literals are one text."""
    found: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return tuple(found)


def is_given(message: str) -> bool:
    """Whether one text has the fixed parts of a message, in order."""
    return any(_in_order(message.split("…"), text) for text in texts())


def _in_order(parts: list[str], text: str) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def test_there_are_enough_of_them() -> None:
    assert len(MESSAGES) == len(set(MESSAGES)) >= 25


@pytest.mark.parametrize("message", MESSAGES)
def test_each_message_is_one_that_heedful_gives(message: str) -> None:
    assert len(message.replace("…", "")) >= 12, "too little is fixed to tell it from others"
    assert is_given(message)


def test_a_message_that_nobody_gives_is_found_out() -> None:
    assert not is_given("there is no folder … on this planet")
    assert not is_given("lines such leaves drop … --on-bad-line")


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    assert listed == {0, main.USERS_MISTAKE, main.OUR_MISTAKE, start.INTERRUPTED}
