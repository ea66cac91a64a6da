"""Section 6.3: a tree is a sequence of symbols and the words it stands over.

The symbols are what the model writes: ``(NP`` opens a constituent, ``)`` closes the last that is open, anything else is
the part of speech of the next word. The words are not written, they stand for themselves by their position. So a tree
and its sequence are one thing, as deep as anybody likes, and reading, scoring and drawing need no recursion.

Trees are read out of brackets, ``(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ barks))))``, with any white space between them.
As in EVALB, empty nodes (``-NONE-``) are left out with all that holds nothing else, and a label is cut at a ``-`` or
``=``, where its function or index begins. A bracket in a word is written ``-LRB-`` or ``-RRB-``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.background import in_background
from heedful.errors import TextError
from heedful.text.pairs import PairBlock, ParallelText
from heedful.text.reading import BadLine, line_blocks, read_lines

CLOSE = ")"
_EMPTY = "-NONE-"
_WRITTEN = {"(": "-LRB-", ")": "-RRB-"}
_READ = {written: bracket for bracket, written in _WRITTEN.items()}
_PARTS = re.compile("[()]|[^ \t\r\f\v\n()]+")
"""White space of ASCII alone: a word may hold another, such as that inside a large number."""
_BLOCK = 1000
"""Trees that are handed on together."""
_SHOWN = 60
"""Characters of a wrong tree that a message shows."""


@dataclass(frozen=True)
class Tree:
    """Symbols that make one tree over these words: `tree_of` makes sure of it."""

    symbols: tuple[str, ...]
    words: tuple[str, ...]

    def __str__(self) -> str:
        """The tree in brackets, on one line.

        >>> print(tree_of(["(S", "(NP", "PRP", ")", "VBP", ")"], ["I", "am"]))
        (S (NP (PRP I)) (VBP am))
        """
        words = map(_escaped, self.words)
        parts = (symbol if is_bracket(symbol) else f"({symbol} {next(words)})" for symbol in self.symbols)
        return " ".join(parts).replace(" )", ")")

    @property
    def tags(self) -> list[str]:
        """The part of speech of each word."""
        return [symbol for symbol in self.symbols if not is_bracket(symbol)]


@dataclass(frozen=True)
class Constituent:
    """A label over the words from ``begin`` to before ``end``, so many constituents below the root."""

    label: str
    begin: int
    end: int
    depth: int


def is_bracket(symbol: str) -> bool:
    """Whether a symbol opens or closes a constituent: all others are parts of speech."""
    return symbol == CLOSE or symbol.startswith("(")


def tree_of(symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """The tree that these symbols make over these words; raises ValueError, which says why, where they make none."""
    depth = count = 0
    for place, symbol in enumerate(symbols):
        if place and not depth:
            raise ValueError("something follows the end of the tree")
        if symbol == CLOSE:
            if not depth:
                raise ValueError("a constituent is closed that was never opened")
            if symbols[place - 1].startswith("("):
                raise ValueError("a constituent has nothing in it")
            depth -= 1
        elif symbol.startswith("("):
            depth += 1
        else:
            count += 1
    if depth or not symbols:
        raise ValueError(f"{depth} constituents are never closed" if depth else "there is nothing")
    if count != len(words):
        raise ValueError(f"it has {count} words, and {len(words)} were given")
    return Tree(tuple(symbols), tuple(words))


def constituents(symbols: Iterable[str]) -> list[Constituent]:
    """All of a tree, each before those inside it; words have none of their own.

    >>> [(one.label, one.begin, one.end) for one in constituents("(S (NP PRP ) VBP )".split())]
    [('S', 0, 2), ('NP', 0, 1)]
    """
    found: list[Constituent] = []
    opened: list[int] = []
    words = 0
    for symbol in symbols:
        if symbol == CLOSE:
            one = found[place := opened.pop()]
            found[place] = Constituent(one.label, one.begin, words, one.depth)
        elif symbol.startswith("("):
            found.append(Constituent(symbol[1:], words, words, len(opened)))
            opened.append(len(found) - 1)
        else:
            words += 1
    return found


def read_trees(path: Path) -> list[Tree]:
    """All trees of a file, plain or compressed; a file without any is refused, and so is a tree that is none."""
    trees: list[Tree] = [tree for _, tree in _numbered_trees(path, _refuse) if tree is not None]
    if not trees:
        raise TextError(f"{path} has no trees in it")
    return trees


def read_parses(path: Path, count: int) -> list[str]:
    """A file with so many parses: one a line, whatever it says, or trees over any lines."""
    lines = read_lines(path)
    return lines if len(lines) == count else [str(tree) for tree in read_trees(path)]


def tree_from(text: str) -> Tree | None:
    """The tree of a text in brackets; None where it is no tree, or more than one."""
    reader, trees = _Reader(), []
    try:
        trees = list(reader.read(text, 1))
    except ValueError:
        return None
    return trees[0][1] if len(trees) == 1 and not reader.inside else None


def tree_pairs(text: ParallelText, *, on_bad_line: BadLine) -> Iterator[PairBlock]:
    """The trees of a file as pairs of texts: the words, and the symbols, with a space between any two.

    A pair's line is here the number of its tree in the file.
    """
    block = PairBlock(1, [], [])
    for _, tree in in_background(_numbered_trees(text.paths[0], on_bad_line)):
        block.source.append(tree and " ".join(tree.words))
        block.target.append(tree and " ".join(tree.symbols))
        if len(block.source) == _BLOCK:
            yield block
            block = PairBlock(block.first_line + _BLOCK, [], [])
    if block.source:
        yield block


def _refuse(path: Path, line: int, reason: str) -> None:
    raise TextError(f"{path}, line {line}: {reason}")


def _numbered_trees(path: Path, on_bad_line: BadLine) -> Iterator[tuple[int, Tree | None]]:
    """Every tree and the line in which it begins; None stands for one that is none and was not refused."""
    reader = _Reader()
    lines = itertools.chain.from_iterable(line_blocks(path, on_bad_line=on_bad_line))
    for number, line in enumerate(lines, start=1):
        try:
            yield from reader.read(line or "", number)
        except ValueError as problem:
            on_bad_line(path, number, f"{problem} in {(line or '').strip()!r:.{_SHOWN}}")
            yield number, None
            reader = _Reader(skipping=True)
    if reader.inside:
        on_bad_line(path, reader.began, "the tree that begins here is never closed")
        yield reader.began, None


class _Reader:
    """Takes a text line by line; after a mistake it waits for a line that begins with a bracket."""

    def __init__(self, *, skipping: bool = False) -> None:
        self._skipping = skipping
        self._symbols: list[str] = []
        self._words: list[str] = []
        self._open: list[_Node] = []
        self.began = 0

    @property
    def inside(self) -> bool:
        """Whether a tree has begun that is not at its end."""
        return bool(self._open)

    def read(self, line: str, number: int) -> Iterator[tuple[int, Tree | None]]:
        """The trees that end in this line, and the lines in which they began."""
        if self._skipping and not line.startswith("("):
            return
        self._skipping = False
        for part in _PARTS.findall(line):
            if part == "(":
                self._begin(number)
            elif part == CLOSE:
                self._end()
                if not self._open:
                    if self._symbols:  # a tree of empty nodes alone is nothing
                        yield self.began, Tree(tuple(self._symbols), tuple(self._words))
                    self._symbols, self._words = [], []
            elif not self._open:
                raise ValueError("there is text outside of any tree")
            else:
                self._atom(part)

    def _begin(self, number: int) -> None:
        if not self._open:
            self.began = number
        elif self._open[-1].word is not None:
            raise ValueError(f"{self._open[-1].word!r:.40} stands beside a constituent, without a part of speech")
        else:
            self._open[-1].label = self._open[-1].label or ""
            self._open[-1].has_children = True
        self._open.append(_Node(len(self._symbols)))
        self._symbols.append("")  # `_end` knows what it is

    def _atom(self, part: str) -> None:
        node = self._open[-1]
        if node.has_children or node.word is not None:
            raise ValueError(f"{part!r:.40} stands there without a part of speech")
        if node.label is None:
            node.label = part
        else:
            node.word = part

    def _end(self) -> None:
        if not self._open:
            raise ValueError("a bracket is closed that was never opened")
        node = self._open.pop()
        if node.word is None and not node.has_children:
            raise ValueError("a bracket has nothing in it" if node.label is None else f"{node.label!r:.40} has no word")
        label = _plain(node.label or "")
        if node.word is not None and node.label != _EMPTY:
            self._symbols[node.place] = label
            self._words.append(re.sub("-[LR]RB-", lambda found: _READ[found[0]], node.word))
        elif len(self._symbols) > node.place + 1:
            self._symbols[node.place] = f"({label}"
            self._symbols.append(CLOSE)
        else:
            del self._symbols[node.place]  # all that it held was empty


@dataclass
class _Node:
    """A bracket that is open."""

    place: int
    """Where its symbols begin."""
    label: str | None = None
    word: str | None = None
    has_children: bool = False


def _plain(label: str) -> str:
    """A label without its function and index; one that begins with ``-`` is whole, as ``-LRB-``.

    >>> _plain("NP-SBJ-1"), _plain("S=2"), _plain("-LRB-")
    ('NP', 'S', '-LRB-')
    """
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0] or label


def _escaped(word: str) -> str:
    return re.sub("[()]", lambda found: _WRITTEN[found[0]], word)
