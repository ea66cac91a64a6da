"""HTML on its way through a model: a block of text is a unit, and everything around the units stays as it is.

Inside a unit white space is folded, tags of ours stand for its inline tags (`heedful.text.carrying` puts them back
beside the words they stood beside), and names in braces for what is not to be translated: code, elements with
``translate="no"`` or the class ``notranslate``, and those that somebody wants ignored. This module knows no model.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rb rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr"
)
"""Elements inside a sentence; every other one ends it."""
_OPAQUE = _names("code kbd samp var tt math svg script style textarea pre noscript template iframe object")
"""Elements whose contents are not text to be translated."""
_SPACES = " \t\n\r\f"
_VOID = _names("area base br col embed hr img input link meta param source track wbr")


def _ours(key: str) -> re.Pattern[str]:
    """What may stand in a unit beside text: our tags, our names, and characters that would be markup."""
    return re.compile(rf"<(/?)t(\d+)>|\{{\{{{key}(\d+)\}}\}}|&(?:amp|lt|gt);")


@dataclass(frozen=True)
class Unit:
    """A block of text with its inline tags."""

    text: str
    """What is translated: plain text, our tags, and names."""
    tags: tuple[str, ...]
    """What each of our tags stands for."""
    kept: tuple[str, ...]
    """What each name stands for."""
    key: str
    """How names begin."""
    is_html: bool = True
    """Whether what is no tag is escaped."""

    def filled(self, translation: str) -> str:
        """A translation with its markup. Every tag and piece stands in it once: what it lacks follows at its end."""
        escaped = _escaped if self.is_html else str
        parts, at, seen = [], 0, set()
        for match in _ours(self.key).finditer(translation):
            parts.append(escaped(translation[at : match.start()]))
            at = match.end()
            if match[0][0] == "&":
                parts.append(match[0])
                continue
            which = ("tag", int(match[2])) if match[2] else ("kept", int(match[3]))
            pieces = self.tags if which[0] == "tag" else self.kept
            if which[1] < len(pieces) and which not in seen:
                seen.add(which)
                parts.append(pieces[which[1]])
        lost = [piece for number, piece in enumerate(self.kept) if ("kept", number) not in seen]
        lost += [piece for number, piece in enumerate(self.tags) if ("tag", number) not in seen]
        return "".join([*parts, escaped(translation[at:]), *lost])


@dataclass(frozen=True)
class Markup:
    """HTML taken apart: its units, and what stands around them."""

    gaps: tuple[str, ...]
    _units: tuple[Unit, ...]

    @property
    def units(self) -> list[str]:
        """What is to be translated."""
        return [unit.text for unit in self._units]

    def filled(self, translations: Sequence[str]) -> str:
        """The HTML with translations in the places of its units."""
        first, *others = self.gaps
        whole = zip(self._units, translations, others, strict=True)
        return first + "".join(unit.filled(translation) + gap for unit, translation, gap in whole)


def markup(source: str, *, ignored: Collection[str] = (), is_xml: bool = False) -> Markup:
    """HTML taken apart. ``ignored``: names of elements that are left as they are. ``is_xml``: all elements are inline.

    >>> taken = markup("<p>Read <b>this</b> &amp; <code>x = 1</code>.</p>")
    >>> taken.units
    ['Read <t0>this</t1> &amp; {{h0}}.']
    >>> taken.filled(["Lies <t0>das</t1> &amp; {{h0}}."])
    '<p>Lies <b>das</b> &amp; <code>x = 1</code>.</p>'
    """
    reader = _Reader(source, frozenset(name.lower() for name in ignored), is_xml=is_xml)
    return reader.taken_apart()


class _Reader(HTMLParser):
    """Cuts HTML into tokens as they are written, and puts units together from them."""

    def __init__(self, source: str, ignored: frozenset[str], *, is_xml: bool) -> None:
        super().__init__(convert_charrefs=False)
        self._source, self._ignored, self._is_xml = source, ignored, is_xml
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self._tokens: list[tuple[int, str, str, bool]] = []
        """Where each begins, what kind it is, the element's name or the text, and whether its contents are kept."""
        self.feed(source)
        self.close()

    def _add(self, kind: str, what: str = "", kept: bool = False) -> None:
        line, column = self.getpos()
        self._tokens.append((self._lines[line - 1] + column, kind, what, kept))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        translated = given.get("translate")
        untranslated = translated is not None and translated.lower() == "no"
        kept = untranslated or "notranslate" in (given.get("class") or "").split()
        kept = kept or tag in self._ignored or (tag in _OPAQUE and not self._is_xml)
        self._add("void" if tag in _VOID and not self._is_xml else "begin", tag, kept)

    def _is_inline(self, name: str) -> bool:
        return self._is_xml or name in _INLINE or name in self._ignored

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("void", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_data(self, data: str) -> None:
        self._add("text", data)

    def handle_entityref(self, name: str) -> None:
        self._add("entity")

    def handle_comment(self, data: str) -> None:
        self._add("other")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    handle_charref = handle_entityref
    handle_pi = unknown_decl = handle_comment

    def taken_apart(self) -> Markup:
        """The document, once it is read."""
        key = "h"
        while "{{" + key in self._source:
            key += "h"
        writer = _Writer(key)
        begins = [begin for begin, *_ in self._tokens]
        ends = [*begins[1:], len(self._source)] if begins else []
        keeping: list[str] = []
        kept_from = 0
        for (begin, kind, name, kept), end in zip(self._tokens, ends, strict=True):
            raw = self._source[begin:end]
            if keeping:
                keeping += [name] if kind == "begin" and name == keeping[0] else []
                if kind == "end" and name == keeping[0]:
                    keeping.pop()
                if not keeping:
                    writer.keep(self._source[kept_from:end], inline=self._is_inline(name))
            elif kind == "begin" and kept:
                keeping, kept_from = [name], begin
            elif kind in ("text", "entity"):
                writer.add_text(html.unescape(raw), raw)
            elif kind != "other" and self._is_inline(name):
                writer.add_tag(raw)
            elif kind == "other":
                writer.keep(raw, inline=False)
            else:
                writer.end_unit()
                writer.outside(raw)
        if keeping:
            writer.keep(self._source[kept_from:], inline=False)
        return writer.finished(self._source[: begins[0]] if begins else self._source)


class _Writer:
    """Puts units together."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._gaps: list[str] = [""]
        self._units: list[Unit] = []
        self._begin()

    def _begin(self) -> None:
        self._text, self._raw = "", ""
        self._tags: list[str] = []
        self._kept: list[str] = []

    def add_text(self, text: str, raw: str) -> None:
        self._text += _escaped(text)
        self._raw += raw

    def add_tag(self, raw: str) -> None:
        self._text += f"<{'/' if raw.startswith('</') else ''}t{len(self._tags)}>"
        self._tags.append(raw)
        self._raw += raw

    def keep(self, raw: str, *, inline: bool) -> None:
        if not inline:
            self.end_unit()
            self.outside(raw)
            return
        self._text += f"{{{{{self._key}{len(self._kept)}}}}}"
        self._kept.append(raw)
        self._raw += raw

    def outside(self, raw: str) -> None:
        self._gaps[-1] += raw

    def end_unit(self) -> None:
        """What was put together is a unit if there is a letter in it; white space around it stays outside."""
        plain = _ours(self._key).sub("", self._text)
        if not any(map(str.isalnum, plain)):
            self.outside(self._raw)
        else:
            inside = self._text.strip(_SPACES)
            before, after = self._text[: self._text.index(inside)], self._text[len(self._text.rstrip(_SPACES)) :]
            self.outside(before)
            folded = re.sub(f"[{_SPACES}]+", " ", inside)
            self._units.append(Unit(folded, tuple(self._tags), tuple(self._kept), self._key))
            self._gaps.append(after)
        self._begin()

    def finished(self, before: str) -> Markup:
        self.end_unit()
        self._gaps[0] = before + self._gaps[0]
        return Markup(tuple(self._gaps), tuple(self._units))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
