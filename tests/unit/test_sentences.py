"""Sentences are found where readers see them, and nothing between them gets lost."""

from __future__ import annotations

import itertools
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
        ("Wait... What? ok", ["Wait...", "What? ok"]),
        ("hi there. how are you? fine.", ["hi there.", "how are you?", "fine."]),
        ("你好。我很好！", ["你好。", "我很好！"]),
        ("It is known.[1] They left.", ["It is known.[1]", "They left."]),
        ("  - First point.\n  - Second point.", ["First point.", "Second point."]),
        ("1. Open it.\n2) Close it.\n> Quoted.\n## Heading", ["Open it.", "Close it.", "Quoted.", "Heading"]),
        ("One line<br/>and another", ["One line", "and another"]),
        ("", []),
        (" \n\t ", []),
    ],
)  # fmt: skip
def test_sentences_are_where_a_reader_sees_them(text: str, sentences: list[str]) -> None:
    assert list(layout(text).sentences) == sentences


def test_lines_and_whole_texts_can_be_asked_for() -> None:
    text = " - One. Two.\nThree. "
    assert layout(text, split="lines").sentences == ("- One. Two.", "Three.")
    assert layout(text, split="never").sentences == ("- One. Two.\nThree.",)
    assert layout("Use `a. B` now. Yes.", whole=[(4, 10)]).sentences == ("Use `a. B` now.", "Yes.")


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
