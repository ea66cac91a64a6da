"""The server's page in a real browser: type, see beams, click a word, compare, swap, on a desk and on a phone."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests import serving
from tests.browsers import browser  # noqa: F401

from heedful.serve.access import Key, Keys

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
def page(browser: Any, server: serving.Running, *, width: int = 1280, errors: tuple[str, ...] = ()) -> Iterator[Any]:  # noqa: F811
    """The page; any other error or message than these, and any request to somebody else fails the test."""
    problems: list[str] = []
    made = browser.new_page(viewport={"width": width, "height": 800})
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda said: None if errors and said.text.startswith(errors) else problems.append(said.text))
    made.on("request", lambda request: None if request.url.startswith(server.url) else problems.append(request.url))
    made.goto(server.url)
    made.wait_for_selector("#source option", state="attached")
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
        scores = made.locator("#hypotheses li .score").all_text_contents()
        assert len(scores) == 4
        assert scores == sorted(scores, key=float, reverse=True)
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
        made.click("#clear")
        assert made.input_value("#text") == made.text_content(".translation") == ""
        made.keyboard.press("Control+z")
        assert made.input_value("#text") == TEXT


def test_what_is_typed_on_stops_what_went_before(browser: Any, server: serving.Running) -> None:  # noqa: F811
    before = server.service.metrics.cancelled._value.get()
    with page(browser, server) as made:
        made.fill("#text", "\n".join([TEXT] * 40))
        made.wait_for_selector("#hypotheses.growing li")
        made.fill("#text", "A dog.")
        made.wait_for_selector(".translation .word")
        assert len(made.text_content(".translation")) < 20
    assert server.service.metrics.cancelled._value.get() > before


def test_a_search_can_be_stopped_and_begun_again(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server) as made:
        made.fill("#text", "\n".join([TEXT] * 60))
        made.wait_for_selector("#stop:not([hidden])")
        made.keyboard.press("Escape")
        assert made.text_content("#hint") == "Stopped."
        assert made.is_hidden("#stop")
        wait_until_idle(server)
        made.fill("#text", "A dog.")
        assert "Hund" in translation(made)


def wait_until_idle(server: serving.Running) -> None:
    until = time.monotonic() + 10
    while not server.service.thread.idle:
        assert time.monotonic() < until, "nobody waits for it, and it goes on"
        time.sleep(0.02)


def test_the_keyboard_is_enough(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server) as made:
        made.keyboard.type("A dog runs.")  # where the page puts the cursor
        translation(made)
        made.focus(".translation")
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "Enter"):
            made.keyboard.press(key)
        made.wait_for_selector("#attention:not([hidden])")
        assert made.text_content("#word") == "Hund"
        made.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
        made.keyboard.press("Alt+KeyC")
        made.wait_for_selector(".copy:has-text('Copied')")
        assert made.evaluate("navigator.clipboard.readText()") == translation(made)


@pytest.fixture(scope="module")
def both_ways() -> Iterator[serving.Running]:
    with serving.running(serving.served("en-de-small"), serving.served("de-en-small"), most_characters=200) as started:
        yield started


def chosen(made: Any, name: str) -> str:
    return made.eval_on_selector(name, "one => one.selectedOptions[0].textContent")


def test_the_language_is_found_out_and_swapped(browser: Any, both_ways: serving.Running) -> None:  # noqa: F811
    with page(browser, both_ways) as made:
        assert chosen(made, "#source") == "Detect language"
        made.fill("#text", "Der Hund läuft durch den Schnee.")
        assert "dog" in translation(made)
        assert (chosen(made, "#source"), chosen(made, "#target")) == ("Auto: German", "Auto: English")
        made.keyboard.press("Alt+KeyS")
        made.wait_for_selector(".translation .word:has-text('Hund')")
        assert "dog" in made.input_value("#text")
        assert (made.input_value("#source"), made.input_value("#target")) == ("en", "de")
        made.reload()  # the address has it all
        made.wait_for_selector(".translation .word:has-text('Hund')")
        assert (made.input_value("#source"), made.input_value("#target")) == ("en", "de")
        made.select_option("#source", "")
        made.fill("#text", "Good morning")
        made.wait_for_selector(".translation .word:has-text('Morgen')")
        assert chosen(made, "#source") == "Auto: English"


def test_text_in_the_other_language_stays_when_languages_are_swapped(browser: Any, both_ways: serving.Running) -> None:  # noqa: F811
    text = "Der Hund läuft durch den Schnee, und die Katze ist schon lange nicht mehr da."
    with page(browser, both_ways) as made:
        made.select_option("#source", "en")
        made.fill("#text", text)
        made.wait_for_selector("#hint:has-text('swap the languages')")
        made.click("#swap")
        made.wait_for_selector(".translation .word:has-text('dog')")
        assert made.input_value("#text") == text


def test_too_much_text_is_not_cut_off_but_refused(browser: Any, both_ways: serving.Running) -> None:  # noqa: F811
    with page(browser, both_ways) as made:
        made.fill("#text", "🙂" * 200)
        assert made.text_content("#count") == "200 / 200"
        made.fill("#text", "word " * 50)
        made.wait_for_selector("#problem:not([hidden])")
        assert "200 characters at most" in made.text_content("#problem")
        assert len(made.input_value("#text")) == 250
        made.fill("#text", "A dog.")
        assert "Hund" in translation(made)
        assert made.is_hidden("#problem")


def test_a_server_that_has_gone_is_said_and_asked_again(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server, errors=("Failed to load resource",)) as made:
        made.route("**/api/stream", lambda route: route.abort())
        made.fill("#text", "A dog.")
        made.wait_for_selector("#problem:not([hidden])")
        assert "cannot be reached" in made.text_content("#problem")
        assert made.locator(".translation.growing").count(), "what stands there is of no text, or of another one"
        made.unroute("**/api/stream")
        assert "Hund" in translation(made)
        assert not made.locator(".translation.growing").count()
        assert made.is_hidden("#problem")


def test_two_models_beside_each_other(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server) as made:
        made.fill("#text", "A dog runs.")
        made.check("#compare")
        assert translation(made, 0) == translation(made, 1)
        assert made.text_content(".output[data-side='0'] .which") == "en-de-small"
        assert made.is_disabled("#swap")  # nobody translates back


def test_long_translations_show_where_they_differ_and_are_no_part_of_a_link(
    browser: Any,  # noqa: F811
    server: serving.Running,
) -> None:
    text = f"{'Two men are talking. ' * 80}A dog runs."
    with page(browser, server) as made:
        made.fill("#text", text)
        shown = made.locator("#hypotheses:not(.growing) li button > span:first-child")
        shown.nth(3).wait_for()
        best, *others = shown.all_text_contents()
        assert len(best) > 1500
        assert all(one.startswith("… ") and len(one) < len(best) for one in others)
        assert len(set(others)) == 3
        assert made.evaluate("location.hash") == "#en/de/"
        made.reload()  # which keeps what was typed
        assert "Hund" in translation(made)
        assert made.input_value("#text") == text


def test_on_a_phone_the_choice_of_languages_is_not_cut_off(browser: Any, both_ways: serving.Running) -> None:  # noqa: F811
    with page(browser, both_ways, width=390) as made:
        wide = made.locator("#source").bounding_box()["width"]
        made.eval_on_selector("#source", "one => Object.assign(one.style, {justifySelf: 'start', maxWidth: 'none'})")
        assert made.locator("#source").bounding_box()["width"] <= wide, "Detect langu…"


def test_on_a_phone_translations_are_not_cut_off_before_they_differ(browser: Any, server: serving.Running) -> None:  # noqa: F811
    text = "Where is the nearest station? I would like to buy two tickets, please. The weather was fine yesterday, and "
    with page(browser, server, width=390) as made:
        made.fill("#text", f"{text} we went for a long walk along the river.")
        shown = made.locator("#hypotheses:not(.growing) li button > span:first-child")
        shown.nth(3).wait_for()
        assert not any(shown.evaluate_all("all => all.slice(1).map(one => one.scrollHeight > one.clientHeight)"))


def test_who_copies_twice_is_told_twice_and_no_longer(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server) as made:
        made.fill("#text", "A dog.")
        translation(made)
        made.dblclick(".output[data-side='0'] .copy")
        made.wait_for_timeout(1500)
        assert made.text_content(".output[data-side='0'] .copy") == "Copy"


def test_who_stops_is_not_asked_for_again_when_the_server_is_busy(browser: Any, server: serving.Running) -> None:  # noqa: F811
    with page(browser, server, errors=("Failed to load resource",)) as made:
        made.route("**/api/stream", lambda route: route.fulfill(status=429, headers={"Retry-After": "1"}))
        made.fill("#text", "A dog.")
        made.wait_for_selector("#hint:has-text('busy')")
        made.unroute("**/api/stream")
        made.keyboard.press("Escape")
        made.wait_for_timeout(1500)
        assert made.text_content("#hint") == "Stopped."


def test_a_key_is_asked_for_and_its_limit_is_told(browser: Any, server: serving.Running) -> None:  # noqa: F811
    known = Keys([Key("one", hashlib.sha256(b"one").hexdigest(), requests_per_minute=1)])
    with (
        serving.running(*server.service.models, keys=known) as own,
        page(browser, own, errors=("Failed to load resource",)) as made,
    ):
        made.fill("#text", "A dog.")
        made.wait_for_selector("#problem:has-text('the field above')")
        made.fill("#key", "one")
        made.keyboard.press("Enter")
        assert "Hund" in translation(made)
        assert made.is_hidden("#problem")
        made.fill("#text", "Two dogs.")
        made.wait_for_selector("#hint:has-text('too many requests within a minute with this key: again in')")


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
