"""The demo's plan, and how it measures alignments."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from examples.grammar.corpus import pairs

from heedful.demo.page import after_training, next_commands
from heedful.demo.plan import PLAN, TEST, TRAIN, VALID, Tour, begun
from heedful.demo.results import AlignedText, alignment_score, most_reordered, token_weights, tokens_at
from heedful.demo.stages import FOR_EVALUATION, LEAST_SHARE, with_training_minutes
from heedful.errors import DemoError
from heedful.evaluation.alignments import gold_alignment
from heedful.text.subwords import Subwords


def subwords(size: int) -> Subwords:
    generated = pairs(1, 200)
    lines = [line for pair in generated for line in (pair.english, pair.german)]
    return Subwords.train(lines, vocab_size=size)


@pytest.mark.parametrize("size", [300, 400, 1200])
def test_the_tokens_that_gold_alignments_number_get_their_own_subwords(size: int) -> None:
    """Whatever the vocabulary: a token's subwords spell it, and no subword but a lone space is left over."""
    vocabulary = subwords(size)
    for pair in pairs(2, 100):
        for line, side in ((pair.english, 0), (pair.german, 1)):
            ids = vocabulary.encode([line])[0]
            tokens = tokens_at(line, vocabulary)
            for token in tokens:
                assert vocabulary.decode(ids[list(token.places)]) in (token.text, f" {token.text}")
            assert max(link[side] for link in pair.alignment) < len(tokens)
            covered = [place for token in tokens for place in token.places]
            spaces = [place for place, piece in enumerate(vocabulary.pieces(ids)) if piece == " "]
            assert sorted([*covered, *spaces]) == list(range(len(ids)))


class Attending:
    """In place of a translator: each subword of a token attends to the last one of the token that it is told to."""

    def __init__(self, vocabulary: Subwords, layers: list[dict[str, list[tuple[int, int]]]]) -> None:
        config = SimpleNamespace(model=SimpleNamespace(decoder_layers=len(layers)))
        self.saved: Any = SimpleNamespace(source_subwords=vocabulary, target_subwords=vocabulary, config=config)
        self._layers = layers

    def attention(self, line: str, *, target: str) -> Any:
        source, produced = (tokens_at(text, self.saved.source_subwords) for text in (line, target))
        sizes = [len(self.saved.source_subwords.encode([text])[0]) + 1 for text in (target, line)]
        cross = np.zeros((len(self._layers), 2, *sizes), np.float32)
        cross[:, :, :, -1] = 0.1  # the end symbol, which no token is
        for layer, links in enumerate(self._layers):
            for at, token in links[line]:
                cross[layer, :, list(produced[token].places), source[at].places[-1]] = 0.9
        return SimpleNamespace(cross=cross)


