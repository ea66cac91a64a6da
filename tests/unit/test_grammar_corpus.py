"""The generated corpus: the same everywhere, no sentence twice, and a test of what training did not show."""

from __future__ import annotations

import bz2
import hashlib
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from examples.grammar.corpus import GeneratedCorpus, corpus, corpus_lines, pair_of, pairs
from examples.grammar.sampling import sentence
from examples.grammar.sentences import Clause, NounPhrase, Sentence

from heedful.demo.stages import TEXT, tokens_of, write_demo_text
from heedful.errors import DemoError

TRAIN, HELD_OUT = 50_000, 1_300
DIGEST_OF_1000 = "1094835af94fde6b6473f4b74a6670f0f79a1e0dbced516e797df009f15c0554"
"""Of seed 1's first pairs, by `first_lines`. It changes with every change of a word or a rule: then pin it anew."""


@cache
def parts() -> GeneratedCorpus:
    return corpus(2, train=5000, held_out=300)


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
    for pair in parts().held_out:
        assert set(walked(pair.sentence)) - seen, f"nothing in {pair.english!r} is new"
    # Not by lack of training text: most of the combinations of other sentences are there.
    others = [combination for index in range(8000, 8500) for combination in walked(sentence(3, index))]
    assert sum(combination in seen for combination in others) > 0.3 * len(others)


def test_what_is_new_in_the_test_is_new_in_any_amount_of_training_text() -> None:
    wanted = {combination for pair in parts().held_out for combination in walked(pair.sentence)}
    small = {c for pair in parts().train for c in walked(pair.sentence)} & wanted
    more = {c for pair in corpus(99, train=4000, held_out=0).train for c in walked(pair.sentence)} & wanted
    for pair in parts().held_out:
        assert set(walked(pair.sentence)) - small - more


def test_the_words_of_the_test_are_known_from_training() -> None:
    for side in (lambda pair: pair.english, lambda pair: pair.german):
        counts = Counter(word for pair in parts().train for word in tokens_of(side(pair)))
        words = [word for pair in parts().held_out for word in tokens_of(side(pair))]
        assert sum(counts[word] >= 5 for word in words) > 0.97 * len(words)


def test_no_sentence_comes_twice_on_either_side() -> None:
    everything = [*parts().train, *parts().held_out]
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
    code = "from examples.grammar.corpus import pairs; print([pair.pharaoh for pair in pairs(4, 50)])"
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


def test_the_text_of_the_package_is_what_the_grammar_writes() -> None:
    """The beginnings of both its parts; all of it, to the byte, in the long test."""
    lines = bz2.decompress(TEXT.read_bytes()).decode().splitlines(keepends=True)
    assert len(lines) == HELD_OUT + TRAIN
    assert "".join([*lines[:200], *lines[HELD_OUT : HELD_OUT + 1500]]) == corpus_lines(1, train=1500, held_out=200)


@pytest.mark.long
def test_the_command_writes_the_text_of_the_package_again_to_the_byte(tmp_path: Path) -> None:
    again = tmp_path / "text.tsv.bz2"
    subprocess.run([sys.executable, "-m", "examples.grammar", again], check=True)
    assert again.read_bytes() == TEXT.read_bytes()


def test_no_sentence_of_the_package_comes_twice_on_either_side() -> None:
    pairs = [line.split("\t") for line in bz2.decompress(TEXT.read_bytes()).decode().splitlines()]
    assert [len(pair) for pair in pairs] == [3] * HELD_OUT + [2] * TRAIN
    for side in (0, 1):
        assert len({pair[side] for pair in pairs}) == HELD_OUT + TRAIN


def test_what_is_written_is_what_was_drawn_and_says_that_it_is_generated(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    write_demo_text(folder, train=50, valid=10, test=20)
    drawn = corpus(1, train=50, held_out=30)
    names = {f"{part}.{side}" for part in ("train", "valid", "test") for side in ("en", "de", "align")}
    assert {path.name for path in folder.iterdir()} == names - {"train.align"} | {"README.txt"}
    lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in folder.iterdir()}
    assert lines["train.de"] == [pair.german for pair in drawn.train]
    assert lines["valid.align"] == [pair.pharaoh for pair in drawn.held_out[:10]]
    assert lines["test.en"] == [pair.english for pair in drawn.held_out[10:]]
    assert lines["test.align"] == [pair.pharaoh for pair in drawn.held_out[10:]]
    assert "generated" in lines["README.txt"][0]
    assert "50 pairs to train on, 10 to validate, 20 to test" in " ".join(lines["README.txt"])


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DemoError, match="not empty: give another folder"):
        write_demo_text(tmp_path, train=2, valid=1, test=1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((-1, 1, 1), "train = -1 pairs: the demo's text has 0 to 50,000"),
        ((TRAIN + 1, 1, 1), "train = 50,001 pairs: the demo's text has 0 to 50,000"),
        ((1, 301, 1000), r"valid \+ test = 1,301 pairs: the demo's text has 0 to 1,300"),
        ((1, -1, 9), "valid = -1 and test = 9 pairs: both must be 0 or more"),
    ],
)
def test_more_than_there_is_and_less_than_nothing_are_refused(
    tmp_path: Path, sizes: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(DemoError, match=message):
        write_demo_text(tmp_path / "text", train=sizes[0], valid=sizes[1], test=sizes[2])
    assert not (tmp_path / "text").exists()
