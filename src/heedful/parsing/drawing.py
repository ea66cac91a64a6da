"""Trees to look at: as lines of text for a terminal, and as an SVG picture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from heedful.parsing.trees import CLOSE, Tree

_WIDE, _HIGH, _GAP, _MARGIN = 9.0, 44.0, 18.0, 16.0
"""Of a character, from one level to the next, between words, and around the picture."""
_STYLE = (
    "text{font:15px sans-serif;text-anchor:middle;fill:#222}.word{font-style:italic}.label{fill:#0b5394}"
    "line{stroke:#999}@media(prefers-color-scheme:dark){text{fill:#ddd}.label{fill:#8ab4f8}line{stroke:#777}}"
)


@dataclass
class _Node:
    text: str
    depth: int
    is_word: bool = False
    children: list[_Node] = field(default_factory=list)
    x: float = 0.0


def _nodes(tree: Tree) -> list[_Node]:
    """All nodes, each before its children; words are children of their parts of speech."""
    found: list[_Node] = []
    above: list[_Node] = []
    words = iter(tree.words)
    for symbol in tree.symbols:
        if symbol == CLOSE:
            above.pop()
            continue
        opens = symbol.startswith("(")
        node = _Node(symbol[opens:], len(above))
        found.append(node)
        if above:
            above[-1].children.append(node)
        if opens:
            above.append(node)
        else:
            node.children.append(_Node(next(words), node.depth + 1, is_word=True))
            found += node.children
    return found


def tree_lines(tree: Tree) -> Iterator[str]:
    """The tree as lines of text, a node on each, words beside their parts of speech.

    >>> from heedful.parsing.trees import tree_of
    >>> print("\\n".join(tree_lines(tree_of("(S (NP PRP ) VBP )".split(), ["I", "am"]))))
    S
    ├─ NP
    │  └─ PRP I
    └─ VBP am
    """
    waiting = [(node, "", "") for node in _nodes(tree)[:1]]
    while waiting:
        node, before, below = waiting.pop()
        words = [child.text for child in node.children if child.is_word]
        yield " ".join([before + node.text, *words])
        inside = [child for child in node.children if not child.is_word]
        last = len(inside) - 1
        for place, child in reversed([*enumerate(inside)]):
            branch, goes_on = ("└─ ", "   ") if place == last else ("├─ ", "│  ")
            waiting.append((child, below + branch, below + goes_on))


def trees_svg(trees: Sequence[Tree]) -> str:
    """A picture of trees, one below the other: words in one line below each, every node over what it holds."""
    shapes: list[str] = []
    top, widest = _MARGIN, 0.0
    for tree in trees:
        nodes = _nodes(tree)
        floor, right = max(node.depth for node in nodes), _MARGIN
        for node in nodes:
            if node.is_word:
                node.depth = floor
        for node in nodes:
            if not (node.children and node.children[0].is_word):
                continue
            word = node.children[0]
            half = max(len(node.text), len(word.text)) * _WIDE / 2
            node.x = word.x = right + half
            right += 2 * half + _GAP
        for node in reversed(nodes):  # children first
            if node.children:
                node.x = (node.children[0].x + node.children[-1].x) / 2
        shapes += (_shape(node, top) for node in nodes)
        top, widest = top + (floor + 1) * _HIGH + _MARGIN, max(widest, right)
    size = f'width="{widest:.0f}" height="{top:.0f}" viewBox="0 0 {widest:.0f} {top:.0f}"'
    about = escape("; ".join(" ".join(tree.words) for tree in trees))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}><title>{about}</title><style>{_STYLE}</style>'
    return "\n".join([head, *shapes, "</svg>", ""])


def _shape(node: _Node, top: float) -> str:
    """A node's text, and the lines to its children."""
    y = top + node.depth * _HIGH + 15
    lines = "".join(
        f'<line x1="{node.x:.1f}" y1="{y + 6:.1f}" x2="{child.x:.1f}" y2="{top + child.depth * _HIGH:.1f}"/>'
        for child in node.children
    )
    kind = "word" if node.is_word else "label"
    return f'{lines}<text class="{kind}" x="{node.x:.1f}" y="{y:.1f}">{escape(_written(node.text))}</text>'


def _written(text: str) -> str:
    """The text without what XML cannot hold."""
    return re.sub("[\x00-\x1f\ud800-\udfff\ufffe\uffff]", "�", text)
