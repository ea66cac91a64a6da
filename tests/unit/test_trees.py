"""Trees in brackets: what is read, and what is refused, by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from heedful.errors import TextError
from heedful.parsing.trees import Tree, read_trees, tree_from, tree_of, tree_pairs
from heedful.text import pairs


def read(folder: Path, text: str) -> list[Tree]:
    path = folder / "trees.ptb"
    path.write_text(text, encoding="utf-8")
    return read_trees(path)


def test_white_space_means_nothing(tmp_path: Path) -> None:
    one_line = "(ROOT (NP (DT A) (NN dog)))(ROOT (FRAG (RB Well)))\n(S (VP (VB Go)))"
    many = "(ROOT\n  (NP\t(DT A)\r\n\n(NN\ndog) ) )\n\n (ROOT(FRAG(RB Well)))(S\n(VP (VB Go)))\n"
    trees = read(tmp_path, one_line)
    assert trees == read(tmp_path, many)
    assert [tree.symbols for tree in trees] == [
        ("(ROOT", "(NP", "DT", "NN", ")", ")"),
        ("(ROOT", "(FRAG", "RB", ")", ")"),
        ("(S", "(VP", "VB", ")", ")"),
    ]
    assert [tree.words for tree in trees] == [("A", "dog"), ("Well",), ("Go",)]


def test_functions_go_and_empty_nodes_with_all_that_holds_nothing_else(tmp_path: Path) -> None:
    text = "( (S (NP-SBJ=1 (-NONE- *)) (VP (VB Go) (SBAR (S (NP (-NONE- *T*-1)))) (-LRB- -LRB-))) )"
    (tree,) = read(tmp_path, text)
    assert tree == Tree(("(", "(S", "(VP", "VB", "-LRB-", ")", ")", ")"), ("Go", "("))
    assert str(tree) == "( (S (VP (VB Go) (-LRB- -LRB-))))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN dog))\n\n(S (NN dog)\n", "line 3: the tree that begins here is never closed"),
        ("(S (NN dog)))", "line 1: a bracket is closed that was never opened"),
        ("(S (NN dog))\ndog", "line 2: there is text outside of any tree"),
        ("(S (NN))", "line 1: 'NN' has no word"),
        ("(S ())", "line 1: a bracket has nothing in it"),
        ("(S (NN big dog))", "line 1: 'dog' stands there without a part of speech"),
        ("(S (NN dog) dog)", "line 1: 'dog' stands there without a part of speech"),
        ("(S dog (NN dog))", "line 1: 'dog' stands beside a constituent, without a part of speech"),
        ("\n \n", "has no trees in it"),
    ],
)
def test_a_malformed_tree_is_named_by_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert "trees.ptb" in str(error.value)


def test_bad_trees_can_be_left_out(tmp_path: Path) -> None:
    path, bad = tmp_path / "trees.ptb", []
    path.write_text("(S (NN a))\n(S (NN b c))\n  (NN left over)\n(S (NN d))\n(S (NN e", encoding="utf-8")
    (block,) = tree_pairs(pairs.trees(path), on_bad_line=lambda _, line, why: bad.append((line, why)))
    assert block.source == ["a", None, "d", None]
    assert block.target == ["(S NN )", None, "(S NN )", None]
    assert [line for line, _ in bad] == [2, 5]


@pytest.mark.parametrize("symbols", ["", "(S", ")", "(S )", "(S NN ) NN", "(S NN NN )", "(S (NP ) NN )", "(S NN ) )"])
def test_symbols_that_are_no_tree_over_one_word_are_refused(symbols: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        tree_of(symbols.split(), ["dog"])


def test_as_deep_as_anybody_likes() -> None:
    deep = "(S " * 100_000 + "(NN dog)" + ")" * 100_000
    tree = tree_from(deep)
    assert tree is not None
    assert str(tree) == deep
