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
from heedful.demo.plan import PLAN, TEST, TRAIN, VALID, DemoPlan, start_demo
from heedful.demo.results import AlignedText, alignment_score, most_reordered, token_weights, tokens_at
from heedful.demo.stages import FOR_EVALUATION, LEAST_SHARE, Trained, set_training_minutes, write_text
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
    whole = start_demo(tmp_path / "a", seed=1, minutes=8)
    half = start_demo(tmp_path / "b", seed=1, minutes=2)
    assert (whole.train, whole.valid, whole.test) == (TRAIN, VALID, TEST)
    assert (half.train, half.valid, half.test) == (TRAIN // 2, VALID // 2, TEST // 2)
    assert start_demo(tmp_path / "b", seed=1, minutes=2) == half
    longer = start_demo(tmp_path / "b", seed=1, minutes=4)
    assert longer == dataclasses.replace(half, minutes=4)
    assert start_demo(tmp_path / "b", seed=1, minutes=4) == longer


def test_training_gets_what_is_left_and_keeps_it(tmp_path: Path) -> None:
    plan = start_demo(tmp_path / "demo", seed=1, minutes=4)
    begins = set_training_minutes(plan, seconds=30)
    assert begins.training_minutes == pytest.approx(4 - 0.5 - FOR_EVALUATION)
    assert start_demo(tmp_path / "demo", seed=1, minutes=4) == begins
    assert set_training_minutes(begins, seconds=200) == begins
    assert start_demo(tmp_path / "demo", seed=1, minutes=5).training_minutes is None
    late = set_training_minutes(plan, seconds=1000)
    assert late.training_minutes == pytest.approx(LEAST_SHARE * 4)
    # With more minutes, those that training has had already do not count against what is left of them.
    (plan.run).mkdir()
    (plan.run / "status.json").write_text(json.dumps(dataclasses.asdict(Trained(9, 99, 3.0, "finished", "time"))))
    again = start_demo(tmp_path / "demo", seed=1, minutes=6)
    assert set_training_minutes(again, seconds=60).training_minutes == pytest.approx(3 + 6 - 1 - FOR_EVALUATION)


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
    start_demo(tmp_path / "demo", seed=1, minutes=1)
    with pytest.raises(DemoError, match=message):
        start_demo(tmp_path / "demo", **{"seed": 1, "minutes": 1.0, **given})


def test_other_peoples_files_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(DemoError, match=r"holds other files, such as mine.txt, and is not a demo"):
            start_demo(tmp_path, seed=1, minutes=1, overwrite=overwrite)
        with pytest.raises(DemoError, match="is a file; the demo needs a folder"):
            start_demo(mine, seed=1, minutes=1, overwrite=overwrite)
    plan = start_demo(tmp_path / "demo", seed=1, minutes=1)
    write_text(plan, report=lambda *_: None)
    for path in (plan.outputs, plan.picture, plan.results, plan.page, plan.folder / "notes.txt"):
        path.write_text("")
    assert start_demo(plan.folder, seed=9, minutes=1, overwrite=True) == dataclasses.replace(plan, seed=9)
    assert sorted(path.name for path in plan.folder.iterdir()) == [PLAN, "notes.txt"]


def test_a_file_of_somebody_in_the_demos_own_folders_stops_overwriting(tmp_path: Path) -> None:
    plan = start_demo(tmp_path / "demo", seed=1, minutes=1)
    write_text(plan, report=lambda *_: None)
    plan.page.write_text("")
    (plan.text / "thesis.txt").write_text("years of work")
    with pytest.raises(DemoError, match=r"text holds thesis.txt beside the demo, and replacing it would remove"):
        start_demo(plan.folder, seed=1, minutes=1, overwrite=True)
    assert (plan.text / "thesis.txt").is_file()
    assert plan.page.is_file()


SOUND = {"format": "heedful demo", "format_version": 1, "seed": 1, "minutes": 1, "train": 20, "valid": 20, "test": 20}


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("", "is damaged, or not JSON"),
        ("[]", "holds no JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "does not say that it is a heedful demo"),
        ('{"name": "somebody else\'s"}', "does not say that it is a heedful demo"),
        (json.dumps({**SOUND, "format_version": 2}), "is of format version 2; this heedful reads version 1"),
        (json.dumps({**SOUND, "seed": "one"}), "seed is 'one', not a whole number"),
        (json.dumps({**SOUND, "minutes": None}), "minutes is None, not a number"),
        (json.dumps({**SOUND, "train": -5}), "a number in it is impossible"),
        (json.dumps({**SOUND, "training_minutes": float("nan")}), "a number in it is impossible"),
        (json.dumps({"format": "heedful demo", "format_version": 1}), "has no seed"),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_plan_that_cannot_be_followed_is_named_and_nothing_is_removed(
    damage: str, problem: str, overwrite: bool, tmp_path: Path
) -> None:
    (tmp_path / PLAN).write_text(damage)
    (tmp_path / "run").mkdir()
    with pytest.raises(DemoError) as told:
        start_demo(tmp_path, seed=1, minutes=1, overwrite=overwrite)
    assert problem in str(told.value)
    assert f"give another --output: {tmp_path} is left as it is" in str(told.value)
    assert "remove" not in str(told.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == [PLAN, "run"]


def test_a_demo_of_the_version_before_goes_on(tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text(json.dumps({**SOUND, "training_minutes": None}))
    (tmp_path / "demo.json.writing").write_text("half")
    assert start_demo(tmp_path, seed=1, minutes=1) == DemoPlan(1, 1, 20, 20, 20, folder=tmp_path)


@pytest.mark.parametrize("name", ["x" * 300, "mine.txt/demo"])
def test_a_folder_that_cannot_be_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DemoError, match="cannot be"):
        start_demo(tmp_path / name, seed=1, minutes=1)


def test_training_that_was_cut_short_is_said_to_be() -> None:
    assert after_training(Trained(100, 100, 1.0, "finished", "")) == []
    (note,) = after_training(Trained(99, 1600, 1.0, "finished", ""))
    assert "cut short at step 99 of 1,600" in note


def test_commands_to_try_can_be_typed() -> None:
    plan = DemoPlan(1, 4, 1, 1, 1, folder=Path("my demo"))
    commands = next_commands(plan, program="heedful", sentence="Is it Anna's?")
    assert commands[0][1] == """heedful translate --model 'my demo/run' 'Is it Anna'"'"'s?'"""
    assert "--output 'my demo/attention.html'" in commands[1][1]
    assert commands[2][1] == 'heedful translate "Where is the nearest station?"'
    assert len(commands[3][1].splitlines()) == 5
