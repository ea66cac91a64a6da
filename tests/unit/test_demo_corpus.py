"""The generated corpus: the same everywhere, no sentence twice, and a test of what training did not show."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from heedful.demo.alignment import tokens_of
from heedful.demo.corpus import GeneratedCorpus, corpus, pair_of, pairs, write_corpus
from heedful.demo.sampling import sentence
from heedful.demo.sentences import Clause, NounPhrase, Sentence
from heedful.errors import CorpusError

DIGEST_OF_1000 = "1094835af94fde6b6473f4b74a6670f0f79a1e0dbced516e797df009f15c0554"
"""Of seed 1's first pairs, by `first_lines`. It changes with every change of a word or a rule: then pin it anew."""


@cache
def parts() -> GeneratedCorpus:
    return corpus(2, train=5000, valid=100, test=200)


def first_lines() -> str:
    return "".join(f"{pair.english}\t{pair.german}\t{pair.pharaoh}\n" for pair in pairs(1, 1000))


def walked(said: Sentence) -> list[tuple[str, str, int]]:
    """Every verb with its object's noun and the number of its construction, found by walking the sentence's values."""
    nested = ["because", "that", "whether", "purpose", "contrast", "condition", "coordination"]
    found: list[tuple[str, str, int]] = []

    def visit(clause: Clause, place: int, head: str = "") -> None:
        noun = clause.object.noun.english if isinstance(clause.object, NounPhrase) else head
        if clause.verb and noun:
            found.append((clause.verb.name, noun, place))
        for phrase in (clause.subject, clause.object):
            if isinstance(phrase, NounPhrase) and phrase.relative:
                by_object = phrase.relative.gap == "object"
                visit(phrase.relative, 100 + by_object, phrase.noun.english if by_object else "")

    simple = ["statement", "fronted", "topic", "question", "wh-question", "which-question", "imperative"]
    simple += ["coordination", "condition"]
    visit(said.main, simple.index(said.construction) if said.construction in simple else 0)
    if said.other:
        joined = nested.index(said.construction)
        visit(said.other, simple.index("coordination") if said.construction == "coordination" else 200 + joined)
    return found


def test_no_verb_and_object_of_a_test_sentence_met_its_construction_in_training() -> None:
    seen = {combination for pair in parts().train for combination in walked(pair.sentence)}
    for pair in (*parts().valid, *parts().test):
        assert set(walked(pair.sentence)) - seen, f"nothing in {pair.english!r} is new"
    # Not by lack of training text: most of the combinations of other sentences are there.
    others = [combination for index in range(8000, 8500) for combination in walked(sentence(3, index))]
    assert sum(combination in seen for combination in others) > 0.3 * len(others)


def test_what_is_new_in_the_test_is_new_in_any_amount_of_training_text() -> None:
    wanted = {combination for pair in parts().test for combination in walked(pair.sentence)}
    small = {c for pair in parts().train for c in walked(pair.sentence)} & wanted
    more = {c for pair in corpus(99, train=4000, valid=0, test=0).train for c in walked(pair.sentence)} & wanted
    for pair in parts().test:
        assert set(walked(pair.sentence)) - small - more


def test_the_words_of_the_test_are_known_from_training() -> None:
    for side in (lambda pair: pair.english, lambda pair: pair.german):
        counts = Counter(word for pair in parts().train for word in tokens_of(side(pair)))
        words = [word for pair in parts().test for word in tokens_of(side(pair))]
        assert sum(counts[word] >= 5 for word in words) > 0.97 * len(words)


def test_no_sentence_comes_twice_on_either_side() -> None:
    everything = [*parts().train, *parts().valid, *parts().test]
    assert len(everything) == 5300
    assert len({pair.english for pair in everything}) == 5300
    assert len({pair.german for pair in everything}) == 5300


def test_sentences_are_of_four_to_eighteen_words_nine_on_average() -> None:
    lengths = [len(pair.english.split()) for pair in parts().train]
    assert (min(lengths), max(lengths)) >= (4, 12)
    assert max(lengths) <= 18
    assert 8 <= sum(lengths) / len(lengths) <= 10


def test_the_first_pairs_are_the_same_on_every_machine() -> None:
    assert hashlib.sha256(first_lines().encode()).hexdigest() == DIGEST_OF_1000


def test_another_process_with_other_hashes_draws_the_same() -> None:
    code = "from heedful.demo.corpus import pairs; print([pair.pharaoh for pair in pairs(4, 50)])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{[pair.pharaoh for pair in pairs(4, 50)]}\n"}


def test_seeds_and_indices_give_different_sentences_and_more_pairs_do_not_change_the_first() -> None:
    assert pairs(1, 30) == pairs(1, 60)[:30]
    one, other = ({pair.english for pair in pairs(seed, 300)} for seed in (1, 2))
    assert len(one & other) < 5
    assert sentence(1, 17) == sentence(1, 17)
    assert pair_of(sentence(1, 17)) != pair_of(sentence(1, 18))


def test_what_is_written_is_what_was_drawn_and_says_that_it_is_generated(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    write_corpus(folder, seed=2, train=50, valid=10, test=20)
    drawn = corpus(2, train=50, valid=10, test=20)
    names = {f"{part}.{side}" for part in ("train", "valid", "test") for side in ("en", "de", "align")}
    assert {path.name for path in folder.iterdir()} == names - {"train.align"} | {"README.txt"}
    lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in folder.iterdir()}
    assert lines["train.de"] == [pair.german for pair in drawn.train]
    assert lines["test.en"] == [pair.english for pair in drawn.test]
    assert lines["test.align"] == [pair.pharaoh for pair in drawn.test]
    assert "generated" in lines["README.txt"][0]
    assert "Seed 2: 50 pairs" in " ".join(lines["README.txt"])


def test_a_folder_with_something_in_it_is_left_alone_unless_overwriting_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(CorpusError, match="not empty"):
        write_corpus(tmp_path, train=2, valid=1, test=1)
    write_corpus(tmp_path, train=2, valid=1, test=1, overwrite=True)
    assert (tmp_path / "mine.txt").exists()


def test_a_size_below_zero_is_refused() -> None:
    with pytest.raises(CorpusError, match="valid = -1 sentence pairs"):
        corpus(1, train=1, valid=-1, test=1)