ENGLISH, GERMAN = "We know, Anna sleeps.", "Wir wissen, dass Anna schläft."
GOLD = "0-0 1-1 2-2 2-3 3-4 4-5 5-6"
RIGHT = [(0, 0), (1, 1), (2, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
SWAPPED = [*RIGHT[:4], (4, 4), (3, 5), (5, 6)]


def text(english: str) -> AlignedText:
    return AlignedText([english], [GERMAN], [gold_alignment(GOLD)])


def test_the_layer_is_chosen_on_validation_text_and_scored_on_the_test() -> None:
    other = "They know, Anna sleeps."
    layers = [{ENGLISH: SWAPPED, other: RIGHT}, {ENGLISH: RIGHT, other: SWAPPED}]
    translator: Any = Attending(subwords(300), layers)
    told: list[int] = []
    score = alignment_score(translator, valid=text(ENGLISH), test=text(other), reached=told.append)
    # SWAPPED has five of its seven links right: 1 − (5 + 5) / (7 + 7).
    assert score.by_layer == pytest.approx([4 / 14, 0])
    assert score.layer == 2
    assert score.error_rate == pytest.approx(4 / 14)
    # Six tokens against seven, by the middle of each: 0 1 2 3 3 4 5, of which all but the fourth are right.
    assert score.diagonal == pytest.approx(2 / 14)
    assert told == [1, 2]


def test_a_token_weighs_what_its_subwords_do() -> None:
    translator: Any = Attending(subwords(300), [{ENGLISH: RIGHT}])
    (weights,) = token_weights(translator, ENGLISH, GERMAN)
    assert weights.shape == (7, 6)
    for target, source in itertools.product(range(7), range(6)):
        assert weights[target, source] == pytest.approx(0.9 if (source, target) in RIGHT else 0.0)


def test_the_sentence_for_the_picture_is_the_one_whose_words_move_most() -> None:
    gold = [gold_alignment(line) for line in ("0-0 1-1 2-2 3-3", "3-0 2-1 1-2 3-3", "0-0 1-2 2-1 3-3")]
    lines = ["a b c d"] * 3
    assert most_reordered(AlignedText(lines, lines, gold)) == 1
    assert most_reordered(AlignedText(lines, lines, gold), among=1) == 0
    assert most_reordered(AlignedText(lines, lines, gold), longest=3) == 0


def test_a_demo_is_remembered_and_less_time_means_less_text(tmp_path: Path) -> None:
    whole = begun(tmp_path / "a", seed=1, minutes=8)
    half = begun(tmp_path / "b", seed=1, minutes=2)
    assert (whole.train, whole.valid, whole.test) == (TRAIN, VALID, TEST)
    assert (half.train, half.valid, half.test) == (TRAIN // 2, VALID // 2, TEST // 2)
    assert begun(tmp_path / "b", seed=1, minutes=2) == half
    longer = begun(tmp_path / "b", seed=1, minutes=4)
    assert longer == dataclasses.replace(half, minutes=4)
    assert begun(tmp_path / "b", seed=1, minutes=4) == longer


def test_training_gets_what_is_left_and_keeps_it(tmp_path: Path) -> None:
    tour = begun(tmp_path / "demo", seed=1, minutes=4)
    begins = with_training_minutes(tour, seconds=30)
    assert begins.training_minutes == pytest.approx(4 - 0.5 - FOR_EVALUATION)
    assert begun(tmp_path / "demo", seed=1, minutes=4) == begins
    assert with_training_minutes(begins, seconds=200) == begins
    assert begun(tmp_path / "demo", seed=1, minutes=5).training_minutes is None
    late = with_training_minutes(tour, seconds=1000)
    assert late.training_minutes == pytest.approx(LEAST_SHARE * 4)
    # With more minutes, those that training has had already do not count against what is left of them.
    (tour.run).mkdir()
    (tour.run / "status.json").write_text(json.dumps({"minutes": 3.0}))
    again = begun(tmp_path / "demo", seed=1, minutes=6)
    assert with_training_minutes(again, seconds=60).training_minutes == pytest.approx(3 + 6 - 1 - FOR_EVALUATION)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.0}, "--minutes 0: must be above 0"),
        ({"minutes": float("nan")}, "--minutes nan: must be above 0"),
        ({"seed": -1}, "--seed -1: must be at least 0"),
        ({"seed": 2}, "holds a demo with seed 1, and --seed 2 was given: --overwrite starts anew"),
    ],
)
def test_what_cannot_be_a_demo_is_refused(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    begun(tmp_path / "demo", seed=1, minutes=1)
    with pytest.raises(DemoError, match=message):
        begun(tmp_path / "demo", **{"seed": 1, "minutes": 1.0, **given})


def test_other_peoples_files_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(DemoError, match=r"holds other files, such as mine.txt, and is not a demo"):
            begun(tmp_path, seed=1, minutes=1, overwrite=overwrite)
        with pytest.raises(DemoError, match="is a file; the demo needs a folder"):
            begun(mine, seed=1, minutes=1, overwrite=overwrite)
    tour = begun(tmp_path / "demo", seed=1, minutes=1)
    for place in (tour.text, tour.corpus, tour.run):
        place.mkdir()
    for path in (tour.outputs, tour.picture, tour.results, tour.page, tour.folder / "notes.txt"):
        path.write_text("")
    assert begun(tour.folder, seed=9, minutes=1, overwrite=True) == dataclasses.replace(tour, seed=9)
    assert sorted(path.name for path in tour.folder.iterdir()) == [PLAN, "notes.txt"]


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"format": "heedful demo", "format_version": 2}'])
def test_a_damaged_plan_is_named(tmp_path: Path, damage: str) -> None:
    (tmp_path / PLAN).write_text(damage)
    with pytest.raises(DemoError, match=f"{PLAN} does not describe a demo"):
        begun(tmp_path, seed=1, minutes=1)


def test_training_that_was_cut_short_is_said_to_be(tmp_path: Path) -> None:
    assert after_training({"training": {"step": 100, "steps": 100}}) == []
    (note,) = after_training({"training": {"step": 99, "steps": 1600}})
    assert "cut short at step 99 of 1,600" in note


def test_commands_to_try_can_be_typed() -> None:
    tour = Tour(Path("my demo"), 1, 4, 1, 1, 1)
    commands = next_commands(tour, program="heedful", sentence="Is it Anna's?")
    assert commands[0][1] == """heedful translate --model 'my demo/run' 'Is it Anna'"'"'s?'"""
    assert "--output 'my demo/attention.html'" in commands[1][1]
    assert commands[2][1] == 'heedful translate "Where is the nearest station?"'
    assert len(commands[3][1].splitlines()) == 5
