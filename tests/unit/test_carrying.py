"""What must not be translated is found, taken out, and put back exactly once."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.carrying import Passage, passage, pieces_of
from heedful.text.markup import markup
from heedful.text.numbers import differing_numerals
from heedful.text.profile import Profile, Side
from heedful.text.putting_back import put_back
from heedful.text.sentences import layout
from heedful.text.usual_spelling import case_of, in_case, in_sentence_case, shouted

ENGLISH = Side({"a": 9}, {"the": 9, "I": 8, "Tom": 5, "best": 3, "way": 2, "and": 2, "see": 2, "home": 2, "to": 2}, 0.5)
PROFILE = Profile(ENGLISH, ENGLISH, 0.0, does_capitals=False)


def known(character: str) -> bool:
    return character.isascii() or character in "éü"


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("See https://a.org/b?c=d, or www.x.de.", ["https://a.org/b?c=d", "www.x.de"]),
        ("(http://a.org/b)", ["http://a.org/b"]),
        ("Mail a.b+c@d-e.co.uk.", ["a.b+c@d-e.co.uk"]),
        ("{{ name }} {0} {user.id} ${HOME} $PATH %s %1$s %d%% %(count)s", [
            "{{ name }}", "{0}", "{user.id}", "${HOME}", "$PATH", "%s", "%1$s", "%d", "%(count)s"]),
        ("Save file_{0}.txt now.", ["file_{0}.txt"]),
        ("%-3s = %s%c%s of %zu", ["%-3s", "%s%c%s", "%zu"]),
        ("It is 100% sure and costs $5.", []),
        ('<a href="http://x.y">Go</a><br/>&nbsp;', ['<a href="http://x.y">', "</a>", "<br/>", "&nbsp;"]),
        ("1 < 2 and 3 > 2", []),
        ("From 2026-11-16 to 2026-11-17T08:30, not 2026-11 or 12-2026-11-16.", ["2026-11-16", "2026-11-17T08:30"]),
        ("On 16.11.2026, not 6.11. or 1.250.000 or 1.1.1.2026.", ["16.11.2026"]),
        ("On 3.5.24, 03. 05. 2024, not 3. 5. or 1.2.345 or 1.2.34.5", ["3.5.24", "03. 05. 2024"]),
        ("A 6'2\" man, 6’ 2½”, not 5'000 or 'in 5'.", ["6'2\"", "6’ 2½”"]),
        ("Run `a b. c` now", ["`a b. c`"]),
        ("Hi 👩‍👩‍👧🏽 and 🇩🇪❤️!", ["👩‍👩‍👧🏽", "🇩🇪❤️"]),
        ("café Müller français x", ["français"]),
        ("Он сказал: привет, мир and left", ["Он сказал", "привет, мир"]),
        ("It costs 5€ or €99.90 or 7 €.", ["5€", "€99.90", "7 €"]),
        ("a → b", ["→"]),
        ("“Quoted”…", []),
    ],
)  # fmt: skip
def test_what_is_carried(text: str, carried: list[str]) -> None:
    assert [piece.text for piece in pieces_of(text, known)] == carried


@pytest.mark.parametrize(
    ("source", "given_", "translation", "links", "expected"),
    [
        ("Open {0} now.", "Open X1 now.", "Jetzt X1 öffnen.", [], "Jetzt {0} öffnen."),
        ("X1 and {0}", "X1 and X2", "X1 und X2", [], "X1 und {0}"),
        ("🎉 it works.", "it works.", "Es geht.", [], "🎉 Es geht."),
        ("🎉 <i> it</i> works.", "it works.", "Es geht.", [((0, 2), (0, 2))], "🎉 <i> Es</i> geht."),
        ("<b>Note:</b> Go.", "Note: Go.", "Achtung: Los.", [((0, 5), (0, 8)), ((6, 9), (9, 13))],
         "<b>Achtung:</b> Los."),
        ("Click <b>Save</b> now.", "Click Save now.", "Nun Sichern, klicken.",
         [((11, 15), (0, 3)), ((6, 10), (4, 12)), ((0, 5), (13, 21))], "Nun <b>Sichern</b>, klicken."),
        ("Go <u>not now</u> on.", "Go not now on.", "Weiter nicht jetzt gehen",  # its end came before its beginning
         [((11, 14), (0, 6)), ((7, 10), (7, 12)), ((3, 6), (13, 18)), ((0, 2), (19, 24))],
         "Weiter <u>nicht jetzt</u> gehen"),
        ("Go <u>not</u> on.", "Go not on.", "Geh fort", [((0, 2), (0, 3)), ((7, 10), (4, 8))], "Geh <u>fort</u>"),
        ("<u>Go</u> <i>no</i> on.", "Go no on.", "Fort", [((6, 9), (0, 4))], "<u><i></i>Fort</u>"),
        ("See <b>it.</b>{0} Go.", "See it.X1 Go.", "Sieh es.X1 Geh.",
         [((0, 3), (0, 4)), ((4, 9), (5, 10)), ((10, 13), (11, 15))], "Sieh <b>es.</b>{0} Geh."),
        ("Press <u>Ctrl</u>+<i>C</i> now.", "Press Ctrl+C now.", "Nun Sie Strg+C.",  # Sie came from all of Ctrl+C
         [((0, 5), (0, 3)), ((6, 12), (4, 7)), ((6, 12), (8, 15))], "Nun Sie <u>Strg</u>+<i>C</i>."),
        ("Go (<u>now</u>).", "Go (now).", "Los (jetzt).", [((0, 2), (0, 3)), ((3, 9), (4, 11))], "Los (<u>jetzt</u>)."),
        ("A Tom🙂 bag", "A Tom bag", "Eine Tom-Tasche", [((2, 5), (5, 15))], "Eine Tom🙂-Tasche"),
        ("Ask <u>Tom Poe</u> 2 <i>be</i>", "Ask Tom Poe 2 be", "Frag mal Tom Poe be 2",
         [((4, 7), (5, 8)), ((8, 11), (9, 12)), ((8, 11), (13, 16)), ((14, 16), (20, 21))],
         "Frag mal <u>Tom Poe</u> be <i>2</i>"),
        ("Use H<sub>2</sub>O, CO<sub>2</sub> <u>and</u> x<sup>2</sup>.", "Use X1, X2 and X3.", "X1, X2 und X3.",
         [((11, 14), (7, 10))], "H<sub>2</sub>O, CO<sub>2</sub> <u>und</u> x<sup>2</sup>."),
        ("It is 🙂 good 🙂", "It is good", "Es ist gut", [((0, 2), (0, 2)), ((3, 5), (3, 6)), ((6, 10), (7, 10))],
         "Es ist 🙂 gut 🙂"),
    ],
)  # fmt: skip
def test_pieces_go_back_beside_the_words_they_stood_beside(
    source: str, given_: str, translation: str, links: list, expected: str
) -> None:
    found = passage(source)
    assert found.given == given_
    assert put_back(found, translation, lambda: links) == expected


TREES = st.recursive(
    st.sampled_from(["go", "now", "Tom", "C+D"]),
    lambda inner: st.tuples(st.sampled_from("biu"), st.lists(inner, min_size=1, max_size=3), st.sampled_from(" +")).map(
        lambda made: f"<{made[0]}>{made[2].join(made[1])}</{made[0]}>"
    ),
    max_leaves=7,
)


@given(st.lists(TREES, min_size=1, max_size=4).map(" ".join), st.booleans(), st.data())
def test_tags_that_are_nested_stay_nested_wherever_the_words_come_from(
    text: str, is_html: bool, data: st.DataObject
) -> None:
    taken = markup(text)
    found = passage(taken.units[0] if is_html else text)
    words = [match.span() for match in re.finditer(r"\S+", found.given)]
    said = data.draw(st.sampled_from(["eins zwei, drei vier. fünf sechs", "eins+zwei Tom drei+C, D fünf"]))
    links = [(data.draw(st.sampled_from(words)), match.span()) for match in re.finditer(r"\S+", said)]
    result = put_back(found, said, lambda: links)
    assert result is not None
    result = taken.filled([result]) if is_html else result
    open_: list[str] = []
    for slash, name in re.findall(r"<(/?)(\w)>", result):
        if not slash:
            open_.append(name)
        else:
            assert open_.pop() == name
    assert sorted(re.findall("<.*?>", result)) == sorted(re.findall("<.*?>", text))
    assert re.sub("<.*?>", "", result) == said


def test_a_name_that_is_lost_or_doubled_is_noticed() -> None:
    found = passage("Open {0} now.")
    assert put_back(found, "Jetzt öffnen.") is None
    assert put_back(found, "X1 und X1") is None
    assert put_back(found, "X12 und X1") == "X12 und {0}"


PIECES = ["https://a.org/x", "a@b.de", "{0}", "%s", "<i>", "</i>", "<br/>", "🙂", "`x y`", "привет", "€", "5€"]
TEXTS = st.lists(st.sampled_from([*PIECES, "word", "Name.", ",", " ", " ", "\u00a0"]), max_size=14).map("".join)


@pytest.mark.parametrize(
    ("text", "languages", "given_", "expected"),
    [
        ("Mo.–Fr. 9 Uhr", ("de", "en"), "X1 9 Uhr", "Mon.–Fri. 9 Uhr"),
        ("Mo bis Fr, Sa/So", ("de", "en"), "X1", "Mon to Fri, Sat/Sun"),
        ("Open Tues and Thurs.", ("en", "de"), "Open X1.", "Open Di und Do."),
        (
            "So ist es, Do nicht. Mi-Do-Re",
            ("de", "en"),
            "So ist es, Do nicht. Mi-Do-Re",
            "So ist es, Do nicht. Mi-Do-Re",
        ),
        ("Mon-Fri", ("en", "fr"), "Mon-Fri", "Mon-Fri"),
        ("Sa 10–12 Uhr, So. 9.30 Uhr", ("de", "en"), "X1 10–12 Uhr, X2 9.30 Uhr", "Sat 10–12 Uhr, Sun. 9.30 Uhr"),
        ("So 8 bis 9 Uhr, Di., 5. Mai", ("de", "en"), "X1 8 bis 9 Uhr, X2, 5. Mai", "Sun 8 bis 9 Uhr, Tue., 5. Mai"),
        *[
            (text, ("de", "en"), text, text)
            for text in ("So 10–12 Leute, So 5 Uhr", "Es kostet Fr. 20.50.", "So 10 bis 12")
        ],
        ("Sat 9am, Sun, May 3rd", ("en", "de"), "X1 9am, X2, May 3rd", "Sa 9am, So, May 3rd"),
        *[(text, ("en", "de"), text, text) for text in ("He sat 5-6 times", "The Sun, May 3rd", "Sun 5 million")],
    ],
)
def test_weekdays_that_stand_together_are_written_as_the_other_language_does(
    text: str, languages: tuple[str, str], given_: str, expected: str
) -> None:
    found = passage(text, languages=languages)
    assert found.given == given_
    assert put_back(found, given_) == expected
    assert (found.is_text, found.alone) == ((False, expected) if given_ == "X1" else (True, ""))


@pytest.mark.parametrize(
    ("text", "languages", "given_", "expected"),
    [
        ("Add 1.5 tbsp oil, ½tsp. salt", ("en", "de"), "Add X1 oil, X2 salt", "Add 1,5 EL oil, ½ TL salt"),
        ("1-2 EL Öl", ("de", "en"), "X1 Öl", "1-2 tbsp Öl"),
        ("Der EL, 5 EL-Form", ("de", "en"), "Der EL, 5 EL-Form", "Der EL, 5 EL-Form"),
        ("2 tbsp", ("en", "fr"), "2 tbsp", "2 tbsp"),
    ],
)
def test_spoons_of_a_recipe_are_those_of_the_other_language(
    text: str, languages: tuple[str, str], given_: str, expected: str
) -> None:
    found = passage(text, languages=languages)
    assert found.given == given_
    assert put_back(found, given_) == expected


def test_single_quotation_marks_that_a_model_does_not_know_are_given_as_plain_ones() -> None:
    assert passage("›Ja‹ und ‚nein‘", PROFILE).given == "'Ja' und 'nein'"


def test_german_days_of_a_month_are_carried_without_their_last_full_stop() -> None:
    def given(text: str, *languages: str) -> tuple[str, list[str]]:
        found = passage(text, languages=(languages[0], languages[1]))
        return found.given, [put for _, put in found.words]

    assert given("Vom 24.12. bis 2.1. zu.", "de", "en") == ("Vom X1 bis X2 zu.", ["24.12", "2.1"])
    assert given("Wir kommen am 17.3.", "de", "en") == ("Wir kommen am 17.3.", [])
    assert given("1.2. Die Version von 24.13. an", "de", "en")[1] == []
    assert given("Use version 2.1. for it", "en", "de")[1] == []


@given(TEXTS, st.booleans(), st.lists(st.sampled_from(["ja", "nein.", "X1", "X2"]), max_size=6).map(" ".join))
def test_every_piece_comes_back_exactly_once_whatever_the_model_says(text: str, names: bool, said: str) -> None:
    pieces = pieces_of(text, known)
    side = Side(dict.fromkeys("éü", 1000), {}, 0.5)
    found = passage(text, Profile(side, side, 0.0), names=names)
    translation = put_back(found, said, lambda: [((0, 1), (0, len(said.split(" ")[0])))])
    if translation is None:
        assert names
        return
    for piece, count in Counter(piece.text for piece in pieces).items():
        expected = sum(other.text.count(piece) for other in pieces)
        assert translation.count(piece) == expected >= count


@given(st.text(max_size=40))
def test_a_text_without_pieces_is_given_as_it_is(text: str) -> None:
    if not pieces_of(text):
        assert passage(text) == Passage(text, text, is_text=any(map(str.isalnum, text)))


def test_numbers_alone_are_translated_by_a_model_that_learned_from_numbers() -> None:
    sums = Side({"1": 900, "a": 5}, {}, 0.5)
    for profile, expected in ((None, True), (Profile(sums, sums, 0.0), True), (PROFILE, False)):
        assert passage("12 + 30", profile).is_text is expected
        assert not passage("{0} 🙂 …", profile).is_text
        assert passage("{0} or X9", profile).is_text


def test_capitals_and_titles_are_given_as_sentences_are_written() -> None:
    assert passage("TOM AND I SEE {0}!", PROFILE).given == "Tom and I see X1!"
    assert put_back(passage("I SEE {0}!", PROFILE), "Ich weiß X1!") == "ICH WEISS {0}!"
    assert passage("The Best Way Home", PROFILE).given == "The best way home"
    assert in_case("der weg", "title", language="de") == "der weg"
    assert in_case("the best way home", "title", language="en") == "the Best way Home"
    assert passage("NASA is here.", PROFILE).given == "NASA is here."
    assert [case_of(text) for text in ("OK", "STOP!", "A", "你好", "123", "Tom Met Mary Today")] == [
        None, "capitals", None, None, None, "title"]  # fmt: skip
    assert passage("Ask Anna Baker now", PROFILE).given == "Ask Anna Baker now", "no word has a capital that it lacks"
    assert passage("iPhone Is the Best Way Home", PROFILE).given == "iPhone is the best way home"
    assert in_case("the iPhone way", "title", language="en") == "the iPhone way"
    assert passage("The NASA Way to See U.S. iPhone 5G", PROFILE).given == "The NASA way to see U.S. iPhone 5G"
    assert passage("THE NASA WAY", PROFILE).given == "The nasa way", "in capitals nothing tells it from other words"
    assert passage("The Best Richard", PROFILE, length=len).given == "The best Richard", "it may be a name"
    german = Side({}, {"das": 9, "ist": 8, "Haus": 5, "treffen": 3, "Tag": 2}, 0.5)
    title = "Das Treffen ist am Haus"
    assert passage(title, Profile(german, german, 0.0, does_capitals=False)).given == title, "German has no titles"
    assert in_sentence_case("«ÄRGER» UND 5 TAGE", str) == "«Ärger» und 5 tage"


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("Geburtsdatum", "date of birth", "Date of birth"),
        ("„Haben Sie <b>Zeit</b>?“", "“do you have time?”", "“Do you <b>have</b> time?”"),
        ("danke", "thanks", "thanks"),
        ("Ja", "yes,", "Yes"),
        ("Ja,", "yes,", "Yes,"),
        ("Er", "\x84he\x93", "„He“"),
        ("5 Tage", "five days", "five days"),
        ("{0} Dateien", "files X1", "files {0}"),
        ("Neues iPhone ls", "iPhone and more", "iPhone and more"),
        ("Befehl ls", "ls command", "ls command"),
    ],
)
def test_a_translation_begins_with_a_capital_as_its_source_does(text: str, said: str, expected: str) -> None:
    found = passage(text, PROFILE, languages=("de", "en"))
    assert put_back(found, said, lambda: [((0, 8), (1, 3)), ((11, 16), (8, 12))]) == expected
    assert not passage(text, PROFILE, languages=("de", None)).has_capital, "it may be no language at all"
    assert not passage(text, Profile(ENGLISH, Side({}, {"small": 1}, 0.5), 0.0), languages=("de", "en")).has_capital


def test_words_in_capitals_inside_a_sentence_are_read_and_come_back_in_capitals() -> None:
    english = Side({"a": 9}, dict.fromkeys(("please", "do", "not", "to", "thanks", "this", "the"), 9), 0.5)
    profile = Profile(english, english, 0.0, does_capitals=False)
    found = passage("Thanks, but DO NOT REPLY to {0}.", profile)
    assert (found.given, found.shouted) == ("Thanks, but do not reply to X1.", ((12, 24),))
    said = "Danke, aber schließt nicht an X1."
    links = [((0, 6), (0, 5)), ((12, 14), (12, 20)), ((15, 18), (21, 26)), ((25, 27), (27, 29))]
    assert put_back(found, said, lambda: links) == "Danke, aber SCHLIEẞT NICHT an {0}."
    for text in ("We met at NASA ESA JAXA headquarters.", "I DO NOT know.", "Press the X1 X2 X3 keys, NOT X4."):
        assert passage(text, profile).given == text
    assert shouted("Ok — PLEASE DO NOT: NOT", english.words) == [(5, 18)]


def test_a_frequent_word_in_capitals_is_emphasis_by_itself_but_not_beside_code_nor_as_a_name() -> None:
    english = Side({"a": 9}, dict.fromkeys(("not", "who", "now", "size", "new"), 9), 0.5)
    profile = Profile(english, english, 0.0, does_capitals=False)

    def length(word: str) -> int:
        return 3 if word.isupper() and word != "WHO" else 1

    assert passage("Do NOT do it NOW!", profile, length=length).given == "Do not do it now!"
    for text in ("The WHO and NASA said", "Set it to [SIZE], NOW: done", "Come to NEW YORK, he said"):
        assert passage(text, profile, length=length).given == text
    assert passage("Do NOT do it", profile).given == "Do NOT do it", "without subwords nothing is known"
    assert passage("You MUSTN'T, I DON'T, Mr. O'BRIEN", profile).given == "You mustn't, I don't, Mr. O'BRIEN"
    assert passage("I said X NOT Y in NEW YORK", profile, length=length).given == "I said X not Y in NEW YORK"
    not_alone = {"alone": lambda word: word == "NOT", "frequent": {"do"}}
    assert shouted("We DO NOT go, I NOT STUPID", {"stupid"}, **not_alone) == [(3, 9)]
    rare = Side({"a": 9}, dict.fromkeys([*map(str, range(500)), "select"], 9), 0.5)
    assert not rare.emphasises("SELECT", length)


def test_where_nouns_have_capitals_a_sentence_of_nouns_is_no_title() -> None:
    german = Side(dict.fromkeys("äöüß", 1000), {"ist": 9, "die": 8, "Hauptstadt": 5, "Deutschlands": 4, "in": 3}, 0.5)
    text = "Berlin ist die Hauptstadt Deutschlands."
    assert case_of(text) == "title"
    assert passage(text, Profile(german, german, 0.0, does_capitals=False)) == Passage(text, text)
    assert passage(text.upper(), Profile(german, german, 0.0, does_capitals=False)).case == "capitals"


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("1,000.5 people in 2026", "1.000,5 Leute 2026", None),
        ("5 and 7", "5", {"missing": ["7"], "added": []}),
        ("none", "3 und 3", {"missing": [], "added": ["3", "3"]}),
        ("17 Uhr, 14:35 Uhr", "5 p.m., 2:35 p.m.", None),
        ("at 5 pm with 6", "um 17 Uhr", {"missing": ["5", "6"], "added": ["17"]}),
    ],
)
def test_numbers_are_compared_whatever_separates_their_digits(source: str, translation: str, expected: object) -> None:
    assert differing_numerals(source, translation) == expected


@pytest.mark.parametrize(
    "run",
    [
        "a",
        ".",
        "`",
        "a_",
        "_",
        "a/",
        "/",
        "a.a",
        "--a",
        "#",
        "@",
        "C:\\",
        "{",
        "%",
        "a@",
        "a.",
        "9",
        "é",
        "<a ",
        "&a",
        "{{a",
        "$A",
        "w-",
        "[1]",
        "5€",
    ],
)
def test_no_text_however_strange_takes_long(run: str) -> None:
    text = run * (60_000 // len(run))
    began = time.process_time()
    layout(text, whole=[piece.span for piece in pieces_of(text, known)])
    passage(text)
    assert time.process_time() - began < 3, "one look at each place takes some hundredths of a second"
