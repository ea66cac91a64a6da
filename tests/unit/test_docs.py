"""The pages of docs/: links lead somewhere, the index has every page, and the options they name exist."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest
from tests.doc_pages import DOCS

from heedful.cli.main import COMMANDS, command_named, examples_of
from heedful.cli.model_options import ModelOptions, SearchChoices
from heedful.config import SECTIONS
from heedful.presets import BY_NAME

PAGES = sorted(DOCS.glob("*.md"))
ANYWHERE = {"help", "json", "set", "version"}


def anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def options() -> dict[str, set[str]]:
    """The options of each command, without their dashes."""
    shared = {item.name for part in (ModelOptions, SearchChoices) for item in dataclasses.fields(part)}
    found: dict[str, set[str]] = {}
    for command in COMMANDS:
        names = set(inspect.signature(command_named(command)).parameters)
        names |= shared if names & {"model", "search"} else set()
        names |= {"preset", "config"} if "chosen" in names else set()
        names -= {"model"} if "running" in names and command != "serve" else set()  # the systems are its arguments
        found[command] = {name.strip("_").replace("_", "-") for name in names} | ANYWHERE
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        if not target.startswith("http"):
            other = DOCS / file if file else page
            assert other.exists(), target
            assert not anchor or anchor in anchors(other), target


def test_the_index_has_every_page() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert listed == {page.name for page in PAGES} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_settings_and_presets_it_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for section, key in re.findall(
        r"`(?:--set )?(model|training|search|data)\.(?!safetensors|state_dict)([a-z]\w*)", text
    ):
        assert key in {item.name for item in dataclasses.fields(SECTIONS[section])}, f"{section}.{key}"
    for preset in re.findall(r"--preset ([\w.-]+\w)", text):
        assert preset in BY_NAME, preset


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_options_it_names_exist(page: Path) -> None:
    """In what is quoted as `command --option`, with or without heedful before it."""
    known = options()
    for quoted in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
        words = quoted.removeprefix("heedful ").split()
        if len(words) > 1 and words[0] in known:
            for option in re.findall(r"(?<=\s)--([a-z][\w-]*)", quoted):
                assert option in known[words[0]], quoted


def test_what_migration_calls_ours_is_ours() -> None:
    """The last column of each table: settings, commands with options, or prose."""
    known = options()
    text = (DOCS / "migration.md").read_text(encoding="utf-8")
    rows = [
        line.rsplit("|", 2)[1] for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")
    ]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(names) > 60
    for name in names:
        first = name.removeprefix("heedful ").split()[0]
        section = first.partition(".")[0]
        assert first in known or section in SECTIONS or first in {"torchrun", "--preset"}, name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_ends_with_two_examples(command: str) -> None:
    assert [example.split()[:2] for example in examples_of(command_named(command))] == [["heedful", command]] * 2
