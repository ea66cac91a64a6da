"""Any HTML at all: what is around the text stays, every tag comes back, and text never becomes markup."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.text.markup import in_language, markup

TOKENS = (
    "<p> </p> <b> </b> <i> <br> <br/> <!--c--> <code>a<b</code> <pre> &amp; &lt; & < > {{h0}} <t0> </t0> <t1/> <li> "
    "<script>if(a<b){}</script> <span_translate='no'> </span> <a_href='x?a=1&b=2'> </a> Word zwei_Wörter <![CDATA[ <?x "
    "<img_alt='a_&quot;b&quot;_&amp;c'> <q_title=x> <input_placeholder=\"it's_<b>\"/> <em_translate='no'_title='x'> "
    "&amp;; lt; {0}"
)
pieces = st.one_of(st.sampled_from([token.replace("_", " ") for token in TOKENS.split()]), st.text(max_size=5))
documents = st.lists(pieces, max_size=14).map("".join)


class _Tags(HTMLParser):
    def __init__(self, source: str, *, without_values: bool = False) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._out = {"alt", "title", "placeholder", "aria-label"} if without_values else set()
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = [(name, "" if name in self._out else value) for name, value in attrs]
        self.tags.append(f"<{tag} {sorted(own, key=str)}")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"</{tag}")


@settings(max_examples=150, deadline=None)
@given(source=documents, is_xml=st.booleans())
def test_what_is_not_translated_is_the_same_document(source: str, is_xml: bool) -> None:
    taken = markup(source, is_xml=is_xml)
    filled = taken.filled(taken.units)
    assert _Tags(filled).tags == _Tags(source).tags
    again = markup(filled, is_xml=is_xml)
    assert again.units == taken.units
    assert again.filled(again.units) == filled


@settings(max_examples=100, deadline=None)
@given(source=documents, said=st.text(alphabet="ab <>&/{}h0t1\"'", max_size=20))
def test_whatever_a_model_says_no_tag_is_lost_or_made(source: str, said: str) -> None:
    taken = markup(source)
    filled = taken.filled([said] * len(taken.units))
    assert sorted(_Tags(filled, without_values=True).tags) == sorted(_Tags(source, without_values=True).tags)


def test_a_sentence_goes_on_after_a_comment() -> None:
    taken = markup("<!-- a --><p>You have <!-- -->5<!-- --> new <b>mails</b>.</p><!-- b -->")
    assert taken.units == ["You have <t0/>5<t1/> new <t2>mails</t2>."]
    said = "Sie haben <t0/>5<t1/> neue <t2>Mails</t2>."
    assert taken.filled([said]) == "<!-- a --><p>Sie haben <!-- -->5<!-- --> neue <b>Mails</b>.</p><!-- b -->"


def test_blocks_are_units_and_inline_tags_stay_inside() -> None:
    odd = "<p>a</p><![endif]><p>b<![x[c]]></p><![ d\n><p>e</p>"
    assert (markup(odd).units, markup(odd).filled(["a", "b", "e"])) == (["a", "b", "e"], odd)
    taken = markup("<div><h1>One\n two</h1><p>Three <em>four</em>.<p>Five<hr>six <img src='a'> seven</div>")
    assert taken.units == ["One two", "Three <t0>four</t0>.", "Five", "six <t0/> seven"]


def test_what_is_not_to_be_translated_is_carried() -> None:
    source = "<p>Say <x>a <x>b</x></x> and <span class='a notranslate'>c <span>d</span></span> in <kbd>e</kbd>.</p>"
    taken = markup(source, ignored=["X"])
    assert taken.units == ["Say {{h0}} and {{h1}} in {{h2}}."]
    assert taken.filled(["In {{h2}}: {{h1}} und {{h0}} sagen."]) == re.sub(
        r"Say (<x>.*</x>) and (<span.*</span>) in (<kbd>e</kbd>)\.", r"In \3: \2 und \1 sagen.", source
    )
    assert taken.filled(["Nichts."]).count("<kbd>e</kbd>") == 1


def test_what_people_read_of_attributes_is_a_unit_and_its_quotes_survive() -> None:
    source = (
        "<p>A <img src='x' alt='Tom &amp; \"it&#39;s\"'> dog</p><input placeholder=Name disabled>"
        "<b title='' data-x='alt=\"no\"'>"
        '<iframe title="A &lt;frame&gt;">old</iframe><textarea aria-label="Say">old</textarea></b>'
    )
    taken = markup(source)
    assert taken.units == ["A <t0/> dog", 'Tom & "it\'s"', "Name", "A &lt;frame&gt;", "Say"]
    filled = taken.filled(["Ein Hund <t0/>", '"Toms" & \'s', "Na\"me'", "<Rahmen> &lt;", "Sag"])
    assert filled == (
        "<p>Ein Hund <img src='x' alt='\"Toms\" &amp; &#39;s'></p><input placeholder=\"Na&quot;me'\" disabled>"
        "<b title='' data-x='alt=\"no\"'><iframe title=\"&lt;Rahmen&gt; &lt;\">old</iframe>"
        '<textarea aria-label="Sag">old</textarea></b>'
    )


def test_what_a_button_shows_and_a_page_says_of_itself_are_units() -> None:
    source = (
        '<meta name="Description" content="A page"><meta name="robots" content="noindex">'
        '<form><input type="SUBMIT" value="Send"><input type="hidden" value="id"><input value="typed"></form>'
    )
    taken = markup(source)
    assert taken.units == ["A page", "Send"]
    assert taken.filled(["Eine Seite", "Los"]) == source.replace("A page", "Eine Seite").replace("Send", "Los")


@pytest.mark.parametrize("run", ["<b ", "<b '", "<!-- > ", "<sup>1", "<sup ", "</b "])
def test_no_html_however_broken_takes_long(run: str) -> None:
    before = time.process_time()
    source = run * 10_000
    assert len(markup(source).filled(markup(source).units)) >= len(source) - 10_000
    assert time.process_time() - before < 4


def test_the_number_of_a_note_stands_beside_a_word_as_a_whole() -> None:
    source = "<p>A treaty<sup><a href='#1'>[1]</a></sup> of the 5<sup>th</sup>.</p>"
    taken = markup(source)
    assert taken.units == ["A treaty<t0/> of the 5<t1>th</t1>."]
    assert taken.filled(taken.units) == source


def test_attributes_of_what_is_not_to_be_translated_stay() -> None:
    for kept in ("translate='no'", "class='x notranslate'"):
        source = f"<div {kept} title='One'>two <img alt='Three'></div><img {kept} alt='Four'><img {kept} alt='Five'/>"
        assert markup(source).units == []
    assert markup("<x title='One'><i alt='Two'>a</i></x><i title='Three'>b</i>", ignored=["x"]).units == [
        "{{h0}}<t0>b</t0>",
        "Three",
    ]
    assert markup("<a title='One'>Two</a>", is_xml=True).units == ["<t0>Two</t0>"]


def test_a_root_says_the_language_of_the_translation() -> None:
    def of(source: str) -> str:
        return in_language(source, ("en", "de"))

    head = '\ufeff<?xml version="1.0"?><!-- <html lang="en"> --><!DOCTYPE html>\n'
    assert (
        of(f"{head}<html class=\"x>\" lang='en-US' xml:lang=en>") == f"{head}<html class=\"x>\" lang='de' xml:lang=de>"
    )
    for same in (
        "<html lang='fr'>",
        "<html>",
        "<p lang='en'>",
        "<html lang='en' translate='no'>",
        "<html data-lang='en'>",
    ):
        assert of(same) == same
    assert in_language("<html lang='en'>", ("en", None)) == "<html lang='en'>"
    assert in_language("<html lang='en'>", ("de", "en")) == "<html lang='en'>"


def test_an_ampersand_between_words_is_left_to_the_model() -> None:
    source = "<p>Dogs &amp; cats, R&amp;D, &amp;amp; and &amp;lt;</p>"
    taken = markup(source)
    assert taken.units == ["Dogs & cats, R&D, &amp;amp; and &amp;lt;"]
    assert taken.filled(taken.units) == source
