"""Paper-style BLEU is what counting n-grams by hand gives, on the words the authors' recipe makes."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import PurePath

import pytest

from heedful.errors import MissingExtraError, ScoreError
from heedful.evaluation.counts import LANGUAGES, bleu_counts, compounds_split, language_of, paper_bleu_counts
from heedful.evaluation.translation_scores import TestSet, system_report

REFERENCES = [
    "Der 32-jährige Mann sagte: „Das ist's!“, und ging z. B. nach Baden-Baden.",
    "Ein rot-weiß-rotes Auto (neu) & ein Fahrrad kosten 1.000,50 Euro.",
    'Sie sagte "Ja", er nicht - und Herr Dr. Meier-Müller schwieg.',
    "Kurz.",
]
OUTPUTS = [
    "Der 32-jährige Mann sagte: „Das ist's“, und ging nach Baden-Baden.",
    "Ein rot-weißes Auto (neu) & Fahrrad kosten 1.000,50 Euro.",
    'Sie sagte "ja", er nicht - und Dr. Meier-Müller schwieg.',
    "Kurz.",
]


def bleu_by_hand(outputs: list[list[str]], references: list[list[str]]) -> float:
    """Equation by equation from Papineni et al. (2002), without smoothing."""
    precisions = []
    for order in range(1, 5):
        matched = total = 0
        for output, reference in zip(outputs, references, strict=True):
            found, wanted = (
                Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))
                for words in (output, reference)
            )
            matched += sum((found & wanted).values())
            total += sum(found.values())
        precisions.append(matched / total if total else 0.0)
    if min(precisions) == 0:
        return 0.0
    length, wanted_length = sum(map(len, outputs)), sum(map(len, references))
    brevity = 1.0 if length >= wanted_length else math.exp(1 - wanted_length / length)
    return 100 * brevity * math.prod(precisions) ** 0.25


def test_it_is_bleu_by_hand_over_moses_words() -> None:
    moses = pytest.importorskip("sacremoses", reason="an extra: pip install 'heedful[moses]'")
    tokenizer = moses.MosesTokenizer("de")

    def words(line: str) -> list[str]:
        return compounds_split(" ".join(tokenizer.tokenize(line))).split(" ")

    counted = paper_bleu_counts(OUTPUTS, REFERENCES, language="de")
    by_hand = bleu_by_hand([words(line) for line in OUTPUTS], [words(line) for line in REFERENCES])
    assert counted.value == pytest.approx(by_hand, abs=1e-9)
    assert abs(counted.value - bleu_counts(OUTPUTS, REFERENCES).value) > 0.5  # another score, and so another name
    assert counted.name == "paper-style BLEU"
    assert f"case:mixed|eff:no|tok:moses-de+hyphens|sacremoses:{moses.__version__}|smooth:none" in counted.signature


def test_an_order_without_a_match_makes_it_zero() -> None:
    pytest.importorskip("sacremoses", reason="an extra: pip install 'heedful[moses]'")
    assert paper_bleu_counts(["a b c x"], ["a b c d"], language="en").value == 0
    assert bleu_counts(["a b c x"], ["a b c d"]).value > 0
    assert paper_bleu_counts(["a b c d"], ["a b c d"], language="en").value == pytest.approx(100)


def test_case_counts() -> None:
    pytest.importorskip("sacremoses", reason="an extra: pip install 'heedful[moses]'")
    assert paper_bleu_counts(["der Hund ist da ."], ["Der Hund ist da ."], language="de").value < 100


@pytest.mark.parametrize(
    ("line", "split"),
    [
        ("rich-text", "rich ##AT##-##AT## text"),
        ("rot-weiß-rot", "rot ##AT##-##AT## weiß ##AT##-##AT## rot"),
        ("a-b-c", "a ##AT##-##AT## b-c"),  # as in Perl: the b belongs to the first match
        ("ein - zwei -drei vier-", "ein - zwei -drei vier-"),
        ("--", "--"),
        ("Straße-ß", "Straße ##AT##-##AT## ß"),
    ],
)
def test_hyphens_between_characters_become_words(line: str, split: str) -> None:
    assert compounds_split(line) == split


@pytest.mark.parametrize(
    ("name", "language"),
    [("a/test.de", "de"), ("newstest2014.en-de.de.gz", "de"), ("x.fr.xz", "fr"), ("out", None), ("out.txt.gz", None)],
)
def test_the_language_is_in_the_name(name: str, language: str | None) -> None:
    assert language_of(PurePath(name)) == language


def test_the_languages_are_those_of_the_package() -> None:
    pytest.importorskip("sacremoses", reason="an extra: pip install 'heedful[moses]'")
    from sacremoses.corpus import NonbreakingPrefixes  # pyright: ignore[reportMissingImports]

    # Japanese and Korean have no prefixes, but an alphabet of their own in the tokenizer.
    assert {*NonbreakingPrefixes().available_langs.values(), "ja", "ko"} == LANGUAGES
    with pytest.raises(ScoreError, match=r"--language xx: Moses' tokenizer has rules for as, bn, .* zh"):
        paper_bleu_counts(["a"], ["a"], language="xx")


def test_without_the_extra_it_is_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'heedful\[moses\]'"):
        paper_bleu_counts(["a"], ["a"], language="de")
    report = system_report(TestSet(REFERENCES), OUTPUTS, language="de")
    assert [score.name for score in report.scores] == ["BLEU", "chrF2", "TER"]
    assert "heedful[moses]" in report.left_out["paper-style BLEU"]


def test_a_language_that_nobody_knows_is_never_taken_for_english() -> None:
    report = system_report(TestSet(REFERENCES), OUTPUTS, language=None)
    assert [score.name for score in report.scores] == ["BLEU", "chrF2", "TER"]
    assert report.left_out["paper-style BLEU"].startswith("the language of the references is not known; --language")
