"""``heedful attention``: what it prints and writes, given the maps of a translation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attention_toys import toy_maps
from tests.commands import heedful

from heedful.cli.model_options import ModelOptions
from heedful.search.attention_maps import AttentionMaps
from heedful.search.options import SearchOptions

MAPS = toy_maps([" Häu", "ser", " brennen", "."], [" Houses", " burn", "."], layers=3, heads=2)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """Maps without a model; holds what was asked for. Runs in an empty folder."""
    calls: list[tuple[Any, ...]] = []

    class Shown:
        options = SearchOptions()

        def __init__(self, model: str | None) -> None:
            self.model = model

        def attention(self, sentence: str, *, target: str | None, options: SearchOptions) -> AttentionMaps:
            assert options == self.options
            calls.append((self.model, sentence, target))
            return MAPS

    monkeypatch.setattr(ModelOptions, "translator", lambda self: Shown(self.model))
    monkeypatch.chdir(tmp_path)
    return calls


def run(*arguments: str) -> int:
    return heedful("attention", "--model", "run", *arguments)


def test_without_options_it_writes_the_page(
    asked: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("Häuser brennen.") == 0
    assert asked == [("run", "Häuser brennen.", None)]
    assert capsys.readouterr().out == (
        "Houses burn.\nscore -1.5000, log-probability -3.2500\nattention.html is written\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["attention.html"]
    assert run("Häuser brennen.") == 2
    assert "attention.html is there already" in capsys.readouterr().err
    assert len(asked) == 1  # nobody waits for a translation that has no place to go
    assert run("Häuser brennen.", "--overwrite") == 0


def test_json_has_everything_and_the_weights_when_asked(
    asked: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("Häuser brennen.", "--target", "x", "--json") == 0
    assert asked == [("run", "Häuser brennen.", "x")]
    facts = json.loads(capsys.readouterr().out)
    assert (facts["target_text"], facts["score"], facts["files"]) == ("Houses burn.", -1.5, [])
    assert facts["alignment"]["layer"] == 3
    assert facts["alignment"]["source_words"] == ["Häuser", "brennen."]
    assert np.array(facts["alignment"]["soft"]).shape == (2, 2)
    assert {kind: len(rows) for kind, rows in facts["heads"].items()} == {"encoder": 6, "decoder": 6, "cross": 6}
    assert facts["heads"]["cross"][0].keys() == {"layer", "head", "distance", "entropy", "entropy_share"}
    assert "weights" not in facts
    assert not list(tmp_path.iterdir())
    assert run("Häuser brennen.", "--json", "--weights") == 0
    weights = json.loads(capsys.readouterr().out)["weights"]
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_array_equal(np.array(weights[kind], np.float32), getattr(MAPS, kind))


def test_the_alignment_is_a_line_for_the_next_program(
    asked: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = {}
    for layer in ("1", "2", "3"):
        assert run("x", "--alignment", "--layer", layer) == 0
        lines[layer] = capsys.readouterr().out
        mean = MAPS.cross[int(layer) - 1].mean(0)
        best = [int(np.argmax([mean[rows, :2].sum(), mean[rows, 2:4].sum()])) for rows in ([0], [1, 2])]
        assert lines[layer] == f"{best[0]}-0 {best[1]}-1\n"
    assert run("x", "--alignment", "--png", "p") == 0
    captured = capsys.readouterr()
    assert captured.out == lines["3"]
    assert captured.err.count("is written") == 4
    assert len(list((tmp_path / "p").iterdir())) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "the sentence is empty"),
        (["a\nb"], "the sentence has 2 lines; one sentence at a time"),
        (["a", "--target", ""], "--target is empty"),
        (["a", "--weights"], "--weights adds the weights to what --json prints"),
        (["a", "--json", "--layer", "4"], "--layer 4: this model's decoder has layers 1 to 3"),
        (["a", "--layer", "0"], "--layer 0"),
        (["a", "--layer", "2"], "--layer 2: for --png, --alignment or --json"),
        (["a", "--target", "b", "--beam-size", "2"], "--beam-size: --target is given, and nothing is searched for"),
        (["a", "--top-k", "2"], "--top-k 2: for samples alone, and this is beam search"),
        (["a", "--output", "."], ". is a folder"),
        (["a", "--png", "file"], "--png file is a file, not a folder"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str],
    message: str,
    asked: list[tuple[Any, ...]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
