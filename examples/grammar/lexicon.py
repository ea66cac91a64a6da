"""The dictionary: nouns, verbs, adjectives, adverbials and names as values, read from `lexicon_tables.py`.

It knows which word can go with which; it does not know how a word is inflected (`german.py`, `english.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from examples.grammar import lexicon_tables as tables

GENDERS = {"der": "m", "die": "f", "das": "n"}
MASS = ("stuff", "drink")
"""Kinds of nouns that have no plural here."""
GENDERLESS = ("child", "girl")
"""People whom a later pronoun cannot name for sure: German goes by grammar or by nature."""


@dataclass(frozen=True)
class Noun:
    """A thing or a person: both languages' forms, the German gender, and the kind of thing it is."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    kind: str
    weak: bool = False

    @property
    def mass(self) -> bool:
        return self.kind in MASS

    @property
    def human(self) -> bool:
        return self.kind in ("person", "kin")

    @property
    def natural_gender(self) -> str:
        """m or f where English says he or she, n where it says it, and nothing where the languages may differ."""
        if self.english in GENDERLESS:
            return ""
        return self.gender if self.human else "n"


@dataclass(frozen=True)
class Verb:
    """What somebody does: principal parts, what it governs, whom it can have as an object, and marks."""

    english: str
    past: str
    participle: str
    particle: str
    """The second part of an English phrasal verb, which stands after a pronoun: turn it on."""
    preposition: str
    """An English preposition that stays before its object: wait for it."""
    german: str
    """The infinitive without its separable prefix."""
    prefix: str
    german_third: str
    """The er-form without the prefix; empty where it is regular."""
    german_participle: str
    """Without the separable prefix; empty where it is regular."""
    german_preposition: str
    case: str
    with_sein: bool
    objects: tuple[str, ...]
    marks: frozenset[str]

    @property
    def name(self) -> str:
        """The English verb with its particle or preposition: what tells verbs apart."""
        return " ".join(filter(None, (self.english, self.particle, self.preposition)))

    @property
    def transitive(self) -> bool:
        return bool(self.objects)


@dataclass(frozen=True)
class Adjective:
    """A quality."""

    english: str
    german: str


@dataclass(frozen=True)
class Adverbial:
    """A fixed phrase; each word carries the numbers of what it says, by which the two sides are aligned."""

    english: tuple[tuple[str, str], ...]
    german: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Name:
    """A person or a city."""

    english: str
    german: str
    gender: str


@dataclass(frozen=True)
class Preposition:
    """One preposition in both languages, with the German case."""

    english: str
    german: str
    case: str


@dataclass(frozen=True)
class Lexicon:
    """All words, by what they can be used for."""

    nouns: dict[str, Noun]
    verbs: dict[str, Verb]
    objects: dict[str, tuple[Noun, ...]]
    """The nouns each verb can have as its object."""
    adjectives: dict[str, tuple[Adjective, ...]]
    """By kind of noun, and those that name a `feeling`."""
    adverbs: dict[str, tuple[Adverbial, ...]]
    people: tuple[Name, ...]
    cities: tuple[Name, ...]
    locations: dict[str, Preposition]
    directions: dict[str, Preposition]


@cache
def lexicon() -> Lexicon:
    """The dictionary, read once.

    >>> words = lexicon()
    >>> words.nouns["mouse"].german_plural, words.verbs["turn on"].prefix
    ('Mäuse', 'ein')
    """
    nouns = {noun.english: noun for noun in _nouns()}
    verbs = {verb.name: verb for verb in map(_verb, _lines(tables.VERBS))}
    people, cities = _names()
    return Lexicon(
        nouns=nouns,
        verbs=verbs,
        objects={name: _objects(verb, nouns) for name, verb in verbs.items()},
        adjectives=_adjectives(),
        adverbs={use: tuple(map(_adverbial, text.split(", "))) for use, text in _entries(tables.ADVERBS)},
        people=people,
        cities=cities,
        locations=_places(0),
        directions=_places(1),
    )


@cache
def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """The nouns of some kinds."""
    return tuple(noun for noun in lexicon().nouns.values() if noun.kind in kinds)


