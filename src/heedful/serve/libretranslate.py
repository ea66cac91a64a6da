"""LibreTranslate's interface: what its clients, Mastodon, Weblate and others send, and expect.

Documents are as it has them: one is sent, and its translation lies ready for some minutes.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from pathlib import PurePath
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from heedful.documents import FORMATS, document_of
from heedful.errors import ServeError
from heedful.runs.direction import LANGUAGE_NAMES
from heedful.serve.fields import Fields, gone
from heedful.serve.service import ServedModel, Service
from heedful.serve.texts import Wanted, asked, charge, service_of, translated
from heedful.translation.lines import codes
from heedful.translation.translator import Translator

_MOST_BYTES = 10 << 20
_MOST_KEPT_BYTES = 100 << 20
_SECONDS_KEPT = 600.0


class Ready:
    """Translated documents, in memory, until they are old or too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, suffix: str, content: bytes) -> str:
        """The name under which it can be fetched for some minutes, which nobody guesses."""
        name = secrets.token_urlsafe(24) + suffix
        with self._lock:
            self._kept[name] = time.monotonic() + _SECONDS_KEPT, content
        self.forget()
        return name

    def get(self, name: str) -> bytes:
        self.forget()
        with self._lock:
            if name not in self._kept:
                raise ServeError("there is no such file, or not any more", status=404)
            return self._kept[name][1]

    def forget(self) -> None:
        """Forget those that are old or too many."""
        with self._lock:
            size = sum(len(content) for _, content in self._kept.values())
            while self._kept and (size > _MOST_KEPT_BYTES or next(iter(self._kept.values()))[0] < time.monotonic()):
                size -= len(self._kept.popitem(last=False)[1][1])


async def translate(request: Request) -> Response:
    service, fields, holder = await asked(request)
    for name in ("q", "source", "target"):
        if not fields.has(name) and name not in fields.lists:
            raise ServeError(f"Invalid request: missing {name} parameter", status=400)
    texts, several = fields.texts("q"), "q" in fields.lists
    texts = texts if several else texts[-1:]
    model, detected = _model(service, fields, " ".join(texts))
    wanted = Wanted(
        texts,
        format=fields.choice("format", ("text", "html"), "text"),
        n_best=1 + fields.number("alternatives", least=0, most=model.options.beam_size - 1, default=0),
    )
    charge(request, holder, texts)
    found = await translated(request, model, wanted)
    answer: dict[str, Any] = {"translatedText": [own[0].text for own in found]}
    if detected:
        answer["detectedLanguage"] = [_detection(service, text, model) for text in texts]
    if wanted.n_best > 1:
        answer["alternatives"] = [[one.text for one in own[1:]] for own in found]
    return JSONResponse(answer if several else {name: value[0] for name, value in answer.items()})


def _model(service: Service, fields: Fields, text: str) -> tuple[ServedModel, bool]:
    """The model that is meant, and whether its source language was found out."""
    source, target = (fields.text(name) or "" for name in ("source", "target"))
    return service.model(None if source == "auto" else source, target, text=text), source == "auto"


def _detection(service: Service, text: str, model: ServedModel) -> dict[str, Any]:
    confidence = dict(service.detections(text)).get(model.languages.source, 0.0)
    return {"confidence": confidence, "language": model.languages.source}


async def translate_file(request: Request) -> Response:
    service, fields, holder = await asked(request, most=_MOST_BYTES)
    upload = fields.upload("file")
    if upload is None or not fields.has("source") or not fields.has("target"):
        raise ServeError("Invalid request: file, source and target are needed", status=400)
    suffix = PurePath(upload.name).suffix.lower()
    taken = await asyncio.to_thread(document_of, upload.content, suffix, where=f"{upload.name!r:.80}")
    model, _ = _model(service, fields, " ".join(taken.units))
    request.state.facts = {"model": model.name, "bytes": len(upload.content)}
    charge(request, holder, taken.units)

    def work(translator: Translator) -> bytes:
        content = taken.filled(translator.translate(taken.units, options=model.options))
        return taken.in_language(content, codes(translator.saved.description))

    content = await service.run(model, work, gone=lambda: gone(request))
    name = await asyncio.to_thread(request.app.state.ready.add, suffix, content)  # another process may keep it
    return JSONResponse({"translatedFileUrl": str(request.url_for("download", name=name))})


async def download(request: Request) -> Response:
    content = await asyncio.to_thread(request.app.state.ready.get, request.path_params["name"])
    kind = "attachment; filename=translated" + PurePath(request.path_params["name"]).suffix
    return Response(content, media_type="application/octet-stream", headers={"content-disposition": kind})


async def languages(request: Request) -> Response:
    service = service_of(request)
    known = dict.fromkeys([*service.sources, *service.targets()])
    return JSONResponse([{**_language(code), "targets": service.targets(code)} for code in known])


def _language(code: str) -> dict[str, str]:
    return {"code": code, "name": LANGUAGE_NAMES.get(code, code)}


async def detect(request: Request) -> Response:
    service, fields, holder = await asked(request)
    text = fields.text("q")
    if text is None:
        raise ServeError("Invalid request: missing q parameter", status=400)
    charge(request, holder, [text])
    return JSONResponse([{"confidence": share, "language": code} for code, share in service.detections(text)])


async def settings(request: Request) -> Response:
    """What LibreTranslate's own page asks for, and some clients."""
    service, keys = service_of(request), request.app.state.keys
    source = service.models[0].languages
    return JSONResponse(
        {
            "apiKeys": keys.required,
            "charLimit": service.most_characters,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": keys.required,
            "language": {"source": _language(source.source), "target": _language(source.target)},
            "suggestions": False,
            "supportedFilesFormat": list(FORMATS),
        }
    )


async def not_here(request: Request) -> Response:
    raise ServeError("this server does not do that", status=403)
