"""What was carried (`heedful.text.carrying`) is put back into a translation.

A piece takes the place of the name that stands for it. Tags, emoji and unknown signs are put beside the words they
stood beside: the attention says what has become of these. Every piece comes back exactly once, and tags that were
nested stay nested. This module knows no model.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from heedful.text.carrying import NAME, TAG, Passage
from heedful.text.sentences import Span, with_edits
from heedful.text.usual_spelling import begun, in_case

_CLOSING = ".,;:!?)\"'”“"
"""What may stand at the end of a word without being part of it."""

_MISREAD = re.compile("[\x80-\x9f]")
"""What training text has instead of quotation marks where somebody read it as Latin-1."""


def put_back(
    passage: Passage,
    translation: str,
    came_from: Callable[[], Sequence[tuple[Span, Span]]] = tuple,
    *,
    language: str | None = None,
) -> str | None:
    """The translation with all that was carried; None where a name is not there exactly once.

    ``came_from``: asked only where it matters, says from which word of `given` each word of the translation came: the
    places of both. ``language``: that of the translation.
    """
    translation = in_case(translation, passage.case, language=language) if passage.case else translation
    translation = _MISREAD.sub(_meant, translation)
    if passage.has_capital:
        translation = begun(translation, passage.given)
        translation = translation.rstrip(",;") if passage.given[-1].isalnum() else translation
    if passage.shouted:
        came_from = functools.cache(came_from)
        translation = _shouted_too(passage, translation, came_from())
    found: defaultdict[str, list[Span]] = defaultdict(list)
    for match in NAME.finditer(translation):
        found[match[0]].append(match.span())
    places: dict[Span, str] = {}
    for name, text in passage.words:
        if len(found.get(name, [])) != 1:
            return None
        places[found[name][0]] = text
    for piece, place in _placed(passage, translation, came_from):
        places[place, place] = places.get((place, place), "") + piece
    return with_edits(translation, places.items())


def _meant(match: re.Match[str]) -> str:
    return match[0].encode("latin-1").decode("cp1252", "ignore") or " "


def _shouted_too(passage: Passage, translation: str, links: Sequence[tuple[Span, Span]]) -> str:
    """The translation with capitals where it came from words in capitals; no character changes its place.

    That is from the first of the words that came from them to the last, if most between came from them too.
    """
    for low, high in passage.shouted:
        loud = [place for place in links if low <= place[0][0] and place[0][1] <= high]
        begin, end = min((to[0] for _, to in loud), default=0), max((to[1] for _, to in loud), default=0)
        between = [place for place in links if begin <= place[1][0] and place[1][1] <= end]
        for first, last in [(begin, end)] if 2 * len(loud) > len(between) else [to for _, to in loud]:
            raised = translation[first:last].replace("ß", "ẞ").upper()
            if len(raised) == last - first:
                translation = translation[:first] + raised + translation[last:]
    return translation


def _placed(
    passage: Passage, translation: str, came_from: Callable[[], Sequence[tuple[Span, Span]]]
) -> list[tuple[str, int]]:
    """Each mark, with the white space it needs, and its place in the translation."""
    found: list[tuple[str, int]] = []
    links: Sequence[tuple[Span, Span]] | None = None
    for piece, at in passage.marks:
        before, after = passage.source[: piece.span[0]][-1:], passage.source[piece.span[1] :][:1]
        space_before, space_after = before.isspace(), after.isspace()
        if not passage.given[:at].strip():
            found.append((piece.text + " " * space_after, 0))
        elif not passage.given[at:].strip():
            found.append((" " * space_before + piece.text, len(translation)))
        else:
            links = came_from() if links is None else links
            opens = _opens(piece.text) or (space_before and not space_after and after not in ".,;:!?)")
            place = _beside(passage.given, at, translation, links, opens=opens)
            if not opens and (name := NAME.match(passage.given, at)) and translation.endswith(name[0], 0, place):
                place -= len(name[0])  # it stood right after the mark
            found.append((piece.text + " " * space_after if opens else " " * space_before + piece.text, place))
    pairs = _pairs(passage)
    wrong = [(begin, end) for begin, end in pairs if found[begin][1] >= found[end][1]] or _crossing(pairs, found)
    if wrong:
        links = came_from() if links is None else links
        found = _around_words(passage, translation, links, found, wrong)
        if _crossing(pairs, found):
            found = _around_words(passage, translation, links, found, pairs)
    return found


def _pairs(passage: Passage) -> list[tuple[int, int]]:
    """The numbers of opening tags and of those that close them, around some text, in the order in which they close."""
    open_: list[tuple[str, int]] = []
    pairs: list[tuple[int, int]] = []
    for number, (piece, at) in enumerate(passage.marks):
        tag = TAG.fullmatch(piece.text)
        if _opens(piece.text):
            open_.append((tag[2] if tag else "", number))
        elif tag and tag[1] and open_ and open_[-1][0] == tag[2]:
            opening = open_.pop()[1]
            if passage.given[passage.marks[opening][1] : at].strip():
                pairs.append((opening, number))
    return pairs


def _crossing(pairs: Sequence[tuple[int, int]], placed: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
    """The pairs of tags one of which begins, and does not end, inside of another, or ends before it begins."""
    opening_of = {end: begin for begin, end in pairs}
    open_: list[int] = []
    crossing: set[int] = set()
    for number in sorted(itertools.chain(*pairs), key=lambda number: (placed[number][1], number)):
        if number not in opening_of:
            open_.append(number)
        elif (begin := opening_of[number]) in crossing or not open_:
            crossing.add(begin)
        else:
            while open_ and open_[-1] != begin:
                crossing |= {begin, open_.pop()}
            open_ = open_[:-1]
    return [(begin, end) for begin, end in pairs if begin in crossing]


def _around_words(
    passage: Passage,
    translation: str,
    links: Sequence[tuple[Span, Span]],
    placed: Sequence[tuple[str, int]],
    pairs: Sequence[tuple[int, int]],
) -> list[tuple[str, int]]:
    """The marks, with pairs of tags around the most neighbouring words that came from between the two; where no word
    did, around the next that is in no other pair.

    A word comes from one word, so that no two pairs cross which are placed like this.
    """
    found = list(placed)
    words = sorted((target, source) for source, target in links)
    spans = {(a, b): (passage.marks[a][1], passage.marks[b][1]) for a, b in _pairs(passage)}
    free = {target: None for target, (begin, end) in words if not any(a < end and begin < b for a, b in spans.values())}
    for opening, closing in pairs:
        first, last = spans[opening, closing]
        from_inside = itertools.groupby(words, key=lambda word: word[1][0] < last and first < word[1][1])
        runs = [[target for target, _ in run] for is_inside, run in from_inside if is_inside]
        here = placed[opening][1]
        run = max(runs, key=len) if runs else [next((word for word in free if word[0] == here), (here, here))]
        free.pop(run[0], None)
        ending = translation[slice(*run[-1])]
        places = run[0][0], run[-1][0] + len(ending.rstrip(_CLOSING) or ending)
        for number, place in zip((opening, closing), places, strict=True):
            found[number] = (passage.marks[number][0].text, place)
    return found


def _opens(text: str) -> bool:
    """Whether this is an opening tag, which belongs to what follows."""
    tag = TAG.fullmatch(text)
    return bool(tag and tag[2] and not tag[1] and not tag[3] and tag[2].lower() not in {"br", "hr", "img", "wbr"})


def _beside(given: str, at: int, translation: str, links: Sequence[tuple[Span, Span]], *, opens: bool) -> int:
    """Where in the translation a mark stands that stood at this place, before the next word or after the last."""
    if opens:
        words = [(target, source) for source, target in links if source[1] > at]
        return min(words, key=lambda word: (word[1][0], word[0][0]))[0][0] if words else len(translation)
    words = [(target, source) for source, target in links if source[0] < at]
    if not words:
        return 0
    target, _ = max(words, key=lambda word: (word[1][0], word[0][1]))
    word = translation[slice(*target)]
    # What ends a clause in the translation ends it after the mark, unless it stood before the mark in the source.
    return target[0] + len(word.rstrip(_CLOSING) if given[at - 1].isalnum() else word)
