"""A line of text on its way through a model: the parts that are searched for, and what becomes of them.

A line is taken apart into sentences, and what must not be translated is taken out of these (`heedful.text`); a sentence
that is too long even so is cut between words, or inside a word where there is no white space.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heedful.evaluation.alignments import Links, Word, located_words, words_of
from heedful.runs.descriptions import RunDescription
from heedful.runs.lists import languages
from heedful.search.attention_maps import Read, word_links
from heedful.search.sentence import Hypothesis
from heedful.text.carrying import Passage, Piece, passage, pieces_of, weekdays
from heedful.text.cleaning import clean_line
from heedful.text.clock import retimed
from heedful.text.letters import as_in_letters
from heedful.text.numbers import Languages, restyled
from heedful.text.profile import Profile
from heedful.text.second_try import Wrong, with_initials, wrong
from heedful.text.sentences import Layout, Span, Split, cut, layout
from heedful.text.subwords import Subwords


@dataclass(frozen=True, eq=False)
class Part:
    """What a model is given at a time: a sentence, or a part of one that is too long."""

    ids: np.ndarray
    joined: bool = False
    """It goes on with the last word of the part before."""
    in_sentence: bool = False
    """It was cut off in the middle of a sentence."""


@dataclass(frozen=True)
class Line:
    """A line that is taken apart."""

    layout: Layout
    passages: list[Passage]
    """What its sentences have become."""
    parts: list[list[Part]]
    """Those of each passage; none where there is nothing to translate."""


@dataclass(frozen=True, eq=False)
class Errand:
    """A passage on its way through the search."""

    line: int
    """The place of its line among those that are translated together."""
    place: int
    """Its own in the line."""
    number: int
    """That of its first part: what samples depend on."""
    is_first: bool
    """Of its line, but for those that are not translated."""
    passage: Passage
    parts: list[Part]
    first: list[Translation] | None = None
    """Its translations of the first try, where this is the second."""


def errands_of(line: Line, place: int, *, first: int) -> Iterator[Errand]:
    """The passages of the line at this place among lines whose first has this number."""
    begin = number = first + place << 16
    for own, parts in enumerate(line.parts):
        yield Errand(place, own, number, number == begin, line.passages[own], parts)
        number += len(parts)


def codes(description: RunDescription) -> Languages:
    """Those of the languages that a model translates between, as far as it says."""
    spoken = languages(description)
    return (spoken.source, spoken.target) if spoken else (None, None)


@dataclass(frozen=True)
class Around:
    """What must be known of a model to take its text apart."""

    subwords: Subwords
    """Of the source."""
    profile: Profile | None
    languages: Languages
    most: int
    """Subwords of a part."""

    @property
    def split(self) -> Split:
        return self.profile.split if self.profile else "sentences"

    def passage(self, sentence: str, *, names: bool = True, also: Collection[Piece] = ()) -> Passage:
        known = {"languages": self.languages, "length": lambda word: len(self.subwords.encode([word])[0])}
        return passage(sentence, self.profile, names=names, also=also, **known)

    def restyled(self, own: Passage, translation: Translation) -> str:
        text = restyled(own.source, translation.text, languages=self.languages)
        return with_initials(own.source, retimed(own.source, text, languages=self.languages))

    def wrong(self, own: Passage, translations: Sequence[Translation]) -> Wrong:
        """What the best of a passage's translations got wrong. In CAPITALS no name can be told from other words."""
        if self.profile and self.profile.source.is_of_numbers:  # sums, whose results are other numbers
            return Wrong()
        profile = self.profile if own.case is None else None
        return wrong(own.source, translations[0].text, languages=self.languages, profile=profile)


