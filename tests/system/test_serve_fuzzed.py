"""What nobody would send on purpose: requests made from openapi.json, right and wrong ones, and answers as it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import serving

import heedful.serve

pytest.importorskip("starlette", reason="heedful[serve] is not installed")
from starlette.routing import Route

from heedful.serve.access import Keys
from heedful.serve.app import app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # schemathesis and what it needs have warnings of their own

OPENAPI = Path(heedful.serve.__file__).parent / "page" / "openapi.json"


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Running]:
    with serving.running(serving.served("en-de-small", max_extra_length=2), most_characters=2000) as started:
        yield started


def _operations() -> list[Any]:
    return [found.ok() for found in schemathesis.openapi.from_path(OPENAPI).get_all_operations()]


def _fuzz(server: serving.Running, *, examples: int, seed: bool) -> int:
    """How many requests were answered as the description says, none with 500."""
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    counted = 0
    operations = _operations()
    bodies = sum(bool(operation.body) for operation in operations)
    for operation in operations:
        cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode])

        @settings(
            max_examples=max(1, examples // bodies) if operation.body else 1,
            deadline=None,
            database=None,
            derandomize=seed,
            suppress_health_check=list(HealthCheck.__members__.values()),
        )
        @given(case=cases)
        def answered(case: Any) -> None:
            nonlocal counted
            counted += 1
            answer = case.call(base_url=server.url)
            if answer.status_code not in (404, 405):  # of a path or method that is not in the description
                case.validate_response(answer, checks=checks)

        answered()
    return counted


def test_strange_requests_are_answered_as_the_description_says(server: serving.Running) -> None:
    assert _fuzz(server, examples=90, seed=True) >= 90


@pytest.mark.long
def test_ten_thousand_strange_requests(server: serving.Running) -> None:
    asked = _fuzz(server, examples=12_000, seed=False)
    print(f"{asked:,} requests")
    assert asked >= 10_000
    assert server.service.metrics.faults._value.get() == 0


def test_the_description_has_every_route(server: serving.Running) -> None:
    described = {(path, method) for path, one in serving.openapi().items() for method in one}
    for path, method in described:
        if "{" not in path:
            assert server.ask(method.upper(), path, {}).status not in (404, 405), path
    files = {f"/{name}" for name in ("", "docs", "openapi.json", "page.js", "attention.js", "page.css", "icon.svg")}
    served = app(server.service, Keys()).routes
    answered = {(one.path, own.lower()) for one in served if isinstance(one, Route) for own in one.methods or ()}
    assert {(path, method) for path, method in answered if path not in files and method != "head"} <= described
