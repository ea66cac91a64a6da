"""HTML on its way through a model: a block of text is a unit, and everything around the units stays as it is.

Inside a unit white space is folded, tags of ours stand for its inline tags (`heedful.text.carrying` puts them back
beside the words they stood beside), and names in braces for what is not to be translated: code, elements with
``translate="no"`` or the class ``notranslate``, and those that somebody wants ignored. The values of attributes that
people read are units too. This module knows no model.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser

from heedful.text.numbers import Languages
from heedful.text.sentences import Span, with_edits


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
_READ = _names("alt title placeholder aria-label")
"""Attributes that hold text."""
_BUTTONS = _names("submit button reset")
"""Kinds of `input` that show their value."""
_ATTRIBUTE = re.compile(
    r"""(?<=[\s/"'])([^\s/>="']+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>][^\s>]*)"""  # all of it, so that none is found inside
)
_ROOT = re.compile(
    r"""\ufeff?(?:\s|<!--.*?-->|<!(?!--)[^>]*>|<\?[^>]*>)*+(<html(?=[\s/])(?:[^>"']|"[^"]*"|'[^']*')*+>)""", re.I | re.S
)
_NOTE = re.compile(r"<sup(?:\s[^<>]*)?>(?:<(?!sup)[^<>]*>|[^\w<>]|[\d_])*?</sup\s*>", re.IGNORECASE)
"""What is raised and holds no letters, as the number of a note: it stands beside a word, and is none."""
_SECTION = re.compile(r"<!\[(?:temp|cdata|ignore|include|rcdata|if|else|endif)(?![-.\w])", re.IGNORECASE)
"""What the parser knows; anything else is a comment to a browser, and to the parser a reason to give up."""
_AMPERSAND = re.compile(r"&amp;(?![#\w]*;)")
"""One that would be no entity: the model may have it as people write it."""
VOID = _names("area base br col embed hr img input link meta param source track wbr")


def free_key(text: str) -> str:
    """How names begin in the units of a text: by letters that stand nowhere in it behind two braces."""
    key = "h"
    while "{{" + key in text:
        key += "h"
    return key


def _ours(key: str) -> re.Pattern[str]:
    """What may stand in a unit beside text: our tags, our names, and characters that would be markup."""
    return re.compile(rf"(</?t\d+/?>)|\{{\{{{key}(\d+)\}}\}}|&(?:amp|lt|gt);")


class Tags:
    """The inline tags of a unit, with ours for each: a tag that ends another has its number, and both stay a pair."""

    def __init__(self) -> None:
        self.raw: dict[str, str] = {}
        """What each of our tags stands for."""
        self._numbers = itertools.count()
        self._open: list[tuple[str, int]] = []

    def begin(self, raw: str, what: str) -> str:
        """Ours for a tag that begins something."""
        self._open.append((what, next(self._numbers)))
        return self._named(f"<t{self._open[-1][1]}>", raw)

    def end(self, raw: str, what: str) -> str:
        """Ours for a tag that ends the last such thing that was begun; its own where none was."""
        begun = [place for place, (own, _) in enumerate(self._open) if own == what]
        number = self._open[begun[-1]][1] if begun else next(self._numbers)
        self._open = self._open[: begun[-1]] if begun else self._open
        return self._named(f"</t{number}>", raw)

    def alone(self, raw: str) -> str:
        """Ours for a tag that neither begins nor ends anything."""
        return self._named(f"<t{next(self._numbers)}/>", raw)

    def _named(self, ours: str, raw: str) -> str:
        self.raw[ours] = raw
        return ours


@dataclass(frozen=True)
class Unit:
    """A block of text with its inline tags."""

    text: str
    """What is translated: plain text, our tags, and names."""
    tags: Mapping[str, str]
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
        pieces: dict[str | int, str] = {**dict(enumerate(self.kept)), **self.tags}
        parts, at, seen = [], 0, set()
        for match in _ours(self.key).finditer(translation):
            parts.append(escaped(translation[at : match.start()]))
            at = match.end()
            if match[0][0] == "&":
                parts.append(match[0])
                continue
            which = match[1] or int(match[2])
            if which in pieces and which not in seen:
                seen.add(which)
                parts.append(pieces[which])
        lost = [piece for which, piece in pieces.items() if which not in seen]
        return "".join([*parts, escaped(translation[at:]), *lost])


@dataclass(frozen=True)
class _Value:
    """The value of an attribute."""

    span: Span
    """Where it stands in its tag, quotation marks included."""
    unit: Unit
    quote: str

    def filled(self, translation: str) -> str:
        escaped = {'"': "&quot;", "'": "&#39;"}[self.quote]
        return self.quote + self.unit.filled(translation).replace(self.quote, escaped) + self.quote


@dataclass(frozen=True)
class Markup:
    """HTML taken apart: its units, and what stands around them.

    In its tags a name in braces, as `{{h:0}}`, stands for each value of an attribute that is translated.
    """

    _gaps: tuple[str, ...]
    _units: tuple[Unit, ...]
    _values: tuple[_Value, ...]
    _key: str

    @property
    def units(self) -> list[str]:
        """What is to be translated: the text, and then the values of attributes."""
        return [unit.text for unit in (*self._units, *(value.unit for value in self._values))]

    def filled(self, translations: Sequence[str]) -> str:
        """The HTML with translations in the places of its units."""
        count = len(self._units)
        values = [own.filled(said) for own, said in zip(self._values, translations[count:], strict=True)]
        name = re.compile(rf"\{{\{{{self._key}:(\d+)\}}\}}")

        def put(raw: str) -> str:
            return name.sub(lambda match: values[int(match[1])], raw) if values else raw

        first, *others = self._gaps
        whole = put(first)
        for unit, translation, gap in zip(self._units, translations[:count], others, strict=True):
            tags = {ours: put(raw) for ours, raw in unit.tags.items()}
            own = replace(unit, tags=tags, kept=tuple(map(put, unit.kept)))
            whole += own.filled(translation) + put(gap)
        return whole


def markup(source: str, *, ignored: Collection[str] = (), is_xml: bool = False) -> Markup:
    """HTML taken apart. ``ignored``: names of elements that are left as they are. ``is_xml``: all elements are inline.

    >>> taken = markup("<p>Read <b>this</b> &amp; <code>x = 1</code>.</p>")
    >>> taken.units
    ['Read <t0>this</t0> & {{h0}}.']
    >>> taken.filled(["Lies <t0>das</t0> & {{h0}}."])
    '<p>Lies <b>das</b> &amp; <code>x = 1</code>.</p>'
    """
    reader = _Reader(source, frozenset(name.lower() for name in ignored), is_xml=is_xml)
    return reader.taken_apart()


def in_language(source: str, languages: Languages) -> str:
    """HTML whose root says that it is in the first language, saying that it is in the second.

    >>> in_language('<!doctype html>\\n<html lang="en-GB">', ("en", "de")), in_language("<html lang=fr>", ("en", "de"))
    ('<!doctype html>\\n<html lang="de">', '<html lang=fr>')
    """
    own, other = languages
    root = _ROOT.match(source)
    if root is None or own is None or other is None:
        return source
    found = {match[1].lower(): match for match in _ATTRIBUTE.finditer(source, root.start(1), root.end(1))}
    if "translate" in found and found["translate"][2].strip("\"'").lower() == "no":
        return source
    edits: list[tuple[Span, str]] = []
    for match in found.values():
        value = match[2].strip("\"'")
        if match[1].lower() in ("lang", "xml:lang") and value.strip().lower().partition("-")[0] == own:
            edits.append((match.span(2), match[2].replace(value, other)))
    return with_edits(source, edits)


class _Reader(HTMLParser):
    """Cuts HTML into tokens as they are written, and puts units together from them."""

    def __init__(self, source: str, ignored: frozenset[str], *, is_xml: bool) -> None:
        super().__init__(convert_charrefs=False)
        self._source, self._ignored, self._is_xml = source, ignored, is_xml
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self._tokens: list[tuple[int, str, str, bool]] = []
        """Where each begins, what kind it is, the element's name or the text, and whether its contents are kept."""
        self._key = free_key(source)
        self._values: dict[int, list[_Value]] = {}
        """Those of attributes that hold text, by where the token begins."""
        # No tag is whole after the last >, and the parser would look for each to the end.
        whole = source[: source.rfind(">") + 1]
        self.feed(whole)
        self.close()
        self._tokens += [(len(whole), "text", "", False)] if whole != source else []

    @property
    def _place(self) -> int:
        """Where what is being read begins."""
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _add(self, kind: str, what: str = "", kept: bool = False) -> None:
        self._tokens.append((self._place, kind, what, kept))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        stays = self._stays(tag, attrs) or (tag in _OPAQUE and not self._is_xml)
        if tag == "sup" and not self._is_xml:
            stays = stays or _NOTE.match(self._source, self._place) is not None
        self._add("void" if tag in VOID and not self._is_xml else "begin", tag, stays)

    def _stays(self, tag: str, attrs: list[tuple[str, str | None]]) -> bool:
        """Whether somebody wants an element as it is; of any other the attributes are looked at."""
        given = dict(attrs)
        translated = given.get("translate")
        untranslated = translated is not None and translated.lower() == "no"
        stays = untranslated or "notranslate" in (given.get("class") or "").split() or tag in self._ignored
        if not stays and not self._is_xml:
            shows = tag == "input" and (given.get("type") or "").lower() in _BUTTONS
            describes = tag == "meta" and (given.get("name") or "").lower() == "description"
            self._find_values(attrs, {*_READ, *["value"] * shows, *["content"] * describes})
        return stays

    def _find_values(self, attrs: list[tuple[str, str | None]], names: Collection[str]) -> None:
        """Note the values of a tag's attributes that hold text, where they stand as the parser read them."""
        read = {name: value for name, value in reversed(attrs) if name in names}
        found: list[_Value] = []
        for match in _ATTRIBUTE.finditer(self.get_starttag_text() or "") if read else ():
            value, quote = read.pop(match[1].lower(), None), match[2][0]
            inside = match[2][1:-1] if quote in "\"'" else match[2]
            if value and html.unescape(inside) == value and any(map(str.isalpha, value)):
                unit = Unit(_AMPERSAND.sub("&", _escaped(value)), {}, (), self._key)
                found.append(_Value(match.span(2), unit, quote if quote in "\"'" else '"'))
        if found:
            self._values[self._place] = found

    def _is_inline(self, name: str) -> bool:
        return self._is_xml or name in _INLINE or name in self._ignored

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._stays(tag, attrs)
        self._add("void", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_data(self, data: str) -> None:
        self._add("text", data)

    def handle_entityref(self, name: str) -> None:
        self._add("entity")

    def handle_comment(self, data: str) -> None:
        is_one = self._source.startswith("<!--", self._place)  # a sentence goes on after it
        self._add("void" if is_one else "other", "wbr")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        return super().parse_marked_section(i) if _SECTION.match(self.rawdata, i) else self.parse_bogus_comment(i)

    handle_charref = handle_entityref
    handle_pi = unknown_decl = handle_comment

    def taken_apart(self) -> Markup:
        """The document, once it is read."""
        writer = _Writer(self._key)
        begins = [begin for begin, *_ in self._tokens]
        ends = [*begins[1:], len(self._source)] if begins else []
        keeping: list[str] = []
        kept_raw: list[str] = []
        for (begin, kind, name, kept), end in zip(self._tokens, ends, strict=True):
            raw = self._source[begin:end]
            if keeping:
                kept_raw.append(raw)
                keeping += [name] if kind == "begin" and name == keeping[0] else []
                if kind == "end" and name == keeping[0]:
                    keeping.pop()
                whole = "" if keeping else "".join(kept_raw)
                if _NOTE.fullmatch(whole):
                    writer.add_tag(whole, "void", name)
                elif not keeping:
                    writer.keep(whole, inline=self._is_inline(name))
                continue
            raw = writer.named(raw, self._values.get(begin, ()))
            if kind == "begin" and kept:
                keeping, kept_raw = [name], [raw]
            elif kind in ("text", "entity"):
                writer.add_text(html.unescape(raw), raw)
            elif kind != "other" and self._is_inline(name):
                writer.add_tag(raw, kind, name)
            elif kind == "other":
                writer.keep(raw, inline=False)
            else:
                writer.end_unit()
                writer.outside(raw)
        if keeping:
            writer.keep("".join(kept_raw), inline=False)
        return writer.finished(self._source[: begins[0]] if begins else self._source)


class _Writer:
    """Puts units together."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._gaps: list[str] = [""]
        self._units: list[Unit] = []
        self._values: list[_Value] = []
        self._begin()

    def _begin(self) -> None:
        self._text, self._raw = "", ""
        self._tags = Tags()
        self._kept: list[str] = []

    def named(self, raw: str, values: Sequence[_Value]) -> str:
        """A tag with names for the values of its attributes."""
        first = len(self._values)
        self._values += values
        return with_edits(raw, ((own.span, f"{{{{{self._key}:{at}}}}}") for at, own in enumerate(values, start=first)))

    def add_text(self, text: str, raw: str) -> None:
        self._text += _escaped(text)
        self._raw += raw

    def add_tag(self, raw: str, kind: str, name: str) -> None:
        tags = self._tags
        self._text += tags.alone(raw) if kind == "void" else (tags.begin if kind == "begin" else tags.end)(raw, name)
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
            folded = _AMPERSAND.sub("&", re.sub(f"[{_SPACES}]+", " ", inside))
            self._units.append(Unit(folded, self._tags.raw, tuple(self._kept), self._key))
            self._gaps.append(after)
        self._begin()

    def finished(self, before: str) -> Markup:
        self.end_unit()
        self._gaps[0] = before + self._gaps[0]
        return Markup(tuple(self._gaps), tuple(self._units), tuple(self._values), self._key)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
