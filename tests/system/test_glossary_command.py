"""``heedful translate --glossary`` and the Python API with the model that comes with heedful."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.commands import run_here

import heedful
from heedful.errors import SearchError
from heedful.search.options import SearchOptions
from heedful.translation.translator import Translator

TERMS = {
    "contract": "Abkommen",
    "car": "Fahrzeug",
    "IT": "EDV",
    "customer": "Klient",
    "invoice": "Faktura",
    "phone": "Handy",
    "dog": "Vierbeiner",
    "garden": "Park",
    "meeting": "Sitzung",
    "however": "allerdings",
    "teacher": "Lehrkraft",
}
SENTENCES = {
    "The contract is for my car.": "Vertrag Auto",
    "The customer's contract was signed yesterday.": "Vertrag Kunden",
    "The customer has not paid the invoice yet.": "Kunde Rechnung",
    "My dog is sleeping in the garden.": "Hund Garten",
    "However, the meeting was cancelled at the last minute.": "Besprechung",
    "Download the update before you restart your phone.": "Telefon",
    "She works in the IT department of a large company.": "IT-Abteilung",
    "The price of the contract was higher than the customer expected.": "Kunde",
    "The teacher is in the garden.": "Lehrer Garten",
    "We bought a new car last week.": "Auto",
}
"""Each with the words that would say the same once more."""


@pytest.fixture(scope="module")
def translator() -> Translator:
    return heedful.load("en-de-small", device="cpu")


def test_terms_stand_where_they_belong_and_the_rest_of_the_sentence_stays(translator: Translator) -> None:
    plain = translator.translate(list(SENTENCES))
    with_terms = translator.translate(list(SENTENCES), glossary=TERMS)
    for (sentence, twice), before, after in zip(SENTENCES.items(), plain, with_terms, strict=True):
        wanted = [TERMS[term] for term in TERMS if re.search(rf"\b{term}\b", sentence, 0 if term == "IT" else re.I)]
        assert wanted
        assert all(re.search(rf"\b{word}", after) for word in wanted), (sentence, after)
        assert not set(twice.split()) & set(re.findall(r"[\w-]+", after)), (sentence, after)
        assert abs(len(after.split()) - len(before.split())) <= 2, (sentence, after)
        assert after[0].isupper()
        assert after.endswith(".")


def test_a_sentence_without_terms_is_translated_as_ever(translator: Translator) -> None:
    lines = ["Where is the nearest station?", "My dog is old.", "I have never been so tired in my life."]
    before = [found[0] for found in translator.hypotheses(lines)]
    options = SearchOptions.of(translator.saved.config.search)
    asked = translator.translate(lines, options=options, glossary={"dog": "Vierbeiner", "unicorn": "Einhorn"})
    assert [asked[0], asked[2]] == [before[0].text, before[2].text]
    assert "Vierbeiner" in asked[1]


def test_what_cannot_be_placed_is_said_at_the_end_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "terms.tsv").write_text("car\tFahrzeug\ndog\t§\n", encoding="utf-8")
    arguments = ["--glossary", str(tmp_path / "terms.tsv"), "--forbid", "§", "--device", "cpu", "--json"]
    code, out, err = run_here(capsys, "translate", *arguments, "My car is red.", "The dog is sleeping.")
    assert code == 0
    first, second = map(json.loads, out.splitlines())
    assert first["translations"][0]["unplaced"] == {}
    assert second["translations"][0]["unplaced"] == {"dog": "§"}
    assert "§" not in second["translations"][0]["text"]
    assert err.count("could not be placed: line 2: dog → §") == 1


def test_a_glossary_is_for_beam_search_alone(translator: Translator) -> None:
    with pytest.raises(SearchError, match="a glossary: for beam search alone, and this is greedy search"):
        translator.translate(["A dog."], options=SearchOptions(method="greedy"), glossary=TERMS)
