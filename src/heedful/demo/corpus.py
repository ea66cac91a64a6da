"""A parallel corpus made of generated sentences, with word alignments, cut so that the test asks for what is new.

A combination is a verb, its object's noun and the construction they stand in. One in eight is held out, by a digest of
its three names: no training sentence has such a combination, and every validation and test sentence has one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from pathlib import Path

from heedful.demo.alignment import links, text_of, tidied
from heedful.demo.english_clauses import english_words
from heedful.demo.german_clauses import german_words
from heedful.demo.sampling import sentence
from heedful.demo.sentences import Combination, Sentence, combinations
from heedful.errors import CorpusError

FEWEST_WORDS, MOST_WORDS = 4, 18
"""Of the English side; other sentences are passed over."""
HELD_OUT = 8
"""One combination in so many is kept for validation and test."""

Reached = Callable[[int], None]
"""Told now and then how many pairs there are."""
TELL_EVERY = 1000


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
    """The three parts; no sentence is in two of them."""

    train: tuple[Pair, ...]
    valid: tuple[Pair, ...]
    test: tuple[Pair, ...]


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


def corpus(seed: int, *, train: int, valid: int, test: int, reached: Reached | None = None) -> GeneratedCorpus:
    """So many different pairs of each part.

    >>> parts = corpus(1, train=100, valid=5, test=5)
    >>> any(is_held_out(c) for pair in parts.train for c in combinations(pair.sentence))
    False
    >>> all(any(map(is_held_out, combinations(pair.sentence))) for pair in parts.test)
    True
    """
    for name, size in (("train", train), ("valid", valid), ("test", test)):
        if size < 0:
            raise CorpusError(f"{name} = {size:,} sentence pairs cannot be generated: it must be 0 or more")
    seen: list[Pair] = []
    unseen: list[Pair] = []
    stream = _distinct(seed)
    while len(seen) < train or len(unseen) < valid + test:
        pair = next(stream)
        part, wanted = (unseen, valid + test) if _is_unseen(pair) else (seen, train)
        if len(part) < wanted:
            part.append(pair)
            if reached and (done := len(seen) + len(unseen)) % TELL_EVERY == 0:
                reached(done)
    return GeneratedCorpus(tuple(seen), tuple(unseen[:valid]), tuple(unseen[valid:]))


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


def write_corpus(
    folder: Path,
    *,
    seed: int = 1,
    train: int,
    valid: int,
    test: int,
    overwrite: bool = False,
    reached: Reached | None = None,
) -> GeneratedCorpus:
    """Write the parts as text, one sentence a line, with alignments and a page that says what they are; return them."""
    if not overwrite and folder.exists() and any(folder.iterdir()):
        raise CorpusError(f"{folder} is not empty; give another folder, or say that it may be overwritten")
    parts = corpus(seed, train=train, valid=valid, test=test, reached=reached)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", parts.train), ("valid", parts.valid), ("test", parts.test)):
        _write(folder / f"{name}.en", [pair.english for pair in part])
        _write(folder / f"{name}.de", [pair.german for pair in part])
        if name != "train":
            _write(folder / f"{name}.align", [pair.pharaoh for pair in part])
    _write(folder / "README.txt", [README.format(seed=seed, train=train, valid=valid, test=test)])
    return parts


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


README = """\
This text is generated. A program, heedful's demo grammar, wrote every sentence of it from a few hundred words and the
rules of English and German; nobody ever said them, and their content means nothing. A score on it says that a model has
learnt this grammar, and nothing about real text.

Seed {seed}: {train:,} pairs to train on, {valid:,} to validate, {test:,} to test.
The same seed and sizes give the same files.

Every sentence of valid.* and test.* has a verb and its object in a construction (a question, a relative clause, a
clause with because …) in which training never shows that verb with that object.

*.en and *.de: one sentence a line. *.align: which token is which, English-German, counted from 0; tokens are words, and
the marks , . ? and ! by themselves."""
