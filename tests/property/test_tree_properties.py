"""For any tree: its brackets, its sequence, its score with itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.parsing.bracket_scores import bracket_counts, parse_counts
from heedful.parsing.trees import CLOSE, Tree, constituents, tree_from, tree_of
from heedful.text.closed_vocabulary import ClosedVocabulary

ODD_WORDS = ["(", ")", "((", "a)", "``", "''", '"', "*", "0", "-", "=", "-NONE-", "\u00a0", "🙂", "(S", "NN", "</s>"]
WORDS = st.sampled_from(ODD_WORDS) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" "), min_size=1, max_size=8
).filter(lambda word: "-LRB-" not in word and "-RRB-" not in word)
LABELS = st.sampled_from(["S", "NP", "VP", "ADVP", "PRT", "X|Y", "WHNP", "-X-", ""])
TAGS = st.sampled_from(["NN", "DT", ".", ",", "''", "-LRB-", "PRP$", ":", "#"])


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A tree by chance: open, close and say words as long as that makes one."""
    symbols, depth, filled = [f"({draw(LABELS)}"], 1, False
    for choice in draw(st.lists(st.integers(0, 3), max_size=40)):
        if choice == 0 and depth > 1 and filled:
            symbols, depth = [*symbols, CLOSE], depth - 1
        elif choice == 1:
            symbols, depth, filled = [*symbols, f"({draw(LABELS)}"], depth + 1, False
        else:
            symbols, filled = [*symbols, draw(TAGS)], True
    symbols += [] if filled else [draw(TAGS)]
    symbols += [CLOSE] * depth
    words = sum(not symbol.startswith("(") and symbol != CLOSE for symbol in symbols)
    return tree_of(symbols, draw(st.lists(WORDS, min_size=words, max_size=words)))


@settings(deadline=None, max_examples=200)
@given(tree=trees())
def test_a_tree_survives_brackets_and_its_sequence_of_ids(tree: Tree) -> None:
    assert tree_from(str(tree)) == tree
    vocabulary = ClosedVocabulary(tree.symbols)
    line = " ".join(tree.symbols)
    (ids,) = vocabulary.encode([line])
    assert vocabulary.decode(ids) == line
    assert tree_of(vocabulary.pieces(ids), tree.words) == tree


@settings(deadline=None, max_examples=100)
@given(tree=trees(), other=trees())
def test_the_f1_of_a_tree_with_itself_is_100_and_no_other_is_more(tree: Tree, other: Tree) -> None:
    assert {score.value for score in parse_counts([tree], [tree])} == {100.0}
    found = bracket_counts(Tree(other.symbols, tree.words) if len(other.words) == len(tree.words) else None, tree)
    assert found.matched <= min(found.wanted, found.given)


@settings(deadline=None, max_examples=100)
@given(tree=trees())
def test_constituents_lie_inside_one_another(tree: Tree) -> None:
    found = constituents(tree.symbols)
    assert (found[0].begin, found[0].end) == (0, len(tree.words))
    for one in found:
        assert one.begin < one.end
        outer = [other for other in found if other.begin <= one.begin and one.end <= other.end]
        assert len(outer) > one.depth
