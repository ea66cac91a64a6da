"""Sentences are found where readers see them, and nothing between them gets lost."""

from __future__ import annotations

import itertools
import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.sentences import Split, cut, layout

CHARACTERS = 'aB1 .!?…\n\r\t\u2028\u00a0"”)(-*>#。好😀<br/>`{}'
TEXTS = st.text(st.sampled_from(CHARACTERS), max_size=60) | st.text(max_size=40)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith met Dr. J. Jones at 5 p.m. yesterday. He left.",
         ["Mr. Smith met Dr. J. Jones at 5 p.m. yesterday.", "He left."]),
        ('"Really?" she asked. "Yes."', ['"Really?" she asked.', '"Yes."']),
        ("See No. 5 and Fig. 2. No. I will not.", ["See No. 5 and Fig. 2.", "No.", "I will not."]),
        ("It grew by 3.5 percent. That is a lot.", ["It grew by 3.5 percent.", "That is a lot."]),
        ("Am 3. Oktober war es. Dann nicht.", ["Am 3. Oktober war es.", "Dann nicht."]),
        ("Do, 19. Nov., um zwei. Am Mo, 3. Mär. auch.", ["Do, 19. Nov., um zwei.", "Am Mo, 3. Mär. auch."]),
        ("In der 32. Minute fiel es. Zum 200. Mal. Sie ist 12. Er auch.",
         ["In der 32. Minute fiel es.", "Zum 200. Mal.", "Sie ist 12.", "Er auch."]),
        ("I am 12. My sister is not.", ["I am 12.", "My sister is not."]),
        ("Es kostet 5 Mio. € oder 1,5 Mrd. Euro. Ja.", ["Es kostet 5 Mio. € oder 1,5 Mrd. Euro.", "Ja."]),
        ("Es sind 5 Mio. Das ist viel.", ["Es sind 5 Mio.", "Das ist viel."]),
        ("The U.S. Army left on Oct. 5. It is back in the U.S. The end.",
         ["The U.S. Army left on Oct. 5.", "It is back in the U.S.", "The end."]),
        ("Sie wohnt in der Goethestr. 5. Er nicht.", ["Sie wohnt in der Goethestr. 5.", "Er nicht."]),
        ("It is £5 (incl. 20% VAT). Yes.", ["It is £5 (incl. 20% VAT).", "Yes."]),
        ("So. 10-14 Uhr, Sa. 9-12 Uhr. So. Er kam. Er ist so. 5 kamen.",
         ["So. 10-14 Uhr, Sa. 9-12 Uhr.", "So.", "Er kam.", "Er ist so.", "5 kamen."]),
        ("Nach 2 Std. 30 Min. kam er. Ggf. Platz 6.", ["Nach 2 Std. 30 Min. kam er.", "Ggf. Platz 6."]),
        ("Wait... What? ok", ["Wait...", "What? ok"]),
        ("hi there. how are you? fine.", ["hi there.", "how are you?", "fine."]),
        ("你好。我很好！", ["你好。", "我很好！"]),
        ("It is known.[1] They left.", ["It is known.[1]", "They left."]),
        ("  - First point.\n  - Second point.", ["First point.", "Second point."]),
        ("1. Open it.\n2) Close it.\n> Quoted.\n## Heading", ["Open it.", "Close it.", "Quoted.", "Heading"]),
        ("One line<br/>and another", ["One line", "and another"]),
        ("🎉 We won! 😀🎉  See you there? ❤️", ["We won!", "See you there?", "❤️"]),
        ("It opens at 7 p.m. 👩‍👩‍👧 ☀️ “Come!”", ["It opens at 7 p.m.", "“Come!”"]),
        ("❤ is all you need. I ❤️ New York.", ["❤ is all you need.", "I ❤️ New York."]),
        ("😀" * 20_000 + "x", ["😀" * 20_000 + "x"]),
        ("😀 " * 20_000 + "x", ["😀 " * 20_000 + "x"]),
        ("", []),
        (" \n\t ", []),
    ],
)  # fmt: skip
def test_sentences_are_where_a_reader_sees_them(text: str, sentences: list[str]) -> None:
    assert list(layout(text).sentences) == sentences


