"""Word's .docx: a paragraph is a unit, and text that is formatted otherwise than most of it has tags around it."""

from __future__ import annotations

import copy
import io
import itertools
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import docx
from docx.opc.oxml import serialize_part_xml
from docx.oxml import parse_xml
from docx.oxml.ns import qn

from heedful.documents import Document
from heedful.errors import TextError
from heedful.text.markup import free_key

_TEXT = {qn("w:t"), qn("w:tab"), qn("w:noBreakHyphen"), qn("w:softHyphen"), qn("w:cr"), qn("w:lastRenderedPageBreak")}
_GONE = {qn("w:del"), qn("w:moveFrom")}
"""What changes that are tracked have taken away."""
_MOST_BYTES = 256 << 20
"""Of a file when it is unpacked: a small one can hold a bomb."""


@dataclass(frozen=True)
class _Marks:
    """How formats and what is no text are written in a unit: by letters that the file has nowhere in such a place."""

    tag: str
    hole: str

    @classmethod
    def absent_from(cls, text: str) -> _Marks:
        tag = "t"
        while re.search(rf"</?{tag}\d", text):
            tag += "t"
        return cls(tag, free_key(text))

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"<(/?){self.tag}(\d+)/?>|\{{\{{{self.hole}(\d+)\}}\}}")


@dataclass(frozen=True, eq=False)
class _Run:
    """Text of one format, or something that is no text."""

    elements: list[Any]
    """The runs of the file that it consists of."""
    text: str | None
    """None of what is no text."""
    style: str


