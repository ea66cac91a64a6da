"""Any HTML at all: what is around the text stays, every tag comes back, and text never becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.text.markup import markup

TOKENS = (
    "<p> </p> <b> </b> <i> <br> <br/> <!--c--> <code>a<b</code> <pre> &amp; &lt; & < > {{h0}} <t0> </t1> <li> {0} "
    "<script>if(a<b){}</script> <span_translate='no'> </span> <a_href='x?a=1&b=2'> </a> Word zwei_Wörter <![CDATA[ <?x"
)
pieces = st.one_of(st.sampled_from([token.replace("_", " ") for token in TOKENS.split()]), st.text(max_size=5))
documents = st.lists(pieces, max_size=14).map("".join)


class _Tags(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"<{tag} {sorted(attrs, key=str)}")

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
    assert sorted(_Tags(filled).tags) == sorted(_Tags(source).tags)


def test_blocks_are_units_and_inline_tags_stay_inside() -> None:
    taken = markup("<div><h1>One\n two</h1><p>Three <em>four</em>.<p>Five<hr>six <img src='a'> seven</div>")
    assert taken.units == ["One two", "Three <t0>four</t1>.", "Five", "six <t0> seven"]


def test_what_is_not_to_be_translated_is_carried() -> None:
    source = "<p>Say <x>a <x>b</x></x> and <span class='a notranslate'>c <span>d</span></span> in <kbd>e</kbd>.</p>"
    taken = markup(source, ignored=["X"])
    assert taken.units == ["Say {{h0}} and {{h1}} in {{h2}}."]
    assert taken.filled(["In {{h2}}: {{h1}} und {{h0}} sagen."]) == re.sub(
        r"Say (<x>.*</x>) and (<span.*</span>) in (<kbd>e</kbd>)\.", r"In \3: \2 und \1 sagen.", source
    )
    assert taken.filled(["Nichts."]).count("<kbd>e</kbd>") == 1
