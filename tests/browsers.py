"""A real browser for the tests of pages; where there is none, they skip."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup")
    if CHROMIUM is None:
        pytest.skip("there is no chromium (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        # a container's root has no sandbox, and its shared memory is too small for a page
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = started.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser: Any, path: Path) -> Iterator[Any]:
    """A page, opened as a file; any error, dialogue or request fails the test."""
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.on("dialog", lambda dialog: (problems.append("a dialogue"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url[:5] in ("file:", "data:") else problems.append(request.url))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert problems == []
