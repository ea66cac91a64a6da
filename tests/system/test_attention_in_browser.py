"""The page of attention in a real browser; where there is none, `test_attention_page.py` is what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.attention_toys import HOSTILE, toy_maps
from tests.browsers import browser, opened

from heedful.report.attention_views import write_attention_page

__all__ = ["browser"]  # a fixture

MAPS = toy_maps(HOSTILE, [" A", " house", "."], layers=3, heads=2)


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    with opened(browser, write_attention_page(MAPS, tmp_path / "page.html")) as page:
        yield page


def test_arrow_keys_change_layer_and_head_and_stop_at_the_edges(page: Any) -> None:
    title = page.locator("#chosen-title")
    assert title.inner_text() == "Cross, layer 3, mean of heads"  # the layer that aligns
    for key, expected in (
        ("ArrowLeft", "Cross, layer 3, head 2"),
        ("ArrowUp", "Cross, layer 2, head 2"),
        ("ArrowUp", "Cross, layer 1, head 2"),
        ("ArrowUp", "Cross, layer 1, head 2"),
        ("ArrowRight", "Cross, layer 1, mean of heads"),
        ("ArrowRight", "Cross, layer 1, mean of heads"),
        ("ArrowDown", "Cross, layer 2, mean of heads"),
    ):
        page.keyboard.press(key)
        assert title.inner_text() == expected


def test_the_weight_under_the_pointer_is_read_out(page: Any) -> None:
    box = page.locator("rect.frame").bounding_box()
    queries, keys = MAPS.cross.shape[-2:]
    page.mouse.move(box["x"] + box["width"] * 0.5 / keys, box["y"] + box["height"] * 0.5 / queries)
    weight = MAPS.cross[2].mean(0)[0, 0]
    assert weight > 0.01
    assert page.locator("#readout").inner_text().endswith(f": {weight:.3f}")
    assert "·A" in page.locator("#readout").inner_text()


def test_a_subword_alone_shows_its_lines(page: Any) -> None:
    page.get_by_role("button", name="Lines").click()
    page.locator("g.token").first.focus()
    column = MAPS.cross[2].mean(0)[:, 0]
    assert f"{column.max():.3f}" in page.locator("#readout").inner_text()
    shown = [text for text in page.locator("text.weight").all_text_contents() if text]
    assert shown == [f"{weight:.3f}" for weight in column if weight >= 0.01]


def test_words_have_the_weights_of_their_subwords_together(browser: Any, tmp_path: Path) -> None:
    maps = toy_maps([" Trans", "former", " lernt"], [" A", " trans", "former"], layers=1, heads=1)
    with opened(browser, write_attention_page(maps, tmp_path / "page.html")) as page:
        page.get_by_role("button", name="Words", exact=True).click()
        box = page.locator("rect.frame").bounding_box()
        # The second of three words of the translation attends to the first of three of the source.
        page.mouse.move(box["x"] + box["width"] / 6, box["y"] + box["height"] / 2)
        weight = maps.cross[0, 0][1:3, 0:2].sum(1).mean()
        read = page.locator("#readout").inner_text().translate(dict.fromkeys((0x2068, 0x2069)))  # isolates
        assert read == f"transformer → Transformer: {weight:.3f}"


def test_the_table_sorts_and_selects(page: Any) -> None:
    page.get_by_role("button", name="distance").click()
    page.get_by_role("button", name="distance").click()
    distances = [float(row.split("\t")[2]) for row in page.locator("tbody tr").all_inner_texts()]
    assert len(distances) == 6
    assert distances == sorted(distances, reverse=True)
    layer, head, *_ = page.locator("tbody tr").nth(1).inner_text().split("\t")
    page.locator("tbody tr").nth(1).click()
    assert page.locator("#chosen-title").inner_text() == f"Cross, layer {layer}, head {head}"


@pytest.mark.parametrize("width", [360, 700, 1200])
def test_the_page_is_never_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for kind in ("Encoder", "Decoder", "Cross"):
        page.get_by_role("button", name=kind).click()
        for view in ("Lines", "Map"):
            page.get_by_role("button", name=view).click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
