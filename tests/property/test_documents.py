"""Documents come back with their structure, whatever nasty things they hold: what is compared is what others read."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from heedful.documents import document_of
from heedful.errors import TextError

WORDS = [
    "Hello",
    "world",
    "ß",
    "don't",
    "a_b",
    "5%",
    "{0}",
    "<b>x</b>",
    "&amp;",
    "%1$s",
    "🙂",
    "{{h0}}",
    "x < y",
    "\\n",
]


def lists(tokens: str) -> st.SearchStrategy[str]:
    pieces = [token.replace("_", " ").replace("⏎", "\n") for token in tokens.split("|")]
    return st.lists(st.sampled_from([*pieces, *WORDS, " "]), max_size=16).map("".join)


def filled(content: bytes, suffix: str, translate: Callable[[str], str] = str) -> bytes:
    taken = document_of(content, suffix)
    return taken.filled([translate(unit) for unit in taken.units])


@given(text=lists("⏎|⏎⏎|\r\n|\t|  |1.|- "))
def test_plain_text_comes_back_to_the_byte(text: str) -> None:
    assert filled(text.encode(), ".txt") == text.encode()
    assert filled(filled(text.encode(), ".txt"), ".txt") == text.encode()


def test_the_mark_at_the_beginning_of_a_file_is_no_text() -> None:
    begun = "\ufeff---\nx: y\n---\nA dog.\n"
    for suffix, source in ((".txt", "\ufeffA dog.\r\n"), (".md", "\ufeff# A dog.\n"), (".md", begun)):
        assert document_of(source.encode(), suffix).units == ["A dog."]
        assert filled(source.encode(), suffix) == source.encode()


def rendered(text: str) -> str:
    """The page, with lines that a paragraph was wrapped into as one."""
    return re.sub(r"\s+", " ", MarkdownIt("commonmark").enable("table").render(text))


MARKDOWN = (
    '⏎|⏎⏎|# |## |> |- |1._|* |**|*|`code`|``a`b``|```⏎x = 1⏎```⏎|    |[link](http://x.y)|[a](b_"t")|![i](p.png)|  ⏎|\\⏎'
    "|⏎⏎![a b](p.png)⏎⏎|<br>|<div>|</div>|---|===|| a | b ||⏎|---|---|⏎|[^1]|[x]: http://y|<http://z.w>|~~|\\*|__|[ ] "
)


@settings(max_examples=150, deadline=None)
@given(text=lists(MARKDOWN))
def test_markdown_means_the_same(text: str) -> None:
    again = filled(text.encode(), ".md").decode()
    assert rendered(again) == rendered(text)


def shouted(unit: str) -> str:
    """In capitals, but for what is carried."""
    return re.sub(
        r"<[^<>]*>|\{\{\w+\}\}|[^<{]+", lambda match: match[0] if match[0][0] in "<{" else match[0].upper(), unit
    )


def test_markdown_keeps_what_is_no_text() -> None:
    source = (
        "---\ntitle: Stays\n---\n\n# A *title*\n\nA paragraph\nof two lines with `code` and a [link](http://x.y).  \n"
        "A hard break.\n\n> quoted\n> text\n\n- [ ] a task\n\n| one | two |\n|---|---|\n| a b | `c` |\n\n"
        "```\ncode\n```\n"
    )
    assert filled(source.encode(), ".md", shouted).decode() == (
        "---\ntitle: Stays\n---\n\n# A *TITLE*\n\nA PARAGRAPH OF TWO LINES WITH `code` AND A [LINK](http://x.y).  \n"
        "A HARD BREAK.\n\n> QUOTED TEXT\n\n- [ ] A TASK\n\n| ONE | TWO |\n|---|---|\n| A B | `c` |\n\n"
        "```\ncode\n```\n"
    )


def test_what_is_marked_in_markdown_ends_after_it_has_begun() -> None:
    """Each closing mark has the number of the one that it closes; a break by itself is the end of a line."""
    source = b"A *dog **and*** a [`c`](x), <b>one</b> <img src='y'><br>two _three<br>four_.\n"
    document = document_of(source, ".md")
    assert document.units == [
        "A <t0>dog <t1>and</t1></t0> a <t2>{{h0}}</t2>, <t3>one</t3> <t4/><br>two <t5>three<t6/>four</t5>."
    ]
    assert document.filled(document.units) == source


def test_what_is_said_of_a_picture_is_text_where_it_stands_alone() -> None:
    source = (
        '![A dog](d.png "Its name")  \n\n- ![A `cat`](c.png)\n\nSee ![this](t.png), [![Build](b.svg)](http://x.y)\n'
    )
    assert document_of(source.encode(), ".md").units[:2] == ["A dog", "A {{h0}}"]
    assert filled(source.encode(), ".md", shouted).decode() == source.replace("A dog", "A DOG").replace("See", "SEE")


LABELS = "\n[this]: u\n[IT]: v\n[`x`]: w\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\r\ntitle: it\r\n---\r\n\r\nTwo\r\n", "---\r\ntitle: it\r\n---\r\n\r\nTWO\r\n"),
        ("---\n---\nTwo\n\n---\n", "---\n---\nTWO\n\n---\n"),
        ("| a |\n|---|\n| b \\| c | \n", "| A |\n|---|\n| B \\| C | \n"),
        (f"See [this], [it][], [`x`].\n{LABELS}", f"SEE [THIS][this], [IT][it], [`x`].\n{LABELS}"),
        (":::note It\nOne\nline\n:::\n", ":::note It\nONE LINE\n:::\n"),
        ("$$\na_b\n$$ and $c_d$, for $5 or\n$6.\n", "$$ a_b $$ AND $c_d$, FOR $5 OR $6.\n"),
        ("One\n: Two\n: three\nlines\n", "ONE\n: TWO\n: THREE LINES\n"),
    ],
)
def test_what_others_read_in_markdown_stays_too(source: str, expected: str) -> None:
    assert filled(source.encode(), ".md", shouted).decode() == expected


@pytest.mark.parametrize("begun", ["[^a", "![a", "](a", "$a", "**a ", "``a`", "<a:", "<!--a"])
def test_markdown_that_nothing_ends_takes_no_time_that_grows_with_its_square(begun: str) -> None:
    began = time.process_time()
    assert filled((begun * 20_000).encode(), ".md") == (begun * 20_000).encode()
    assert time.process_time() - began < 5, "some tenths of a second"


def test_the_number_of_a_note_is_no_part_of_a_word() -> None:
    source = b"A dog[^1].\n\n[^1]: It is *brown*.\n"
    assert document_of(source, ".md").units == ["A dog<t0/>.", "It is <t0>brown</t0>."]
    assert filled(source, ".md") == source


def test_the_box_of_a_task_is_no_part_of_its_text() -> None:
    assert document_of(b"- [ ] Buy milk\n- [x]  Do *it*\n* [ ]\n", ".md").units == ["Buy milk", "Do <t0>it</t0>"]


SUBTITLE = st.tuples(
    st.integers(0, 3_000_000), st.integers(1, 9999), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)
)


@settings(max_examples=60, deadline=None)
@given(subtitles=st.lists(SUBTITLE, max_size=5), ends=st.sampled_from(["\n", "\r\n"]), last=st.integers(0, 2))
def test_subtitles_keep_times_numbers_and_words(subtitles: list, ends: str, last: int) -> None:
    srt = pytest.importorskip("srt")
    from datetime import timedelta

    given_ = [
        srt.Subtitle(
            7 + 2 * place, timedelta(milliseconds=begin), timedelta(milliseconds=begin + length), "\n".join(words)
        )
        for place, (begin, length, words) in enumerate(subtitles)
    ]
    content = srt.compose(given_, reindex=False, eol=ends).encode()
    content = content.rstrip() + ends.encode() * last
    again = filled(content, ".srt")
    assert again[len(again.rstrip()) :] == content[len(content.rstrip()) :]
    found = list(srt.parse(again.decode()))
    before = list(srt.parse(content.decode()))
    assert [(one.index, one.start, one.end) for one in found] == [(one.index, one.start, one.end) for one in before]
    for one, other in zip(found, before, strict=True):
        assert [line.split() for line in one.content.replace("\n", " ").split("\n")] == [
            re.sub("<(?= y)", "&lt;" if "&" in other.content else "<", other.content).split()
        ]


def test_two_who_speak_stay_apart_and_lines_stay_lines() -> None:
    pytest.importorskip("srt")
    content = b"4\n00:00:01,000 --> 00:00:02,000\n- <i>Who is there at this hour?</i>\n- Me.\n\n"
    assert document_of(content, ".srt").units == ["- <t0>Who is there at this hour?</t0>", "- Me."]
    long = b"1\n00:00:01,000 --> 00:00:02,000\nOne two three\nfour five six\n\n"
    assert filled(long, ".srt", lambda _: "eins zwei drei vier fuenf sechs").decode().split("\n")[2:4] == [
        "eins zwei drei",
        "vier fuenf sechs",
    ]


def test_an_ampersand_of_subtitles_is_no_entity_and_what_they_begin_with_no_word() -> None:
    pytest.importorskip("srt")
    for said in ("Tom & <b>Jerry</b>", "Tom &amp; Jerry", "{\\an8}{\\i1}Tom and\nJerry"):
        content = f"1\n00:00:01,000 --> 00:00:02,000\n{said}\n".encode()
        assert filled(content, ".srt") == content
        assert "{" not in document_of(content, ".srt").units[0]


def test_what_somebody_has_translated_stays_and_so_do_line_ends() -> None:
    pytest.importorskip("polib")
    half = b'msgid ""\r\nmsgstr ""\r\n\r\nmsgid "dog"\r\nmsgid_plural "dogs"\r\nmsgstr[0] "Hund"\r\nmsgstr[1] ""\r\n'
    assert document_of(half, ".po").units == ["dogs"]
    expected = half.replace(b'msgid "dog"', b'#, fuzzy\r\nmsgid "dog"').replace(b'[1] ""', b'[1] "Hunde"')
    assert filled(half, ".po", lambda _: "Hunde") == expected


MESSAGES = st.lists(
    st.lists(st.sampled_from([*WORDS, "\n", '"', "\t"]), min_size=1, max_size=5).map(" ".join), unique=True
)


@settings(max_examples=60, deadline=None)
@given(ids=MESSAGES)
def test_messages_are_all_there_and_marked(ids: list[str]) -> None:
    polib = pytest.importorskip("polib")
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Plural-Forms": "nplurals=3; plural=0;"}
    for place, id_ in enumerate(ids):
        plural = {"msgid_plural": id_ + "s", "msgstr_plural": {0: "", 1: "", 2: ""}} if place % 3 == 2 else {}
        file.append(polib.POEntry(msgid=id_, msgstr="da" if place == 1 else "", flags=["c-format"], **plural))
    again = filled(str(file).removeprefix("#\n").encode(), ".po").decode()
    assert again.startswith("msgid"), "what begins without a comment gets none"
    found = polib.pofile(again)
    assert [entry.msgid for entry in found] == ids
    for place, entry in enumerate(found):
        if place == 1:
            assert (entry.msgstr, entry.flags) == ("da", ["c-format"])
        elif place % 3 == 2:
            assert entry.msgstr_plural == {0: ids[place], 1: ids[place] + "s", 2: ids[place] + "s"}
            assert set(entry.flags) == {"c-format", "fuzzy"}
        else:
            assert entry.msgstr == ids[place]


@pytest.mark.parametrize(
    ("message", "unit", "translation", "expected"),
    [
        ("&Open", "Open", "Öffnen der Oper", "Öffnen der &Oper"),
        ("Save &As...", "Save As...", "Speichern unter...", "&Speichern unter..."),
        ("E_xit", "Exit", "Fixieren", "Fi_xieren"),
        ("Select a&ll", "Select all", "<b>lila</b> %(list)s Alles", "<b>&lila</b> %(list)s Alles"),
        ("&1. {name}", "1. {name}", "{name1} ist 1.", "{name1} ist &1."),
        ("(_Quit) now", "(Quit) now", "{q}", "{q}"),
        ("Fish && &chips", "Fish && chips", "Fisch && Chips", "Fisch && &Chips"),
        *[
            (one, one, "Ein Satz", "Ein Satz")
            for one in (
                *("snake_case", "Set MAX_SIZE", "_must_ be", "__init__", "%(file_name)s", "2>&1", "&A &B"),
                *("R&D and AT&T", "Q&A", "a && b", "Tom & Jerry", "x &amp; y", "http://x.y/?a=1&b=2"),
            )
        ],
    ],
)
def test_a_letter_that_is_pressed_with_alt_is_marked_in_the_translation(
    message: str, unit: str, translation: str, expected: str
) -> None:
    polib = pytest.importorskip("polib")
    file = polib.POFile()
    file.append(polib.POEntry(msgid=message, msgctxt="menu", flags=["c-format"]))
    taken = document_of(str(file).encode(), ".po")
    assert taken.units == [unit]
    (found,) = polib.pofile(taken.filled([translation]).decode())
    assert (found.msgid, found.msgstr, found.msgctxt) == (message, expected, "menu")
    assert set(found.flags) == {"c-format", "fuzzy"}


@given(message=lists("&|_|&O|_F|E&x|E_x|it|s"))
def test_a_message_comes_back_with_its_mark_when_nothing_is_translated(message: str) -> None:
    from heedful.documents.formats import _without_accelerator

    unit, marked = _without_accelerator(message)
    assert marked(unit).replace("&", "").replace("_", "") == message.replace("&", "").replace("_", "")
    assert len(marked(unit)) == len(message)


RUNS = st.lists(
    st.tuples(st.sampled_from([*WORDS, " ", "Hello "]), st.booleans(), st.sampled_from(["text", "link", "break"])),
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(paragraphs=st.lists(RUNS, min_size=1, max_size=3))
@example(paragraphs=[[("{{h0}}", False, "text"), ("", False, "break"), ("<t1> & </t0>", True, "text")]])
def test_a_file_of_word_has_the_same_characters_in_the_same_formats(paragraphs: list) -> None:
    docx = pytest.importorskip("docx")
    file = docx.Document()
    for runs in paragraphs:
        own = file.add_paragraph()
        for text, bold, kind in runs:
            run = own.add_run(text if kind != "break" else None)
            run.bold = bold
            if kind == "break":
                run.add_break()
    file.add_table(1, 1).cell(0, 0).text = "A cell"
    file.sections[0].header.paragraphs[0].text = "The head"
    content = io.BytesIO()
    file.save(content)
    again = docx.Document(io.BytesIO(filled(content.getvalue(), ".docx")))
    assert [formats(own) for own in again.paragraphs] == [formats(own) for own in file.paragraphs]
    shouted = docx.Document(io.BytesIO(filled(content.getvalue(), ".docx", lambda text: text.replace("cell", "CELL"))))
    assert shouted.tables[0].cell(0, 0).text == "A CELL"
    assert shouted.sections[0].header.paragraphs[0].text == "The head"


def test_tabs_in_a_file_of_word_are_tabs_of_word() -> None:
    docx = pytest.importorskip("docx")
    file, content = docx.Document(), io.BytesIO()
    file.add_paragraph("Name:\tTom")
    file.save(content)
    assert document_of(content.getvalue(), ".docx").units == ["Name:\tTom"]
    (own,) = docx.Document(io.BytesIO(filled(content.getvalue(), ".docx"))).paragraphs
    assert own.text == "Name:\tTom"
    assert own._p.xml.count("<w:tab/>") == 1


def formats(paragraph) -> list[tuple[str, bool | None]]:
    return [(one, run.bold) for run in paragraph.runs for one in run.text if not one.isspace()]


@pytest.mark.parametrize(
    ("content", "suffix", "said"),
    [
        (b"\xff", ".txt", "not UTF-8"),
        (b"\xff", ".po", "not UTF-8"),
        (b"PK", ".docx", "not a file of Word"),
        (b"1\nwhen?\nx", ".srt", "not a file of subtitles"),
        (b"no messages here", ".po", "not a file of messages"),
        (b'msgid ""\nmsgstr ""\n\nmsgid "Open it\nmsgstr ""\n', ".po", 'line 4 has no text in .*: msgid "Open it$'),
        (b'msgid "A"\nmsgstr "\n', ".po", "line 2 has no text in"),
        (b'msgid ""\r\n"A\\"\r\nmsgstr ""\r\n', ".po", "line 2 has no text in"),
        (b'msgid Open\nmsgstr ""\n', ".po", "line 1 has no text in"),
        (b"x", ".pdf", "ends in .txt"),
    ],
)
def test_what_is_no_document_is_refused(content: bytes, suffix: str, said: str) -> None:
    with pytest.raises(TextError, match=said):
        document_of(content, suffix)
