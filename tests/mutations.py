"""Valid files, spoiled: bits flipped, ends cut, keys removed, values of other types, nests without a bottom.

`require_clear_errors` gives a reader many of them and accepts nothing but success or a `HeedfulError`, in bounded time.
"""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError

EXAMPLES = [200, pytest.param(20_000, marks=pytest.mark.long)]
"""How many a reader: ``@pytest.mark.parametrize("examples", EXAMPLES)``."""
SECONDS = 2.0
"""Of the processor, that reading one spoiled file may take at most."""

# Made by the million, so as cheap as they can be: JSON texts by hand, where Python's own values would not do.
_HOSTILE_TEXTS = (
    *("null", "true", "false", "0", "-1", "1.5", "1e999", "NaN", "-Infinity", "1" + "0" * 30, "9" * 5000),
    *('""', '"x"', '"../x"', '"/x"', '"a\\u0000b"', '"\\ud800"', '"\\u001b]52;c;eA==\\u0007"', '"' + "x" * 5000 + '"'),
    *("[]", "{}", "[[]]", "[{}]", '{"": {}}', "[1, 2, 3]", '["en", "de"]', '{"a":' * 900 + "1" + "}" * 900),
    *("[" * depth + "]" * depth for depth in (400, 900, 5000, 100_000)),
)
_PLACE = "\u2063the place\u2063"


@st.composite
def mutated_json(draw: st.DrawFn, valid: Any) -> bytes:
    """The text of a JSON value with one to three of its parts removed, replaced, wrapped or exchanged."""
    value = copy.deepcopy(valid)
    hostile: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(value))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(("remove", "replace", "replace", "replace", "wrap", "exchange", "add"))):
            case "remove":
                del holder[key]
            case "replace":
                hostile.append(draw(st.sampled_from(_HOSTILE_TEXTS)))
                holder[key] = _PLACE
            case "wrap":
                holder[key] = draw(st.sampled_from(([holder[key]], {"x": holder[key]})))
            case "exchange":
                other, place = draw(st.sampled_from(places))
                if not _within(holder[key], other) and not _within(other[place], holder):
                    holder[key], other[place] = other[place], holder[key]
            case "add" if isinstance(holder, dict):
                holder[draw(st.sampled_from(("", "newer", "../x")))] = holder[key]
    text = json.dumps(value)
    for replacement in hostile:
        text = text.replace(json.dumps(_PLACE), replacement, 1)
    return text.encode("utf-8", errors="surrogatepass")


@st.composite
def mutated_bytes(draw: st.DrawFn, valid: bytes) -> bytes:
    """A file with some bits flipped, or cut short, or with a stretch doubled, removed or put in from elsewhere."""
    if not valid:
        return draw(st.binary(max_size=50))
    places = st.integers(0, len(valid) - 1)
    first, last = sorted((draw(places), draw(places)))
    match draw(st.sampled_from(("flip", "flip", "cut", "remove", "double", "insert"))):
        case "flip":
            spoiled = bytearray(valid)
            for at in draw(st.lists(places, min_size=1, max_size=4)):
                spoiled[at] ^= 1 << draw(st.integers(0, 7))
            return bytes(spoiled)
        case "cut":
            return valid[:first]
        case "remove":
            return valid[:first] + valid[last:]
        case "double":
            return valid[:last] + valid[first:]
        case _:
            return valid[:first] + draw(st.binary(max_size=20)) + valid[first:]


def mutated(valid: bytes) -> st.SearchStrategy[bytes]:
    """A file spoiled as bytes and, where it is JSON or lines of JSON, as JSON."""
    strategies = [mutated_bytes(valid)]
    with contextlib.suppress(ValueError):
        return st.one_of(*strategies, mutated_json(json.loads(valid)))
    with contextlib.suppress(ValueError):
        lines = [json.loads(line) for line in valid.splitlines()]
        spoiled = st.sampled_from(range(len(lines))).flatmap(
            lambda at: mutated_json(lines[at]).map(lambda text: _with_line(valid, at, text))
        )
        return st.one_of(*strategies, spoiled)
    return strategies[0]


def require_clear_errors(valid: bytes, read: Callable[[bytes], object], *, examples: int) -> None:
    """Raise unless reading spoiled files always ends, soon, in success or in a `HeedfulError`."""

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))  # pyright: ignore
    @given(mutated(valid))
    def check(spoiled: bytes) -> None:
        began = time.process_time()
        with contextlib.suppress(HeedfulError):
            read(spoiled)
        took = time.process_time() - began
        assert took < SECONDS, f"{took:.1f} seconds to read {spoiled[:200]!r}"

    check()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder and key, or index, in a JSON value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _within(value: Any, holder: Any) -> bool:
    """Whether a container is, or lies in, a value: to put the value into it would make a circle."""
    return value is holder or any(inner[key] is holder for inner, key in _places(value))


def _with_line(text: bytes, at: int, line: bytes) -> bytes:
    lines = text.splitlines()
    return b"".join(each + b"\n" for each in [*lines[:at], line, *lines[at + 1 :]])
