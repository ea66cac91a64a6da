"""A line of text on its way through a model: the parts it is cut into, and what became of it.

No model has learned to translate pages: a long line is translated in parts of whole sentences, and a sentence that is
too long by itself is cut between words, or inside a word where there is no white space.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.evaluation.translation_scores import perplexity

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
        end = begin
        for place in ends[bisect.bisect_right(ends, begin) :]:
            if not fits(line[begin:place].strip()):
                break
            end = place
        in_sentence = end == begin
        if in_sentence:
            end = _cut_inside(line, begin, ends[bisect.bisect_right(ends, begin)], fits)
        if line[begin:end].strip():
            spans.append((begin, end, in_sentence))
        begin = end
    return spans


def _cut_inside(line: str, begin: int, stop: int, fits: Callable[[str], bool]) -> int:
    """The last place where a sentence can be cut so that what is before it fits."""

    def fitting(place: int) -> bool:
        return fits(line[begin:place].strip())

    spaces = [match.end() for match in _SPACE.finditer(line, begin + 1, stop)]
    return _last(spaces, fitting) or _last(range(begin + 1, stop + 1), fitting) or begin + 1


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
    ids: tuple[int, ...]
    """Its subwords; of a line that was cut into parts, those of all parts."""
    lengths: tuple[int, ...] = ()
    """Of a line that was cut into parts: how many subwords belong to each."""

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """The subwords of each part."""
        ends = np.cumsum(self.lengths or (len(self.ids),)).tolist()
        return [self.ids[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


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


@dataclass(frozen=True)
class Translated:
    """Translations, and how fast they came; tokens are subwords, END included."""

    outputs: list[str]
    tokens: int
    seconds: float
    device: str

    @property
    def speed(self) -> dict[str, str | float]:
        """Sentences and tokens in a second, and where."""
        return {
            "device": self.device,
            "seconds": self.seconds,
            "sentences_per_second": len(self.outputs) / self.seconds,
            "target_tokens_per_second": self.tokens / self.seconds,
        }


@dataclass(frozen=True)
class Likelihood:
    """How probable a model finds the references; every sentence ends in one more subword and one more word."""

    log_probability: float
    subwords: int
    words: int

    def described(self) -> dict[str, float | None]:
        """The numbers as JSON has them: null for what is not finite."""
        numbers = {
            "per_subword": perplexity(-self.log_probability, self.subwords),
            "per_word": perplexity(-self.log_probability, self.words),
            **dataclasses.asdict(self),
        }
        return {name: number if math.isfinite(number) else None for name, number in numbers.items()}
