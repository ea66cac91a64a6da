"""A baseline for parsing: a probabilistic context-free grammar read off a treebank, and its best trees by CKY.

    python -m benchmarks.pcfg --trees train.ptb --reference dev.ptb --output pcfg.ptb

The grammar is the one of textbooks: every constituent knows the label above it, long rules become binary ones whose
intermediate symbols remember their last child, a chain of single children is one symbol. Words seen once in training
stand for those never seen, by a signature: capitals, digits, hyphens, the last letters.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from heedful.parsing.bracket_scores import parse_counts
from heedful.parsing.trees import CLOSE, Tree, read_trees, tree_of

_RARE = 1
"""Words seen so often at most lend their signatures to unknown ones."""
_PRUNED = 9.0
"""A symbol that is so much less probable (natural logarithm) than the best over the same words is given up."""


@dataclass
class Node:
    """A constituent, its chain of single children joined to one label; a word's chain ends in its part of speech."""

    label: str
    children: list[Node] = field(default_factory=list)
    word: str | None = None


def nested(tree: Tree) -> Node:
    """The tree with chains of single children as one node, labels joined by ``+``."""
    words, above, root = iter(tree.words), [], Node("")
    for symbol in tree.symbols:
        if symbol == CLOSE:
            node = above.pop()
            if len(node.children) == 1:
                (child,) = node.children
                node.label, node.children, node.word = f"{node.label}+{child.label}", child.children, child.word
            continue
        node = Node(symbol.removeprefix("("))
        (above[-1] if above else root).children.append(node)
        if symbol.startswith("("):
            above.append(node)
        else:
            node.word = next(words)
    return root.children[0]


