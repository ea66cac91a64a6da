"""Clauses drawn at random: a verb with a tense, an object and circumstances that suit it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

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
from examples.grammar.rng import Rng
from examples.grammar.sentences import Clause, Nominal, NounPhrase

MODALS = ("can", "must", "want", "should", "may")
"""The first three have a past."""
HELD = ("building", "place", "case", "thought")
"""Kinds of things with which a place would be taken for theirs."""


@cache
def transitives(*without: str) -> tuple[Verb, ...]:
    """The verbs that have an object, but for those with one of these marks."""
    return tuple(verb for verb in lexicon().verbs.values() if verb.transitive and not verb.marks & set(without))


def tense_for(rng: Rng, verb: Verb) -> tuple[str, str]:
    """A tense and perhaps a modal that suit the verb; read and put, whose past looks the same, have no present."""
    if "state" in verb.marks:
        return ("past" if rng.chance(0.3) else "present"), ""
    weights = {"present": 5, "progressive": 5, "past": 6, "perfect": 3, "future": 3, "modal": 4}
    if verb.past == verb.english:
        del weights["present"]
    if "point" in verb.marks:
        del weights["progressive"]
    if "unwilled" in verb.marks:
        del weights["modal"]
    tense = rng.weighted(weights)
    if tense != "modal":
        return tense, ""
    modal = rng.pick(MODALS)
    return ("past" if modal in MODALS[:3] and rng.chance(0.3) else "present"), modal


def doing(
    rng: Rng,
    verb: Verb,
    who: Nominal | None,
    tense: tuple[str, str],
    *,
    negation: float = 0.15,
    circumstances: float = 0.35,
) -> Clause:
    """A clause about one who does something to something."""
    negated = rng.chance(negation) and not is_every(who)
    clause = Clause(
        verb,
        who,
        tense[0],
        tense[1],
        negated,
        object=object_for(rng, verb, who, negated=negated),
        recipient=other_person(rng, who) if "receiver" in verb.marks else None,
        not_yet=negated and tense[0] == "perfect" and rng.chance(0.5),
    )
    return around(rng, clause) if rng.chance(circumstances) and "state" not in verb.marks else clause


def around(rng: Rng, clause: Clause) -> Clause:
    """The clause with one circumstance or two: a time, an adverb, a manner, a place."""
    verb, found = clause.verb, clause.object
    if not verb:
        return clause
    if clause.tense == "perfect":
        return clause if clause.negated else replace(clause, adverb=rng.pick(lexicon().adverbs["done"]))
    generic = not isinstance(found, NounPhrase) or found.determiner == "a"
    choice = rng.weighted(
        {"time": 5, "often": 3 if clause.tense == "present" and generic else 0, "place": 2, "hand": 1}
    )
    if choice == "often" and not clause.negated and not clause.modal:
        return replace(clause, adverb=rng.pick(lexicon().adverbs["often"]))
    if choice == "hand" and "hand" in verb.marks and is_plain(clause):
        return replace(clause, manner=rng.pick(lexicon().adverbs["hand"]))
    if choice == "place" and placeable(clause):
        return replace(clause, place=location(rng))
    return replace(clause, time=time_for(rng, clause.tense, clause.modal))


def placeable(clause: Clause) -> bool:
    """Whether a place can be added and is not taken for the object's."""
    found = clause.object
    apart = isinstance(found, NounPhrase) and found.noun.kind not in HELD
    return apart and clause.verb is not None and not clause.verb.german_preposition


def is_every(who: Nominal | None) -> bool:
    """Whether a negation would leave open whom it is about: every guest does not sing."""
    return isinstance(who, NounPhrase) and who.determiner == "every"


def simple(rng: Rng, who: Nominal | None = None, *, negation: float = 0.15) -> Clause:
    """A clause without an object: somebody sleeps, goes somewhere, or is something."""
    if rng.chance(0.35):
        return being(rng, who)
    verbs = [verb for verb in lexicon().verbs.values() if not verb.transitive and "clause" not in verb.marks]
    verb = rng.pick(verbs)
    who = who or subject(rng, verb)
    tense, modal = tense_for(rng, verb)
    clause = Clause(verb, who, tense, modal, rng.chance(negation) and not is_every(who))
    if "direction" in verb.marks:
        clause = replace(clause, place=direction(rng, verb))
    elif "arrival" in verb.marks:
        clause = replace(clause, place=arrival(rng))
    elif "place" in verb.marks and (rng.chance(0.6) or "state" in verb.marks or verb.name == "stay"):
        clause = replace(clause, place=location(rng))
    elif verb.name not in ("cry", "get up") and is_plain(clause) and rng.chance(0.3):
        clause = replace(clause, manner=rng.pick(lexicon().adverbs["alone"]))
    elif verb.name in ("play", "dance", "sing", "work") and rng.chance(0.4):
        clause = replace(clause, companion=other_person(rng, who))
    wants_time = rng.chance(0.7) if verb.name == "get up" else rng.chance(0.3)
    if not wants_time or "state" in verb.marks or tense == "perfect":
        return clause
    return replace(clause, time=time_for(rng, tense, modal))


def being(rng: Rng, who: Nominal | None = None, *, feeling: float = 0.4) -> Clause:
    """Somebody or something is big, tired, expensive."""
    words = lexicon()
    if not who:
        noun = rng.pick(tuple(words.nouns.values()))
        weights = {"own": 6.0, "the": 2.0} if noun.kind == "kin" else {"the": 5.0, "own": 1.0, "this": 1.0}
        who = replace(described(rng, noun, weights), adjective=None)
    kind = who.noun.kind if isinstance(who, NounPhrase) else "person"
    if kind in ("person", "kin"):
        kind = "feeling" if feeling == 1 else "condition" if rng.chance(feeling) else kind
    degree = rng.pick(words.adverbs["degree"]) if rng.chance(0.4) else None
    tense = "past" if rng.chance(0.3) else "present"
    fitting = qualities(who.noun) if isinstance(who, NounPhrase) and kind == who.noun.kind else words.adjectives[kind]
    known = who.adjective if isinstance(who, NounPhrase) else None
    quality = rng.pick([quality for quality in fitting if quality != known])
    negated = rng.chance(0.2) and degree != words.adverbs["degree"][-1]  # nothing is not quite big
    return Clause(None, who, tense, negated=negated, predicate=quality, degree=degree)
