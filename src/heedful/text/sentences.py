"""Where the sentences of a text are, and what stands between them: white space, line breaks, indentation, list marks.

A model learns from sentences, and loses words of what is longer. So a text is taken apart into sentences, and very long
ones into clauses; its translation is put together with the very characters that stood between them. The rules are few
and the same for every language; how often they are right, and how other splitters compare, is in docs/log.md. This
module knows no model.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Split = Literal["sentences", "lines", "never"]
Span = tuple[int, int]
"""The first character of something in a text, and the one after its last."""

_LINE_ENDS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE_END = re.compile(rf"[{_LINE_ENDS}]+|<[bB][rR]\s*/?>")
# Bullets, numbers, quotation and heading marks, one after the other, each with white space behind it.
_MARKS = re.compile(r"(?:(?:[-*+•‣◦·–—]|>+|#{1,6}|\d{1,3}[.)]|\(?[a-zA-Z]\)|\(\d{1,3}\)|\[[ xX]\])\s+)*")
# What ends a sentence, what may close after it, footnote marks, white space; in Chinese and Japanese no space follows.
_END = re.compile(
    r"""(?<![.!?…])([.!?…]+)["'”’»“)\]*_]*(?:\s?\[\d+\](?=\s|$))*(?=\s)|[。！？]["'”’」』）]*|[।؟]+(?=\s)"""
)
_PICTURE = (
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa]"
)
EMOJIS = f"(?:{_PICTURE}[\ufe0f\u20e3]?(?:\u200d?{_PICTURE}\ufe0f?)*|[0-9#*]\ufe0f\u20e3)+"
"""The pattern of emoji, one after the other."""
# Before a sentence, which begins with a capital then: 🎉 We won! In "❤ is all you need" it is a word. Nothing is tried
# twice, however many there are.
_EMOJIS_BEFORE = re.compile(rf"""\s*(?:(?>{EMOJIS})\s+)++(?=["'“„«»‘‚(\[¿¡]*([^\W\d_]))""")
_FOLLOWING = re.compile(r"""\s+["'“„«»‘‚(\[¿¡*_—–-]*\s*(\w*)""")
_WORD_BEFORE = re.compile(r"[^\W_](?:[^\W_]|[.'’-](?=[^\W_]))*$")
_TITLES = re.compile(
    r"messrs|mrs?|ms|mmes?|mlle|dr|prof|rev|hon|gen|col|maj|capt|cmdr|lt|sgt|sen|rep|gov|st|mt|ft|fr|hr|sra?|srta|dott|ing|"
    r"dipl|vs|cf|e\.?g|i\.?e|viz|resp|bzw|z\.b|d\.h|u\.a|bspw|vgl|sog|ca|approx|dept|univ|assn|bros|"
    r"adm|brig|cpl|pfc|pvt|sens|reps|in[ck]l|e[xk][ck]l|zzgl|ggf|evtl"
)
"""What stands before a full stop that never ends a sentence."""
_BEFORE_NUMBERS = re.compile(
    r"nos?|[^\W\d_]*nr|pp?|s|figs?|vols?|art|ch|chap|sec|eq|ref|tel|abs|kap|bd|abb|tab|max|min|std|[^\W\d_]*str|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|o[ck]t|nov|de[cz]"
)
_DAYS = re.compile(r"Mon?|Tues?|Wed|Thu(?:rs?)?|Fri?|Sat?|Sun|So|D[io]|Mi")
"""Weekdays, which end a sentence before a number as seldom: So. 10–14 Uhr."""
# German words after a number with a full stop that is an ordinal: 3. Oktober.
_AFTER_ORDINALS = re.compile(
    r"jan(?:uar)?|feb(?:ruar)?|märz?|mrz|apr(?:il)?|mai|jun[io]?|jul[io]?|aug(?:ust)?|sept?(?:ember)?|okt(?:ober)?|"
    r"nov(?:ember)?|dez(?:ember)?|jahrhunderts?|klasse|"
    r"lebensjahr|auflage|kapitel|stock|tag|mal|platz"
)
# And those before it: in der 32. Minute. In English only one of them stands before an age.
_BEFORE_ORDINALS = re.compile(
    r"\b(?:d(?:er|ie|as|en|em|es)|im|zu[mr]|vom|beim|(?<!I )am|(?:[mdsk]?ein|ihr|unser|jed)(?:e\w?)?)\s+\d+$",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[A-Z](?:\.[A-Z])+")
_BEGINNINGS = re.compile(
    r"the|an?|this|that|these|there|s?he|it|its|his|her|they|their|we|our|you|i|my|but|and|so|if|as|in|on|at|for|when|"
    r"d(?:er|ie|as|en|em|ies\w*)|ein\w?|er|sie|es|wir|ihr\w*|ich|aber|und|im|am|wenn|auch|nach"
)
"""What follows U.S. or Mio. where a sentence ends with it: not in U.S. Army."""
_MOST_LOOKED_AT = 40
"""Characters before a full stop: with a whole line that nothing ends, the time would grow with its square."""
_MOST_WORDS = 50
"""Of a sentence, between white space: of a longer one models lose words, and of its parts fewer."""
_FEWEST_WORDS = 8
"""Of such a part."""
_CLAUSE_ENDS = re.compile(r"[;:]\s"), re.compile(r",\s")


@dataclass(frozen=True)
class Layout:
    """A text taken apart: ``gaps[0] + sentences[0] + gaps[1] + … + gaps[-1]`` is the text."""

    gaps: tuple[str, ...]
    sentences: tuple[str, ...]

    def filled(self, sentences: Iterable[str]) -> str:
        """The text with other sentences in the places of its own."""
        first, *others = self.gaps
        return first + "".join(sentence + gap for sentence, gap in zip(sentences, others, strict=True))


def layout(text: str, *, split: Split = "sentences", whole: Sequence[Span] = ()) -> Layout:
    """A text taken apart into its sentences, into its lines, or not at all; white space around them stays outside.

    ``whole``: what no sentence ends inside of, in order.

    >>> layout("- Yes.  No!\\n\\n  1. Mr. Jones came.")
    Layout(gaps=('- ', '  ', '\\n\\n  1. ', ''), sentences=('Yes.', 'No!', 'Mr. Jones came.'))
    """
    spans = [span for span in _spans(text, split, whole) if span[0] < span[1]]
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), len(text)]
    gaps = (text[end:begin] for end, begin in zip(ends, begins, strict=True))
    return Layout(tuple(gaps), tuple(text[begin:end] for begin, end in spans))