def rules(node: Node, above: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each rule that a tree uses: a symbol, and its two children or its word."""
    symbol = _symbol(node, above)
    if node.word is not None:
        yield symbol, (node.word,)
        return
    below = node.label.rpartition("+")[2]
    children = [_symbol(child, below) for child in node.children]
    left = children[0]
    for place, child in enumerate(children[1:], start=1):
        is_last = place == len(children) - 1
        joined = symbol if is_last else f"@{node.label}^{above}|{node.children[place].label}"
        yield joined, (left, child)
        left = joined
    for child in node.children:
        yield from rules(child, below)


def _symbol(node: Node, above: str) -> str:
    return node.label if node.word is not None else f"{node.label}^{above}"


def signature(word: str, *, first: bool) -> str:
    """What an unknown word looks like."""
    shape = "C" if word[:1].isupper() else "c"
    shape += "1" if first else ""
    shape += "d" if re.search(r"\d", word) else ""
    shape += "-" if "-" in word else ""
    return f"⟨{shape}{'' if not word.isalpha() else word[-3:].lower()}⟩"


class Grammar:
    """Rules with their probabilities, as arrays."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        seen = Counter(word for tree in trees for word in tree.words)
        self.known = {word for word, count in seen.items() if count > _RARE}
        tops = [nested(tree) for tree in trees]
        used = [list(rules(top)) for top in tops]
        binary = Counter((parent, *two) for own in used for parent, two in own if len(two) == 2)
        lexical: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for own in used:
            for place, (parent, (word,)) in enumerate(rule for rule in own if len(rule[1]) == 1):
                lexical[self.form(word, first=place == 0)][parent] += 1
        total = Counter(parent for own in used for parent, _ in own)
        self.names = sorted(total)
        ids = {name: place for place, name in enumerate(self.names)}
        ordered = sorted(
            (ids[parent], ids[a], ids[b], count / total[parent]) for (parent, a, b), count in binary.items()
        )
        self.parent, self.left, self.right, share = (np.array(column) for column in zip(*ordered, strict=True))
        self.rule = np.log(share)

        def logarithms(counts: Counter[str], *, divided: int = 1) -> tuple[np.ndarray, np.ndarray]:
            values = [count / total[parent] / divided for parent, count in counts.items()]
            return np.array([ids[parent] for parent in counts]), np.log(values)

        self.lexical = {form: logarithms(parents) for form, parents in lexical.items()}
        rare: Counter[str] = sum((own for form, own in lexical.items() if form[0] == "⟨"), Counter())
        self.unknown = logarithms(rare, divided=1000)
        self.root = np.full(len(self.names), -np.inf)
        for name, count in Counter(_symbol(top, "") for top in tops).items():
            self.root[ids[name]] = math.log(count / len(tops))

    def form(self, word: str, *, first: bool) -> str:
        """What a word counts as: itself, or, where it is rare, its signature."""
        return word if word in self.known else signature(word, first=first)

    def tags(self, word: str, *, first: bool) -> tuple[np.ndarray, np.ndarray]:
        """The symbols that a word may have, and how probable each makes it."""
        return self.lexical.get(self.form(word, first=first), self.unknown)

    def parse(self, words: Sequence[str]) -> Tree:
        """The most probable tree, or, where there is none, all words below one label."""
        count, symbols = len(words), len(self.names)
        chart = np.full((count, count + 1, symbols), -np.inf, np.float32)
        back: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = {}
        for place, word in enumerate(words):
            found, values = self.tags(word, first=place == 0)
            chart[place, place + 1, found] = values
        for width in range(2, count + 1):
            for begin in range(count - width + 1):
                self._combine(chart, back, begin, begin + width)
        best = chart[0, count] + self.root
        if count == 0 or not np.isfinite(best.max()):
            tags = [self._tag(chart, place) for place in range(count)]
            return tree_of(["(ROOT", "(FRAG", *tags, CLOSE, CLOSE], words)
        return tree_of(list(self._symbols(chart, back, 0, count, int(best.argmax()))), words)

    def _combine(self, chart: np.ndarray, back: dict, begin: int, end: int) -> None:
        left, right = chart[begin, begin + 1 : end], chart[begin + 1 : end, end]
        possible_left, possible_right = (np.logical_or.reduce(np.isfinite(side)) for side in (left, right))
        alive = np.flatnonzero(possible_left[self.left] & possible_right[self.right])
        if not len(alive):
            return
        both = left[:, self.left[alive]] + right[:, self.right[alive]]
        split = both.argmax(0)
        values = both[split, np.arange(len(alive))] + self.rule[alive]
        parents = self.parent[alive]  # in order
        firsts = np.flatnonzero(np.r_[True, parents[1:] != parents[:-1]])
        best = np.maximum.reduceat(values, firsts)
        kept = best > best.max() - _PRUNED
        own, best, firsts = parents[firsts][kept], best[kept], firsts[kept]
        if not np.isfinite(best).all() or not len(best):
            return
        chart[begin, end, own] = best
        last = np.searchsorted(parents, own, side="right")
        chosen = np.array([first + values[first:after].argmax() for first, after in zip(firsts, last, strict=True)])
        back[begin, end] = own, self.left[alive[chosen]], self.right[alive[chosen]], begin + 1 + split[chosen]

    def _tag(self, chart: np.ndarray, place: int) -> str:
        return self.names[int(chart[place, place + 1].argmax())].rpartition("+")[2]

    def _symbols(self, chart: np.ndarray, back: dict, begin: int, end: int, symbol: int) -> Iterator[str]:
        """The symbols of the best tree, without what only the grammar knows."""
        waiting: list[tuple[int, int, int] | str] = [(begin, end, symbol)]
        while waiting:
            task = waiting.pop()
            if isinstance(task, str):
                yield task
                continue
            begin, end, symbol = task
            name = self.names[symbol]
            joined = name.startswith("@")
            labels = name.rpartition("^")[0].split("+") if end - begin > 1 else name.split("+")
            if end - begin == 1:
                yield from (f"({label}" for label in labels[:-1])
                yield labels[-1]
                yield from CLOSE * (len(labels) - 1)
                continue
            own, left, right, split = back[begin, end]
            place = int(np.searchsorted(own, symbol))
            if not joined:
                yield from (f"({label}" for label in labels)
                waiting += [CLOSE] * len(labels)
            middle = int(split[place])
            waiting += [(middle, end, int(right[place])), (begin, middle, int(left[place]))]


def main() -> None:
    """Read a grammar off one file of trees, parse the words of another, score."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trees", type=Path, required=True)
    options.add_argument("--reference", type=Path, required=True)
    options.add_argument("--output", type=Path)
    options.add_argument("--first", type=int, default=None, help="parse only so many")
    given = options.parse_args()
    grammar = Grammar(read_trees(given.trees))
    gold = read_trees(given.reference)[: given.first]
    print(f"{len(grammar.names):,} symbols, {len(grammar.rule):,} rules")
    began = time.process_time()
    found = [grammar.parse(tree.words) for tree in gold]
    print(f"{len(gold):,} sentences in {time.process_time() - began:.0f} s of processor time")
    for score in parse_counts(found, gold):
        print(f"{score.name:<22}{score.value:6.2f}")
    if given.output:
        given.output.write_text("\n".join(map(str, found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
