"""The style sheets of the pages: one palette, and no colour that is not in it or in the sheet itself."""

from __future__ import annotations

import re

import pytest

from heedful.report.pages import page_file, page_style

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
