"""The files that pages are made of: one palette, no colour that is not in it, nothing that is not escaped."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest

from heedful.report.pages import fragment, page_file, page_style, write_page

SHEETS = {"attention": page_file("attention.css"), "report": page_file("report.css")}
PALETTE = page_file("palette.css")


def defined(sheet: str) -> set[str]:
    return set(re.findall(r"(--[\w-]+):", sheet))


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_uses_the_palette_and_repeats_nothing_of_it(name: str) -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", SHEETS[name]))
    assert used & defined(PALETTE)
    assert used <= defined(PALETTE) | defined(SHEETS[name])
    assert not defined(PALETTE) & defined(SHEETS[name])


def test_every_colour_has_a_dark_twin() -> None:
    for sheet in (PALETTE, SHEETS["report"]):
        light, _, rest = sheet.partition("@media screen and (prefers-color-scheme: dark)")
        dark, _, _ = rest.partition("@media print")
        assert defined(light) == defined(dark)


def test_the_palette_stands_before_the_sheet() -> None:
    assert page_style("report.css") == PALETTE + SHEETS["report"]


def test_templates_escape_everything_that_is_put_into_them() -> None:
    folder = resources.files("heedful.report") / "page"
    templates = {
        file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".html")
    }
    assert len(templates) > 10
    for name, template in templates.items():
        assert not re.search(r"\|\s*safe|autoescape|\son\w+=", template), name
    evil = "<b onload='x'>\"&"
    assert str(fragment('<p title="{{ text }}">{{ text }}</p>', text=evil)).count("<") == 2
    assert fragment("{{ text|breakable }}", text="a/<b>") == "a/<wbr>&lt;b&gt;"


def test_a_page_is_written_to_a_pipe_and_does_not_replace_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit((tmp_path / "pipe").read_bytes)
        write_page(tmp_path / "pipe", "page")
        assert reading.result(timeout=20) == b"page"
    assert (tmp_path / "pipe").is_fifo()
