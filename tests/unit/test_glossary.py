"""Glossaries: which terms a sentence holds, how their translations are spelled, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import SearchError, TextError
from heedful.search.required import MOST_REQUIRED
from heedful.text.subwords import Subwords
from heedful.translation.glossary import Glossary, read_glossary, spellings

TERMS = {
    "contract": "Vertrag",
    "data": "Angaben",
    "data protection": "Datenschutz",
    "IT": "EDV",
    "Apple": "Apple",
    "apple": "Apfel",
    "e-mail": "E-Post",
    "however": "indessen",
}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The contract is signed.", ["contract"]),
        ("CONTRACT: sign here", ["contract"]),
        ("Contracts and subcontract", []),
        ("the contract's price, the contract.", ["contract"]),
        ("Data  protection and data", ["data protection", "data"]),
        ("It is in the IT room", ["IT"]),
        ("Apple sells an apple", ["Apple", "apple"]),
        ("an e-mail, an email", ["e-mail"]),
        ("", []),
        ("However, it rained.", ["however"]),
    ],
)
def test_a_term_is_a_whole_word_and_small_letters_find_any(text: str, terms: list[str]) -> None:
    assert list(Glossary(TERMS).found_in(text)) == terms


@pytest.mark.parametrize(
    ("translation", "missing"),
    [
        ("Der Vertrag liegt vor.", False),
        ("Der Preis des Vertrags", False),
        ("„Vertrag“", False),
        ("DER VERTRAG", False),
        ("Der Kaufvertrag", True),
        ("Ein KaufVertrag", True),
        ("Das Abkommen", True),
    ],
)
def test_a_translation_is_placed_at_the_beginning_of_a_word(translation: str, missing: bool) -> None:
    assert Glossary(TERMS).unplaced("A contract.", translation) == ({"contract": "Vertrag"} if missing else {})


def test_a_translation_may_begin_a_sentence_and_needs_no_space_where_a_script_has_none() -> None:
    assert not Glossary({"however": "indessen"}).unplaced("However, no.", "Indessen nein.")
    assert not Glossary({"dog": "犬"}).unplaced("A dog.", "大犬が")


LINES = [f"Der Vertrag {word} des Vertrags, „Vertrag“ und Vertrages." for word in ("eins", "zwei", "drei")] * 20


@given(translation=st.text(st.sampled_from("Veträgs -犬xyz0(„"), min_size=1, max_size=8))
def test_each_way_to_spell_a_translation_is_its_text(translation: str) -> None:
    subwords = Subwords.train(LINES, vocab_size=330)
    translation = " ".join(translation.split())
    if not translation:
        return
    ways = spellings(translation, subwords)
    texts = [b"".join(subwords.id_bytes[id_] for id_ in way.ids).decode() for way in ways]
    capital = translation[0].upper() + translation[1:]
    assert texts[0] == (translation if translation[0] == "犬" else f" {translation}")
    assert set(texts) <= {translation, capital, f" {translation}", f" {capital}"}
    assert len(ways) <= MOST_REQUIRED.ways


def test_a_subword_with_an_ending_stands_for_the_word() -> None:
    subwords = Subwords.train(LINES, vocab_size=400)
    ways = spellings("Vertrag", subwords)
    assert subwords.decode(ways[0].ids) == "Vertrag"
    assert {subwords.decode([id_]) for id_ in ways[0].longer} >= {"Vertrags"}


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("contract\tVertrag\n\n data  base \tDatenbank \ncontract\tVertrag\n", encoding="utf-8")
    assert read_glossary(path).found_in("a contract, a data base") == {"contract": "Vertrag", "data base": "Datenbank"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\tb\ncontract Vertrag\n", "terms.tsv, line 2: 1 fields where a term, a tab and its translation should be"),
        ("a\tb\tc\n", "line 1: 3 fields"),
        ("a\t\n", "line 1: the translation is empty"),
        ("\tb\n", "line 1: the term is empty"),
        ("a\tb\na\tc\n", "line 2: 'a' has another translation on line 1"),
        ("a\tb\x07\n", r"line 1: it holds '\\x07', which no translation can hold"),
        ("a\t\N{REPLACEMENT CHARACTER}\n", r"line 1: it holds '\\ufffd'"),
        ("\n\n", "is an empty glossary"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TextError, match=says):
        read_glossary(path)


def test_a_wrong_entry_is_named_in_python_too() -> None:
    with pytest.raises(SearchError, match="glossary, 'a': the translation is empty"):
        Glossary({"a": " "})
