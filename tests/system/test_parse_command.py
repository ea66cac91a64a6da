"""Parsing from trees to trees: prepare, train, parse, evaluate, compare, attention, as somebody types them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.commands import heedful, run_here
from tests.pages import Page
from tests.trained_toys import SMALL

from heedful.parsing.trees import read_trees, tree_from, tree_of
from heedful.planning.fit import fitted_run
from heedful.presets import preset

NOUNS, VERBS = ["dog", "cat", "bird", "fox", "(", '"'], ["sees", "likes", "finds"]


def sentence(rng: random.Random) -> str:
    def noun_phrase() -> str:
        noun = rng.choice(NOUNS).replace("(", "-LRB-")
        return f"(NP (DT {rng.choice(['the', 'a'])}) (NN {noun}))"

    return f"(ROOT (S {noun_phrase()} (VP (VBZ {rng.choice(VERBS)}) {noun_phrase()}) (. .)))"


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.ptb, dev.ptb, a corpus and a run on it."""
    folder, rng = tmp_path_factory.mktemp("parsing"), random.Random(1)
    for name, count in (("train", 300), ("dev", 12)):
        (folder / f"{name}.ptb").write_text("\n".join(sentence(rng) for _ in range(count)), encoding="utf-8")
    files = ["--trees", f"{folder}/train.ptb", "--valid-trees", f"{folder}/dev.ptb"]
    assert heedful("prepare", "--task", "parsing", *files, "--output", folder / "corpus", "--quiet") == 0
    few = ["training.steps=120", "training.checkpoint_steps=60", "training.average_last=1", "search.beam_size=3"]
    few += ["training.validation_steps=60", "training.learning_rate_scale=1.0", "training.residual_scale=1.0"]
    settings = [word for setting in [*SMALL, *few] for word in ("--set", setting)]
    assert heedful("train", folder / "corpus", "--preset", "parser-small", "--output", folder / "run", *settings) == 0
    return folder


def test_somebody_at_a_terminal_is_told_which_model_parses(
    trees: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["the dog sees a cat .", EOFError])

    def typing(_: str) -> str:
        if isinstance(line := next(typed), str):
            return line
        raise line

    monkeypatch.setattr("heedful.cli.standard_input.is_closed", lambda _: False)
    monkeypatch.setattr("heedful.cli.standard_input.is_typed", lambda: True)
    monkeypatch.setattr("builtins.input", typing)
    code, out, errors = run_here(capsys, "parse", "--model", trees / "run", "--tokenized")
    assert (code, errors.splitlines()[0]) == (
        0,
        f"{trees / 'run'} parses. Type a sentence and press Enter; Ctrl-D ends.",
    )
    tree = tree_from(out)
    assert tree is not None
    assert tree.words == ("the", "dog", "sees", "a", "cat", ".")


