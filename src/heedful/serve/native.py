"""Our own interface: n best with scores, alignments, hypotheses as they grow, and what a word attended to."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from heedful.errors import ServeError
from heedful.evaluation.alignments import aligning_layer, soft_alignment, word_weights, words_of
from heedful.runs.direction import LANGUAGE_NAMES
from heedful.search.attention_maps import AttentionMaps
from heedful.serve.engines import Live, OnLive
from heedful.serve.fields import Fields, gone
from heedful.serve.problems import status_and_message
from heedful.serve.service import ServedModel, Service
from heedful.serve.texts import Format, Wanted, asked, charge, glossary_of, service_of, translations
from heedful.text.sentences import Split
from heedful.translation.lines import Translation
from heedful.translation.translator import Translator


@dataclass(frozen=True)
class _Question:
    model: ServedModel
    wanted: Wanted
    alignment: bool

    def answer(self, translator: Translator, notices: list[str]) -> dict[str, Any]:
        """Everything there is to say; made in the thread of the job."""
        found = translations(translator, self.wanted, self.model.options)
        spoken = self.model.languages
        return {
            "model": self.model.name,
            "source": spoken.source,
            "target": spoken.target,
            "notices": notices,
            "results": [
                {"translations": self._listed(translator, text, own), "sentences": _sentences(translator, own[0])}
                for text, own in zip(self.wanted.texts, found, strict=True)
            ],
        }

    def _listed(self, translator: Translator, text: str, found: list[Translation]) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = [
            {"text": one.text, "score": one.score, "log_probability": one.log_probability} for one in found
        ]
        if self.alignment:
            for one, links in zip(listed, translator.alignments(text, found, split=self.wanted.split), strict=True):
                one["alignment"] = links
        return listed


def _sentences(translator: Translator, best: Translation) -> list[dict[str, str]]:
    """The sentences of a text: as they stood in it and in its translation, and what the model read and wrote."""
    decode = translator.saved.target_subwords.decode
    return [
        {
            "source": passage.source,
            "target": own.text,
            "read": passage.given if own.parts else "",
            "written": " ".join(decode(part) for part in own.parts),
        }
        for passage, own in best.sentences
    ]


async def _question(request: Request) -> _Question:
    service, fields, holder = await asked(request)
    texts = fields.texts("text")
    if not texts:
        raise ServeError("there is no text: give it as `text`, one or a list", status=400)
    model = _model(service, fields, " ".join(texts))
    alignment = fields.flag("alignment")
    split: Split | Literal["auto"] = fields.choice("split", ("auto", "sentences", "lines", "never"), "auto")
    kind: Format = fields.choice("format", ("text", "html"), "text")
    if alignment and kind == "html":
        raise ServeError("an alignment is of text alone, not of HTML", status=400)
    wanted = Wanted(
        texts,
        format=kind,
        n_best=fields.number("n_best", least=1, most=model.options.beam_size, default=1),
        glossary=glossary_of(fields.mapping("glossary")),
        prefix=fields.text("prefix") or "",
        max_length=fields.number("max_length", least=0, most=1024, default=0),
        split=None if split == "auto" else split,
        as_is=fields.flag("as_is") or alignment,
    )
    charge(request, holder, texts)
    request.state.facts = {"model": model.name, "characters": sum(map(len, texts))}
    return _Question(model, wanted, alignment)


def _model(service: Service, fields: Fields, text: str) -> ServedModel:
    source, target = (fields.text(name) or None for name in ("source", "target"))
    return service.model(None if source == "auto" else source, target, text=text, name=fields.text("model") or None)


async def _answer(request: Request, question: _Question, on_live: OnLive | None = None) -> dict[str, Any]:
    notices: list[str] = []
    return await service_of(request).run(
        question.model,
        lambda translator: question.answer(translator, notices),
        gone=lambda: gone(request),
        notices=notices,
        on_live=on_live,
    )


async def translate(request: Request) -> Response:
    return JSONResponse(await _answer(request, await _question(request)))


async def stream(request: Request) -> Response:
    """Lines of JSON: ``beams`` while hypotheses grow, at last ``result``, or ``error``."""
    question, loop = await _question(request), asyncio.get_running_loop()
    newest: Live = {}
    changed = asyncio.Event()

    def show(live: Live) -> None:
        newest.update(live)  # who reads slowly misses what is old
        changed.set()

    def show_soon(live: Live) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile, and nobody looks
            loop.call_soon_threadsafe(show, live)

    working = asyncio.create_task(_answer(request, question, show_soon))
    working.add_done_callback(lambda _: changed.set())
    await changed.wait()
    if working.done():
        working.result()  # what is refused is refused with its own status

    async def lines() -> AsyncIterator[bytes]:
        try:
            while not working.done():
                changed.clear()
                if newest:
                    seen = dict(newest)
                    newest.clear()
                    yield _line({"beams": _beams(question.model.translator, seen)})
                await changed.wait()
            try:
                yield _line({"result": working.result()})
            except Exception as error:
                yield _line({"error": status_and_message(error)[1]})
        finally:
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await working

    return StreamingResponse(lines(), media_type="application/x-ndjson", headers={"X-Accel-Buffering": "no"})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _beams(translator: Translator, live: Live) -> list[dict[str, Any]]:
    """The hypotheses of each sentence, best first; ``sentence``: its place among the parts of the text."""
    decode = translator.saved.target_subwords.decode
    return [
        {
            "sentence": sentence.number & 0xFFFF,
            "hypotheses": [
                {"text": decode(one.ids), "log_probability": one.log_probability, "ended": ended}
                for some, ended in ((over, True), (going, False))
                for one in some
            ],
        }
        for sentence, (going, over) in live.items()
    ]


async def attention(request: Request) -> Response:
    """What each word of a translation attended to: the mean of the heads of a layer, or each head on demand."""
    service, fields, holder = await asked(request)
    text, translation, by_head = fields.text("text"), fields.text("translation"), fields.flag("heads")
    if not text:
        raise ServeError("there is no text: give one sentence as `text`", status=400)
    model = _model(service, fields, text)
    layers = model.translator.saved.config.model.decoder_layers
    layer = fields.number("layer", least=1, most=layers, default=aligning_layer(layers))
    charge(request, holder, [text, translation or ""])
    maps = await service.run(
        model, lambda translator: translator.attention(text, target=translation), gone=lambda: gone(request)
    )
    return JSONResponse({"model": model.name, **_weights(maps, layer=layer, by_head=by_head)})


def _weights(maps: AttentionMaps, *, layer: int, by_head: bool) -> dict[str, Any]:
    source, target = words_of(maps.source), words_of(maps.target)
    cross_HTS = maps.cross[layer - 1]

    def rounded(soft_TS: Any) -> list[list[float]]:
        return [[round(float(one), 4) for one in row] for row in word_weights(soft_TS, source=source, target=target)]

    facts: dict[str, Any] = {
        "layer": layer,
        "layers": len(maps.cross),
        "source": [word.text for word in source],
        "target": [word.text for word in target],
        "weights": rounded(soft_alignment(cross_HTS)),
    }
    return facts | ({"heads": [rounded(head_TS) for head_TS in cross_HTS]} if by_head else {})


async def models(request: Request) -> Response:
    """What is served."""
    service = service_of(request)
    listed = [
        {
            "name": one.name,
            "source": one.languages.source,
            "target": one.languages.target,
            "n_best": one.options.beam_size,
            "parameters": one.translator.saved.description.parameters,
        }
        for one in service.models
    ]
    codes = {code for one in service.models for code in (one.languages.source, one.languages.target)}
    names = {code: LANGUAGE_NAMES.get(code, code) for code in sorted(codes)}
    limits = {"characters": service.most_characters, "key": request.app.state.keys.required}
    return JSONResponse({"models": listed, "languages": names, "limits": limits})