def next_try(
    errand: Errand, found: list[Translation], around: Around, *, numbers: bool, phrases: bool
) -> Errand | list[Translation]:
    """The translations of an errand; or the errand as it is tried once more, where something went wrong with them.

    Where a name got lost and there are none, with nothing in the place of what is carried. Where the best has a number
    or a name wrong, with that carried too, and this is kept if it mends that. ``numbers``: whether they are looked
    at; not where the text goes as it is, or the search was asked for some or forbidden them. ``phrases``: whether those
    of letters are put right; not where it was asked for, or forbidden, anything.
    """
    own, first = errand.passage, errand.first
    if not found and first is None:
        return _once_more(errand, around.passage(own.source, names=False), around)
    if phrases:
        said = [as_in_letters(own.source, one.text, languages=around.languages) for one in found]
        found = [replace(one, text=text) for one, text in zip(found, said, strict=True)]
    if not numbers or not found or not errand.parts:
        return found or first or []
    found = [replace(one, text=around.restyled(own, one)) for one in found]
    is_wrong = around.wrong(own, found)
    if first is not None:
        return found if around.wrong(own, first).is_mended_by(is_wrong) else first
    if not is_wrong.pieces and not is_wrong.in_digits:
        return found
    also = () if is_wrong.in_digits else is_wrong.pieces
    again = around.passage(is_wrong.in_digits or own.source, names=bool(own.words), also=also)
    if not again.is_text:
        return [replace(found[0], text=again.alone or again.source)]
    return replace(_once_more(errand, again, around), first=found)


def _once_more(errand: Errand, again: Passage, around: Around) -> Errand:
    parts = parts_of(again.given, around.subwords, most=around.most) if again.is_text else []
    return replace(errand, passage=again, parts=parts)


def line_of(text: str, around: Around, *, split: Split | None, as_is: bool) -> Line:
    """A line taken apart. ``as_is``: nothing is taken out of it."""
    known, days = around.profile.source.knows if around.profile else None, weekdays(text, around.languages)
    carried = [] if as_is else pieces_of(text, known, also=days)
    found = layout(text, split=split or around.split, whole=[piece.span for piece in carried])
    cleaned = [clean_line(sentence) for sentence in found.sentences]
    passages = [Passage(one, one) if as_is else around.passage(one) for one in cleaned]
    parts = [parts_of(one.given, around.subwords, most=around.most) if as_is or one.is_text else [] for one in passages]
    return Line(found, passages, parts)


def parts_of(text: str, subwords: Subwords, *, most: int) -> list[Part]:
    """The ids of a text, or those of its parts if there are more than so many; none of an empty text."""
    if not text:
        return []
    (ids,) = subwords.encode([text])
    if len(ids) <= most:
        return [Part(ids)]
    spans = cut(text, [end for _, end in subwords.spans(ids)], most=most)
    encoded = subwords.encode([text[begin:end].strip() for begin, end, _ in spans])
    return [
        Part(ids, joined=begin > 0 and not text[begin].isspace(), in_sentence=in_sentence)
        for ids, (begin, _, in_sentence) in zip(encoded, spans, strict=True)
    ]


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    score: float
    """The log-probability divided by the length penalty: what translations are ranked by."""
    log_probability: float
    """Of all its subwords and the end symbol."""
    parts: tuple[tuple[int, ...], ...]
    """The subwords of each part that the line was cut into; of a single sentence there is one."""
    sentences: tuple[tuple[Passage, Translation], ...] = ()
    """The sentences of the line, each with its own translation."""

    @property
    def ids(self) -> tuple[int, ...]:
        """All its subwords."""
        return tuple(itertools.chain(*self.parts))


def passage_translations(
    parts: Sequence[Sequence[Hypothesis]], restored: Callable[[list[np.ndarray]], str | None]
) -> list[Translation]:
    """The translations of a passage out of the hypotheses of its parts, best first.

    ``restored``: their text with all that was carried; None where something of it got lost.
    """
    found: list[Translation] = []
    for place in range(max(map(len, parts))):
        whole = [own[min(place, len(own) - 1)] for own in parts]
        text = restored([part.ids for part in whole])
        if text is not None:
            scores = (sum(part.score for part in whole), sum(part.log_probability for part in whole))
            found.append(Translation(text, *scores, tuple(tuple(part.ids.tolist()) for part in whole)))
    return found


