"""A line of text on its way through a model: the parts it is cut into, and what became of it.

No model has learned to translate pages: a long line is translated in parts of whole sentences, and a sentence that is
too long by itself is cut between words, or inside a word where there is no white space.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

# A full stop, what may close after it, and then white space; in Chinese and Japanese no space follows.
_END = re.compile(r"""(?<=[.!?…])["'”’»)\]]*\s+|(?<=[。！？])""")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, eq=False)
class Part:
    """A line of the input, or a part of one that is too long."""

    ids: np.ndarray
    joined: bool = False
    """It goes on with the last word of the part before."""
    in_sentence: bool = False
    """It was cut off in the middle of a sentence."""


def parts_of(line: str, *, encode: Callable[[Sequence[str]], Sequence[np.ndarray]], most: int) -> list[Part]:
    """The ids of a line, or those of its parts if there are more than so many; none of an empty line."""
    if not line:
        return []
    ids = encode([line])[0]
    if len(ids) <= most:
        return [Part(ids)]
    spans = cut(line, fits=lambda text: len(encode([text])[0]) <= most)
    encoded = encode([line[begin:end].strip() for begin, end, _ in spans])
    return [
        Part(ids, joined=begin > 0 and not line[begin - 1].isspace(), in_sentence=in_sentence)
        for ids, (begin, _, in_sentence) in zip(encoded, spans, strict=True)
    ]


def cut(line: str, *, fits: Callable[[str], bool]) -> list[tuple[int, int, bool]]:
    """Where the parts of a line begin and end: as few as can be, each of whole sentences that fit together.

    The last of the three says whether the part was cut off in the middle of a sentence that does not fit by itself.

    >>> cut("One. Two! Three?", fits=lambda text: len(text) < 12)
    [(0, 10, False), (10, 16, False)]
    >>> cut("One two three", fits=lambda text: len(text) < 8)
    [(0, 8, True), (8, 13, False)]
    """
    ends = [*(match.end() for match in _END.finditer(line)), len(line)]
    spans: list[tuple[int, int, bool]] = []
    begin = 0
    while begin < len(line):
        here = functools.partial(_fits, fits, line, begin)
        following = ends[bisect.bisect_right(ends, begin) :]
        end = _last(following, here)
        in_sentence = end is None
        if end is None:
            spaces = [match.end() for match in _SPACE.finditer(line, begin + 1, following[0])]
            end = _last(spaces, here) or _last(range(begin + 1, following[0] + 1), here) or begin + 1
        if line[begin:end].strip():
            spans.append((begin, end, in_sentence))
        begin = end
    return spans


def _fits(fits: Callable[[str], bool], line: str, begin: int, end: int) -> bool:
    return fits(line[begin:end].strip())


def _last(places: Sequence[int], fitting: Callable[[int], bool]) -> int | None:
    """The last place that is fitting, if longer texts fit less; looks at few, and at none far beyond it."""
    low, high = -1, 0
    while high < len(places) and fitting(places[high]):
        low, high = high, 2 * high + 1
    high = min(high, len(places))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fitting(places[middle]) else (low, middle)
    return places[low] if low >= 0 else None


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    score: float
    """The log-probability divided by the length penalty: what translations are ranked by."""
    log_probability: float
    """Of all its subwords and the end symbol."""
    parts: tuple[tuple[int, ...], ...]
    """The subwords of each part that the line was cut into; of most lines there is one."""

    @property
    def ids(self) -> tuple[int, ...]:
        """All its subwords."""
        return tuple(itertools.chain(*self.parts))


def distinct(translations: Iterable[Translation]) -> list[Translation]:
    """Without those that read like one before: different subwords may spell the same text."""
    found: dict[str, Translation] = {}
    for translation in translations:
        found.setdefault(translation.text, translation)
    return list(found.values())


@dataclass(frozen=True)
class Scored:
    """What a model thinks of a given translation."""

    log_probability: float
    """Of all its subwords and the end symbol."""
    token_log_probabilities: tuple[float, ...]
    """Of each subword, and last of the end symbol."""
    pieces: tuple[str, ...]
    """The subwords as text; the end symbol is not among them."""

    @property
    def tokens(self) -> int:
        """Subwords, and one for the end symbol."""
        return len(self.token_log_probabilities)