def _spans(text: str, split: Split, whole: Sequence[Span]) -> Iterator[Span]:
    if split == "never":
        yield _stripped(text, 0, len(text))
        return
    inside = [first for first, _ in whole]
    breaks = [(0, 0), *(match.span() for match in _LINE_END.finditer(text)), (len(text), len(text))]
    for (_, first), (last, _) in itertools.pairwise(breaks):
        begin, end = _stripped(text, first, last)
        if split == "lines":
            yield begin, end
            continue
        marks = _MARKS.match(text, begin, end)
        begin = marks.end() if marks else begin
        # A tab separates cells, a name and its value, a command and its key; so do many spaces.
        tabs = [match.start() for match in re.finditer(r"\t| {4,}", text[begin:end])]
        cells = [begin, *(begin + tab for tab in tabs), end]
        for cell, last in itertools.pairwise(cells):
            for stop in [*sentence_ends(text, cell, last), last]:
                for place in (*_clause_ends(text, max(begin, cell), stop), stop):
                    before = bisect.bisect_left(inside, place)
                    if place == end or not before or whole[before - 1][1] <= place:
                        emojis = _EMOJIS_BEFORE.match(text, begin, place)
                        yield _stripped(text, emojis.end() if emojis and emojis[1].isupper() else begin, place)
                        begin = place


def _stripped(text: str, begin: int, end: int) -> Span:
    own = text[begin:end]
    begin += len(own) - len(own.lstrip())
    return begin, max(begin, begin + len(own.strip()))


def with_edits(text: str, edits: Iterable[tuple[Span, str]]) -> str:
    """The text with others in these places of it, none of which overlap.

    >>> with_edits("Um 9 Uhr.", [((5, 8), "h"), ((0, 2), "At")])
    'At 9 h.'
    """
    parts, done = list[str](), 0
    for (begin, end), other in sorted(edits):
        parts += text[done:begin], other
        done = end
    return "".join([*parts, text[done:]])


