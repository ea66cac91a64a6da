"""The page of a run in a real browser; where there is none, `test_run_report.py` is what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.attention_toys import HOSTILE
from tests.browsers import browser, opened
from tests.report_toys import toy_scores
from tests.trained_toys import train_toy

from heedful.report.run_page import run_sections, write_run_page
from heedful.runs.metrics import read_metrics
from heedful.runs.record import run_record

__all__ = ["browser"]  # a fixture

SETTINGS = ("training.validation_steps=10", "training.samples=1", "training.log_steps=5")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = train_toy(tmp_path_factory.mktemp("toy"), steps=20, settings=SETTINGS)
    long = " ".join(["word"] * 50)
    scores = toy_scores([" ".join(HOSTILE), "a b", long], ["x", "a b", long], ["y", "a b", "c"])
    write_run_page("Run", run_sections(run_record(run), scores), run / "report.html")
    return run


@pytest.fixture
def page(browser: Any, run: Path) -> Iterator[Any]:
    with opened(browser, run / "report.html") as page:
        yield page


def chart(page: Any, title: str) -> Any:
    return page.locator("figure.chart", has=page.locator("figcaption b", has_text=title)).first


def test_the_pointer_reads_step_and_value(page: Any, run: Path) -> None:
    figure = chart(page, "Loss")
    figure.scroll_into_view_if_needed()
    box = figure.locator("> svg").bounding_box()
    page.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + box["height"] / 2)
    last = read_metrics(run).train[-1], read_metrics(run).validation[-1]
    expected = f"step 20: training (with dropout) {last[0].loss:.4g}"
    assert figure.locator("output").inner_text().startswith(expected)
    assert f"validation (without) {last[1].smoothed_loss:.4g}" in figure.locator("output").inner_text()
    page.mouse.move(1, 1)
    assert figure.locator("output").inner_text() == ""


def test_the_arrow_keys_go_from_value_to_value(page: Any, run: Path) -> None:
    figure = chart(page, "Speed")
    figure.locator("> svg").focus()
    for line in (*read_metrics(run).train, read_metrics(run).train[-1]):  # and no further than the last
        page.keyboard.press("ArrowRight")
        read, _, value = figure.locator("output").inner_text().partition(": ")
        assert read == f"step {line.step}"
        assert float(value.replace(",", "")) == pytest.approx(line.wall.tokens_per_second, rel=1e-3)


@pytest.mark.parametrize("width", [360, 700, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_never_wider_than_the_window(page: Any, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    brighter = page.locator("image").first.evaluate("node => getComputedStyle(node).filter")
    assert brighter == ("none" if scheme == "light" else "brightness(1.9)")


def test_on_a_phone_a_column_is_no_wider_than_its_cells_for_the_sake_of_its_head(page: Any) -> None:
    head = page.locator("th", has_text="pairs removed")
    wide = head.bounding_box()["width"]
    page.set_viewport_size({"width": 390, "height": 900})
    assert head.bounding_box()["width"] < 0.75 * wide


def test_on_a_phone_the_words_of_a_table_stand_in_few_lines(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    rule = page.locator("td", has_text="one side has more than --max-ratio times the other's tokens")
    assert rule.bounding_box()["height"] < 100, "six lines and more"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_option_is_not_broken_at_its_hyphens(page: Any) -> None:
    options = page.locator(".option")
    assert "--max-ratio" in options.all_inner_texts()
    for width in (360, 390, 470, 700):
        page.set_viewport_size({"width": width, "height": 900})
        rectangles = options.evaluate_all("all => all.map(one => one.getClientRects().length)")
        assert set(rectangles) <= {0, 1}, "an option in two lines"  # none where its section is folded


def test_paper_is_white_whatever_the_screen(page: Any) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav:visible").count() == 0
    assert page.locator("image").first.evaluate("node => getComputedStyle(node).filter") == "none"
