"""What a trained parser does with trees: a test set of them, its parses, and how fast these come."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from heedful.background import Report
from heedful.errors import CorpusError
from heedful.evaluation.translation_scores import TestSet
from heedful.parsing.trees import Tree, tree_of
from heedful.runs.record import RunRecord, validation_text

if TYPE_CHECKING:
    from heedful.search.options import SearchOptions
    from heedful.search.parser import Parser


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


def measured_parses(
    parser: Parser, sentences: Sequence[str], *, options: SearchOptions | None = None, report: Report
) -> tuple[list[str], dict[str, str | float]]:
    """The best parse of each sentence, of words between spaces, as text; and how fast they came, and where."""
    outputs, began = list[str](), time.perf_counter()
    stage = "parsing" if parser.constrained else "parsing, unconstrained"
    for parses in parser.parses((words.split(" ") for words in sentences), options):
        outputs.append(str(parses[0]))
        report(stage, len(outputs), len(sentences))
    seconds = time.perf_counter() - began
    return outputs, {"device": str(parser.device), "seconds": seconds, "sentences_per_second": len(outputs) / seconds}
