"""Clauses drawn at random: a verb with a tense, an object and circumstances that suit it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from examples.grammar.dice import Dice
from examples.grammar.lexicon import Verb, lexicon
from examples.grammar.phrases import (
    arrival,
    described,
    direction,
    is_plain,
    location,
    object_for,
    other_person,
    qualities,
    subject,
    time_for,
)
from examples.grammar.sentences import Clause, Nominal, NounPhrase

MODALS = ("can", "must", "want", "should", "may")
"""The first three have a past."""
HELD = ("building", "place", "case", "thought")
"""Kinds of things with which a place would be taken for theirs."""


@cache
def transitives(*without: str) -> tuple[Verb, ...]:
    """The verbs that have an object, but for those with one of these marks."""
    return tuple(verb for verb in lexicon().verbs.values() if verb.transitive and not verb.marks & set(without))


def tense_for(dice: Dice, verb: Verb) -> tuple[str, str]:
    """A tense and perhaps a modal that suit the verb; read and put, whose past looks the same, have no present."""
    if "state" in verb.marks:
        return ("past" if dice.chance(0.3) else "present"), ""
    weights = {"present": 5, "progressive": 5, "past": 6, "perfect": 3, "future": 3, "modal": 4}
    if verb.past == verb.english:
        del weights["present"]
    if "point" in verb.marks:
        del weights["progressive"]
    if "unwilled" in verb.marks:
        del weights["modal"]
    tense = dice.weighted(weights)
    if tense != "modal":
        return tense, ""
    modal = dice.pick(MODALS)
    return ("past" if modal in MODALS[:3] and dice.chance(0.3) else "present"), modal


def doing(
    dice: Dice,
    verb: Verb,
    who: Nominal | None,
    tense: tuple[str, str],
    *,
    negation: float = 0.15,
    circumstances: float = 0.35,
) -> Clause:
    """A clause about one who does something to something."""
    negated = dice.chance(negation) and not is_every(who)
    clause = Clause(
        verb,
        who,
        tense[0],
        tense[1],
        negated,
        object=object_for(dice, verb, who, negated=negated),
        recipient=other_person(dice, who) if "receiver" in verb.marks else None,
        not_yet=negated and tense[0] == "perfect" and dice.chance(0.5),
    )
    return around(dice, clause) if dice.chance(circumstances) and "state" not in verb.marks else clause


def around(dice: Dice, clause: Clause) -> Clause:
    """The clause with one circumstance or two: a time, an adverb, a manner, a place."""
    verb, found = clause.verb, clause.object
    if not verb:
        return clause
    if clause.tense == "perfect":
        return clause if clause.negated else replace(clause, adverb=dice.pick(lexicon().adverbs["done"]))
    generic = not isinstance(found, NounPhrase) or found.determiner == "a"
    choice = dice.weighted(
        {"time": 5, "often": 3 if clause.tense == "present" and generic else 0, "place": 2, "hand": 1}
    )
    if choice == "often" and not clause.negated and not clause.modal:
        return replace(clause, adverb=dice.pick(lexicon().adverbs["often"]))
    if choice == "hand" and "hand" in verb.marks and is_plain(clause):
        return replace(clause, manner=dice.pick(lexicon().adverbs["hand"]))
    if choice == "place" and placeable(clause):
        return replace(clause, place=location(dice))
    return replace(clause, time=time_for(dice, clause.tense, clause.modal))


def placeable(clause: Clause) -> bool:
    """Whether a place can be added and is not taken for the object's."""
    found = clause.object
    apart = isinstance(found, NounPhrase) and found.noun.kind not in HELD
    return apart and clause.verb is not None and not clause.verb.german_preposition


def is_every(who: Nominal | None) -> bool:
    """Whether a negation would leave open whom it is about: every guest does not sing."""
    return isinstance(who, NounPhrase) and who.determiner == "every"


def simple(dice: Dice, who: Nominal | None = None, *, negation: float = 0.15) -> Clause:
    """A clause without an object: somebody sleeps, goes somewhere, or is something."""
    if dice.chance(0.35):
        return being(dice, who)
    verbs = [verb for verb in lexicon().verbs.values() if not verb.transitive and "clause" not in verb.marks]
    verb = dice.pick(verbs)
    who = who or subject(dice, verb)
    tense, modal = tense_for(dice, verb)
    clause = Clause(verb, who, tense, modal, dice.chance(negation) and not is_every(who))
    if "direction" in verb.marks:
        clause = replace(clause, place=direction(dice, verb))
    elif "arrival" in verb.marks:
        clause = replace(clause, place=arrival(dice))
    elif "place" in verb.marks and (dice.chance(0.6) or "state" in verb.marks or verb.name == "stay"):
        clause = replace(clause, place=location(dice))
    elif verb.name not in ("cry", "get up") and is_plain(clause) and dice.chance(0.3):
        clause = replace(clause, manner=dice.pick(lexicon().adverbs["alone"]))
    elif verb.name in ("play", "dance", "sing", "work") and dice.chance(0.4):
        clause = replace(clause, companion=other_person(dice, who))
    wants_time = dice.chance(0.7) if verb.name == "get up" else dice.chance(0.3)
    if not wants_time or "state" in verb.marks or tense == "perfect":
        return clause
    return replace(clause, time=time_for(dice, tense, modal))


def being(dice: Dice, who: Nominal | None = None, *, feeling: float = 0.4) -> Clause:
    """Somebody or something is big, tired, expensive."""
    words = lexicon()
    if not who:
        noun = dice.pick(tuple(words.nouns.values()))
        weights = {"own": 6.0, "the": 2.0} if noun.kind == "kin" else {"the": 5.0, "own": 1.0, "this": 1.0}
        who = replace(described(dice, noun, weights), adjective=None)
    kind = who.noun.kind if isinstance(who, NounPhrase) else "person"
    if kind in ("person", "kin"):
        kind = "feeling" if feeling == 1 else "condition" if dice.chance(feeling) else kind
    degree = dice.pick(words.adverbs["degree"]) if dice.chance(0.4) else None
    tense = "past" if dice.chance(0.3) else "present"
    fitting = qualities(who.noun) if isinstance(who, NounPhrase) and kind == who.noun.kind else words.adjectives[kind]
    known = who.adjective if isinstance(who, NounPhrase) else None
    quality = dice.pick([quality for quality in fitting if quality != known])
    negated = dice.chance(0.2) and degree != words.adverbs["degree"][-1]  # nothing is not quite big
    return Clause(None, who, tense, negated=negated, predicate=quality, degree=degree)
