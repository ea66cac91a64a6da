"""Section 6.3, Table 4: labelled precision, recall and F1 of brackets, by the rules of EVALB and its COLLINS.prm.

A bracket is a label over a run of words. ROOT, TOP and a root without a label are no brackets, nor are parts of speech;
words whose part of speech in the reference is punctuation are taken out of both trees, and a constituent that holds
nothing else with them; ADVP and PRT count as one label. EVALB leaves an output out that is no tree over the reference's
words; here it has no brackets, and all of the reference's are missed.

Sentences of at most forty words are scored by themselves too, punctuation counted, as the field has always done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.errors import ScoreError
from heedful.evaluation.counts import Counted
from heedful.evaluation.translation_scores import TestSet
from heedful.parsing.trees import Tree, constituents

_DELETED = {"", "ROOT", "TOP"}
_PUNCTUATION = {",", ":", "``", "''", ".", "?", "!"}
_EQUAL = {"PRT": "ADVP"}
_SHORT = 40
_SIGNATURE = "rules:evalb+collins|deleted:ROOT,TOP|punctuation:gold|invalid:no brackets|version:1"
_MATCHED, _WANTED, _GIVEN, _COMPLETE, _SENTENCES, _TAGGED, _TAGS, _VALID = range(8)


def trees_as_text(trees: Iterable[Tree]) -> TestSet:
    """A test set of trees in brackets; its sources are their words, with a space between any two."""
    given = list(trees)
    return TestSet([str(tree) for tree in given], [" ".join(tree.words) for tree in given])


@dataclass(frozen=True)
class BracketCounts:
    """What two trees over the same words have in common."""

    matched: int
    wanted: int
    """Brackets of the reference."""
    given: int
    """Brackets of the output."""
    tagged: int
    """Words with the reference's part of speech."""
    words: int
    """Words that count."""
    is_tree: bool = True
    """Whether the output is a tree over the reference's words."""

    @property
    def complete(self) -> bool:
        return self.is_tree and self.matched == self.wanted == self.given


def bracket_counts(output: Tree | None, reference: Tree) -> BracketCounts:
    """The brackets of an output, None where it is no tree, and of the reference.

    >>> from heedful.parsing.trees import tree_from
    >>> gold = tree_from("(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ barks)) (. .)))")
    >>> bracket_counts(tree_from("(ROOT (S (NP (DT A)) (VP (NN dog) (VBZ barks)) (. .)))"), gold)
    BracketCounts(matched=1, wanted=3, given=3, tagged=3, words=3, is_tree=True)
    """
    counted = [tag not in _PUNCTUATION for tag in reference.tags]
    wanted = _brackets(reference, counted)
    words = sum(counted)
    if output is None or [*map(_folded, output.words)] != [*map(_folded, reference.words)]:
        return BracketCounts(0, wanted.total(), 0, 0, words, is_tree=False)
    given = _brackets(output, counted)
    pairs = zip(output.tags, reference.tags, counted, strict=True)
    tagged = sum(is_counted and tag == right for tag, right, is_counted in pairs)
    return BracketCounts((given & wanted).total(), wanted.total(), given.total(), tagged, words)


def _brackets(tree: Tree, counted: Sequence[bool]) -> Counter[tuple[str, int, int]]:
    """How often each label stands over each run of the words that count."""
    before = np.concatenate([[0], np.cumsum(counted)]).tolist()
    found = (
        (_EQUAL.get(one.label, one.label), before[one.begin], before[one.end]) for one in constituents(tree.symbols)
    )
    return Counter(one for one in found if one[0] not in _DELETED and one[1] < one[2])


def _folded(word: str) -> str:
    """A word as it is compared: quotes and brackets are written in several ways."""
    return re.sub("``|''|[“”]", '"', word)


def parse_counts(outputs: Sequence[Tree | None], references: Sequence[Tree]) -> list[Counted]:
    """F1, precision, recall, complete match and tagging of all sentences and of short ones; how many are trees."""
    if len(outputs) != len(references):
        raise ScoreError(f"{len(outputs):,} parses and {len(references):,} reference trees: each needs its own")
    if not outputs:
        raise ScoreError("no parses were given, and there is no score of nothing")
    rows = np.array([_row(*pair) for pair in zip(outputs, references, strict=True)], np.float64)
    short = np.array([len(tree.words) <= _SHORT for tree in references], np.float64)[:, None]
    scores: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "F1": lambda sums: _share(2 * sums[..., _MATCHED], sums[..., _GIVEN] + sums[..., _WANTED]),
        "precision": lambda sums: _found(sums, _GIVEN),
        "recall": lambda sums: _found(sums, _WANTED),
        "complete match": lambda sums: _share(sums[..., _COMPLETE], sums[..., _SENTENCES]),
        "tagging": lambda sums: _share(sums[..., _TAGGED], sums[..., _TAGS]),
    }
    counted = [Counted(name, _SIGNATURE, rows, score) for name, score in scores.items()]
    at_most = f"{_SIGNATURE}|words:1-{_SHORT}"
    if short.any():
        counted += [
            Counted(f"{name}, ≤ {_SHORT}", at_most, rows * short, scores[name]) for name in ("F1", "complete match")
        ]
    trees = Counted("well-formed", _SIGNATURE, rows, lambda sums: _share(sums[..., _VALID], sums[..., _SENTENCES]))
    return [*counted, trees]


def _row(output: Tree | None, reference: Tree) -> tuple[int, ...]:
    found = bracket_counts(output, reference)
    brackets = found.matched, found.wanted, found.given
    return (*brackets, int(found.complete), 1, found.tagged, found.words, int(found.is_tree))


def _found(sums: np.ndarray, among: int) -> np.ndarray:
    """The share of these brackets that match: nothing where only the other tree has any."""
    some = sums[..., _GIVEN] + sums[..., _WANTED] > 0
    return np.where(some & (sums[..., among] == 0), 0.0, _share(sums[..., _MATCHED], sums[..., among]))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """In per cent; of nothing nothing is missing."""
    return 100 * np.where(whole > 0, part / np.maximum(whole, 1), 1.0)
