"""The server's page in a real browser: type, see beams, click a word, compare, swap, on a desk and on a phone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests import serving
from tests.browsers import browser  # noqa: F401

WATCH = """() => new MutationObserver(() => {
    if (document.querySelector("#hypotheses.growing li .score")) window.grown = true;
}).observe(document.querySelector("#hypotheses"), {childList: true, subtree: true, attributes: true})"""
TEXT = "The committee met on Tuesday, but nobody could agree on a plan. Two men are talking."


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Running]:
    model = serving.served("en-de-small")
    greedy = serving.ServedModel("fast", model.translator, model.languages, model.options)
    with serving.running(model, greedy) as started:
        yield started


@contextlib.contextmanager
def page(browser: Any, server: serving.Running, *, width: int = 1280) -> Iterator[Any]:  # noqa: F811
    """The page; any error, message or request to somebody else fails the test."""
    problems: list[str] = []
    made = browser.new_page(viewport={"width": width, "height": 800})
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda message: problems.append(message.text))
    made.on("request", lambda request: None if request.url.startswith(server.url) else problems.append(request.url))
    made.goto(server.url)
    made.wait_for_selector("#pair option", state="attached")
    yield made
    made.close()
    assert problems == []


def translation(made: Any, side: int = 0) -> str:
    made.wait_for_selector(f".output[data-side='{side}'] .word")
    return made.text_content(f".output[data-side='{side}'] .translation")


def test_what_is_typed_is_translated_and_explained(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server) as made:
        made.evaluate(WATCH)  # beams may be gone before anybody looks
        made.fill("#text", TEXT)
        expected = server.ask("POST", "/api/translate", {"text": TEXT}).json["results"][0]
        assert translation(made) == expected["translations"][0]["text"]
        assert made.evaluate("window.grown")
        assert made.locator("#hypotheses li").count() >= 1
        word = made.locator(".translation .word", has_text="Dienstag")
        word.click()
        made.wait_for_selector("#attention:not([hidden])")
        weights = made.eval_on_selector_all(
            "#looked .word", "all => all.map(w => w.style.getPropertyValue('--weight'))"
        )
        words = made.eval_on_selector_all("#looked .word", "all => all.map(w => w.firstChild.textContent)")
        assert words[max(range(len(weights)), key=lambda place: float(weights[place]))] == "Tuesday,"
        made.click("#heads")
        made.wait_for_selector("#grid figure")
        assert made.locator("#grid figure").count() == 6
        made.keyboard.press("Escape")
        assert made.is_hidden("#attention")
        made.keyboard.press("Escape")
        assert made.input_value("#text") == made.text_content(".translation") == ""


def test_what_is_typed_on_stops_what_went_before(browser: Any, server: serving.Running) -> None:  # noqa: F811
    before = server.service.metrics.cancelled._value.get()
    with page(browser, server) as made:
        made.fill("#text", "\n".join([TEXT] * 40))
        made.wait_for_selector("#hypotheses.growing li")
        made.fill("#text", "A dog.")
        made.wait_for_selector(".translation .word")
        assert len(made.text_content(".translation")) < 20
    assert server.service.metrics.cancelled._value.get() > before


def test_two_models_beside_each_other(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server) as made:
        made.fill("#text", "A dog runs.")
        made.check("#compare")
        assert translation(made, 0) == translation(made, 1)
        assert made.text_content(".output[data-side='0'] .which") == "en-de-small"
        assert made.is_disabled("#swap")  # nobody translates back


@pytest.mark.parametrize("width", [768, 390])
def test_it_fits(browser: Any, server: serving.Running, width: int) -> None:  # noqa: F811
    with page(browser, server, width=width) as made:
        made.fill("#text", "A dog runs. " + "x" * 90)
        translation(made)
        made.locator(".translation .word").first.click()
        made.wait_for_selector("#attention:not([hidden])")
        assert made.evaluate("document.documentElement.scrollWidth") == width
        before = made.evaluate("getComputedStyle(document.body).backgroundColor")
        made.click("#theme")
        assert made.evaluate("getComputedStyle(document.body).backgroundColor") != before
        made.goto(f"{server.url}/docs")
        assert made.evaluate("document.documentElement.scrollWidth") == width
        assert made.locator("section").count() == sum(
            len(methods) for methods in server.ask("GET", "/openapi.json").json["paths"].values()
        )
