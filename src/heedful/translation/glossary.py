"""A glossary: terms of the source language, each with the translation that must stand for it.

A term is found as a whole word. One in small letters is found however it is written, one with capitals only as it is:
``contract`` finds "Contract", ``IT`` does not find "it". Where several begin at a word, the longest is meant. Its
translation must stand at the beginning of a word, and may have an ending there: "des Vertrags" holds "Vertrag".
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from heedful.errors import SearchError, TextError
from heedful.evaluation.alignments import aligning_layer, soft_alignment
from heedful.search.engine import Sentence
from heedful.search.model_search import Search
from heedful.search.options import SearchOptions
from heedful.search.required import MOST_AVOIDED, MOST_REQUIRED, Term, Way
from heedful.text.cleaning import clean_line
from heedful.text.reading import text_lines
from heedful.text.subwords import Subwords

_TOKEN = re.compile(r"\w+|[^\w\s]")
_LONGEST_ENDING = 2
"""Letters: German and most of its neighbours have no longer ones for case and number."""


class Glossary:
    """Terms and their translations.

    >>> Glossary({"contract": "Vertrag", "data base": "Datenbank"}).found_in("The Contract names no data  base.")
    {'contract': 'Vertrag', 'data base': 'Datenbank'}
    """

    def __init__(self, translations: Mapping[str, str]) -> None:
        self._translations: dict[str, str] = {}
        self._terms: dict[tuple[str, ...], list[str]] = {}
        for term, translation in translations.items():
            given = [" ".join(clean_line(text).split()) for text in (term, translation)]
            if problem := _problem(*given):
                raise SearchError(f"glossary, {term!r:.60}: {problem}")
            self._translations[given[0]] = given[1]
            self._terms.setdefault(tuple(_TOKEN.findall(given[0].lower())), []).append(given[0])
        self._longest = max(map(len, self._terms), default=0)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """As `SearchOptions` has them."""
        return tuple(self._translations.items())

    def translation(self, term: str) -> str:
        """What must stand for a term."""
        return self._translations[term]

    def places_in(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The terms that stand in a text, and where each begins and ends."""
        tokens, place = list(_TOKEN.finditer(text)), 0
        words = [token[0].lower() for token in tokens]
        while place < len(tokens):
            for last in range(min(place + self._longest, len(tokens)) - 1, place - 1, -1):
                begin, end = tokens[place].start(), tokens[last].end()
                shown, terms = " ".join(text[begin:end].split()), self._terms.get(tuple(words[place : last + 1]), [])
                term = next((term for term in (shown, shown.lower()) if term in terms), None)
                if term is not None:
                    yield term, begin, end
                    place = last
                    break
            place += 1

    def found_in(self, text: str) -> dict[str, str]:
        """The terms that stand in a text, in its order, with their translations."""
        return {term: self._translations[term] for term, _, _ in self.places_in(text)}

    def unplaced(self, source: str, translation: str) -> dict[str, str]:
        """The terms of a source whose translation is not in this one of it."""
        return {
            term: wanted for term, wanted in self.found_in(source).items() if not _beginning(wanted).search(translation)
        }


def with_terms(
    sentences: Sequence[Sentence],
    options: SearchOptions,
    *,
    search: Search,
    subwords: tuple[Subwords, Subwords],
) -> list[Sentence]:
    """The sentences with what their translations must hold by the options' glossary. ``subwords``: of both languages.

    Where a term's translation belongs is seen in a translation without it: the subword that attends most to the term
    says in which order terms come, and the word it is in would say the same thing twice.
    """
    glossary, found = glossary_of(options.glossary), list(sentences)
    places = [list(glossary.places_in(subwords[0].decode(sentence.source))) for sentence in sentences]
    numbers = {sentence: number for number, sentence in enumerate(sentences) if places[number]}
    for sentence, hypotheses in search.search(list(numbers), options):
        number = numbers[sentence]
        ids = hypotheses[0].ids if hypotheses else np.empty(0, np.int64)
        cross_LHTS = search.read(sentence.source, ids)[1]["cross"]
        cross_TS = soft_alignment(cross_LHTS[aligning_layer(len(cross_LHTS)) - 1])
        attends = functools.partial(_position, cross_TS[: len(ids)], subwords[0].spans(sentence.source))
        ordered = sorted(places[number], key=attends)
        terms = [spellings(glossary.translation(term), subwords[1]) for term, _, _ in ordered]
        needed = {id_ for term in terms for way in term for id_ in (*way.ids, *way.longer)}
        text = subwords[1].decode(ids)
        instead = [
            id_
            for place in ordered
            if not _beginning(glossary.translation(place[0])).search(text)
            for id_ in _word_beginnings(ids, attends(place), subwords[1])
            if id_ not in needed
        ]
        required = tuple(term for term in dict.fromkeys(terms) if term)[: MOST_REQUIRED.terms]
        found[number] = replace(sentence, required=required, avoided=tuple(instead[:MOST_AVOIDED]))
    return found


def _position(cross_TS: np.ndarray, spans: Sequence[tuple[int, int]], place: tuple[str, int, int]) -> int:
    """The position of a translation that attends most to this place of the source."""
    _, begin, end = place
    inside = [number for number, span in enumerate(spans) if span[0] < end and span[1] > begin]
    return int(cross_TS[:, inside].sum(1).argmax()) if len(cross_TS) else 0


