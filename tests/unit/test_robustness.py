"""The checker of the 500 lines is fair and strict: what is right passes, and each kind of damage does not."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from robustness import problem, report  # pyright: ignore[reportMissingImports]
from robustness_lines import (  # pyright: ignore[reportMissingImports]
    COUNTS,
    CURRENCIES,
    LANGUAGES,
    Case,
    Language,
    amount,
    cases,
    date,
    decimal,
    integer,
    name,
    verbatim,
)

INTO: dict[Language, Language] = {"en": "de", "de": "en"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_500_lines_of_every_kind_and_a_right_translation_of_each_passes(language: Language) -> None:
    made = cases(language)
    assert len({case.line for case in made}) == 500
    assert Counter(case.kind for case in made) == COUNTS
    assert [(case.line, wrong) for case in made if (wrong := problem(case, case.reference, into=INTO[language]))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_not_translated_or_is_that_of_another_line_does_not_pass(language: Language) -> None:
    made = cases(language)
    assert [case.line for case in made if not problem(case, case.line, into=INTO[language])] == []
    assert [case.line for case in made if not problem(case, "", into=INTO[language])] == []
    with_values = [case for case in made if case.values or case.words]
    others = [*with_values[1:], with_values[0]]
    passed = [
        a.line for a, b in zip(with_values, others, strict=True) if not problem(a, b.reference, into=INTO[language])
    ]
    assert passed == []


def wrong(kind: str, line: str, translation: str, *values: object) -> str | None:
    return problem(Case(kind, line, values, (), ""), translation, into="de")  # pyright: ignore


@pytest.mark.parametrize(
    ("value", "right", "damaged"),
    [
        (name("Siobhán O'Brien"), ["Siobhán O'Brien", "Siobhán O’Briens"], ["Siobhan O'Brien", "Siobhán"]),
        (integer(3417), ["3.417", "3,417", "3417", "3 417"], ["34.17", "3.4177", "13.417", "341", "3.417 3.417", ""]),
        (integer(444), ["444", "vierhundertvierundvierzig"], ["44", "4444", "vierundvierzig"]),
        (decimal("12.75"), ["12,75", "12.75"], ["1275", "12,7", "12,750", "2,75"]),
        (amount("1,299.50", CURRENCIES[0]), ["1.299,50 €", "€1,299.50", "1.299,50 Euro"], ["1.299,50", "1.299 €", "€"]),
        (date(2025, 3, 14, 0), ["14. März 2025", "14.03.2025", "14.3.2025", "2025-03-14", "vierzehnten März 2025"],
         ["14 März 2025", "14. Mai 2025", "14. März", "4. März 2025", "14.03.2052", "2025.03.14"]),
        (verbatim("a.b@c.example"), ["a.b@c.example"], ["a.b @ c.example", "a.b@c.beispiel", "A.b@c.example"]),
        (verbatim("👍🏽"), ["👍🏽"], ["👍", "👍🏽👍🏽", "��", ""]),
    ],
)  # fmt: skip
def test_every_right_form_of_a_value_passes_and_no_damaged_one(
    value: object, right: list[str], damaged: list[str]
) -> None:
    line = "It is x and was it for a long time."
    for form in right:
        assert wrong("", line, f"Es ist {form} und war es lange.", value) is None
    for form in damaged:
        assert wrong("", line, f"Es ist {form} und war es lange.", value), form
    for more in ("7", "€", "@", "<b>", "😀", "X", "\ufffd"):  # what nobody asked for
        assert wrong("", line, f"Es ist {right[0]} und war es {more} lange.", value), more


def test_tags_must_all_be_there_in_order_around_something_and_capitals_be_capitals_that_say_it() -> None:
    line = "A <b>red <i>car</i></b> stands here.<br/>"
    assert wrong("tags", line, "Hier steht ein <b>rotes <i>Auto</i></b>.<br/>") is None
    for damaged in (
        *("<b>rotes <i>Auto</b></i>.<br/>", "</b>rotes <i>Auto</i><b>.<br/>", "<b>rotes <i>Auto</i></b>."),
        *("<b>rotes <i></i></b> Auto.<br/>", "<b>rotes <i>Auto</i>.<br/>", "<b>rotes <i>Auto</i></b></b>.<br/>"),
    ):
        assert wrong("tags", line, f"Hier steht ein {damaged}"), damaged
    shout = Case("CAPITALS", "THE DOOR IS OPEN", (), (("TÜR", "TOR"), ("OFFEN", "GEÖFFNET")), "")
    assert problem(shout, "DIE TÜR IST GEÖFFNET", into="de") is None
    for damaged in ("Die Tür ist offen", "DIE TUR IST OFFEN", "DIE TÜR IST", "DIE TÜR IST offen"):
        assert problem(shout, damaged, into="de"), damaged


def test_the_report_counts_what_is_right_of_each_kind() -> None:
    made = cases("en")
    checked = [(case, "", None if case.kind != "dates" else "lost") for case in made]
    found = report(checked)
    assert found["right"] == 440 / 500
    assert {kind for kind, row in found["kinds"].items() if row["right"] < 1} == {"dates"}
    assert len(found["wrong"]) == 60