def test_a_model_learns_to_parse_and_is_scored(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["evaluate", "--model", trees / "run", "--reference", trees / "dev.ptb", "--quiet", "--resamples", "20"]
    code, out, errors = run_here(capsys, *asked, "--output", trees / "out.ptb", "--json")
    assert (code, errors) == (0, "")
    facts = json.loads(out)
    scores = {score["name"]: score["value"] for score in facts["scores"]}
    assert scores["well-formed"] == 100
    assert scores["F1"] > 60
    assert [tree.words for tree in read_trees(trees / "out.ptb")] == [t.words for t in read_trees(trees / "dev.ptb")]
    given = ["--task", "parsing", "--hypothesis", trees / "out.ptb", "--reference", trees / "dev.ptb", "--json"]
    again = json.loads(run_here(capsys, "evaluate", *given, "--resamples", "20")[1])
    assert again["scores"] == facts["scores"]
    code, out, _ = run_here(capsys, *asked)
    assert code == 0
    assert "F1, ≤ 40" in out


def test_any_text_becomes_a_tree_over_its_words(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["The dog (a cat) DOESN'T bark! 🙂", "", "\u202eSuddenly\u2028 x" * 3, "Hello"]
    for search in ("--greedy", "--sample"):
        code, out, _ = run_here(capsys, "parse", "--model", trees / "run", search, *given)
        assert code == 0
        lines = out.split("\n")[:-1]
        assert len(lines) == len(given)
        assert lines[1] == ""
        first = tree_from(lines[0])
        assert first is not None
        assert first.words == ("The", "dog", "(", "a", "cat", ")", "DOES", "N'T", "bark", "!", "🙂")
        assert all(tree_from(line) for line in lines if line)


def test_minutes_are_fitted_to_a_treebank_too(trees: Path) -> None:
    found = fitted_run(trees / "corpus", minutes=15, device=None, flops_per_second=1e13).config
    assert found.search == preset("parser-small").make().search


def test_trees_are_drawn(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["parse", "--model", trees / "run", "--tokenized", "the dog sees a <cat> & .", "--svg", trees / "t.svg"]
    code, out, errors = run_here(capsys, *asked, "--draw")
    assert code == 0
    assert "<cat>\n" in out
    assert "t.svg is written" in errors
    picture = ElementTree.parse(trees / "t.svg").getroot()
    words = [node.text for node in picture.iter() if node.get("class") == "word"]
    assert words == ["the", "dog", "sees", "a", "<cat>", "&", "."]
    code, _, errors = run_here(capsys, *asked)
    assert code == 2
    assert "--overwrite" in errors


def test_without_constraints_the_model_says_what_it_likes(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "parse",
        "--model",
        trees / "run",
        "--unconstrained",
        "--json",
        "--max-extra-length",
        "3",
        "the dog the dog",
    ]
    code, out, _ = run_here(capsys, *asked)
    assert code == 0
    (found,) = json.loads(out)["parses"]
    assert found["symbols"]
    assert found["tree"] is None or tree_from(found["tree"]) is not None


def test_two_parsers_are_compared(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flat = trees / "flat.ptb"
    gold = read_trees(trees / "dev.ptb")
    flat.write_text("\n".join(str(tree_of(["(X", *tree.tags, ")"], tree.words)) for tree in gold))
    asked = ["compare", flat, trees / "run", "--reference", trees / "dev.ptb", "--trials", "200", "--resamples", "50"]
    code, out, errors = run_here(capsys, *asked, "--quiet", "--json")
    assert (code, errors) == (0, "")
    f1 = json.loads(out)["comparisons"][0]
    assert (f1["name"], f1["better"], f1["a"]) == ("F1", "B", 0.0)


def test_a_parser_is_described_and_given_away(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "report", trees / "run", "--output", trees / "run.html")
    assert code == 0
    assert "no scores" not in out
    page = (trees / "run.html").read_text(encoding="utf-8")
    assert "--trees" in page
    assert "--valid-trees" in page
    assert run_here(capsys, "bundle", trees / "run", "--output", trees / "bundle")[0] == 0
    same = [run_here(capsys, "parse", "--model", trees / name, "the dog sees a cat .")[1] for name in ("run", "bundle")]
    assert tree_from(same[1].strip()) is not None
    assert same[0] == same[1]


def test_attention_is_shown_of_a_parse(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["attention", "--model", trees / "run", "the dog sees a cat .", "--output", trees / "a.html", "--json"]
    code, out, _ = run_here(capsys, *asked)
    assert code == 0
    facts = json.loads(out)
    assert tree_from(facts["target_text"]) is not None
    assert "(NP" in facts["target"]
    assert "(NP" in (trees / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "--model", "{}/run", "dog"], "was trained for parsing"),
        (["parse", "--model", "en-de-small", "dog"], "was trained for translation, not for parsing"),
        (["parse", "dog"], "which model?"),
        (["parse", "--model", "{}/run", "--forbid", "dog", "dog"], "a tree has no text of its own"),
        (["parse", "--model", "{}/run", "--max-length", "3", "one two three"], "at least 5 symbols"),
        (["evaluate", "--model", "{}/run", "--reference", "{}/dev.ptb", "--source", "x"], "not for parsing"),
        (
            ["evaluate", "--model", "{}/run", "--reference", "{}/dev.ptb", "--task", "translation"],
            "trained for parsing",
        ),
        (["prepare", "--trees", "{}/dev.ptb", "--source", "a", "--target", "b", "--output", "{}/x"], "not for parsing"),
        (["prepare", "--task", "translation", "--trees", "{}/dev.ptb", "--output", "{}/x"], "not for translation"),
        (["prepare", "--task", "parsing", "--output", "{}/x"], "give --trees"),
        (["prepare", "--trees", "{}/dev.ptb", "--tokenizer", "en-de-small", "--output", "{}/x"], "not one for parsing"),
    ],
)
def test_what_cannot_be_honoured_is_said(
    trees: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, _, errors = run_here(capsys, *(word.format(trees) for word in arguments))
    assert code == 2
    assert message in errors


def test_the_page_of_a_parser_has_its_scores(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--model", trees / "run", "--reference", trees / "dev.ptb", "--json", "--quiet"]
    wanted = {one["name"]: one["value"] for one in json.loads(run_here(capsys, "evaluate", *asked)[1])["scores"]}
    for given, about in (([], "the corpus's validation trees"), (["--reference", trees / "dev.ptb"], "dev.ptb")):
        output = trees / f"{len(given)}.html"
        code, out, errors = run_here(capsys, "report", trees / "run", *given, "--output", output, "--json", "--quiet")
        assert (code, errors) == (0, "")
        facts = json.loads(out)
        assert {one["name"]: one["value"] for one in facts["scores"]} == wanted
        assert (facts["text"], facts["problems"]) == (about, [])
        page = Page(output.read_text(encoding="utf-8"))
        assert f"{wanted['F1']:.1f} F1" in page.text
        assert "rules:evalb+collins" in page.text
    both = ["report", trees / "run", trees / "run", "--output", trees / "both.html", "--json", "--quiet"]
    assert json.loads(run_here(capsys, *both)[1])["comparisons"][0]["difference"] == 0
    code, _, errors = run_here(capsys, "report", trees / "run", "--source", trees / "dev.ptb")
    assert code == 2
    assert "not for parsing" in errors
