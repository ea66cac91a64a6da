"""A parallel corpus made of generated sentences, with word alignments, cut so that the test asks for what is new.

A combination is a verb, its object's noun and the construction they stand in. One in eight is held out, by a digest of
its three names: no training sentence has such a combination, and every validation and test sentence has one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, islice

from examples.grammar.alignment import links, text_of, tidied
from examples.grammar.english_clauses import english_words
from examples.grammar.german_clauses import german_words
from examples.grammar.sampling import sentence
from examples.grammar.sentences import Combination, Sentence, combinations

FEWEST_WORDS, MOST_WORDS = 4, 18
"""Of the English side; other sentences are passed over."""
HELD_OUT = 8
"""One combination in so many is kept for validation and test."""


@dataclass(frozen=True)
class Pair:
    """An English sentence, its German translation, and which token of one is which of the other."""

    english: str
    german: str
    alignment: tuple[tuple[int, int], ...]
    sentence: Sentence

    @property
    def pharaoh(self) -> str:
        """The alignment as a line of text: 0-0 1-2, English before German, both counted from 0."""
        return " ".join(f"{source}-{target}" for source, target in self.alignment)


@dataclass(frozen=True)
class GeneratedCorpus:
    """The two parts; no sentence is in both."""

    train: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    """For validation and test."""


def pair_of(said: Sentence) -> Pair:
    """A sentence in both languages."""
    english, german = tidied(english_words(said)), tidied(german_words(said))
    source, target = (text_of([word.text for word in side]) for side in (english, german))
    return Pair(source, target, links(english, german), said)


def pairs(seed: int, number: int) -> list[Pair]:
    """So many different sentence pairs; the first of them do not depend on how many there are.

    >>> pair = pairs(7, 2)[1]
    >>> print(pair.english, "|", pair.german, "|", pair.pharaoh)
    How many museums has Peter visited? | Wie viele Museen hat Peter besucht? | 0-0 1-1 2-2 3-3 4-4 5-5 6-6
    """
    return list(islice(_distinct(seed), number))


def is_held_out(combination: Combination) -> bool:
    """Whether a verb, an object and a construction are never together in training.

    >>> is_held_out(("read", "poem", "statement")), is_held_out(("read", "poem", "question"))
    (False, True)
    """
    return _held_out("/".join(combination))


@cache
def _held_out(names: str) -> bool:
    return hashlib.sha256(names.encode()).digest()[0] % HELD_OUT == 0


def corpus(seed: int, *, train: int, held_out: int) -> GeneratedCorpus:
    """So many different pairs of each part; fewer are the first of more.

    >>> parts = corpus(1, train=100, held_out=10)
    >>> any(is_held_out(c) for pair in parts.train for c in combinations(pair.sentence))
    False
    >>> all(any(map(is_held_out, combinations(pair.sentence))) for pair in parts.held_out)
    True
    """
    seen: list[Pair] = []
    unseen: list[Pair] = []
    stream = _distinct(seed)
    while len(seen) < train or len(unseen) < held_out:
        pair = next(stream)
        part, wanted = (unseen, held_out) if _is_unseen(pair) else (seen, train)
        if len(part) < wanted:
            part.append(pair)
    return GeneratedCorpus(tuple(seen), tuple(unseen))


def corpus_lines(seed: int, *, train: int, held_out: int) -> str:
    """A pair a line, tabs between its fields: those held out, with their alignments, before those to train on."""
    parts = corpus(seed, train=train, held_out=held_out)
    aligned = [f"{pair.english}\t{pair.german}\t{pair.pharaoh}\n" for pair in parts.held_out]
    return "".join([*aligned, *(f"{pair.english}\t{pair.german}\n" for pair in parts.train)])


def _is_unseen(pair: Pair) -> bool:
    return any(map(is_held_out, combinations(pair.sentence)))


def _distinct(seed: int) -> Iterator[Pair]:
    """Pairs of the right length, none of whose English or German sides has come before."""
    english: set[str] = set()
    german: set[str] = set()
    for index in count():
        pair = pair_of(sentence(seed, index))
        fits = FEWEST_WORDS <= pair.english.count(" ") + 1 <= MOST_WORDS
        if fits and pair.english not in english and pair.german not in german:
            english.add(pair.english)
            german.add(pair.german)
            yield pair
