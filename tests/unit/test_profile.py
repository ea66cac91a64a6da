"""The profile of a training text says what is in it, and survives its file."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.commands import run_here

from heedful.text.profile import PROFILE, LanguageCheck, Profile, Side, given_away, profile_of, read_profile

ENGLISH = [
    "the",
    "dog",
    "and",
    "the",
    "cat",
    "are",
    "in",
    "the",
    "house",
    "of",
    "my",
    "friend",
    "but",
    "I",
    "do",
    "not",
    "see",
    "them",
]
GERMAN = [
    "der",
    "Hund",
    "und",
    "die",
    "Katze",
    "sind",
    "in",
    "dem",
    "Haus",
    "von",
    "meinem",
    "Freund",
    "aber",
    "ich",
    "sehe",
    "sie",
    "nicht",
]


def sentence(words: list[str], rng: random.Random) -> str:
    return " ".join(["Yes", *rng.choices(words, k=9)]) + "."


@pytest.fixture
def profile() -> Profile:
    rng = random.Random(1)
    pairs = [(sentence(ENGLISH, rng), sentence(GERMAN, rng)) for _ in range(300)]
    return profile_of(pairs, {"source": {"a": 900, "é": 100, "ç": 99}, "target": {}})


def test_a_profile_keeps_many_frequent_words_and_of_rare_words_no_name() -> None:
    words = [f"Wort{'abcdefghij'[number % 10]}{'q' * (number // 10)}" for number in range(1500)]
    frequent = [("x", f"Ja {word}") for word in words for _ in range(6)]
    found = profile_of([*frequent, ("x", "Ja Geheimnis")], {"source": {}, "target": {}}).target
    assert len(found.word_counts) == 1500
    assert "Geheimnis" not in found.word_counts
    assert found.forms["worta"] == "Worta"


def test_the_corpus_has_the_profile_of_its_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(2)
    pairs = [(sentence(ENGLISH, rng) + f" Nº {n}.", sentence(GERMAN, rng)) for n in range(200)]
    (tmp_path / "text.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    options = ("--bpe-dropout", "0.1", "--copies", "2", "--vocab-size", "300")
    code, _, _ = run_here(capsys, "prepare", "--tsv", tmp_path / "text.tsv", "--output", tmp_path / "corpus", *options)
    assert code == 0
    found = read_profile(tmp_path / "corpus")
    assert found is not None
    assert found.source.character_counts == Counter("".join(source for source, _ in pairs))
    words = Counter(word for _, target in pairs for word in target.removesuffix(".").split()[1:])
    assert found.target.word_counts == words
    assert list(found.target.word_counts.values()) == sorted(words.values(), reverse=True)
    assert found.target.function_share == 1
    assert (found.lines_of_several, found.split) == (1.0, "lines")
    assert PROFILE in json.loads((tmp_path / "corpus" / "manifest.json").read_text())["files"]


def test_a_profile_knows_characters_words_and_what_a_line_is(profile: Profile) -> None:
    assert [profile.source.knows(one) for one in "éçZ"] == [True, False, True]
    assert profile.source.forms == {"i": "I"}
    assert profile.split == "sentences"
    assert len(profile.samples) == 40


def test_another_language_is_told_once_and_only_with_enough_words(profile: Profile) -> None:
    rng = random.Random(3)
    check = LanguageCheck(profile)
    assert not list(check.problems(["der Hund"]))
    assert not list(LanguageCheck(profile).problems([sentence(ENGLISH, rng) for _ in range(50)]))
    assert len(list(check.problems([sentence(GERMAN, rng)]))) == 1
    assert not list(check.problems([sentence(GERMAN, rng)] * 9))


def test_a_short_text_is_told_when_few_of_its_words_are_known(profile: Profile) -> None:
    rng = random.Random(5)
    for words in range(5, 10):
        assert len(list(LanguageCheck(profile).problems([" ".join(rng.choices(GERMAN, k=words))]))) == 1
        assert not list(LanguageCheck(profile).problems([" ".join(rng.choices(ENGLISH, k=words))]))
        some = [*rng.choices(ENGLISH, k=words // 3 + 1), *["Ingrid"] * (words - words // 3 - 1)]
        assert not list(LanguageCheck(profile).problems([" ".join(some)])), "names are in every language"


def test_words_tell_nothing_of_a_list_in_which_each_stands_once() -> None:
    names = [f"Ort{'abcdefghij'[number % 10]}{'q' * (number // 10)}" for number in range(900)]
    profile = profile_of([(f"x {name}", f"x {name}") for name in names], {"source": {}, "target": {}})
    assert profile.source.function_share < 0.2
    assert not list(LanguageCheck(profile).problems(["Lyon Riga Oslo Turin Brno", "Kiel Bern Graz Linz Genf Ulm"]))


def test_a_text_that_was_right_does_not_hide_one_that_is_wrong(profile: Profile) -> None:
    rng = random.Random(4)
    check = LanguageCheck(profile)
    assert not list(check.problems([sentence(ENGLISH, rng) for _ in range(500)]))
    assert list(check.problems([sentence(GERMAN, rng) for _ in range(8)]))


def test_an_empty_text_has_a_profile_too() -> None:
    nothing = profile_of([], {"source": {}, "target": {}})
    assert nothing == Profile(Side({}, {}, 0.0), Side({}, {}, 0.0), 0.0)
    assert not list(LanguageCheck(nothing).problems(["Any text is as good as any other to one who has read nothing."]))


def test_a_word_that_is_not_frequent_has_the_form_that_takes_fewer_subwords() -> None:
    side = Side({}, {"die": 9, "Stadt": 5, "gut": 3}, 0.5)
    lengths = {"Garten": 1, "garten": 2, "laufen": 1, "Laufen": 2, "gut": 9, "Gut": 1, "richard": 3, "Richard": 3}
    assert [side.usual_form(word, lengths.__getitem__) for word in ("garten", "laufen")] == ["Garten", "laufen"]
    assert side.usual_form("richard", lengths.__getitem__) == "Richard", "it may be a name"
    assert [side.usual_form(word, lengths.__getitem__) for word in ("stadt", "gut")] == ["Stadt", "gut"]
    assert side.usual_form("garten") == "garten"


def test_what_is_given_away_of_a_profile_is_small_and_has_no_sentences() -> None:
    counts = {f"w{number}": 10_000 - number for number in range(9000)}
    small = given_away(Profile(Side({"a": 1}, counts, 0.5), Side({"b": 2}, counts, 0.4), 0.1, samples=("A sentence.",)))
    assert [len(side.word_counts) for side in (small.source, small.target)] == [4500, 500]
    assert list(small.source.word_counts) == list(counts)[:4500]
    assert (small.samples, small.source.function_share, small.target.character_counts) == ((), 0.5, {"b": 2})
