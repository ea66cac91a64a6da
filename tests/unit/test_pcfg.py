"""The baseline of parsing: the grammar of a treebank finds the trees that it was read off."""

from __future__ import annotations

import itertools

from benchmarks.pcfg import Grammar, nested, rules

from heedful.parsing.trees import Tree, tree_from


def tree(text: str) -> Tree:
    found = tree_from(text)
    assert found is not None
    return found


def test_the_trees_that_it_was_read_off_are_found_again() -> None:
    with_verb = "(S (NP (PRP I)) (VP (VBD saw) (NP (NN {})) (PP (IN with) (NP (NN {})))))"
    with_noun = "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (NN {})) (PP (OF of) (NP (NN {}))))))"
    nouns = ["stars", "telescopes", "dogs", "cats"]
    trees = [tree(one.format(*two)) for one in (with_verb, with_noun) for two in itertools.permutations(nouns, 2)]
    grammar = Grammar(trees)
    assert [grammar.parse(one.words) for one in trees] == trees
    grammar = Grammar([*trees, tree(with_verb.format("moons", "glasses"))])  # which come once, as unknown words may
    unknown = grammar.parse(["I", "saw", "planets", "with", "lenses"])
    assert str(unknown) == with_verb.format("planets", "lenses")


def test_its_best_tree_is_the_best_of_all_trees() -> None:
    trees = [
        tree("(S (NP (NN a) (NN b)) (VP (VB c)))"),
        tree("(S (NP (NN a)) (VP (VB b) (NP (NN c))))"),
        tree("(S (NP (NN a)) (VP (VB b) (NP (NN c))))"),
        tree("(S (NP (NN b)) (VP (VB a) (NP (NN c))))"),
        tree("(S (NP (NN c) (NN a)) (VP (VB b)))"),
    ]
    grammar = Grammar([*trees, *trees])
    best = grammar.parse(["a", "b", "c"])
    ids = {name: place for place, name in enumerate(grammar.names)}
    binary = {
        (p, a, b): value
        for p, a, b, value in zip(grammar.parent, grammar.left, grammar.right, grammar.rule, strict=True)
    }

    def log_probability(one: Tree) -> float:
        top = nested(one)
        total = float(grammar.root[ids.get(f"{top.label}^", 0)])
        for parent, children in rules(top):
            if len(children) == 1:
                own, values = grammar.tags(children[0], first=False)
                total += dict(zip(own.tolist(), values.tolist(), strict=True)).get(ids[parent], -1e9)
            else:
                total += binary.get((ids[parent], ids[children[0]], ids[children[1]]), -1e9)
        return total

    same_words = [one for one in trees if one.words == ("a", "b", "c")]
    assert log_probability(best) == max(map(log_probability, same_words)) > -1e9


def test_there_is_a_tree_even_where_the_grammar_has_none() -> None:
    grammar = Grammar([tree("(S (NP (NN a)) (VP (VB b)))")] * 2)
    assert grammar.parse(["b", "b", "b"]).words == ("b", "b", "b")
