"""LibreTranslate's interface: what its clients, Mastodon, Weblate and others send, and expect."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from heedful.documents import FORMATS
from heedful.errors import ServeError
from heedful.runs.direction import LANGUAGE_NAMES
from heedful.serve.fields import Fields
from heedful.serve.service import ServedModel, Service
from heedful.serve.texts import Wanted, asked, charge, service_of, translated


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
