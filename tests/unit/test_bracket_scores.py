"""Each rule of EVALB, on trees whose brackets are counted by hand."""

from __future__ import annotations

import pytest

from heedful.errors import ScoreError
from heedful.parsing.bracket_scores import BracketCounts, bracket_counts, parse_counts
from heedful.parsing.trees import Tree, tree_from

GOLD = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly))) (. .)))"  # S NP VP ADVP


def tree(text: str) -> Tree:
    found = tree_from(text)
    assert found is not None
    return found


def counts(output: str, gold: str = GOLD) -> BracketCounts:
    return bracket_counts(tree_from(output), tree(gold))


def test_a_label_counts_and_so_do_both_ends() -> None:
    other = "(ROOT (S (NP (DT The)) (VP (NN dog) (VBZ barks) (ADJP (RB loudly))) (. .)))"  # only S is right
    assert counts(other) == BracketCounts(matched=1, wanted=4, given=4, tagged=4, words=4)


@pytest.mark.parametrize("root", ["ROOT", "TOP", ""])
def test_the_root_is_no_bracket(root: str) -> None:
    assert counts(f"({root}{GOLD[5:]}") == BracketCounts(matched=4, wanted=4, given=4, tagged=4, words=4)


def test_punctuation_may_hang_anywhere_and_gold_tags_say_what_it_is() -> None:
    moved = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly)) (. .))))"
    mistagged = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly) (NN .)))))"
    alone = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly))) (PRN (. .))))"
    for output in (moved, mistagged, alone):
        assert counts(output).complete
        assert counts(output).tagged == counts(output).words == 4


def test_a_word_that_the_output_calls_punctuation_counts_all_the_same() -> None:
    found = counts("(ROOT (S (NP (DT The) (, dog)) (VP (VBZ barks) (ADVP (RB loudly))) (. .)))")
    assert found == BracketCounts(matched=4, wanted=4, given=4, tagged=3, words=4)


def test_particles_and_adverbs_are_one_label() -> None:
    assert counts(GOLD.replace("ADVP", "PRT")).complete


def test_functions_indices_and_empty_nodes_do_not_count() -> None:
    dressed = (
        "(ROOT (S=1 (NP-SBJ-2 (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *T*-2)) (ADVP-MNR (RB loudly))) (. .)))"
    )
    assert tree(dressed) == tree(GOLD)


def test_quotes_are_the_same_however_they_are_written() -> None:
    gold = "(S (`` ``) (NN dog) ('' ''))"
    for begin, end in (('"', '"'), ("“", "”"), ("``", "''")):
        assert counts(f"(S (`` {begin}) (NN dog) ('' {end}))", gold).complete


def test_a_bracket_that_stands_twice_must_be_found_twice() -> None:
    twice = "(ROOT (NP (NP (NN dog))))"
    assert counts("(ROOT (NP (NN dog)))", twice) == BracketCounts(matched=1, wanted=2, given=1, tagged=1, words=1)
    assert counts(twice, "(ROOT (NP (NN dog)))") == BracketCounts(matched=1, wanted=1, given=2, tagged=1, words=1)


@pytest.mark.parametrize(
    "output", ["", "(ROOT (NP (NN dog", "(ROOT (NP (NN cat) (NN barks) (NN loudly) (. .)))", "dog"]
)
def test_what_is_no_tree_over_the_words_has_no_brackets(output: str) -> None:
    assert counts(output) == BracketCounts(matched=0, wanted=4, given=0, tagged=0, words=4, is_tree=False)
    assert not counts(output, "(NN dog)").complete


def test_scores_of_a_test_set_are_those_of_its_sums() -> None:
    gold = [tree(GOLD), tree("(ROOT (NP (NN dog)))"), tree(f"(ROOT (NP{' (NN dog)' * 41}))")]
    outputs = [tree(GOLD.replace("(NP", "(VP")), None, gold[2]]
    scores = {one.name: one.value for one in parse_counts(outputs, gold)}
    assert scores["precision"] == pytest.approx(100 * (3 + 0 + 1) / (4 + 0 + 1))
    assert scores["recall"] == pytest.approx(100 * (3 + 0 + 1) / (4 + 1 + 1))
    assert scores["F1"] == pytest.approx(100 * 2 * 4 / (5 + 6))
    assert scores["complete match"] == pytest.approx(100 / 3)
    assert scores["tagging"] == pytest.approx(100 * (4 + 0 + 41) / (4 + 1 + 41))
    assert scores["F1, ≤ 40"] == pytest.approx(100 * 2 * 3 / (4 + 5))
    assert scores["complete match, ≤ 40"] == 0
    assert scores["well-formed"] == pytest.approx(100 * 2 / 3)


def test_punctuation_counts_where_a_sentence_is_called_short() -> None:
    at_most, more = (tree(f"(ROOT (NP{' (NN dog)' * count} (. .)))") for count in (39, 40))
    (f1,) = (one for one in parse_counts([at_most, None], [at_most, more]) if one.name == "F1, ≤ 40")
    assert f1.value == 100  # of the sentence of 40, without the one of 41 that has no parse


def test_without_a_short_sentence_there_is_no_score_of_short_ones() -> None:
    long = tree(f"(ROOT (NP{' (NN dog)' * 41}))")
    assert "F1, ≤ 40" not in {one.name for one in parse_counts([long], [long])}


def test_an_output_without_brackets_has_a_precision_of_nothing() -> None:
    scores = {one.name: one.value for one in parse_counts([None], [tree(GOLD)])}
    assert (scores["precision"], scores["recall"], scores["F1"]) == (0, 0, 0)


def test_a_missing_parse_is_an_error_and_not_a_lower_score() -> None:
    with pytest.raises(ScoreError, match="1 parses and 2 reference trees"):
        parse_counts([None], [tree(GOLD)] * 2)