def sentence_ends(text: str, begin: int = 0, end: int | None = None) -> Iterator[int]:
    """Where sentences end, the last one's end left out.

    >>> list(sentence_ends('"Why?" he asked. Dr. No. 5 said: No. I do.'))
    [16, 36]
    """
    end = len(text) if end is None else end
    only_small = text[begin:end].islower()  # then small letters say nothing
    for match in _END.finditer(text, begin, end):
        if match.end() < end and (match[1] is None or _ends(text, begin, match, only_small=only_small)):
            begin = match.end()
            yield begin


def _ends(text: str, begin: int, match: re.Match[str], *, only_small: bool) -> bool:
    """Whether a full stop, or another mark before white space, ends a sentence."""
    following = _FOLLOWING.match(text, match.end())
    after = following[1] if following else ""
    if after[:1].islower() and not only_small:
        return False
    if match[1] != ".":
        return True
    near = max(begin, match.start() - _MOST_LOOKED_AT)
    before = _WORD_BEFORE.search(text, max(0, match.start() - _MOST_LOOKED_AT), match.start())
    word = before[0] if before else ""
    if len(word) == 1 and word.isalpha() and word != "I":  # an initial
        return False
    if near == begin and not text[begin : match.start()].strip(" .0123456789"):  # the number of a heading
        return False
    lower = word.lower()
    if _TITLES.fullmatch(lower):
        return False
    if after[:1].isdigit() and (_BEFORE_NUMBERS.fullmatch(lower) or _DAYS.fullmatch(word)):
        return False
    if (is_letters := _LETTERS.fullmatch(word)) or lower in {"mio", "mrd", "tsd"}:
        return bool(_BEGINNINGS.fullmatch(after.lower()) or (is_letters and not after))
    if not word.isdecimal() or len(word) > 3:
        return True
    is_ordinal = len(word) <= 2 and _AFTER_ORDINALS.fullmatch(after.lower())
    return not (is_ordinal or _BEFORE_ORDINALS.search(text, near, match.start()))


def _clause_ends(text: str, begin: int, end: int) -> Iterator[int]:
    """Where a sentence of very many words is cut: in its middle, after a semicolon or a colon, else after a comma."""
    words = [match.start() for match in re.finditer(r"\S+", text[begin:end])]
    if len(words) <= _MOST_WORDS:
        return
    first, middle, last = (begin + words[place] for place in (_FEWEST_WORDS, len(words) // 2, -_FEWEST_WORDS))
    found = ([match.start() + 1 for match in mark.finditer(text, first - 2, last)] for mark in _CLAUSE_ENDS)
    places = next(filter(None, found), None)
    if places is not None:
        place = min(places, key=lambda place: abs(place - middle))
        yield from (*_clause_ends(text, begin, place), place, *_clause_ends(text, place, end))


def cut(text: str, ends: Sequence[int], *, most: int) -> list[tuple[int, int, bool]]:
    """Parts of a text that is too long: as few as can be, each of at most so many subwords.

    They end where sentences do, else after a comma or the like, else between words, else inside of one. Each comes with
    whether it was cut off in a sentence. ``ends``: where each subword of the text ends.

    >>> cut("One. Two! Three, four", [3, 4, 8, 9, 15, 16, 21], most=4)
    [(0, 9, False), (9, 21, False)]
    """
    stops = [*(match.end() for match in _END.finditer(text)), len(text)]
    clauses = [match.start() for match in re.finditer(r"(?<=[.,;:!?…])\s+", text)]
    spaces = [match.start() for match in re.finditer(r"(?<=\S)\s+", text)]
    parts: list[tuple[int, int, bool]] = []
    begin = 0
    while begin < len(text):
        last = bisect.bisect_right(ends, begin) + most
        reach = ends[last - 1] if last < len(ends) else len(text)
        half = (begin + reach) // 2  # a comma after a few words is no good place
        places = (_last_of(stops, begin, reach), _last_of(clauses, half, reach), _last_of(spaces, begin, reach))
        end = next((place for place in places if place is not None), max(reach, begin + 1))
        if text[begin:end].strip():
            parts.append((begin, end, end not in stops))
        begin = end
    return parts


def _last_of(places: Sequence[int], after: int, upto: int) -> int | None:
    """The last of the places, which are in order, between the two."""
    found = bisect.bisect_right(places, upto) - 1
    return places[found] if found >= 0 and places[found] > after else None
