"""Numbers are told from what is none, compared across languages, and written as each language writes them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.carrying import passage
from heedful.text.numbers import Languages, is_spelled, numbers_of, numerals, restyled, written, wrong_numbers
from heedful.text.profile import Profile, Side
from heedful.text.putting_back import put_back
from heedful.text.second_try import with_initials, wrong

EN_DE: Languages = ("en", "de")
DE_EN: Languages = ("de", "en")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It cost $1,299.50, €5 or 5 €, up 7.5%.", ["$1,299.50", "€5", "5 €", "7.5%"]),
        ("$2.5 billion, 2,5 Milliarden €, £3 million", ["2.5", "2,5", "3"]),
        ("2nd, 20th, 1990s, 5km, 3D, 4x4, x2", []),
        ("Am 3. Mai im 2. Stock, im Jahr 1998.", ["1998"]),
        ("10:30, 3-1, 24/7, 16/11/2026, 1990–95, 1.2.3", ["10:30", "3-1", "24/7", "16/11/2026", "1990–95", "1.2.3"]),
        ("+44 20 7946 0958 or 030/12 34 or (0171) 555-12", ["+44 20 7946 0958", "030/12 34", "(0171) 555-12"]),
        ("Flight LH1234, order 2026-00417-B, IN THE 1990S", ["LH1234", "2026-00417-B"]),
        ("-5 °C, B12, G20, COVID-19", ["-5"]),
    ],
)  # fmt: skip
def test_what_is_a_number_that_could_stand_elsewhere(text: str, expected: list[str]) -> None:
    assert [number.text for number in numbers_of(text)] == expected
    assert all(text[slice(*number.span)] == number.text for number in numbers_of(text))


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("1,299.50", "1.299,50"), ("12.75", "12,75"), ("64,000", "64.000"), ("1944", "1944"), ("-3.5", "-3,5"),
        ("$1,299", "1.299 $"), ("€5", "5 €"), ("£0.99", "0,99 £"), ("45%", "45 %"),
        ("10:30", "10:30"), ("1.2.3", "1.2.3"), ("3/4/2020", "3/4/2020"), ("LH1234", "LH1234"),
        ("+49 30 123", "+49 30 123"),
    ],
)  # fmt: skip
def test_a_number_is_written_as_the_other_language_writes_it_there_and_back(english: str, german: str) -> None:
    assert written(english, languages=EN_DE) == german
    assert written(german, languages=DE_EN) == english
    assert written(english, languages=("en", None)) == written(english, languages=("en", "en")) == english


def test_a_version_and_a_time_keep_their_points() -> None:
    assert written("3.10", "We use Python ", " now", languages=EN_DE) == "3.10"
    assert written("3.10", "This is version ", "", languages=EN_DE) == "3.10"
    assert written("3.10", "It is ", " metres", languages=EN_DE) == "3,10"
    assert written("5.30", "at ", " p.m.", languages=EN_DE) == "5.30"
    assert written("3,10", "Der Preis ", "", languages=DE_EN) == "3.10"
    assert written("1,299", languages=("en", "fr")) == "1\u00a0299"


@pytest.mark.parametrize(
    ("source", "translation", "languages", "expected"),
    [
        ("The town has 1,988 inhabitants.", "Die Stadt hat 1.98 Einwohner.", EN_DE, ["1,988"]),
        ("The town has 1,988 inhabitants.", "Die Stadt hat 1.988 Einwohner.", EN_DE, []),
        ("Die Preise sind um 2.304 Prozent gestiegen.", "Prices rose by 2:304 percent.", DE_EN, ["2.304"]),
        ("We paid £45.", "Wir zahlten vierzig Pfund.", EN_DE, ["£45"]),
        ("We paid £45.", "Wir zahlten fünfundvierzig Pfund.", EN_DE, []),
        ("We paid £45.", "Wir zahlten $45.", EN_DE, ["£45"]),
        ("We paid £45.", "Wir zahlten 45.", EN_DE, ["£45"]),
        ("We paid £45.", "Nous avons payé 45 livres.", ("en", "fr"), []),
        ("We paid £45.", "Nous avons payé $45.", ("en", "fr"), ["£45"]),
        ("From €2,400 to £9", "Von 2.400 auf 9 €", EN_DE, ["€2,400", "£9"]),
        ("£3 to £5", "3 bis 5 Pfund", EN_DE, []),
        ("£3 to 5", "3 bis 5 £", EN_DE, []),
        ("invoice 4711 over €1,249.90", "Rechnung 4711€ über 1.249,90", EN_DE, ["€1,249.90"]),
        ("invoice 4711 over €1,249.90", "Rechnung 4711 über 1.249,90 €", EN_DE, []),
        ("Two of 12", "2 von zwölf", EN_DE, []),
        ("She has 3 cats.", "Sie hat drei Katzen.", EN_DE, []),
        ("She has 2 cats.", "Sie hat beide.", EN_DE, []),
        ("She has 5 cats.", "Sie hat 6 Katzen.", EN_DE, ["5"]),
        ("The 20th and the 2nd", "Der zwanzigste und zweite", EN_DE, []),
        ("Am 23. Mai", "On May twenty-third", DE_EN, []),
        ("at 3:30 pm", "um 15.30 Uhr", EN_DE, []),
        ("at 5 pm", "um 17 Uhr", EN_DE, []),
        ("by 2:30", "um halb drei", EN_DE, []),
        ("um 10.30 Uhr", "at 10:30", DE_EN, []),
        ("in 1968", "'68", EN_DE, []),
        ("14 thousand people", "14.000 Menschen", EN_DE, []),
        ("50,000 people", "50 000 Menschen", EN_DE, []),
        ("100 people, 1,000 birds", "hundert Menschen, tausend Vögel", EN_DE, []),
        ("In 1944 he left.", "1944 ging er 1944.", EN_DE, ["1944"]),
        ("In 1944 he left.", "Er ging.", EN_DE, ["1944"]),
        ("In 1944 he left.", "Il est parti.", ("en", "fr"), ["1944"]),
        ("Flight LH1234", "Flug LH 1234", EN_DE, ["LH1234"]),
        ("no number", "12 und 13", EN_DE, []),
    ],
)  # fmt: skip
def test_numbers_that_a_translation_changed(
    source: str, translation: str, languages: Languages, expected: list[str]
) -> None:
    assert [number.text for number in wrong_numbers(source, translation, languages=languages)[0]] == expected


@pytest.mark.parametrize(
    ("digits", "text", "language", "expected"),
    [
        ("21", "einundzwanzig", "de", True), ("20", "einundzwanzig", "de", False), ("20", "Twenty", "en", True),
        ("20", "twenty-one", "en", False), ("17", "siebzehn", "de", True), ("300", "dreihundert", "de", True),
        ("2000", "two thousand", "en", True), ("1000000", "eine Million", "de", True), ("417", "x", "en", False),
        ("07", "sieben", "de", False), ("5", "cinq", "fr", False),
    ],
)  # fmt: skip
def test_spelled_out_numbers(digits: str, text: str, language: str, expected: bool) -> None:
    assert is_spelled(digits, text, language=language) is expected


@pytest.mark.parametrize(
    ("source", "translation", "languages", "expected"),
    [
        ("£15,625.00 in total", "15.625.00 £", EN_DE, "15.625,00 £"),
        ("1.250 Stück", "1.250 pieces", DE_EN, "1,250 pieces"),
        ("1.250 Stück", "1250 pieces", DE_EN, "1250 pieces"),
        ("0,35 kg", "0,35 kg", DE_EN, "0.35 kg"),
        ("at 10.30 with 3.10", "um 10.30 mit 3.10", EN_DE, "um 10.30 mit 3.10"),
        ("see https://a.org/1,250 and 1,250", "https://a.org/1,250 und 1,250", EN_DE, "https://a.org/1,250 und 1,250"),
        ("1,250 for £12.50", "1.250 für £12.50", EN_DE, "1.250 für £12.50"),  # the same digits: which is which?
        ("1,250", "1,250", ("en", None), "1,250"),
        (
            "Python 3.10 in 2.5 GB (1.2 MB/s)",
            "Python 3.10 in 2.5 GB (1.2 MB/s)",
            EN_DE,
            "Python 3.10 in 2,5 GB (1,2 MB/s)",
        ),
        ("3.1 more, 3.2 men", "3.1 mehr, 3.2 Männer", EN_DE, "3.1 mehr, 3.2 Männer"),
    ],
)
def test_points_and_commas_are_put_right(source: str, translation: str, languages: Languages, expected: str) -> None:
    assert restyled(source, translation, languages=languages) == expected


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("George R. R. Martin is here", "George R. Martin ist da", "George R. R. Martin ist da"),
        ("E. T. A. Hoffmann", "E.T.E.A. Hoffmann", "E. T. A. Hoffmann"),
        ("J.R.R. Tolkien", "J.R.R. Tolkien", "J.R.R. Tolkien"),
        ("The U.S. Army", "Die US-Armee", "Die US-Armee"),
        ("The U. S. Army and U.S. Navy", "The U.N. Army", "The U.N. Army"),
        ("J. R. R. Tolkien", "J. R. Tolkien und R. Tolkien", "J. R. Tolkien und R. Tolkien"),
    ],
)
def test_initials_are_those_of_the_source(source: str, translation: str, expected: str) -> None:
    assert with_initials(source, translation) == expected


WORDS = st.sampled_from(
    ["It", "cost", "in", "$1,299.50", "45%", "1944", "2nd", "https://a.org/7", "🙂", "5€", ",", "B12"]
)
SAID = st.lists(st.sampled_from(["Es", "X1", "X2", "X3", "X4", "kostet", "12", "1.29"]), max_size=8).map(" ".join)


@given(st.lists(WORDS, max_size=9).map(" ".join), SAID, SAID)
def test_what_is_carried_in_a_second_try_comes_back_once_each_or_not_at_all(text: str, first: str, second: str) -> None:
    pieces = wrong(text, first, languages=EN_DE, profile=None).pieces
    again = passage(text, also=pieces, languages=EN_DE)
    given_ = passage(text, languages=EN_DE)
    assert len(again.words) == len(given_.words) + len(pieces)
    result = put_back(again, second)
    if result is None:
        assert any(second.split().count(name) != 1 for name, _ in again.words)
        return
    for put in {put for _, put in again.words}:
        said = numerals(put)
        assert all(numerals(result)[digits] >= count for digits, count in said.items())


@given(st.text(alphabet=st.characters(exclude_categories=["N"]), max_size=40), st.text(max_size=40))
def test_a_text_without_numerals_has_none_that_could_be_wrong(source: str, translation: str) -> None:
    assert wrong_numbers(source, translation, languages=EN_DE) == ([], {})
    assert restyled(source, translation, languages=EN_DE) == translation


SOURCE = Side({}, {"the": 99, "and": 50, "of": 40, "by": 30, "house": 9, "Tom": 5}, 0.5)
GERMAN = Side({}, {"das": 99, "Haus": 50, "von": 40, "Tom": 9}, 0.5)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("The house of Priya Raghunathan", "Das Haus von Priya Ragunathan", ["Priya Raghunathan"]),
        ("Ingrid Solberg and Tom", "In Grid Solberg und Tom", ["Ingrid Solberg"]),
        ("by Wanjiru Kamau's house", "von Wanjiru kamau", ["Wanjiru Kamau"]),
        ("The house of Priya Raghunathan", "Priya Raghunathans Haus", []),
        ("The house of Tom Whitaker", "Das Haus von Tom", []),  # nothing is left of it: nobody knows what was meant
        ("The house of Qatar", "Das Haus von Katar", []),
        ("The house of Wilma Serba", "Das Haus von Wilma Serbe", []),
        ("THE HOUSE OF PRIYA RAGHUNATHAN", "DAS HAUS VON PRIYA RAGUNATHAN", []),
    ],
)
def test_names_that_are_almost_right(source: str, translation: str, expected: list[str]) -> None:
    found = wrong(source, translation, languages=EN_DE, profile=Profile(SOURCE, GERMAN, 0.0))
    assert [piece.text for piece in found.pieces] == expected
    assert not wrong(source, translation, languages=DE_EN, profile=Profile(GERMAN, SOURCE, 0.0)).pieces, (
        "nouns or names"
    )


def test_units_that_are_lost() -> None:
    def lost(source: str, translation: str) -> list[tuple[str, str | None]]:
        found = wrong(source, translation, languages=DE_EN, profile=None).pieces
        return [(piece.text, piece.put) for piece in found]

    assert lost("200 g Mehl", "200 flour") == [("200 g", "200 g")]
    assert lost("1,5 l und 30 m² Platz", "1.5 milk and 30 metres") == [("1,5 l", "1.5 l"), ("30 m²", "30 m²")]
    assert lost("2 kg, 30m² und 2 t", "2 kilos, 30 square metres and 2 tons") == []
    assert lost("20 l, 25 g/l, 33 g-Mol", "20 l, 25 and 33") == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Copy report.pdf, my-file_v2.tar.gz and C:\\a\\b c.", ["report.pdf", "my-file_v2.tar.gz", "C:\\a\\b"]),
        ("See /etc/hosts, ~/.bashrc, ../x or example.com/help; he/she, 1/2 or /this.",
         ["/etc/hosts", "~/.bashrc", "../x", "example.com/help"]),
        ("Go there.And back.Now", []),
        ("max_value is _not_ a__b, @john_doe, --no-color, -- so, x--y --or",
         ["max_value", "a__b", "@john_doe", "--no-color"]),
        ("Delete file_20_3.txt", ["file_20_3.txt"]),
        ("Run SELECT a FROM b; or SELECT me FROM it", ["SELECT a FROM b;"]),
        ("Hauptstr. 5, Ernst-Kant-Straße 12 a, Parkallee 7.", ["Hauptstr. 5", "Ernst-Kant-Straße 12 a", "Parkallee 7"]),
        ("Die Hauptstraße 5 Tage lang, die Bundesstraße 7, Straße 8", []),
        ("RT @Anna: bit.ly/a1b, usw./etc. @ home", ["@Anna", "bit.ly/a1b"]),
    ],
)  # fmt: skip
def test_files_and_names_of_programs_that_are_others(source: str, expected: list[str]) -> None:
    for translation in ("ganz anders", source.upper()):
        assert [piece.text for piece in wrong(source, translation, languages=DE_EN, profile=None).pieces] == expected
    assert not wrong(source, f"«{source}»", languages=DE_EN, profile=None).pieces


@pytest.mark.parametrize(
    "run",
    [
        "SELECT a ",
        "A-str",
        "A. ",
        "9",
        "9.",
        "9 ",
        "+9",
        "09-",
        "(0",
        "A9",
        "A-",
        "Ab ",
        "9A/",
        "$9",
        "9:30 ",
        "a",
        "9th",
        "a_",
        "_",
        "a/",
        "/",
        "a.a",
        "--a",
        "@",
        "C:\\",
    ],
)
def test_no_text_however_strange_takes_long(run: str) -> None:
    text = run * (60_000 // len(run))
    profile = Profile(SOURCE, SOURCE, 0.0)
    began = time.process_time()
    for translation in (text, text[1:], "X"):
        wrong(text, translation, languages=EN_DE, profile=profile)
        restyled(text, translation, languages=EN_DE)
        with_initials(text, translation)
    wrong(text, "X", languages=DE_EN, profile=None)
    assert time.process_time() - began < 3, "one look at each place takes some hundredths of a second"
