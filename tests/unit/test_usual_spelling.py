"""Text as people type it is given to a model in the spelling that it has learned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.carrying import passage
from heedful.text.profile import Profile, Side
from heedful.text.putting_back import put_back
from heedful.text.usual_spelling import in_usual_spelling

GERMAN = Side(
    dict.fromkeys("äöüß", 1000),
    dict.fromkeys(
        ("ich", "möchte", "für", "Steuer", "neue", "ist", "groß", "aus", "die", "Straße", "Grüße", "Maße"), 9
    ),
    0.5,
)
SUBWORDS = {"Michael": 2, "Michäl": 1, "Kaese": 4, "Käse": 1, "Poet": 1, "Pöt": 3, "Israel": 3, "Isräl": 3}
SUBWORDS |= {"Fuesse": 3, "Füße": 2}


def usual(text: str, language: str | None = "de") -> str:
    return in_usual_spelling(text, GERMAN, language=language, length=lambda word: SUBWORDS.get(word, 4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ich moechte Kaese fuer den Poet.", "Ich möchte Käse für den Poet."),
        ("Kaese", "Käse"),
        ("ICH MOECHTE GRUESSE", "ICH MÖCHTE GRÜẞE"),
        ("Michael ist aus Israel.", "Michael ist aus Israel."),
        ("Die neue Steuer, Joachim Quelle", "Die neue Steuer, Joachim Quelle"),
        ("Fuer wen? Für dich.", "Fuer wen? Für dich."),
        ("Die Strasse ist gross, Grüsse!", "Die Straße ist groß, Grüße!"),
        ("Gross ist die Strasse.", "Groß ist die Straße."),
        ("Die Strasse von Anna Gross.", "Die Straße von Anna Gross."),
        ("Die Masse ist gross", "Die Masse ist groß"),
        ("Das Maß der Strasse", "Das Maß der Strasse"),
        ("Am 5. Dez. 2019 um 3 Mio. € mehr.", "Am 5. Dezember 2019 um 3 Millionen € mehr."),
        ("Bis 5. Mrz.", "Bis 5. März."),
        ("“Bis 5. Okt!”", "“Bis 5. Oktober!”"),
        ("Der Okt. und Mio. davon, 5 Sept", "Der Okt. und Mio. davon, 5 September"),
        ("Zu Fuesse in Muenchen", "Zu Füße in München"),
        ("Siehe Abb. 3, S.\u00a012 und § 5 Abs. 2.", "Siehe Abbildung 3, Seite 12 und § 5 Absatz 2."),
        (
            "Max. 5, min. 2, J. S. Bach, 3 S. und die Art. Fünf",
            "Maximal 5, mindestens 2, J. S. Bach, 3 S. und die Art. Fünf",
        ),
        (
            "Nach 2 Std. 30 Min. und 12h 5min, 1 h 5 min, in 3 Std., 1 Std.",
            "Nach 2 Stunden 30 Min. und 12 Stunden 5min, 1 h 5 min, in 3 Stunden, 1 Std.",
        ),
        ("Fr. Meier zahlt Hrn. Weber 5,- Euro oder 20,–.", "Frau Meier zahlt Herrn Weber 5 Euro oder 20."),
        ("Am Fr. 10 Uhr, der Fr. WEBER", "Am Fr. 10 Uhr, der Fr. WEBER"),
        ("Die  neue   Steuer", "Die neue Steuer"),
        ("Am 5.\u00a0Mai 10\u202fkg", "Am 5. Mai 10 kg"),
        ("Wie geht`s `dir`?", "Wie geht's `dir`?"),
    ],
)
def test_german_that_was_typed_otherwise_is_given_as_it_is_printed(text: str, expected: str) -> None:
    assert usual(text) == expected


def test_months_of_english_are_written_out_beside_a_number_with_a_full_stop_where_they_stand_before_it() -> None:
    assert usual("On Oct. 5 or 6 Dec 2019, by 3 Jan.", "en") == "On October 5 or 6 December 2019, by 3 January."
    assert usual("I met Jan 3 times; Mar. was late. Fuer moechte", "en") == (
        "I met Jan 3 times; Mar. was late. Fuer moechte"
    )
    assert usual("5 Dez. fuer moechte", None) == "5 Dez. fuer moechte"


def test_what_a_number_follows_is_written_out_in_english_too() -> None:
    assert usual("See Fig. 3, p. 12, pp. 1-5 (max. 5) in 2h 30min", "en") == (
        "See Figure 3, page 12, pages 1-5 (a maximum of 5) in 2 hours 30min"
    )
    for text in ("P. 5, U.S. 5, the top. 5 more", "100 km/h 5 min", "5,- Fr. Meier"):
        assert usual(text, "en") == text


def test_a_space_at_which_no_line_ends_comes_back_where_the_words_around_it_do() -> None:
    found = passage("(10\u00a0kg for Mr.\u00a0Poe, 3\u202f%)", Profile(GERMAN, GERMAN, 0.0))
    assert found.given == "(10 kg for Mr. Poe, 3 %)"
    said = "(10 kg für Herrn Poe, 3 %; 110 kg, 3 %x)"
    assert put_back(found, said) == "(10\u00a0kg für Herrn Poe, 3\u202f%; 110 kg, 3 %x)"


def test_an_accent_is_read_as_the_apostrophe_that_it_was_typed_for() -> None:
    profile = Profile(GERMAN, GERMAN, 0.0)
    found = passage("It´s mine, I don`t share, they`re `on`.", profile)
    assert (found.given, [text for _, text in found.words]) == ("It's mine, I don't share, they're X1.", ["`on`"])
    assert passage("DIE STRAẞE", profile).given == "DIE STRAẞE", "nothing is carried"


@given(st.lists(st.sampled_from(["die", "Straße", "für", "neue", "Steuer", "ist", "aus", "5", "Mai", "."])))
def test_what_is_printed_as_ever_stays_as_it_is(words: list[str]) -> None:
    assert usual(" ".join(words)) == " ".join(words)
