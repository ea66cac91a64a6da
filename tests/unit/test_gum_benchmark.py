"""New trees of a treebank: constituents change places with others of their label, and nothing else changes."""

from __future__ import annotations

from benchmarks.gum import places, swapped

from heedful.parsing.trees import tree_from, tree_of


def test_new_trees_are_trees_made_of_the_old_ones_constituents() -> None:
    texts = [
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP us))))",
        "(S (NP (NNS cats)) (VP (VBP sleep)))",
        "(S (NP (PRP it)) (VP (VBZ likes) (NP (NN milk))))",
    ]
    trees = [tree for tree in map(tree_from, texts) if tree is not None]
    made = swapped(trees, 60)
    assert len(set(made)) > len(trees)
    spoken = {(tree.words[one[3] : one[4]], one[0]) for tree in trees for one in places(tree.symbols)}
    for tree in made:
        assert tree_of(tree.symbols, tree.words) == tree
        top = [one for one in places(tree.symbols) if one[0][1] == "(S"]
        assert [key[0] for key, *_ in top] == ["(NP", "(VP"]
        assert (tree.words[top[0][3] : top[0][4]], top[0][0]) in spoken