def _lines(table: str) -> list[str]:
    """The lines of a table, an indented line joined to the one before it."""
    return [line for line in re.sub(r"\n +", " ", table).split("\n") if line]


def _entries(table: str) -> list[tuple[str, str]]:
    return [(head, text) for line in _lines(table) for head, text in [line.split(": ", 1)]]


def _nouns() -> list[Noun]:
    found: list[Noun] = []
    kind = ""
    for line in _lines(tables.NOUNS):
        entries = re.findall(r"(\S+)\s+((?:der|die|das) \S+(?: weak)?)", line)
        kind = kind if entries else line
        found += [_noun(english, german, kind=kind) for english, german in entries]
    return found


def _noun(english: str, german: str, *, kind: str) -> Noun:
    article, forms, *marks = german.split(" ")
    singular, _, plural = forms.partition("/")
    english, _, english_plural = english.partition("/")
    return Noun(english, english_plural or _plural(english), singular, plural, GENDERS[article], kind, "weak" in marks)


def _plural(english: str) -> str:
    if english.endswith(("s", "x", "ch", "sh", "ato")):
        return english + "es"
    return english[:-1] + "ies" if re.search("[^aeiou]y$", english) else english + "s"


def _verb(line: str) -> Verb:
    english, german, objects, marks, *_ = [*(field.strip() for field in line.split(" :")), ""]
    english, _, other = english.partition(", ")
    base, past, participle = [*english.split(" "), "", ""][:3]
    regular = _regular_past(base)
    words = german.split(" ")
    prefix, _, infinitive = words[0].rpartition("-")
    with_sein, words = "sein" in words, [word for word in words if word != "sein"]
    case = words.pop() if words[-1] in ("acc", "dat") else "acc"
    governed = words.pop() if words[-1] in ("auf", "an", "über", "von") else ""
    third, german_participle = words[1:] or ("", "")
    return Verb(
        english=base,
        past=past or regular,
        participle=participle or past or regular,
        particle=other.removeprefix("+") if other.startswith("+") else "",
        preposition="" if other.startswith("+") else other,
        german=infinitive,
        prefix=prefix,
        german_third=third,
        german_participle=german_participle,
        german_preposition=governed,
        case=case,
        with_sein=with_sein,
        objects=tuple(objects.split()),
        marks=frozenset(marks.split()),
    )


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if re.search("[^aeiou]y$", base) else base + "ed"


def _objects(verb: Verb, nouns: dict[str, Noun]) -> tuple[Noun, ...]:
    """A kind stands for all its nouns; where a kind and a noun share a name, as in drink, it is the kind."""
    kinds = {noun.kind for noun in nouns.values()}
    found = {
        noun.english: noun
        for item in verb.objects
        for noun in ([n for n in nouns.values() if n.kind == item] if item in kinds else [nouns[item]])
    }
    return tuple(found.values())


def _adjectives() -> dict[str, tuple[Adjective, ...]]:
    return {
        kind: tuple(Adjective(*item.split(" ")) for item in text.split(", "))
        for kinds, text in _entries(tables.ADJECTIVES)
        for kind in kinds.split(" ")
    }


def _adverbial(item: str) -> Adverbial:
    """``today heute``, or ``every1 day2 = jeden1 Tag2``."""
    if " = " not in item:
        english, german = item.split(" ")
        return Adverbial(((english, "1"),), ((german, "1"),))
    english, german = (tuple((word[:-1], word[-1]) for word in side.split(" ")) for side in item.split(" = "))
    return Adverbial(english, german)


def _names() -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    people: list[Name] = []
    cities: list[Name] = []
    for names, what in _entries(tables.NAMES):
        if what == "city":
            cities += [Name(*pair.split(" "), gender="n") for pair in names.split(", ")]
        else:
            people += [Name(name, name, gender=what[0]) for name in names.split(" ")]
    return tuple(people), tuple(cities)


def _places(which: int) -> dict[str, Preposition]:
    return {
        noun: Preposition(*phrases.split(", ")[which].split(" "))
        for line in _lines(tables.PLACES)
        for noun, phrases in (item.split(": ") for item in re.split(r"\s{2,}", line))
    }