def line_translations(
    line: Line, passages: Sequence[Sequence[Translation]], *, most: int, ranked: bool
) -> list[Translation]:
    """At most so many translations of a line out of those of its passages, no two of which read the same.

    ``ranked``: the best of all that can be put together; otherwise, for samples, the first of each passage, the
    second of each, and so on.
    """
    found: dict[str, Translation] = {}
    passages = [_once_each(own) for own in passages] if ranked else passages
    together = [
        tuple(min(place, len(own) - 1) for own in passages) for place in range(max(map(len, passages), default=1))
    ]
    for places in _best_choices([[one.score for one in own] for own in passages]) if ranked else together:
        whole = [own[place] for own, place in zip(passages, places, strict=True)]
        scores = (sum(one.score for one in whole), sum(one.log_probability for one in whole))
        parts = tuple(itertools.chain(*(one.parts for one in whole)))
        text = line.layout.filled([one.text for one in whole])
        sentences = tuple(zip(line.passages, whole, strict=True))
        found.setdefault(text, Translation(text, float(scores[0]), float(scores[1]), parts, sentences))
        if len(found) == most:
            break
    return list(found.values())


def _once_each(translations: Sequence[Translation]) -> list[Translation]:
    """The first of those that read the same: different subwords may spell the same text."""
    found: dict[str, Translation] = {}
    for one in translations:
        found.setdefault(one.text, one)
    return [*found.values()]


def _best_choices(scores: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """The places of one score of each row, those with the highest sum first; each row is in order.

    >>> list(itertools.islice(_best_choices([[0, -5], [0, -1, -3]]), 4))
    [(0, 0), (0, 1), (0, 2), (1, 0)]
    """
    first = (0,) * len(scores)
    seen: set[tuple[int, ...]] = {first}
    waiting: list[tuple[float, tuple[int, ...]]] = [(0.0, first)]
    while waiting:
        lost, places = heapq.heappop(waiting)
        yield places
        for row, place in enumerate(places):
            following = (*places[:row], place + 1, *places[row + 1 :])
            if place + 1 < len(scores[row]) and following not in seen:
                seen.add(following)
                heapq.heappush(waiting, (lost + scores[row][place] - scores[row][place + 1], following))


def placed_links(
    read: Read, texts: tuple[str, str], ids: tuple[np.ndarray, np.ndarray], subwords: tuple[Subwords, Subwords]
) -> list[tuple[Span, Span]]:
    """The words of a translation: the place of the source word that each attends to most, and its own."""
    source, target = (
        located_words(text, text.split(), own.spans(some)) for text, some, own in zip(texts, ids, subwords, strict=True)
    )
    places = [[match.span() for match in re.finditer(r"\S+", text)] for text in texts]
    return [(places[0][from_], places[1][to]) for from_, to in sorted(word_links(read, ids, (source, target)))]


def line_links(
    line: Line,
    translation: Translation,
    subwords: tuple[Subwords, Subwords],
    links: Callable[[tuple[np.ndarray, np.ndarray], tuple[list[Word], list[Word]]], Links],
) -> Links:
    """The links of a line's words: those of its parts, each after the words of the parts before, and between them.

    ``links``: of the ids and the words of a part and its translation.
    """
    found: set[tuple[int, int]] = set()
    source_begin = target_begin = 0
    translated = iter(translation.parts)
    for gap, parts in zip(line.layout.gaps, line.parts, strict=False):
        source_begin, target_begin = source_begin + len(gap.split()), target_begin + len(gap.split())
        for part in parts:
            ids = part.ids, np.array(next(translated), np.int64)
            source, target = (words_of(own.pieces(some)) for own, some in zip(subwords, ids, strict=True))
            source_begin -= part.joined
            found |= {(one + source_begin, other + target_begin) for one, other in links(ids, (source, target))}
            source_begin, target_begin = source_begin + len(source), target_begin + len(target)
    return frozenset(found)
