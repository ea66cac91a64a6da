"""DeepL's interface: what its clients, Mastodon, Weblate and others send, and expect."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from heedful.errors import ServeError
from heedful.runs.direction import LANGUAGE_NAMES
from heedful.serve.access import UNLIMITED
from heedful.serve.texts import Wanted, asked, charge, translated

_QUOTA = 456
_MOST_TEXTS = 1000


async def translate(request: Request) -> Response:
    service, fields, holder = await asked(request)
    texts = [*fields.texts("text"), *fields.texts("text[]")]
    if not texts:
        raise ServeError("Parameter 'text' not specified", status=400)
    if len(texts) > _MOST_TEXTS:
        raise ServeError(f"{len(texts):,} texts: at most {_MOST_TEXTS:,} at a time", status=413)
    target, source = (_code(fields.text(name)) for name in ("target_lang", "source_lang"))
    if target is None:
        raise ServeError("Parameter 'target_lang' not specified", status=400)
    if fields.text("formality", "default") in ("more", "less"):
        raise ServeError("'formality' is not supported: these models know one way to say it", status=400)
    if fields.has("glossary_id"):
        raise ServeError("there are no glossaries on this server", status=404)
    model = service.model(source, target, text=" ".join(texts))
    splitting = fields.text("split_sentences") or "1"
    handling = fields.text("tag_handling") or "text"
    if handling not in ("text", "html", "xml"):
        raise ServeError(f"tag_handling {handling!r:.40}: must be html or xml", status=400)
    if splitting == "nonewlines" and handling == "text":
        given = [" ".join(text.splitlines()) for text in texts]
    else:
        given = texts
    wanted = Wanted(
        given,
        format="html" if handling == "html" else "xml" if handling == "xml" else "text",
        split="never" if splitting in ("0", "off", "False", "false") else None,
        ignored=[name for given in fields.texts("ignore_tags") for name in given.split(",") if name],
    )
    charge(request, holder, texts, status=413, quota=_QUOTA)
    found = await translated(request, model, wanted)
    language = model.languages.source.upper()
    answers: list[dict[str, Any]] = [
        {"detected_source_language": language, "text": own[0].text, "billed_characters": len(text)}
        for text, own in zip(texts, found, strict=True)
    ]
    return JSONResponse({"translations": answers})


def _code(given: str | None) -> str | None:
    """A language as models have it: en of EN-GB."""
    return given.lower().partition("-")[0].partition("_")[0] if given else None


async def languages(request: Request) -> Response:
    service, fields, _ = await asked(request)
    kind = fields.text("type") or "source"
    if kind not in ("source", "target"):
        raise ServeError(f"type {kind!r:.40}: must be source or target", status=400)
    codes = service.sources if kind == "source" else service.targets()
    listed = [{"language": code.upper(), "name": LANGUAGE_NAMES.get(code, code)} for code in codes]
    return JSONResponse([{**one, "supports_formality": False} for one in listed])


async def usage(request: Request) -> Response:
    _, _, holder = await asked(request)
    limit = holder.key.characters_per_day or UNLIMITED
    return JSONResponse({"character_count": holder.characters, "character_limit": limit})


async def glossaries(request: Request) -> Response:
    await asked(request)
    return JSONResponse({"glossaries": []})


async def glossary_pairs(request: Request) -> Response:
    await asked(request)
    return JSONResponse({"supported_languages": []})
