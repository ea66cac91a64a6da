"""All routes, and what is done around each: errors in the words of its interface, counts, logs, headers."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heedful.errors import BusyError, ServeError
from heedful.serve import deepl, libretranslate, native
from heedful.serve.access import Keys
from heedful.serve.api_page import api_page
from heedful.serve.libretranslate import Ready
from heedful.serve.problems import log, status_and_message
from heedful.serve.service import Service
from heedful.serve.texts import give_back, service_of

_PAGE = Path(__file__).parent / "page"
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
_ALWAYS = ("/health", "/ready", "/metrics")
"""What is answered however many there are."""
Handler = Callable[[Request], Awaitable[Response]]


def app(service: Service, keys: Keys, *, origins: Sequence[str] = (), ready: Ready | None = None) -> Starlette:
    """The whole server. ``origins``: of other sites whose pages may ask. ``ready``: has the translated documents."""
    ours = [
        _route("/api/translate", native.translate, "POST"),
        _route("/api/stream", native.stream, "POST"),
        _route("/api/attention", native.attention, "POST"),
        _route("/api/models", native.models),
        _route("/health", _health),
        _route("/ready", _ready),
        _route("/metrics", _metrics),
        _route("/openapi.json", _openapi),
        _route("/docs", _docs),
        *(_file(f"/{name}", name) for name in ("page.js", "attention.js", "page.css", "icon.svg")),
        _file("/", "index.html"),
    ]
    libre = [
        _route("/translate", libretranslate.translate, "POST"),
        _route("/languages", libretranslate.languages),
        _route("/detect", libretranslate.detect, "POST"),
        _route("/frontend/settings", libretranslate.settings),
        _route("/translate_file", libretranslate.translate_file, "POST"),
        _route("/download_file/{name}", libretranslate.download, name="download"),
        _route("/suggest", libretranslate.not_here, "POST"),
    ]
    v2 = [
        _route("/v2/translate", deepl.translate, "POST"),
        _route("/v2/languages", deepl.languages, "GET", "POST"),
        _route("/v2/usage", deepl.usage, "GET", "POST"),
        _route("/v2/glossaries", deepl.glossaries),
        _route("/v3/glossaries", deepl.glossaries),
        _route("/v2/glossary-language-pairs", deepl.glossary_pairs),
    ]
    routes = [*ours, *libre, *v2]
    around = [Middleware(_Front, known={route.path for route in routes})]
    if origins:
        around.append(Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=["*"], allow_headers=["*"]))
    made = Starlette(routes=routes, middleware=around, exception_handlers={404: _missing, 405: _missing})
    made.state.service, made.state.keys, made.state.ready = service, keys, ready or Ready()
    made.state.crowded = lambda: False  # the server that answers knows better
    return made


def _route(path: str, handler: Handler, *methods: str, name: str | None = None) -> Route:
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            problem = _problem(error, _said(path))
            if problem.status_code == 429 or problem.status_code >= 499:
                give_back(request)
            return problem

    return Route(path, answer, methods=list(methods or ("GET",)), name=name)


def _problem(error: Exception, said: str) -> Response:
    status, message = status_and_message(error)
    if status == 499:
        return Response(status_code=status)
    again = error.retry_after if isinstance(error, ServeError) else None
    headers = {"retry-after": str(again)} if again else {}
    headers |= {"connection": "close"} if status in (408, 413) else {}  # what is still sent is not read
    return JSONResponse({said: message}, status, headers)


async def _missing(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    headers = getattr(error, "headers", None) or {}
    what = "there is nothing here: /docs says what there is"
    if status == 405:
        what = f"not with {request.method:.20}: this is asked with {headers.get('Allow')}"
    return JSONResponse({_said(request.url.path): what}, status, headers)


def _said(path: str) -> str:
    """The name of the field that says what is wrong."""
    return "message" if path.startswith(("/v2/", "/v3/")) else "error"


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _ready(request: Request) -> Response:
    if not service_of(request).ready:
        raise ServeError("the server is stopping", status=503)
    return JSONResponse({"status": "ok"})


async def _metrics(request: Request) -> Response:
    counted = await asyncio.to_thread(service_of(request).metrics.text)  # another process may be asked
    return Response(counted, media_type="text/plain; version=0.0.4")


async def _openapi(request: Request) -> Response:
    return Response((_PAGE / "openapi.json").read_bytes(), media_type="application/json")


async def _docs(request: Request) -> Response:
    description = json.loads((_PAGE / "openapi.json").read_bytes())
    return Response(api_page(description, address=str(request.base_url)), media_type="text/html")


def _file(path: str, name: str) -> Route:
    kind = _KINDS[Path(name).suffix]

    async def answer(request: Request) -> Response:
        return Response((_PAGE / name).read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})

    return _route(path, answer)


class _Front:
    """Around every request: headers that keep browsers careful, one line of log, counts. No text, no key."""

    def __init__(self, app: ASGIApp, known: set[str]) -> None:
        self._app, self._known = app, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        state: dict[str, Any] = scope.setdefault("state", {})
        made = scope["app"].state

        async def send_more(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            await send(message)

        try:
            if made.crowded() and scope["path"] not in _ALWAYS:
                made.service.metrics.refused()
                busy = BusyError("too many connections at the same time: try again later", retry_after=1)
                await _problem(busy, _said(scope["path"]))(scope, receive, send_more)
            else:
                await self._app(scope, receive, send_more)
        finally:
            seconds = time.perf_counter() - began
            route = scope["path"] if scope["path"] in self._known else "other"
            made.service.metrics.answered(route, status, seconds)
            facts = {"route": route, "method": scope["method"], "status": status, "seconds": round(seconds, 4)}
            facts |= state.get("facts", {}) | ({"key": state["key"]} if "key" in state else {})
            log(logging.INFO, "request", **facts)