@pytest.mark.parametrize("text", ["am 5. ", "der 12. Dann ", "1. ", "U.S. "])
def test_a_long_line_that_no_full_stop_ends_takes_no_time(text: str) -> None:
    began = time.process_time()
    layout(text * 10_000)
    assert time.process_time() - began < 2


def test_lines_and_whole_texts_can_be_asked_for() -> None:
    text = " - One. Two.\nThree. "
    assert layout(text, split="lines").sentences == ("- One. Two.", "Three.")
    assert layout(text, split="never").sentences == ("- One. Two.\nThree.",)
    assert layout("Use `a. B` now. Yes.", whole=[(4, 10)]).sentences == ("Use `a. B` now.", "Yes.")


def test_tabs_separate_cells_but_not_inside_of_what_is_whole_nor_where_lines_are_asked_for() -> None:
    assert layout("1.\tName:\tTom. He\t\tcame.\n\t- a\t").sentences == ("Name:", "Tom.", "He", "came.", "a")
    assert layout('<a\thref="x">y</a>\tz', whole=[(0, 12)]).sentences == ('<a\thref="x">y</a>', "z")
    assert layout("Name:     Tom    Age: 5\nOf   three").sentences == ("Name:", "Tom", "Age: 5", "Of   three")
    assert layout("a\tb\nc", split="lines").sentences == ("a\tb", "c")


def test_a_very_long_sentence_is_taken_apart_into_clauses_and_no_other_is() -> None:
    def words(count: int) -> str:
        return " ".join(["word"] * count)

    clauses = f"{words(20)};", f"{words(15)}, {words(15)}."
    assert layout(" ".join(clauses)).sentences == (" ".join(clauses),)  # 50 words
    longer = f"{words(21)};", clauses[1]
    assert layout(" ".join(longer)).sentences == longer  # a semicolon before a comma nearer to the middle
    only_commas = f"{words(9)},", f"{words(40)},", f"{words(30)}."
    assert layout(" ".join(only_commas)).sentences == (" ".join(only_commas[:2]), only_commas[2])
    assert len(layout(f"{words(70)}.").sentences) == 1  # between words there is no good place
    assert len(layout(f"{words(4)}, {words(60)}, {words(4)}.").sentences) == 1  # nor for a few of them
    in_code = f"{words(30)} `a; b` {words(30)}"
    assert layout(in_code, whole=[(in_code.index("`"), in_code.rindex("`") + 1)]).sentences == (in_code,)


@given(st.lists(st.sampled_from(["word", "word,", "word;", "Mr.", "End."]), min_size=40), st.sampled_from([" ", "  "]))
def test_a_very_long_text_comes_back_to_the_character_in_parts_worth_translating(words: list[str], gap: str) -> None:
    found = layout(gap.join(words))
    assert found.filled(found.sentences) == gap.join(words)
    assert all(len(part.split()) >= 8 for part in found.sentences[:-1] if part[-1] in ",;")


@given(TEXTS, st.sampled_from(get_args(Split)))
def test_any_text_comes_back_to_the_character(text: str, split: Split) -> None:
    found = layout(text, split=split)
    assert found.filled(found.sentences) == text
    assert all(sentence and sentence == sentence.strip() for sentence in found.sentences)


@given(TEXTS)
def test_lines_and_white_space_stay_whatever_the_sentences_become(text: str) -> None:
    found = layout(text)
    other = found.filled(["x"] * len(found.sentences))
    assert [character for character in other if character in "\n\r\u2028"] == [
        character for character in text if character in "\n\r\u2028"
    ]
    assert len(other) - len(other.lstrip()) == len(text) - len(text.lstrip())


@given(st.text(st.sampled_from("ab .,"), max_size=80), st.integers(1, 9))
def test_a_cut_text_loses_nothing_and_every_part_fits(text: str, most: int) -> None:
    spans = cut(text, range(1, len(text) + 1), most=most)
    kept = "".join(text[begin:end] for begin, end, _ in spans)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(len(text[begin:end]) <= most for begin, end, _ in spans)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