def _word_beginnings(ids: np.ndarray, position: int, subwords: Subwords) -> list[int]:
    """The subwords that begin the word at this position, however it is cut; none, if no space stands before it."""
    pieces = [subwords.id_bytes[id_] for id_ in ids]
    begins = [place for place, piece in enumerate(pieces) if piece.startswith(b" ")]
    first = max((place for place in begins if place <= position), default=len(pieces))
    after = min((place for place in begins if place > position), default=len(pieces))
    # Shorter ones are articles and prepositions more often than the word of a term.
    letters = re.match(r" [^\W\d_]{4,}", b"".join(pieces[first:after]).decode(errors="replace"))
    word = letters[0].encode() if letters else b""
    known = _pieces(subwords)
    return [known[word[:end]] for end in range(len(word), 1, -1) if word[:end] in known]


@functools.lru_cache(maxsize=4)
def _pieces(subwords: Subwords) -> dict[bytes, int]:
    return {piece: id_ for id_, piece in enumerate(subwords.id_bytes) if piece}


@functools.lru_cache(maxsize=16)
def glossary_of(pairs: tuple[tuple[str, str], ...]) -> Glossary:
    """The glossary of these terms and translations."""
    return Glossary(dict(pairs))


def read_glossary(path: Path) -> Glossary:
    """A file of terms and their translations, one each a line with a tab between them; empty lines do not count."""
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        fields = [" ".join(clean_line(field).split()) for field in line.split("\t")]
        if len(fields) != 2:
            problem = f"{len(fields)} fields where a term, a tab and its translation should be"
        else:
            problem = _problem(*fields)
            before, first = found.get(fields[0], (fields[1], 0))
            if not problem and before != fields[1]:
                problem = f"{fields[0]!r:.60} has another translation on line {first:,}"
        if problem:
            raise TextError(f"{path}, line {number:,}: {problem}")
        found.setdefault(fields[0], (fields[1], number))
    if not found:
        raise TextError(f"{path} is an empty glossary: each of its lines is a term, a tab and its translation")
    return Glossary({term: translation for term, (translation, _) in found.items()})


def _problem(term: str, translation: str) -> str | None:
    """What is wrong with an entry."""
    if not term or not translation:
        return f"the {'translation' if term else 'term'} is empty"
    if not _TOKEN.search(term):
        return "there is no word in the term"
    bad = next((one for one in term + translation if not one.isprintable() or one == "\N{REPLACEMENT CHARACTER}"), None)
    return None if bad is None else f"it holds {bad!a}, which no translation can hold"


@functools.lru_cache(maxsize=4096)
def _beginning(translation: str) -> re.Pattern[str]:
    """Finds a translation at the beginning of a word, in CAPITALS too, or with one at the beginning of a sentence."""
    words = r"\s+".join(map(re.escape, translation.split(" ")))
    return re.compile((r"(?<!\w)" if _has_spaces(translation) else "") + words, re.IGNORECASE)


def _has_spaces(translation: str) -> bool:
    """Whether a space stands before such a word: not where scripts have none between words."""
    return not "\u2e80" <= translation[0] <= "\ua4cf"


@functools.lru_cache(maxsize=4096)
def spellings(translation: str, subwords: Subwords) -> Term:
    """The ways to spell a translation: after a space or not, with a capital or not; the usual one first."""
    capital = translation[0].upper() + translation[1:]
    spelled = {}
    for text in dict.fromkeys((translation, capital)):
        spelled[text, True] = subwords.encode([text])[0].tolist()
        # A word after a bracket is cut as one without a space before it, unless the two are cut together.
        bracket, both = (subwords.encode([some])[0].tolist() for some in ("(", f"({text}"))
        if both[: len(bracket)] == bracket:
            spelled[text, False] = both[len(bracket) :]
    usual = (translation, _has_spaces(translation))
    order = sorted(spelled, key=lambda way: way != usual)
    ways = [Way(tuple(spelled[way]), _longer(spelled[way][-1], subwords)) for way in order]
    fitting = tuple(way for way in ways if len(way.ids) <= MOST_REQUIRED.length)
    return fitting if fitting and fitting[0] is ways[0] else ()


@functools.lru_cache(maxsize=4096)
def _longer(last: int, subwords: Subwords) -> tuple[int, ...]:
    """Subwords that spell the last one and an ending: a letter or two more."""
    pieces, ids = _sorted_pieces(subwords)
    piece, found = subwords.id_bytes[last], []
    for place in range(bisect.bisect_right(pieces, piece), len(pieces)):
        if not pieces[place].startswith(piece):
            break
        ending = pieces[place][len(piece) :].decode(errors="replace")
        if len(ending) <= _LONGEST_ENDING and ending.isalpha() and ending.islower():
            found.append(ids[place])
    return tuple(sorted(found)[: MOST_REQUIRED.letters - MOST_REQUIRED.length])


@functools.lru_cache(maxsize=4)
def _sorted_pieces(subwords: Subwords) -> tuple[Sequence[bytes], Sequence[int]]:
    ids = sorted(range(len(subwords.id_bytes)), key=subwords.id_bytes.__getitem__)
    return [subwords.id_bytes[id_] for id_ in ids], ids
