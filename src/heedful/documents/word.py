"""Word's .docx: a paragraph is a unit, and text that is formatted otherwise than most of it has tags around it."""

from __future__ import annotations

import copy
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import docx
from docx.oxml.ns import qn

from heedful.documents import Document
from heedful.errors import TextError

_TEXT = {qn("w:t"), qn("w:tab"), qn("w:noBreakHyphen"), qn("w:rPr"), qn("w:lastRenderedPageBreak")}
_MOST_BYTES = 256 << 20
"""Of a file when it is unpacked: a small one can hold a bomb."""


@dataclass(frozen=True)
class _Marks:
    """How formats and what is no text are written in a unit: by letters that the file has nowhere in such a place."""

    tag: str
    hole: str

    @classmethod
    def absent_from(cls, text: str) -> _Marks:
        tag, hole = "t", "h"
        while re.search(rf"</?{tag}\d", text):
            tag += "t"
        while f"{{{{{hole}" in text:
            hole += "h"
        return cls(tag, hole)

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"<(/?){self.tag}(\d+)>|\{{\{{{self.hole}(\d+)\}}\}}")


@dataclass(frozen=True, eq=False)
class _Run:
    """Text of one format, or something that is no text."""

    elements: list[Any]
    """The runs of the file that it consists of."""
    text: str | None
    """None of what is no text."""
    style: str

    @property
    def outer(self) -> Any:
        """The element that stands in the paragraph: a hyperlink, or the run itself."""
        parent = self.elements[0].getparent()
        return self.elements[0] if parent.tag == qn("w:p") else parent


def docx_document(content: bytes) -> Document:
    """A file of Word, taken apart."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(one.file_size for one in packed.infolist()) > _MOST_BYTES:
                raise TextError(f"unpacks to more than {_MOST_BYTES >> 20} MiB")
        file = docx.Document(io.BytesIO(content))
    except (ValueError, KeyError, zipfile.BadZipFile, OSError) as error:
        raise TextError(f"is not a file of Word: {str(error)[:120]}") from None
    parts = [file.element.body]
    for section in file.sections:
        edges = (section.header, section.footer, section.first_page_header, section.first_page_footer)
        parts += [one._element for one in edges if not one.is_linked_to_previous]
    paragraphs = [own for part in parts for own in part.iter(qn("w:p"))]
    taken = [runs for own in paragraphs if (runs := _runs(own)) and _has_letters(runs)]
    marks = _Marks.absent_from("\n".join("".join(run.text or "" for run in runs) for runs in taken))

    def filled(translations: Sequence[str]) -> bytes:
        for runs, translation in zip(taken, translations, strict=True):
            _fill(runs, translation, marks)
        made = io.BytesIO()
        file.save(made)
        return made.getvalue()

    return Document([_unit_text(runs, marks) for runs in taken], filled)


def _has_letters(runs: list[_Run]) -> bool:
    return any(any(map(str.isalpha, run.text or "")) for run in runs)


def _runs(paragraph: Any) -> list[_Run]:
    """What a paragraph consists of, neighbours of one format as one."""
    found: list[_Run] = []
    for element in paragraph.iter(qn("w:r")):
        if next(element.iterancestors(qn("w:p"))) is not paragraph:
            continue  # of a text box inside of it, which has paragraphs of its own
        text = "".join(_characters(element)) if all(child.tag in _TEXT for child in element) else None
        properties = element.find(qn("w:rPr"))
        style = "" if properties is None else _shown(properties)
        parent = element.getparent()
        own = _Run([element], text, f"{style} {id(parent) if parent.tag != qn('w:p') else ''}")
        last = found[-1] if found else None
        joins = last is not None and last.elements[-1].getnext() is element and last.style == own.style
        if last is not None and joins and last.text is not None and text is not None:
            found[-1] = _Run([*last.elements, element], last.text + text, own.style)
        else:
            found.append(own)
    return found


def _shown(properties: Any) -> str:
    """A format, without what says nothing of how it looks: languages, and marks of spelling."""
    own = copy.deepcopy(properties)
    for child in list(own):
        if child.tag in (qn("w:lang"), qn("w:noProof")):
            own.remove(child)
    return own.xml if len(own) else ""


def _characters(run: Any) -> Iterator[str]:
    for child in run:
        if child.tag == qn("w:t"):
            yield child.text or ""
        elif child.tag == qn("w:tab"):
            yield "\t"
        elif child.tag == qn("w:noBreakHyphen"):
            yield "\u2011"


def _main_style(runs: list[_Run]) -> str:
    lengths: Counter[str] = Counter()
    for run in runs:
        lengths[run.style] += len(run.text or "")
    return lengths.most_common(1)[0][0]


def _unit_text(runs: list[_Run], marks: _Marks) -> str:
    main, text = _main_style(runs), ""
    for number, run in enumerate(runs):
        if run.text is None:
            text += f"{{{{{marks.hole}{number}}}}}"
        elif run.style == main or not run.text.strip():
            text += run.text
        else:
            text += f"<{marks.tag}{number}>{run.text}</{marks.tag}{number}>"
    return text


def _fill(runs: list[_Run], translation: str, marks: _Marks) -> None:
    """Put runs in the order that a translation has, each with its text."""
    main = next(run for run in runs if run.style == _main_style(runs) and run.text is not None)
    new, at, inside, seen = [], 0, None, set()
    for match in [*marks.pattern.finditer(translation), None]:
        text = translation[at : match.start() if match else None]
        if text:
            new.append(_with_text(runs[inside] if inside is not None else main, text))
        if match is None:
            break
        at, number = match.end(), int(match[2] or match[3])
        if match[3] and number < len(runs) and runs[number].text is None and number not in seen:
            seen.add(number)
            new.append(runs[number].outer)
        elif match[2] and number < len(runs) and runs[number].text is not None:
            inside = None if match[1] else number
    new += [run.outer for number, run in enumerate(runs) if run.text is None and number not in seen]
    first = runs[0].outer
    place, parent = first.getparent().index(first), first.getparent()
    olds = dict.fromkeys(element for run in runs for element in ([run.outer] if run.text is None else run.elements))
    outers = {run.outer: None for run in runs}
    for element in [*olds, *outers]:
        if element.getparent() is not None:
            element.getparent().remove(element)
    for offset, element in enumerate(new):
        parent.insert(min(place, len(parent)) + offset, element)


def _with_text(run: _Run, text: str) -> Any:
    """A copy of a run, in a copy of its hyperlink if it has one, with other text."""
    made = copy.deepcopy(run.elements[0])
    for child in list(made):
        if child.tag != qn("w:rPr"):
            made.remove(child)
    for place, own in enumerate(text.split("\t")):
        if place:
            made.append(made.makeelement(qn("w:tab"), {}))
        if own:
            element = made.makeelement(qn("w:t"), {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
            element.text = own
            made.append(element)
    if run.outer is run.elements[0]:
        return made
    outer = run.outer.makeelement(run.outer.tag, dict(run.outer.attrib))
    outer.append(made)
    return outer
