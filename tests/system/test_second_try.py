"""A sentence of which a number or a name came out wrong is translated once more, and no other is.

The search is made up: what it says of each text stands in a table. Everything around it is the real thing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest
from tests.commands import run_here

import heedful
from heedful.runs.folder import DEFAULT_MODEL, bundled_models
from heedful.search.model_search import Found
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence
from heedful.translation.translator import Translator

pytestmark = pytest.mark.skipif(DEFAULT_MODEL not in bundled_models(), reason="heedful came without its model")


class MadeUpSearch:
    """Says what stands in a table, and keeps what it was asked."""

    most_positions = None

    def __init__(self, translator: Translator, table: Mapping[str, str]) -> None:
        self.saved, self.table, self.asked = translator.saved, table, list[str]()

    def search(self, sentences: Sequence[Sentence], options: SearchOptions) -> Found:
        for sentence in reversed(sentences):
            text = self.saved.source_subwords.decode(sentence.source)
            self.asked.append(text)
            (ids,) = self.saved.target_subwords.encode([self.table[text]])
            yield sentence, [Hypothesis(ids, -1.0, -1.0, np.zeros(len(ids) + 1, np.int64))]

    def read(self, source: np.ndarray, target: np.ndarray) -> NoReturn:
        raise AssertionError("nothing is put back beside words")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return heedful.load(DEFAULT_MODEL, device="cpu")


def said(translator: Translator, text: str, table: Mapping[str, str], **asked: Any) -> tuple[str, list[str]]:
    search = MadeUpSearch(translator, table)
    own = translator.sharing(search, notice=lambda _: None, check=None)
    return own.translate([text], **asked)[0], search.asked


def test_a_time_is_put_right_without_a_second_search(translator: Translator) -> None:
    table = {"Open from 9 am to 6 pm.": "Von 21 bis 18 Uhr geöffnet."}
    (source,) = table
    assert said(translator, source, table) == ("Von 9 bis 18 Uhr geöffnet.", [source])
    assert said(translator, source, table, as_is=True)[0] == "Von 21 bis 18 Uhr geöffnet."


def test_a_time_in_words_that_got_lost_is_said_in_digits(translator: Translator) -> None:
    table = {
        "We met at half past nine.": "Wir trafen uns um halb sieben.",
        "We met at 9:30 o'clock.": "Wir trafen uns um 21.30 Uhr.",
    }
    first, second = table
    assert said(translator, first, table) == ("Wir trafen uns um 9.30 Uhr.", [first, second])
    assert said(translator, first, {first: "Um halb zehn."}) == ("Um halb zehn.", [first])
    worse = {**table, second: "Wir trafen uns 9."}
    assert said(translator, first, worse) == ("Wir trafen uns um halb sieben.", [first, second])


def test_a_time_in_words_that_is_all_there_is_needs_no_model() -> None:
    german = heedful.load("de-en-small", device="cpu")
    assert said(german, "halb zehn", {"halb zehn": "halb zehn"}) == ("9:30", ["halb zehn"])


def test_a_letter_ends_as_letters_do_unless_somebody_asks_for_other_words(translator: Translator) -> None:
    text, table = "Sincerely,", {"Sincerely,": "Aufwendig,"}
    assert said(translator, text, table) == ("Mit freundlichen Grüßen", [text])
    assert said(translator, text, table, as_is=True)[0] == "Aufwendig,"
    forbidden = replace(translator.options, forbidden=("Grüßen",))
    assert said(translator, text, table, options=forbidden)[0] == "Aufwendig,"


def test_initials_are_put_right_without_a_second_search(translator: Translator) -> None:
    table = {"J. R. R. Tolkien wrote it.": "J. R. R. R. Tolkien schrieb es."}
    (source,) = table
    assert said(translator, source, table) == ("J. R. R. Tolkien schrieb es.", [source])


def test_a_sentence_whose_numbers_agree_is_translated_once(translator: Translator) -> None:
    table = {"We paid $5 in 2001.": "Wir zahlten 2001 5 $.", "It has two.": "Es hat 2."}
    text = " ".join(table)
    assert said(translator, text, table) == ("Wir zahlten 2001 5 $. Es hat 2.", [*reversed(table)])


@pytest.mark.parametrize(
    ("text", "first", "given", "second", "expected"),
    [
        ("It cost $1,299 then.", "Es kostete 1.29 $.", "It cost X1 then.", "Es kostete X1.", "Es kostete 1.299 $."),
        ("It was 4.5 in 1944.", "Es war 4,5 in 194.", "It was 4.5 in X1.", "X1 war es 4,5.", "1944 war es 4,5."),
        ("It (No. 4/1) came.", "Es (Nein 4/1) kam.", "It (X1) came.", "Es (X1) kam.", "Es (Nr. 4/1) kam."),
        ("No. 3 is it.", "Nein. 3 ist es.", "X1 is it.", "X1 ist es.", "Nr. 3 ist es."),
        ("Ask Priya Raghunathan.", "Frag Priya Ragunathan.", "Ask X1.", "Frag X1.", "Frag Priya Raghunathan."),
        # What is not mended stays as it was.
        ("It cost $1,299 then.", "Es kostete 1.29 $.", "It cost X1 then.", "Es kostete.", "Es kostete 1.29 $."),
        ("It cost $1,299 then.", "Es kostete 1.29 $.", "It cost X1 then.", "3 X1.", "Es kostete 1.29 $."),
    ],
)  # fmt: skip
def test_what_came_out_wrong_is_carried_the_second_time(
    translator: Translator, text: str, first: str, given: str, second: str, expected: str
) -> None:
    assert said(translator, text, {text: first, given: second}) == (expected, [text, given])


@pytest.mark.parametrize(
    ("text", "first", "expected"),
    [
        ("(No. 2026/0417)", "(Nein 2026/0417)", "(Nr. 2026/0417)"),  # nothing is left to be translated again
        ("No, not No. 5.", "Nein, nicht Nr. 5.", "Nein, nicht Nr. 5."),
        ("No. 5 people came.", "Nein. 5 Menschen kamen.", "Nein. 5 Menschen kamen."),
    ],
)
def test_no_before_a_number_is_nein_where_it_may_be_meant(
    translator: Translator, text: str, first: str, expected: str
) -> None:
    assert said(translator, text, {text: first}) == (expected, [text])


def test_a_number_is_carried_beside_what_is_carried_anyway(translator: Translator) -> None:
    text = "Open {0} in 1944."
    table = {"Open X1 in 1944.": "Öffne X1 194.", "Open X1 in X2.": "Öffne X1 in X2."}
    assert said(translator, text, table) == ("Öffne {0} in 1944.", [*table])
    table = {"Go in 1944 X1": "Geh.", "Go in 1944": "Geh 194.", "Go in X1": "Geh X1."}
    assert said(translator, "Go in 1944 {0}", table) == ("Geh 1944. {0}", [*table]), "{0} got lost first"


def test_numbers_are_left_alone_where_somebody_asks_for_them_or_for_the_text_as_it_is(translator: Translator) -> None:
    text, table = "It was 1944.", {"It was 1944.": "Es war 194."}
    assert said(translator, text, table, as_is=True) == ("Es war 194.", [text])
    forbidden = replace(translator.options, forbidden=("1944",))
    assert said(translator, text, table, options=forbidden) == ("Es war 194.", [text])


def test_the_command_still_says_where_numbers_differ(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_here(capsys, "translate", "--json", "The town has 1,988 inhabitants.")
    found = json.loads(out)["translations"][0]
    assert "1.988" in found["text"]
    assert "numbers_differ" not in found
    _, out, _ = run_here(capsys, "translate", "--json", "--as-is", "The town has 1,988 inhabitants.")
    assert json.loads(out)["translations"][0]["numbers_differ"] == {"missing": ["1988"], "added": ["198"]}