def docx_document(content: bytes) -> Document:
    """A file of Word, taken apart."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(one.file_size for one in packed.infolist()) > _MOST_BYTES:
                raise TextError(f"unpacks to more than {_MOST_BYTES >> 20} MiB")
        file = docx.Document(io.BytesIO(content))
        related = [one for one in file.part.rels.values() if not one.is_external]
        own = [one.target_part for one in related if one.reltype.endswith(("/footnotes", "/endnotes"))]
        notes = [(part, parse_xml(part.blob)) for part in own]
    except (ValueError, KeyError, SyntaxError, zipfile.BadZipFile, OSError) as error:
        raise TextError(f"is not a file of Word: {str(error)[:120]}") from None
    parts = [file.element.body]
    for section in file.sections:
        edges = (section.header, section.footer, section.first_page_header, section.first_page_footer)
        edges += (section.even_page_header, section.even_page_footer)
        parts += [one._element for one in edges if not one.is_linked_to_previous]
    parts += [root for _, root in notes]
    for mark in [one for part in parts for one in part.iter(qn("w:proofErr"))]:
        mark.getparent().remove(mark)  # of spelling in the first language: it cuts words in two
    paragraphs = [own for part in parts for own in part.iter(qn("w:p"))]
    taken = [runs for own in paragraphs if (runs := _runs(own)) and _has_letters(runs)]
    marks = _Marks.absent_from("\n".join("".join(run.text or "" for run in runs) for runs in taken))

    def filled(translations: Sequence[str]) -> bytes:
        for runs, translation in zip(taken, translations, strict=True):
            _fill(runs, translation, marks)
        for part, root in notes:  # of these the library has the bytes alone
            part._blob = serialize_part_xml(root)
        made = io.BytesIO()
        file.save(made)
        return made.getvalue()

    return Document([_unit_text(runs, marks) for runs in taken], filled)


def _has_letters(runs: list[_Run]) -> bool:
    return any(any(map(str.isalpha, run.text or "")) for run in runs)


def _runs(paragraph: Any) -> list[_Run]:
    """What a paragraph consists of, neighbours of one format as one."""
    for element in list(paragraph.iter(qn("w:r"))):
        _split(element)
    # But for those of a text box inside of it, which has paragraphs of its own, and for ruby, which is a run of runs.
    inside = paragraph.iter(qn("w:r"), qn("m:oMath"))
    elements = [one for one in inside if next(one.iterancestors(qn("w:p"), qn("w:r"))) is paragraph]
    kept, found = _fields(elements), list[_Run]()
    for element in elements:
        is_text = all(_is_text(child) for child in element if child.tag != qn("w:rPr"))
        is_text &= element not in kept and not any(around.tag in _GONE for around in element.iterancestors())
        properties, parent = element.find(qn("w:rPr")), element.getparent()
        style = "" if properties is None or not is_text else _shown(properties)
        style += f" {id(parent) if parent.tag != qn('w:p') else ''}"
        own = _Run([element], "".join(_characters(element)) if is_text else None, style)
        last = found[-1] if found and found[-1].elements[-1].getnext() is element else None
        if last is not None and (last.text is None, last.style) == (own.text is None, own.style):
            found[-1] = _Run(
                [*last.elements, element], None if own.text is None else (last.text or "") + own.text, style
            )
        else:
            found.append(own)
    return found


def _split(run: Any) -> None:
    """Take text and what is none apart, where a run has both."""
    inside = [child for child in run if child.tag != qn("w:rPr")]
    groups = [list(group) for _, group in itertools.groupby(inside, key=_is_text)]
    for group in reversed(groups[1:]):
        made = run.makeelement(run.tag, dict(run.attrib))
        made.extend([*(copy.deepcopy(own) for own in run.findall(qn("w:rPr"))), *group])
        run.addnext(made)


def _is_text(child: Any) -> bool:
    """Whether it stands for characters; a line's break does, a page's does not."""
    return child.tag in _TEXT or (child.tag == qn("w:br") and child.get(qn("w:type")) in (None, "textWrapping"))


def _fields(elements: list[Any]) -> set[Any]:
    """What belongs to fields that show no words, such as the number of a page, from their beginnings to their ends."""
    kept, begun = set[Any](), list[int]()
    for place, element in enumerate(elements):
        for mark in element.findall(qn("w:fldChar")):
            if mark.get(qn("w:fldCharType")) == "begin":
                begun.append(place)
            elif mark.get(qn("w:fldCharType")) == "end" and begun:
                own = elements[begun.pop() : place + 1]
                shows_words = any(map(str.isalpha, "".join(one for run in own for one in _characters(run))))
                kept |= set() if shows_words else {*own}
    return kept


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
        elif child.tag in (qn("w:br"), qn("w:cr")):
            yield "\n"
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
        after = (runs[number + 1].text or "")[:1] if number + 1 < len(runs) else ""
        if run.text is None and not text[-1:].strip() and not after.isalnum():
            text += f"{{{{{marks.hole}{number}}}}}"
        elif run.text is None:  # as a note's number is: a name would become part of the word
            text += f"<{marks.tag}{number}/>"
        elif run.style == main or not run.text.strip():
            text += run.text
        else:
            text += f"<{marks.tag}{number}>{run.text}</{marks.tag}{number}>"
    return text


def _fill(runs: list[_Run], translation: str, marks: _Marks) -> None:
    """Put runs in the order that a translation has, each with its text."""
    main = next(run for run in runs if run.style == _main_style(runs) and run.text is not None)
    around = {run: list(run.elements[0].iterancestors()) for run in runs}
    paragraph = next(one for one in around[main] if one.tag == qn("w:p"))
    olds = list(dict.fromkeys(_outer(element) for run in runs for element in run.elements))
    place = paragraph.index(olds[0])
    new, at, inside, seen = list[Any](), 0, None, set[int]()

    def put(run: _Run, elements: list[Any]) -> None:
        """Add elements, in a copy of what the run stands in: a hyperlink, an insertion, a control with its settings."""
        for shell in itertools.takewhile(lambda one: one is not paragraph, around[run]):
            made = shell.makeelement(shell.tag, dict(shell.attrib))
            made.extend([*(copy.deepcopy(own) for own in shell if own.tag.endswith("Pr")), *elements])
            elements = [made]
        new.extend(elements)

    for match in [*marks.pattern.finditer(translation), None]:
        text = translation[at : match.start() if match else None]
        if text:
            own = runs[inside] if inside is not None else main
            put(own, [_with_text(own, text)])
        if match is None:
            break
        at, number = match.end(), int(match[2] or match[3])
        if number >= len(runs) or number in seen:
            continue
        if runs[number].text is None:
            seen.add(number)
            put(runs[number], runs[number].elements)
        elif match[2]:
            inside = None if match[1] else number
    for number, run in enumerate(runs):
        if run.text is None and number not in seen:
            put(run, run.elements)
    for old in olds:
        if old.getparent() is paragraph:
            paragraph.remove(old)
    # What began between the runs, a bookmark or a comment, would begin after all of them.
    starts = [one for one in paragraph[place:] if one.tag.endswith("Start")]
    for element in reversed([*starts, *new]):
        paragraph.insert(place, element)


def _outer(element: Any) -> Any:
    """What stands in the paragraph: a hyperlink, or the run itself."""
    parent = element.getparent()
    return element if parent.tag == qn("w:p") else _outer(parent)


def _with_text(run: _Run, text: str) -> Any:
    """A copy of a run with other text."""
    made = copy.deepcopy(run.elements[0])
    for child in list(made):
        if child.tag != qn("w:rPr"):
            made.remove(child)
    for own in re.split(r"([\t\n])", text):
        if own in ("\t", "\n"):
            made.append(made.makeelement(qn("w:tab" if own == "\t" else "w:br"), {}))
        elif own:
            element = made.makeelement(qn("w:t"), {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
            element.text = own
            made.append(element)
    return made
