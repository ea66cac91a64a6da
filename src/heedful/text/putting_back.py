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
from heedful.text.usual_spelling import begun, in_case, with_hard_spaces

_CLOSING = ".,;:!?)\"'”“"
"""What may stand at the end of a word without being part of it."""
_PART = re.compile(r"[^\W_]+")

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
    translation = with_hard_spaces(_MISREAD.sub(_meant, translation), passage.source)
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
    came_from = functools.cache(functools.partial(_finer, passage, translation, came_from))
    for piece, at in passage.marks:
        before, after = passage.source[: piece.span[0]][-1:], passage.source[piece.span[1] :][:1]
        space_before, space_after = before.isspace(), after.isspace()
        if not passage.given[:at].strip():
            found.append((piece.text + " " * space_after, 0))
        elif not passage.given[at:].strip():
            found.append((" " * space_before + piece.text, len(translation)))
        elif not space_before and (place := _after_the_same(passage.given[:at], translation, piece.text)):
            found.append((piece.text, place))
        else:
            opens = _opens(piece.text) or (space_before and not space_after and after not in ".,;:!?)")
            place = _beside(passage.given, at, translation, came_from(), opens=opens)
            if not opens and (name := NAME.match(passage.given, at)) and translation.endswith(name[0], 0, place):
                place -= len(name[0])  # it stood right after the mark
            found.append((piece.text + " " * space_after if opens else " " * space_before + piece.text, place))
    pairs = _pairs(passage)
    for begin, end in pairs:
        inside = passage.given[passage.marks[begin][1] : passage.marks[end][1]]
        is_same = not inside.islower() and _once(inside, passage.given)
        if is_same and (span := _once(inside, translation)):  # a name or a number
            found[begin], found[end] = (
                (passage.marks[n][0].text, at) for n, at in zip((begin, end), span, strict=True)
            )
    wrong = [(begin, end) for begin, end in pairs if found[begin][1] >= found[end][1]] or _crossing(pairs, found)
    if wrong:
        found = _around_words(passage, translation, came_from(), found, wrong)
        if _crossing(pairs, found):
            found = _around_words(passage, translation, came_from(), found, pairs)
    return found


def _after_the_same(before: str, translation: str, mark: str) -> int | None:
    """The place of a sign after the very word that it stands after, as Bluetooth®, where it is there once."""
    tag, word = TAG.fullmatch(mark), re.search(r"[^\W_]+$", before)
    span = None if word is None or (tag and tag[2]) else _once(word[0], translation)
    return span and span[1]


def _once(words: str, text: str) -> Span | None:
    """Where words stand in a text, if they are there once."""
    pattern = re.compile(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])")
    found = pattern.search(text)
    return found.span() if found and not pattern.search(text, found.end()) else None


def _finer(
    passage: Passage, translation: str, came_from: Callable[[], Sequence[tuple[Span, Span]]]
) -> list[tuple[Span, Span]]:
    """The links, between the parts of a word where marks stand inside of it, as in Ctrl+C, and those of the other.

    Where that has another number of parts it comes from the first, and not at all where another word has as many: no
    word comes from what is in two tags that stand side by side.
    """
    given, found = passage.given, list[tuple[Span, Span]]()
    apart: set[Span] = set()
    whole: list[tuple[Span, Span]] = []
    for source, target in came_from():
        inside = [(_opens(piece.text), at) for piece, at in passage.marks if source[0] < at < source[1]]
        ours = [match.span() for match in _PART.finditer(given, *source)] if inside else []
        theirs = [match.span() for match in _PART.finditer(translation, *target)] if inside else []
        if not inside:
            found.append((source, target))
        elif len(ours) == len(theirs) and all(given[at if opens else at - 1].isalnum() for opens, at in inside):
            found += zip(ours, theirs, strict=True)
            apart.add(source)
        else:
            whole.append((source, target))
    firsts = (
        ((source[0], min(at for _, at in passage.marks if at > source[0])), target)
        for source, target in whole
        if source not in apart
    )
    return [*found, *firsts]


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
    without: list[tuple[Span, list[Span]]] = []
    for opening, closing in pairs:
        first, last = spans[opening, closing]
        from_inside = itertools.groupby(words, key=lambda word: word[1][0] < last and first < word[1][1])
        runs = [[target for target, _ in run] for is_inside, run in from_inside if is_inside]
        here = placed[opening][1]
        # Where no word came from, that of a pair inside of it, or the next that is free.
        inner = (run for (a, b), run in without if first <= a and b <= last)
        run = max(runs, key=len) if runs else next(inner, None)
        run = run or [next((word for word in free if word[0] == here), (here, here))]
        without += [] if runs else [((first, last), run)]
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
