"""`heedful reproduce`, every subject in miniature: what it leaves, what it refuses, how it goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.commands import heedful
from tests.trained_toys import SMALL, train_toy
from tests.training_toys import write_toy


def reproduce(*words: object) -> int:
    return heedful("reproduce", *words, "--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"), task="copy", pairs=300, valid=200)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return train_toy(tmp_path_factory.mktemp("run"), steps=4)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    """A folder with dev.ptb, and parsers a and b of 12 trees and of 24 and 6 others."""
    folder, nouns = tmp_path_factory.mktemp("trees"), ["dog", "(", '"', "cat"]
    texts = [f"(ROOT (S (NP (DT the) (NN {nouns[n % 4]})) (VP (VBZ barks{n})) (. .)))" for n in range(48)]
    texts = [text.replace("NN (", "NN -LRB-") for text in texts]
    for name, few in (("dev", texts[:14]), ("a", texts[:12]), ("b", texts[:24]), ("made", texts[42:])):
        (folder / f"{name}.ptb").write_text("\n".join(few), encoding="utf-8")
    settings = [*SMALL, "training.steps=2", "training.average_last=1", "search.beam_size=2"]
    for name, others in (("a", []), ("b", ["--trees", f"{folder}/made.ptb@0.5"])):
        files = ["--trees", f"{folder}/{name}.ptb", *others, "--valid-trees", f"{folder}/dev.ptb"]
        assert heedful("prepare", *files, "--output", f"{folder}/corpus-{name}", "--quiet") == 0
        given = ["--preset", "parser-small", *(word for one in settings for word in ("--set", one)), "--quiet"]
        assert heedful("train", f"{folder}/corpus-{name}", "--output", f"{folder}/{name}", *given) == 0
    return folder


def require_whole(folder: Path, subject: str) -> str:
    """The page, once it is sure that every picture it shows is there, and the numbers and the command."""
    text = (folder / f"{subject}.md").read_text(encoding="utf-8")
    shown = re.findall(r'<img src="([^"]+)"', text)
    assert sorted(shown) == sorted(path.name for path in folder.glob("*.svg"))
    numbers = sorted(folder.glob("*.json"))
    assert {json.loads(path.read_text(encoding="utf-8"))["subject"] for path in numbers} == {subject}
    assert (folder / "commands.sh").read_text().startswith(f"heedful reproduce {subject}")
    return text


def test_table_1_and_the_dot_product_are_measured_here_and_drawn_beside_another_machine(tmp_path: Path) -> None:
    for subject, pictures in (("table1", 7 + 5), ("dot-product", 4 + 4)):
        measured, both = tmp_path / subject, tmp_path / f"{subject}-both"
        assert reproduce(subject, "--miniature", "--no-page", "--output", measured) == 0
        assert not list(measured.glob("*.svg"))
        assert reproduce(subject, measured, measured / f"{subject}.json", "--output", both) == 0
        assert len(re.findall("<img", require_whole(both, subject))) == pictures
        assert len(list(both.glob("*.json"))) == 2
        assert reproduce(subject, "--miniature", "--output", measured) == 2  # it is there already


def test_positions_are_compared_on_a_corpus(tmp_path: Path, corpus: Path) -> None:
    assert reproduce("positions", corpus, "--miniature", "--steps", 2, "--output", tmp_path / "out") == 0
    text = require_whole(tmp_path / "out", "positions")
    assert "| tokens | pairs | sinusoidal | learned |" in text


def test_table_2_has_the_papers_rows_and_says_what_ours_were_trained_on(tmp_path: Path, run: Path) -> None:
    assert reproduce("table2", run, "--output", tmp_path / "out") == 0
    text = require_whole(tmp_path / "out", "table2")
    assert "| Transformer (big) | 28.4 | 41.8 | 2.3 · 10^19 | 2.3 · 10^19 |" in text
    assert "Not comparable" in text
    assert "| **run** | corpus, " in text


def test_table_4_has_the_papers_rows_ours_beside_a_baseline_and_a_curve(tmp_path: Path, treebank: Path) -> None:
    dev = treebank / "dev.ptb"
    asked = ("--reference", dev, "--baseline", dev, "--no-page")
    for name in ("a", "b"):
        assert reproduce("table4", treebank / name, *asked, "--output", tmp_path / name) == 0
    found = [tmp_path / name for name in ("a", "b", "a")]
    assert reproduce("table4", *found, "--output", tmp_path / "both") == 0
    text = require_whole(tmp_path / "both", "table4")
    assert "| Transformer (4 layers) | semi-supervised | 92.7 |" in text
    assert "Not comparable" in text
    assert text.count("| **a** |") == 1  # what stands in two records is one row
    assert "| **b** | b.ptb (24 trees), made.ptb (6 trees, × 0.5) | dev.ptb (14) |" in text
    assert "| **dev** | the same trees | dev.ptb (14) | 100.00 [100.0, 100.0] |" in text
    assert "F1 by the size of the treebank" in text
    numbers = json.loads((tmp_path / "both" / "table4-2.json").read_text(encoding="utf-8"))
    ours, other = numbers["found"]["systems"]
    assert (ours["trees"], other["trees"]) == (24, 24)
    values = {score["name"]: score["value"] for score in ours["scores"]}
    assert values["well-formed"] == 100
    assert {score["name"] for score in ours["unconstrained"]} == values.keys()


def test_table_4_is_of_the_validation_trees_when_no_others_are_given(tmp_path: Path, treebank: Path) -> None:
    assert reproduce("table4", treebank / "a", "--miniature", "--output", tmp_path / "out") == 0
    text = require_whole(tmp_path / "out", "table4")
    assert "its own validation trees (12)" in text
    assert "A MINIATURE" in text


def test_a_baseline_is_what_evaluate_printed(tmp_path: Path, treebank: Path, capsys) -> None:
    dev, scores = treebank / "dev.ptb", tmp_path / "PCFG.json"
    assert heedful("evaluate", "--task", "parsing", "--hypothesis", dev, "--reference", dev, "--json") == 0
    scores.write_text(capsys.readouterr().out, encoding="utf-8")
    asked = ("table4", treebank / "a", "--baseline", scores, "--miniature")
    assert reproduce(*asked, "--reference", dev, "--output", tmp_path / "out") == 0
    assert "| **PCFG** | the same trees | dev.ptb (14) | 100.00" in require_whole(tmp_path / "out", "table4")
    assert reproduce(*asked, "--reference", treebank / "a.ptb", "--output", tmp_path / "other") == 2
    assert "no scores of 12 parses" in capsys.readouterr().err


def test_figures_are_those_of_a_model(tmp_path: Path, run: Path) -> None:
    assert reproduce("figures", run, "--output", tmp_path / "out") == 0
    assert "Like Figure 4" in require_whole(tmp_path / "out", "figures")


def test_rows_of_table_3_are_run_once_and_merged(tmp_path: Path, corpus: Path) -> None:
    budget = ("--steps", 2, "--batch-tokens", 400, "--miniature")
    for folder, row in (("a", "a-h1"), ("b", "e-learned")):
        assert reproduce("table3", corpus, *budget, "--rows", row, "--output", tmp_path / folder, "--no-page") == 0
    done = tmp_path / "a" / "rows" / "table3-a-h1-seed1.json"
    before = done.stat().st_mtime_ns
    assert reproduce("table3", corpus, *budget, "--rows", "a-h1", "--output", tmp_path / "a") == 0
    assert done.stat().st_mtime_ns == before
    assert not (tmp_path / "a" / "runs").exists()  # models are large
    assert reproduce("table3", tmp_path / "a", tmp_path / "b", "--output", tmp_path / "both") == 0
    text = require_whole(tmp_path / "both", "table3")
    assert "| a-h1 | 1 head of 512 | 1 | 2 |" in text
    assert "| e-learned |" in text
    assert "A MINIATURE" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("table1", "--steps", "3"), "--steps: for positions, table3 alone"),
        (("table3", "nowhere"), "there is no file or folder nowhere"),
        (("table3",), "needs a prepared corpus"),
        (("table3", "{corpus}", "--rows", "a-h1"), "either --steps or --minutes"),
        (("table3", "{corpus}", "--steps", "1", "--rows", "a-h3"), "there is no such row"),
        (("table4",), "needs parsers' runs"),
        (("table4", "{corpus}", "--source", "x"), "--source: for table2 alone"),
        (("table4", "{corpus}", "--baseline", "x"), "give the --reference"),
        (("table1", "{corpus}"), "measured without any file"),
        (("table2", "{corpus}", "--source", "x"), "belong together"),
        (
            ("table2", "{corpus}", "--miniature"),
            "--miniature: for table1, dot-product, positions, table3, table4 alone",
        ),
        (("figures", "--miniature"), "and this is figures"),
        (("figures", "nothing-like-this"), "no model of that name"),
        (("table5",), "table5"),
    ],
)
def test_what_cannot_be_done_is_said(words, said: str, corpus: Path, tmp_path: Path, capsys) -> None:
    words = [word.format(corpus=corpus) for word in words]
    assert reproduce(*words, "--output", tmp_path / "out") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
