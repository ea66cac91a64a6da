"""Markdown: paragraphs, headings, list items and cells are units; code, links' addresses and HTML stay.

Lines that a paragraph was wrapped into become one: where its translation is to be wrapped nobody can say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt

from heedful.documents import Document
from heedful.text.markup import VOID, Tags, Unit, free_key

_FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(?:.*?\n)??\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HARD_BREAK = re.compile(r"(?: {2,}|\\)$")
_BREAK = re.compile(r"<[bB][rR]\s*/?>")
"""Where a line ends, in a text too: what stands around it is translated by itself."""
_ELEMENT = re.compile(r"<(/?)([A-Za-z][\w:-]*)")
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
"""One that is a paragraph by itself: what is said of it is the text."""
_TASK = re.compile(r"(?:\[[ xX]\]|\[\^[^\]\s]+\]:)\s+(?=\S)")
"""The box of a list's item, open or ticked, or the number of a note: it stays, and the text begins after it."""
_BEGUN = re.compile(r":{3,}.*|:\s+")
"""How a container or a definition begins, which to CommonMark is a line of a paragraph like any other."""
_INLINE = (
    r"(?P<kept>(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)"
    r"|\$\$[^$]+\$\$|(?<![\w\\$])\$(?=[^\s$])[^$]*[^\s\\$]\$(?![\w$])"
    r"|!\[[^\[\]]*\]\([^()\s]*(?:\s+\"[^\"]*\")?\)|<[a-z][a-z0-9+.-]*:[^<>\s]*>"
    r"|<[^<>\s@]+@[^<>\s@]+>|\[\^[^\[\]\s]+\])"
    r"|(?P<close>\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)|\]\[[^\]]*\])"
    r"|(?P<open>\[)|(?P<html></?[A-Za-z][^<>]*>|<!--.*?-->)|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<mark>\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}|(?<!\w)_{1,3}(?=[^\s_])|(?<=[^\s_])_{1,3}(?!\w)|~~)"
)


@dataclass(frozen=True)
class _Place:
    """Where a unit stands: on which line, from which column to which, and how many lines after it are part of it."""

    line: int
    begin: int
    end: int
    more: int
    unit: Unit


def markdown_document(content: bytes) -> Document:
    """A file of Markdown, taken apart."""
    text = content.decode("utf-8")
    front = _FRONT_MATTER.match(text)
    head = front[0] if front else "\ufeff" * text.startswith("\ufeff")
    lines = re.split(r"(?<=\n)", text[len(head) :])
    key = free_key(text)
    places = list(_places(text[len(head) :], lines, key))

    def filled(translations: Sequence[str]) -> bytes:
        whole = lines.copy()
        pairs = zip(places, translations, strict=True)
        for place, translation in sorted(pairs, key=lambda pair: (-pair[0].line, -pair[0].begin)):
            line = whole[place.line]
            new = " ".join(place.unit.filled(translation).split("\n"))
            whole[place.line] = line[: place.begin] + new + line[place.end :]
            whole[place.line + 1 : place.line + 1 + place.more] = [""] * place.more
        return (head + "".join(whole)).encode("utf-8", "replace")

    return Document([place.unit.text for place in places], filled)


def _places(text: str, lines: list[str], key: str):
    at: dict[int, int] = {}
    tokens = MarkdownIt("commonmark").enable("table").parse(text, known := dict[str, Any]())
    # A link that is a label alone has an address for that label, which must not be translated.
    labels = "|".join(map(re.escape, known.get("references", ()))) or "(?!)"
    inline = re.compile(rf"(?<!!)\[(?P<label>(?i:{labels}))\](?:\[\])?(?![\[(:])|{_INLINE}")
    for token in tokens:
        if token.type != "inline" or token.map is None or not any(map(str.isalpha, token.content)):
            continue
        number, own = token.map[0], token.content.split("\n")
        group: list[tuple[int, int, int]] = []
        for offset, content in enumerate(own):
            line = lines[number + offset] if number + offset < len(lines) else ""
            content = content.strip()
            if begun := _BEGUN.match(content):
                yield from _place(group, lines, key, inline)
                group, content = [], content[begun.end() :]
            after = at.get(number + offset, 0)
            if (begin := line.find(content, after)) < 0:
                content = content.replace("|", r"\|")  # as cells have it
                begin = line.find(content, after)
            if begin < 0:
                group = []
                break
            at[number + offset] = begin + len(content)
            group += [(number + offset, begin, begin + len(content))] if content else []
            ended = line[begin + len(content) :].rstrip("\n\r")
            if offset + 1 == len(own) or _HARD_BREAK.search(content) or _HARD_BREAK.search(ended):
                yield from _place(group, lines, key, inline)
                group = []


def _place(group: list[tuple[int, int, int]], lines: list[str], key: str, inline: re.Pattern[str]):
    """The unit of some lines, the last of which has its line end and its mark for a hard break kept."""
    if not group:
        return
    text = " ".join(lines[number][begin:end] for number, begin, end in group)
    cut = _HARD_BREAK.search(text)
    text = text[: cut.start()] if cut else text
    (first, begin, end), last = group[0], group[-1]
    if len(group) > 1:
        # The first line takes what stood at the end of the last.
        rest = lines[last[0]][last[2] - (len(cut[0]) if cut else 0) :]
        lines[first] = lines[first][:end] + rest
    elif cut:
        end -= len(cut[0])
    if len(group) == 1 and (picture := _PICTURE.fullmatch(text)):
        begin, end, text = begin + picture.start(1), begin + picture.end(1), picture[1]
    if (task := _TASK.match(text)) and begin + task.end() < end:
        begin, text = begin + task.end(), text[task.end() :]
    if any(map(str.isalpha, text)):
        yield _Place(first, begin, end, len(group) - 1, _unit(text, key, inline))


def _unit(text: str, key: str, inline: re.Pattern[str]) -> Unit:
    """Inline markup as tags and names."""
    written, at = "", 0
    tags = Tags()
    kept: list[str] = []
    open_marks: list[str] = []
    closing = len([match for match in inline.finditer(text) if match["close"]])
    for match in inline.finditer(text):
        written += text[at : match.start()]
        at = match.end()
        raw, element = match[0], match["html"] and _ELEMENT.match(match[0])
        if (label := match["label"]) and not set(label) & set("`*_<&\\"):
            written += tags.begin("[", "[") + label + tags.end(f"][{label}]", "[")
        elif raw.startswith("[^"):  # a name would become part of the word before it
            written += tags.alone(raw)
        elif label or match["kept"] or match["escape"]:
            written += f"{{{{{key}{len(kept)}}}}}"
            kept.append(raw)
        elif (match["open"] and not closing) or (_BREAK.fullmatch(raw) and not open_marks):
            written += raw
        elif match["html"] and (not element or element[2].lower() in VOID or raw.endswith("/>")):
            written += tags.alone(raw)
        elif element:
            written += (tags.end if element[1] else tags.begin)(raw, element[2].lower())
        elif match["mark"]:
            ended = next((most for most in (1, 2) if "".join(open_marks[: -most - 1 : -1]) == raw), 0)  # *a **b***
            written += "".join(tags.end(mark, mark) for mark in open_marks[: -ended - 1 : -1])
            written += "" if ended else tags.begin(raw, raw)
            open_marks = open_marks[:-ended] if ended else [*open_marks, raw]
        else:
            closing -= bool(match["open"])
            written += (tags.begin if match["open"] else tags.end)(raw, "[")
    return Unit(written + text[at:], tags.raw, tuple(kept), key, is_html=False)
