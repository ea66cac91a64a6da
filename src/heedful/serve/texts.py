"""Text as people send it: plain, HTML or XML, one or many, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from starlette.requests import Request

from heedful.search.options import SearchOptions
from heedful.serve.access import Holder, Keys
from heedful.serve.fields import MOST_BYTES, Fields, fields_of, gone
from heedful.serve.service import ServedModel, Service
from heedful.text.markup import in_language, markup
from heedful.text.sentences import Split
from heedful.translation.lines import Translation, codes
from heedful.translation.translator import Translator

Format = Literal["text", "html", "xml"]


@dataclass(frozen=True)
class Wanted:
    """What is to be translated, and how."""

    texts: Sequence[str]
    format: Format = "text"
    n_best: int = 1
    glossary: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    max_length: int = 0
    split: Split | None = None
    as_is: bool = False
    ignored: Sequence[str] = ()
    """Elements of markup that are left as they are."""

    def options(self, base: SearchOptions) -> SearchOptions:
        asked = {"n_best": self.n_best, "glossary": self.glossary, "max_length": self.max_length}
        same = all(getattr(base, name) == value for name, value in asked.items())  # of most, and checked already
        return base if same else replace(base, **asked)


def translations(translator: Translator, wanted: Wanted, base: SearchOptions) -> list[list[Translation]]:
    """The n best translations of each text, markup in its place."""
    options = wanted.options(base)
    how: dict[str, Any] = {"prefix": wanted.prefix, "split": wanted.split, "as_is": wanted.as_is}
    if wanted.format == "text":
        return list(translator.hypotheses(wanted.texts, options, **how))
    taken = [markup(text, ignored=wanted.ignored, is_xml=wanted.format == "xml") for text in wanted.texts]
    found = translator.hypotheses([unit for one in taken for unit in one.units], options, **how)
    results = []
    for one in taken:
        units = [next(found) for _ in one.units]
        whole = [[own[min(place, len(own) - 1)] for own in units] for place in range(max(map(len, units), default=1))]
        filled: dict[str, Translation] = {}
        for parts in whole:
            text = one.filled([part.text for part in parts])
            text = in_language(text, codes(translator.saved.description)) if wanted.format == "html" else text
            score, log_probability = sum(part.score for part in parts), sum(part.log_probability for part in parts)
            filled.setdefault(text, Translation(text, float(score), float(log_probability), ()))
        results.append(list(filled.values()))
    return results


def glossary_of(given: dict[str, str]) -> tuple[tuple[str, str], ...]:
    if not given:
        return ()
    from heedful.translation.glossary import Glossary  # needs torch, which a front has no other use for

    return Glossary(given).pairs


def service_of(request: Request) -> Service:
    return request.app.state.service


async def asked(request: Request, *, most: int = MOST_BYTES) -> tuple[Service, Fields, Holder]:
    """The service, what a request says, and who asks; raises where they may not. ``most``: bytes of its body."""
    keys: Keys = request.app.state.keys
    fields = await fields_of(request, most=most)
    return service_of(request), fields, keys.holder(request, fields)


def charge(request: Request, holder: Holder, texts: Sequence[str], *, status: int = 400, quota: int = 403) -> None:
    """Count what is asked for; raises with these statuses where it is too long, or more than somebody may ask for."""
    characters = service_of(request).require_short(texts, status=status)
    holder.use(characters, quota_status=quota)
    request.state.charged = holder, characters


def give_back(request: Request) -> None:
    """Count it no more: it was not translated, for no fault of whoever asked."""
    holder, characters = getattr(request.state, "charged", (None, 0))
    if holder is not None:
        holder.give_back(characters)


async def translated(request: Request, model: ServedModel, wanted: Wanted) -> list[list[Translation]]:
    """The n best translations of each text, made in a thread of their own."""
    request.state.facts = {"model": model.name, "characters": sum(map(len, wanted.texts))}
    return await service_of(request).run(
        model, lambda translator: translations(translator, wanted, model.options), gone=lambda: gone(request)
    )
