"""Trees as a test set: those that are given, and those that a run was validated on."""

from __future__ import annotations

from collections.abc import Iterable

from heedful.errors import CorpusError
from heedful.evaluation.translation_scores import TestSet
from heedful.parsing.trees import Tree, tree_of
from heedful.runs.record import RunRecord, validation_text


def trees_as_text(trees: Iterable[Tree]) -> TestSet:
    """A test set of trees in brackets; its sources are their words, with a space between any two."""
    given = list(trees)
    return TestSet([str(tree) for tree in given], [" ".join(tree.words) for tree in given])


def validation_trees(record: RunRecord) -> TestSet:
    """The validation trees of the run's corpus; raises where there are none."""
    text = validation_text(record)
    pairs = zip(text.references, text.sources or [], strict=True)
    try:
        return trees_as_text(tree_of(symbols.split(" "), words.split(" ")) for symbols, words in pairs)
    except ValueError as error:  # such as a label that never came in training, and has no id
        raise CorpusError(str(error)) from None
