"""What a request says: fields from its query, a form or JSON alike, read within limits of size and time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from heedful.errors import GoneError, ServeError

Choice = TypeVar("Choice", bound=str)
MOST_BYTES = 1 << 20
"""Of a request's body."""
_SECONDS_TO_SEND = 30
"""For a client to send its body."""
_MOST_FIELDS = 1000
_HALF = re.compile("[\ud800-\udfff]")
"""Of a character, in UTF-16."""
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


@dataclass(frozen=True)
class Upload:
    """A file that came with a form."""

    name: str
    content: bytes


async def body_of(request: Request, *, most: int) -> bytes:
    """The body, counted while it is read."""
    content = bytearray()
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(_SECONDS_TO_SEND):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise ServeError(f"the request was not complete after {_SECONDS_TO_SEND} seconds", status=408) from None
    except ClientDisconnect:
        raise GoneError("the client has gone") from None
    return bytes(content)


def _too_large(most: int) -> ServeError:
    return ServeError(f"the request is larger than {most:,} bytes", status=413)


class Fields:
    """The fields of a request. What is not given has its default; what cannot be read is the client's mistake."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self._values: dict[str, list[Any]] = {}
        self.lists = {name for name, value in pairs if isinstance(value, list)}
        """The names of those that were given as lists."""
        for name, value in pairs:
            values = value if isinstance(value, list) else [value]
            self._values.setdefault(name, []).extend(one for one in values if one is not None)

    def has(self, name: str) -> bool:
        return bool(self._values.get(name))

    def texts(self, name: str) -> list[str]:
        """All texts of a field."""
        found = self._values.get(name, [])
        if not all(isinstance(value, str) for value in found):
            raise ServeError(f"{name}: must be text, or a list of texts", status=400)
        if any(map(_HALF.search, found)):
            raise ServeError(f"{name}: holds half of a character, a lone surrogate", status=400)
        return found

    def text(self, name: str, default: str | None = None) -> str | None:
        """The text of a field that has one, the last one that was given."""
        return self.texts(name)[-1] if self.has(name) else default

    def choice(self, name: str, allowed: Sequence[Choice], default: Choice) -> Choice:
        given = self.text(name) or default
        for one in allowed:
            if one == given:
                return one
        raise ServeError(f"{name} {given!r:.40}: must be {', '.join(allowed)}", status=400)

    def number(self, name: str, *, least: int, most: int, default: int) -> int:
        if not self.has(name):
            return default
        given = self._values[name][-1]
        text = str(given) if isinstance(given, int | str) and not isinstance(given, bool) else ""
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
            raise ServeError(f"{name} {given!r:.40}: must be a whole number from {least} to {most}", status=400)
        return int(text)

    def upload(self, name: str) -> Upload | None:
        given = self._values[name][-1] if self.has(name) else None
        return given if isinstance(given, Upload) else None

    def flag(self, name: str) -> bool:
        given = self._values[name][-1] if self.has(name) else False
        text = str(given).lower() if isinstance(given, str | int) else None
        if text not in (*_TRUE, *_FALSE):
            raise ServeError(f"{name} {given!r:.40}: must be true or false", status=400)
        return text in _TRUE

    def mapping(self, name: str) -> dict[str, str]:
        given = self._values[name][-1] if self.has(name) else {}
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            raise ServeError(f"{name}: must be an object of texts", status=400)
        return given


async def fields_of(request: Request, *, most: int = MOST_BYTES) -> Fields:
    """The fields of a request: those of its query and of its body, which has so many bytes at most."""
    pairs: list[tuple[str, Any]] = list(request.query_params.multi_items())
    content = await body_of(request, most=most)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content and kind == "multipart/form-data":
        pairs += await _multipart(request, content)
    elif content and (kind == "application/json" or content.lstrip()[:1] in (b"{", b"[")):
        pairs += _json(content)
    elif content:
        try:
            pairs += parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
        except ValueError:
            raise _unreadable("UTF-8, percent-encoded") from None
    return Fields(pairs)


def _json(content: bytes) -> list[tuple[str, Any]]:
    try:
        value = json.loads(content, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        raise ServeError("the body is not JSON", status=400) from None
    if not isinstance(value, dict):
        raise ServeError("the body must be a JSON object", status=400)
    return list(value.items())


def _unreadable(wanted: str) -> ServeError:
    return ServeError(f"the form cannot be read: it must be {wanted}, of {_MOST_FIELDS:,} fields at most", status=400)


async def _multipart(request: Request, content: bytes) -> list[tuple[str, Any]]:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield content

    try:
        form = await MultiPartParser(request.headers, stream(), max_fields=_MOST_FIELDS).parse()
    except (MultiPartException, KeyError, ValueError):
        raise _unreadable("parts between the boundary that its header names") from None
    pairs: list[tuple[str, Any]] = []
    for name, value in form.multi_items():
        pairs.append((name, value if isinstance(value, str) else Upload(value.filename or "", await value.read())))
    await form.close()
    return pairs


async def gone(request: Request) -> None:
    """Ends when the client has gone; its body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
