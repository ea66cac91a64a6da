"""What a sentence says, before it is said in any language: clauses of subject, verb, objects and circumstances.

The names of constructions are those of `Sentence.construction`; a clause inside a sentence has one of its own, and the
split of the corpus goes by (verb, object, construction).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from examples.grammar.lexicon import Adjective, Adverbial, Name, Noun, Preposition, Verb


@dataclass(frozen=True)
class Pronoun:
    """I, you, he …; a thing is `it` in English and has its noun's gender in German."""

    person: int
    plural: bool = False
    gender: str = ""
    thing: bool = False


@dataclass(frozen=True)
class Who:
    """The person a question asks for."""


@dataclass(frozen=True)
class NounPhrase:
    """A noun with what belongs to it."""

    noun: Noun
    determiner: str = "the"
    """the, a, no, this, every, which, how many, a possessive, or nothing where there is an owner or a number."""
    plural: bool = False
    adjective: Adjective | None = None
    number: int = 0
    owner: Name | None = None
    of: NounPhrase | None = None
    relative: Clause | None = None

    @property
    def definite(self) -> bool:
        return bool(self.owner) or (not self.number and self.determiner not in ("a", "no", "which", "how many"))


Nominal: TypeAlias = NounPhrase | Pronoun | Name | Who


@dataclass(frozen=True)
class Place:
    """Where, or where to."""

    preposition: Preposition
    where: Noun | Name


@dataclass(frozen=True)
class Clause:
    """Somebody does something. Without a verb it is: somebody is something."""

    verb: Verb | None = None
    subject: Nominal | None = None
    """None in commands and purposes, and in a relative clause whose pronoun it is."""
    tense: str = "present"
    """present, progressive, past, perfect or future; with a modal, present or past."""
    modal: str = ""
    """can, must, want, should or may."""
    negated: bool = False
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Adjective | None = None
    degree: Adverbial | None = None
    time: Adverbial | None = None
    adverb: Adverbial | None = None
    """One that stands before the English verb: often, already."""
    not_yet: bool = False
    manner: Adverbial | None = None
    companion: Nominal | None = None
    place: Place | None = None
    gap: str = ""
    """In a relative clause, what its pronoun is: subject or object."""


@dataclass(frozen=True)
class Sentence:
    """One clause or two, and how they are put together."""

    construction: str
    main: Clause
    other: Clause | None = None
    """The clause that because, if, that, whether, to, and or but opens."""
    lead: str = ""
    """What stands first: time, place or object; or the question word why, when or where."""


Combination: TypeAlias = tuple[str, str, str]
"""A verb, its object's noun, and the construction they stand in."""


def combinations(sentence: Sentence) -> tuple[Combination, ...]:
    """Every verb of the sentence that has a noun as its object, with that noun and the construction."""
    construction = sentence.construction
    inner = construction
    if construction in ("because", "that", "whether", "purpose", "contrast", "subject relative", "object relative"):
        construction = "statement"
    if construction == "condition":
        construction = "consequence"
    found = [*_combinations(sentence.main, construction)]
    if sentence.other:
        found += _combinations(sentence.other, inner)
    return tuple(found)


def _combinations(clause: Clause, construction: str) -> Iterator[Combination]:
    if clause.verb and isinstance(clause.object, NounPhrase):
        yield clause.verb.name, clause.object.noun.english, construction
    for nominal in (clause.subject, clause.object):
        if isinstance(nominal, NounPhrase) and nominal.relative:
            relative = nominal.relative
            if relative.gap == "object" and relative.verb:
                yield relative.verb.name, nominal.noun.english, "object relative"
            else:
                yield from _combinations(relative, "subject relative")


def agreement(nominal: Nominal | None) -> tuple[int, bool]:
    """Person and number, which the verb shows; a command is to one friend."""
    if isinstance(nominal, Pronoun):
        return nominal.person, nominal.plural
    if isinstance(nominal, NounPhrase):
        return 3, nominal.plural
    return (3, False) if nominal else (2, False)
