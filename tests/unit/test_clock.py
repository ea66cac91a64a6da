"""A time of the day is the same one in the translation, written as the other language writes it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.clock import in_digits, retimed


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Open from 9 am to 6 pm.", "Von 21 bis 18 Uhr geöffnet.", "Von 9 bis 18 Uhr geöffnet."),
        ("At 11:45 p.m. on Friday", "Am Freitag um 11.45 Uhr", "Am Freitag um 23.45 Uhr"),
        ("8:00 p.m. to 1:30 a.m.", "8:00 Uhr bis 1:30 Uhr", "20:00 Uhr bis 1:30 Uhr"),
        ("9-11am, 1-5 pm, 2026-11-17 on", "21-11 Uhr, 1-5 Uhr, 2026-11-17", "21-11 Uhr, 1-17 Uhr, 2026-11-17"),
        ("At 9 AM and 9 PM", "Um 9 und 9 Uhr", "Um 9 und 21 Uhr"),
        ("At 09:30 pm", "Um 09:30 Uhr", "Um 21:30 Uhr"),
        ("At 9:30 am", "Um 21.30 Uhr", "Um 9.30 Uhr"),
        ("Call me at 12 am.", "Ruf mich um 12 Uhr an.", "Ruf mich um 0 Uhr an."),
        ("At 12:30 pm", "Um 0:30 Uhr", "Um 12:30 Uhr"),
        ("At 8 pm tonight", "Heute Abend um 8 Uhr", None),
        ("At 3 a.m.", "Um 3 Uhr morgens", None),
        ("At 12 am", "Um 12 Uhr nachts", None),
        ("At 9:00 p.m., or at 9:00.", "Um 9:00 Uhr oder um 9:00 Uhr.", "Um 21:00 Uhr oder um 9:00 Uhr."),
        ("At 9 pm, or at 9:00, not at 9:00.", "Um 9:00 Uhr oder um 9:00 Uhr.", None),  # which is which?
        ("I was there at 2:30.", "Um 2:30 Uhr war ich da.", None),
        ("At 7 pm 2:1 after 3.15 km", "Um 7 Uhr nach 3,15 km 2:1", "Um 19 Uhr nach 3,15 km 2:1"),
        ("At 5 pm", "Um sechs Uhr", None),
    ],
)  # fmt: skip
def test_a_german_hour_is_the_english_one(source: str, translation: str, expected: str | None) -> None:
    assert retimed(source, translation, languages=("en", "de")) == (expected or translation)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Der Zug fährt um 14:35 Uhr.", "The train leaves at 2:35am.", "The train leaves at 2:35pm."),
        ("Der Zug fährt um 14:35 Uhr.", "The train leaves at 14:35.", None),
        ("Um 14.13 Uhr war es so weit.", "At 14:13 A.M. it was time.", "At 2:13 P.M. it was time."),
        ("Um 0 Uhr beginnt das Jahr.", "The year begins at 0 p.m.", "The year begins at 12 a.m."),
        ("Um 13 Uhr essen wir.", "We eat at 13 p.m.", "We eat at 1 p.m."),
        ("Um 15 Uhr", "At 15 o'clock", "At 3 p.m."),
        ("8–17 Uhr, 9-18 Uhr", "8-17pm, 9–18 p.m.", "8-5pm, 9–6 p.m."),
        ("Von 10 bis 22 Uhr.", "From 10pm to 10 p.m.", "From 10am to 10 p.m."),
        ("Es war 3 Uhr nachts.", "It was 3pm at night.", "It was 3am at night."),
        ("Um 12 Uhr nachts.", "At 12 p.m.", "At 12 a.m."),
        ("Um 11 Uhr in der Nacht", "At 11 a.m.", "At 11 p.m."),
        ("Um 1 Uhr mittags", "At 1 am", "At 1 pm"),
        ("Um 8:30 Uhr abends", "At 8:30 a.m.", "At 8:30 p.m."),
        ("Die Sendung läuft um 20:15 Uhr.", "The show is on at 8:15.", "The show is on at 8:15 p.m."),
        ("Läuft es um 20:15 Uhr?", "Is it on at 8:15?", "Is it on at 8:15 p.m.?"),
        ("Heute Abend um 20:15 Uhr", "At 8:15 this evening", None),
        ("Der Unterricht beginnt um 8:00 Uhr.", "Classes begin at 8:00 p.m.", "Classes begin at 8:00 a.m."),
        ("Ich muss um 9 Uhr da sein.", "I must be there at 9 p.m.", "I must be there at 9 o'clock."),
        ("Ab 9 Uhr ist offen.", "From 9:00 p.m. on it is open.", "From 9:00 on it is open."),
        ("Ich muss um 9 Uhr da sein.", "I must be there at 9 a.m.", None),
        ("Komm heute Abend um 8 Uhr.", "Come at 8 p.m. tonight.", None),
        ("Um 12 Uhr", "At 12 p.m.", None),
        ("Mo.–Fr. 8:30–17:00 Uhr", "Mon.–Fri. 8:30 to 5:00 p.m.", None),
    ],
)  # fmt: skip
def test_an_english_half_of_the_day_is_the_german_hours(source: str, translation: str, expected: str | None) -> None:
    assert retimed(source, translation, languages=("de", "en")) == (expected or translation)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Quarter to eight.", "7:45 o'clock."),
        ("quarter past nine", "9:15 o'clock"),
        ("from quarter to two thirds", None),
        ("We met at half past nine.", "We met at 9:30 o'clock."),
        ("It's a quarter to one, not quarter past 3.", "It's 12:45 o'clock, not 3:15 o'clock."),
        ("It is ten to nine, or twenty past four.", "It is 8:50 o'clock, or 4:20 o'clock."),
        ("Five minutes to twelve", "11:55 o'clock"),
        ("five to ten people, half past nine-ish, half past 10:30", None),
        ("last quarter to five percent, a quarter to five million", None),
        ("It takes about five to ten minutes, or twenty minutes to two hours.", None),
        ("It is five to ten degrees colder, at ten to twelve euros, now five to six men are here.", None),
        ("They lost by five to three: the odds were about ten to one, and a quarter to one third left.", None),
        (
            "At ten to three we left, at about five to eight they came.",
            "At 2:50 o'clock we left, at about 7:55 o'clock they came.",
        ),
    ],
)
def test_english_times_in_words_are_said_in_digits(source: str, expected: str | None) -> None:
    assert in_digits(source, "Um halb sieben", languages=("en", "de")) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Wir trafen uns um halb zehn.", "Wir trafen uns um 9:30."),
        ("Es ist fünf nach halb eins, zehn vor halb zwei.", "Es ist 12:35, 1:20."),
        ("Um Viertel vor fünf, dreiviertel eins oder ein Viertel nach 8 Uhr", "Um 4:45, 12:45 oder ein 8:15"),
        ("Um zehn vor neun Uhr, zwanzig Minuten nach zwölf", "Um 8:50, 12:20"),
        ("nur halb so, von fünf nach zehn, halb volle, halb 5,5, drei Viertel, halb 10.30 Uhr", None),
        ("Er lief um zehn vor acht Leuten weg, zehn Minuten nach zwei Stunden.", None),
    ],
)
def test_german_times_in_words_are_said_in_digits(source: str, expected: str | None) -> None:
    assert in_digits(source, "At 2:30", languages=("de", "en")) == expected


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Um halb zehn", "At half past nine"),
        ("Um halb zehn", "At 9:30 p.m."),
        ("Um halb zehn", "At 21:30"),
        ("Um Viertel vor fünf und um fünf", "At a quarter to five and at five"),
    ],
)
def test_a_time_that_the_translation_has_needs_no_digits(source: str, translation: str) -> None:
    assert in_digits(source, translation, languages=("de", "en")) is None
    assert in_digits(source, "At 2:30", languages=("de", "fr")) is None


def test_a_time_that_was_in_words_stays_in_its_half_of_the_clock() -> None:
    assert retimed("At 9:30 o'clock.", "Um 21.30 Uhr.", languages=("en", "de")) == "Um 9.30 Uhr."
    assert retimed("At 9:30.", "Um 21.30 Uhr.", languages=("en", "de")) == "Um 21.30 Uhr."


def test_only_english_and_german_clocks_are_known() -> None:
    for languages in (("en", "fr"), ("fr", "en"), ("en", None), (None, None)):
        assert retimed("At 9 pm", "9 Uhr, 9 am", languages=languages) == "9 Uhr, 9 am"


CLOCKS = st.text(alphabet="0123459:. -–ampAPMUhr,'ocklbisundto", max_size=40)


@given(source=CLOCKS, translation=CLOCKS, is_english=st.booleans())
def test_what_is_put_right_stays_as_it_is(source: str, translation: str, is_english: bool) -> None:
    languages = ("en", "de") if is_english else ("de", "en")
    once = retimed(source, translation, languages=languages)
    assert retimed(source, once, languages=languages) == once


@given(hour=st.integers(0, 23), minute=st.integers(0, 59), wrong=st.booleans())
def test_every_minute_of_the_day_comes_out_right(hour: int, minute: int, wrong: bool) -> None:
    half = "am" if (hour < 12) != wrong else "pm"
    english = f"{hour % 12 or 12}:{minute:02} {half}"
    german = f"{(hour + 12 * wrong) % 24}:{minute:02} Uhr"
    assert retimed(f"{hour}:{minute:02} Uhr", english, languages=("de", "en")).startswith(
        f"{hour % 12 or 12}:{minute:02} {'am' if hour < 12 else 'pm'}"
    )
    right = f"{hour % 12 or 12}:{minute:02} {'am' if hour < 12 else 'pm'}"
    assert retimed(right, german, languages=("en", "de")) == f"{hour}:{minute:02} Uhr"


@pytest.mark.parametrize(
    "text", ["1 ", "1:1", "11:11 p.", "1 bis ", "9 Uhr ", "9 am ", "9:00 pm abends ", "halb neun ", "zehn ", "at ten "]
)
def test_strange_text_takes_no_time(text: str) -> None:
    began = time.process_time()
    for languages in (("en", "de"), ("de", "en")):
        retimed(text * 20_000, text * 20_000, languages=languages)
        in_digits(text * 20_000, text * 20_000, languages=languages)
    assert time.process_time() - began < 3
