"""Documents over HTTP, as LibreTranslate has them: one is sent, and its translation lies ready for some minutes."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from heedful.documents import document_of
from heedful.errors import ServeError
from heedful.serve.fields import gone
from heedful.serve.texts import asked, charge
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


async def translate_file(request: Request) -> Response:
    service, fields, holder = await asked(request, most=_MOST_BYTES)
    upload = fields.upload("file")
    if upload is None or not fields.has("source") or not fields.has("target"):
        raise ServeError("Invalid request: file, source and target are needed", status=400)
    suffix, source = PurePath(upload.name).suffix.lower(), fields.text("source")
    taken = await asyncio.to_thread(document_of, upload.content, suffix, where=f"{upload.name!r:.80}")
    text = " ".join(taken.units)
    model = service.model(None if source == "auto" else source, fields.text("target"), text=text)
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
