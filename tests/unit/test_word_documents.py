"""What files of Word have beside paragraphs of runs: each comes back where it was, in a file that Word opens."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest

from heedful.documents import Document, document_of
from heedful.errors import TextError

docx = pytest.importorskip("docx", reason="heedful[documents] is not installed")
_SPACE = "http://schemas.openxmlformats.org/"
_NAMES = f'xmlns:w="{_SPACE}wordprocessingml/2006/main" xmlns:m="{_SPACE}officeDocument/2006/math"'
_NOTES = (
    f'<w:footnotes {_NAMES}><w:footnote w:id="2"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>'
)


def of(file: Any) -> Document:
    content = io.BytesIO()
    file.save(content)
    return document_of(content.getvalue(), ".docx")


def paragraphs(content: bytes, name: str = "word/document.xml") -> list[str]:
    """What stands in each, without declarations."""
    whole = zipfile.ZipFile(io.BytesIO(content)).read(name).decode()
    whole = re.sub(r' xmlns:\w+="[^"]*"| xml:space="preserve"', "", whole)
    return re.findall(r"<w:p>(.*?)</w:p>", whole, re.DOTALL)


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def field(shown: str) -> str:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}<w:r><w:instrText>PAGE</w:instrText></w:r>{separate}{run(shown)}{end}"


def shouted(unit: str) -> str:
    return re.sub(
        r"<[^<>]*>|\{\{\w+\}\}|\w+", lambda match: match[0] if match[0][0] in "<{" else match[0].upper(), unit
    )


LINK = '<w:hyperlink w:anchor="x">'
CONTROL = f'<w:sdt><w:sdtPr><w:tag w:val="x"/></w:sdtPr><w:sdtContent>{run("it")}</w:sdtContent></w:sdt>'
MOVED = f'<w:moveFrom w:id="1">{run("was")}</w:moveFrom><w:moveTo w:id="2">{run("is")}</w:moveTo>'
BOLD = "<w:r><w:rPr><w:b/></w:rPr><w:t>"
NUMBER = '<w:r><w:footnoteReference w:id="2"/></w:r>'
RUBY = f"<w:r><w:ruby><w:rt>{run('tōkyō')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby></w:r>"
MARKED = '<w:bookmarkStart w:id="5" w:name="c"/>'


@pytest.mark.parametrize(
    ("inside", "unit", "expected"),
    [
        ("<w:r><w:t>one</w:t><w:br/><w:t>two</w:t></w:r>", "one\ntwo", None),
        (
            '<w:r><w:t>one</w:t><w:br w:type="page"/><w:t>two</w:t></w:r>',
            "one<t1/>two",
            f'{run("ONE")}<w:r><w:br w:type="page"/></w:r>{run("TWO")}',
        ),
        (
            '<w:r><w:rPr><w:b/></w:rPr><w:t>one</w:t><w:sym w:char="F0E0"/></w:r>',
            "one<t1/>",
            '<w:r><w:rPr><w:b/></w:rPr><w:t>ONE</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:sym w:char="F0E0"/></w:r>',
        ),
        ("<w:r><w:t>dic</w:t><w:softHyphen/><w:t>tion</w:t></w:r>", "diction", run("DICTION")),
        (run("note") + NUMBER + run(" here"), "note<t1/> here", None),
        (run("page ") + field("3") + run(" of it"), "page {{h1}} of it", None),
        (run("see ") + field("Figure"), "see <t1/>Figure<t3/>", None),
        (
            f"{LINK}{run('One')}<w:r><w:tab/></w:r>{field('12')}</w:hyperlink>",
            "One\t{{h1}}",
            f"{LINK}<w:r><w:t>ONE</w:t><w:tab/></w:r></w:hyperlink>{LINK}{field('12')}</w:hyperlink>",
        ),
        (run("of ") + CONTROL + run(" ends"), "of <t1>it</t1> ends", None),
        (f'{run("see ")}<w:ins w:id="3">{LINK}{run("it")}</w:hyperlink></w:ins>', "see <t1>it</t1>", None),
        (run("whatever ") + MOVED, "whatever <t1/><t2>is</t2>", None),
        (run("of ") + f"<m:oMath><m:r><m:t>1</m:t></m:r></m:oMath>{run(' or')}", "of {{h1}} or", None),
        (
            f"{run('whenever it is ')}{BOLD}un</w:t></w:r><w:proofErr w:type='spellStart'/>{BOLD}heard</w:t></w:r>",
            "whenever it is <t1>unheard</t1>",
            f"{run('WHENEVER IT IS ')}{BOLD}UNHEARD</w:t></w:r>",
        ),
        (RUBY + run(" is large"), "{{h0}} is large", RUBY + run(" IS LARGE")),
        (run("one ") + MARKED + run("two"), "one two", MARKED + run("ONE TWO")),
    ],
)
def test_what_stands_in_a_paragraph_stays_where_it_was(inside: str, unit: str, expected: str | None) -> None:
    from docx.oxml import parse_xml

    file = docx.Document()
    file.element.body.insert(
        0, parse_xml(f"<w:p {_NAMES}>{inside}</w:p>".replace("<w:t>", '<w:t xml:space="preserve">'))
    )
    document = of(file)
    assert document.units == [unit]
    if expected is None:
        expected = re.sub("(?<=<w:t>)(?!was|3<|12<)[^<]*", lambda match: match[0].upper(), inside)
    assert paragraphs(document.filled([shouted(unit)])) == [expected]


def test_headers_of_even_pages_and_notes_are_translated_too() -> None:
    file = docx.Document()
    file.settings.odd_and_even_pages_header_footer = True
    file.sections[0].even_page_header.paragraphs[0].text = "A head."
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    name = docx.opc.packuri.PackURI("/word/footnotes.xml")
    part = docx.opc.part.Part(name, kind, _NOTES.encode(), file.part.package)
    file.part.relate_to(part, f"{_SPACE}officeDocument/2006/relationships/footnotes")
    document = of(file)
    assert document.units == ["A head.", "A note."]
    again = document.filled(["Ein Kopf.", "Eine Notiz."])
    assert paragraphs(again, "word/footnotes.xml") == [run("Eine Notiz.")]
    assert document_of(again, ".docx").units == ["Ein Kopf.", "Eine Notiz."]


def test_a_file_that_is_damaged_inside_is_refused() -> None:
    whole, content = io.BytesIO(), io.BytesIO()
    docx.Document().save(whole)
    with zipfile.ZipFile(whole) as before, zipfile.ZipFile(content, "w") as after:
        for name in before.namelist():
            after.writestr(name, before.read(name)[: 900 if name == "word/document.xml" else None])
    with pytest.raises(TextError, match="is not a file of Word"):
        document_of(content.getvalue(), ".docx")
