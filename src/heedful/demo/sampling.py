"""Sentences drawn at random, each a function of a seed and an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from heedful.demo.dice import Dice
from heedful.demo.lexicon import Verb, lexicon
from heedful.demo.phrases import (
    HE,
    SHE,
    THEY,
    WE,
    YOU,
    I,
    alike,
    arrival,
    described,
    direction,
    is_plain,
    location,
    object_for,
    other_person,
    person,
    pronoun_for,
    qualities,
    subject,
    time_for,
)
from heedful.demo.sentences import Clause, Nominal, NounPhrase, Pronoun, Sentence, Who

MODALS = ("can", "must", "want", "should", "may")
KNOWN = ("know", "see", "like", "need", "love", "look for", "have")
"""Verbs of one word in both languages' present, whose object can be a noun with a relative clause."""
GETTING = ("buy", "find", "order", "steal", "wash", "repair")
USING = ("eat", "drink", "read", "sell", "hide", "put on", "try on", "carry", "hang up", "turn on", "throw away", "unpack")


FOR_A_QUALITY = (
    ("buy", "sell", "like", "love", "need", "order", "wear", "put on", "try on", "look for", "throw away", "repair")
    + ("steal", "read", "visit", "hang up", "understand", "talk about", "dream of", "look after", "feed")
)
"""What people do to a thing because of what it is like."""


def sentence(seed: int, index: int) -> Sentence:
    """The sentence of that index: the same on every machine."""
    dice = Dice(seed, index)
    return MAKERS[dice.weighted(WEIGHTS)](dice)


@cache
def transitives(*without: str) -> tuple[Verb, ...]:
    """The verbs that have an object, but for those with one of these marks."""
    return tuple(verb for verb in lexicon().verbs.values() if verb.transitive and not verb.marks & set(without))


def tense_for(dice: Dice, verb: Verb) -> tuple[str, str]:
    """A tense and perhaps a modal that suit the verb; read and put, alike in present and past, have no simple present."""
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
    negated = dice.chance(negation)
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
    choice = dice.weighted({"time": 5, "often": 3 if clause.tense == "present" and generic else 0, "place": 2, "hand": 1})
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
    apart = isinstance(found, NounPhrase) and found.noun.kind not in ("building", "place", "case", "thought")
    return apart and clause.verb is not None and not clause.verb.german_preposition


def simple(dice: Dice, who: Nominal | None = None, *, negation: float = 0.15) -> Clause:
    """A clause without an object: somebody sleeps, goes somewhere, or is something."""
    if dice.chance(0.35):
        return being(dice, who)
    verbs = [verb for verb in lexicon().verbs.values() if not verb.transitive and "clause" not in verb.marks]
    verb = dice.pick(verbs)
    who = who or subject(dice, verb)
    tense, modal = tense_for(dice, verb)
    clause = Clause(verb, who, tense, modal, dice.chance(negation))
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
    quality = dice.pick(fitting)
    return Clause(None, who, tense, negated=dice.chance(0.2), predicate=quality, degree=degree)


def statement(dice: Dice) -> Sentence:
    if dice.chance(0.25):
        return Sentence("statement", simple(dice))
    verb = dice.pick(transitives())
    clause = doing(dice, verb, subject(dice, verb), tense_for(dice, verb), circumstances=0.5)
    if isinstance(clause.object, NounPhrase) and clause.object.noun.human and dice.chance(0.2):
        clause = replace(clause, object=other_person(dice, clause.subject))
    return Sentence("statement", clause)


def fronted(dice: Dice) -> Sentence:
    """Yesterday the man bought … : the time or the place comes first."""
    verb = dice.pick(transitives("state"))
    tense, modal = tense_for(dice, verb)
    tense = "past" if tense == "perfect" else tense
    clause = doing(dice, verb, subject(dice, verb), (tense, modal), circumstances=0)
    if dice.chance(0.15) and placeable(clause):
        return Sentence("fronted", replace(clause, place=location(dice)), lead="place")
    return Sentence("fronted", replace(clause, time=time_for(dice, tense, modal)), lead="time")


def topic(dice: Dice) -> Sentence:
    """This book I have already read: the object comes first."""
    verb = dice.pick([verb for verb in transitives() if not verb.german_preposition and verb.name != "have"])
    tense, modal = tense_for(dice, verb)
    if not modal and "state" not in verb.marks and tense in ("present", "progressive"):
        tense = "perfect"
    who = dice.pick((I, I, YOU, HE, SHE, WE, WE, THEY)) if dice.chance(0.8) else dice.pick(lexicon().people)
    clause = doing(dice, verb, who, (tense, modal), negation=0.3, circumstances=0.3)
    if not isinstance(clause.object, NounPhrase) or clause.object.noun.kind == "kin":
        return topic(dice)
    this = NounPhrase(clause.object.noun, "this", clause.object.plural, clause.object.adjective)
    return Sentence("topic", replace(clause, object=this, manner=None), lead="object")


def question(dice: Dice) -> Sentence:
    if dice.chance(0.2):
        return Sentence("question", simple(dice, negation=0))
    verb = dice.pick(transitives())
    return Sentence("question", doing(dice, verb, subject(dice, verb), tense_for(dice, verb), negation=0))


def wh_question(dice: Dice) -> Sentence:
    """Who, why, when or where."""
    lead = dice.weighted({"who": 3, "why": 3, "when": 2, "where": 2})
    verb = dice.pick(transitives("state") if lead in ("when", "where") else transitives())
    tense, modal = tense_for(dice, verb)
    if lead == "who":
        clause = doing(dice, verb, Who(), (tense, modal), negation=0.05, circumstances=0.2)
        return Sentence("wh-question", clause)
    if lead == "when" and tense in ("progressive", "perfect", "present"):
        tense = "past" if not modal else tense
    negation = 0.25 if lead == "why" else 0
    clause = doing(dice, verb, subject(dice, verb), (tense, modal), negation=negation, circumstances=0)
    return Sentence("wh-question", clause, lead=lead)


def which_question(dice: Dice) -> Sentence:
    verb = dice.pick(transitives())
    clause = doing(dice, verb, subject(dice, verb), tense_for(dice, verb), negation=0, circumstances=0.15)
    if not isinstance(clause.object, NounPhrase):
        return question(dice)
    noun = clause.object.noun
    countable = not noun.mass and ("state" not in verb.marks or verb.name in ("have", "need", "know"))
    many = countable and dice.chance(0.35)
    asked = NounPhrase(noun, "how many" if many else "which", many or clause.object.plural)
    return Sentence("which-question", replace(clause, object=asked, manner=None), lead="object")


def imperative(dice: Dice) -> Sentence:
    verb = dice.pick(transitives("state", "point", "unwilled"))
    clause = doing(dice, verb, Pronoun(2), ("present", ""), negation=0.2, circumstances=0)
    if isinstance(clause.object, NounPhrase) and clause.object.determiner == "no":
        clause = replace(clause, object=replace(clause.object, determiner="the"))
    if dice.chance(0.2) and not clause.negated:
        clause = replace(clause, time=dice.pick(lexicon().adverbs["command"]))
    return Sentence("imperative", replace(clause, subject=None))


def later_subject(dice: Dice, who: Nominal | None, again: float, verb: Verb) -> Nominal:
    """The same one once more, as a pronoun, or somebody else."""
    pronoun = pronoun_for(who)
    if pronoun and dice.chance(again):
        return pronoun
    return subject(dice, verb, human=True)


def because(dice: Dice) -> Sentence:
    if dice.chance(0.3):
        return because_it_is(dice)
    who = subject(dice, human=True)
    main = replace(being(dice, who, feeling=1.0), degree=None, negated=False)
    verb = dice.pick(transitives())
    tense, modal = tense_for(dice, verb)
    if main.tense == "past":
        tense, modal = "past", modal if modal in MODALS[:3] else ""
    other = doing(dice, verb, later_subject(dice, who, 0.6, verb), (tense, modal), circumstances=0.2)
    return Sentence("because", main, other)


def because_it_is(dice: Dice) -> Sentence:
    """Peter buys the coat because it is warm: the pronoun has the gender of the coat."""
    verb = lexicon().verbs[dice.pick(FOR_A_QUALITY)]
    tense, modal = tense_for(dice, verb)
    main = doing(dice, verb, subject(dice, human=True), (tense, modal), circumstances=0)
    thing = main.object
    if not isinstance(thing, NounPhrase) or thing.noun.human or thing.determiner in ("no", "a") or thing.of:
        return because(dice)
    it = Pronoun(3, thing.plural, "" if thing.plural else thing.noun.gender, thing=True)
    fitting = [quality for quality in qualities(thing.noun) if quality != thing.adjective]
    past = "past" if main.tense == "past" else "present"
    return Sentence("because", main, Clause(None, it, past, predicate=dice.pick(fitting)))


def reported(dice: Dice, conjunction: str) -> Sentence:
    """Peter says that …; Anna does not know whether … ."""
    matrix = dice.pick([v for v in lexicon().verbs.values() if "clause" in v.marks and v.preposition == conjunction])
    who = subject(dice, human=True)
    main = Clause(matrix, who, negated=matrix.name == "know whether" or dice.chance(0.1))
    if dice.chance(0.12):
        return Sentence(conjunction, main, simple(dice))
    verb = dice.pick(transitives())
    negation = 0.0 if conjunction == "whether" else 0.12
    other = later_subject(dice, who, 0.35, verb)
    clause = doing(dice, verb, other, tense_for(dice, verb), negation=negation, circumstances=0.2)
    return Sentence(conjunction, main, clause)


def condition(dice: Dice) -> Sentence:
    """If Peter finds the key, he will open the door."""
    verb = dice.pick([verb for verb in transitives() if verb.past != verb.english])
    other = doing(dice, verb, subject(dice, verb, human=True), ("present", ""), circumstances=0)
    second = dice.pick(transitives("state", "point"))
    tense = dice.pick((("future", ""), ("present", "can"), ("present", "must"), ("present", "should")))
    who = later_subject(dice, other.subject, 0.5, second)
    main = doing(dice, second, who, tense, negation=0.1, circumstances=0.1)
    if dice.chance(0.25):
        main = replace(being(dice, who, feeling=1.0), tense="present", degree=None, negated=False)
    return Sentence("condition", main, other)


def subject_relative(dice: Dice) -> Sentence:
    """The woman who is reading the newspaper is tired."""
    verb = dice.pick(transitives())
    head = person(dice, adjective=0.1)
    while head.noun.kind == "kin":
        head = person(dice, adjective=0.1)
    clause = doing(dice, verb, head, tense_for(dice, verb), negation=0.08, circumstances=0.15)
    head = replace(head, relative=replace(clause, subject=None, gap="subject"))
    return Sentence("subject relative", around_head(dice, head))


def object_relative(dice: Dice) -> Sentence:
    """The car that Peter has bought is new."""
    verb = dice.pick(transitives())
    who = subject(dice, verb)
    if isinstance(who, NounPhrase):
        who = replace(who, adjective=None)
    clause = doing(dice, verb, who, tense_for(dice, verb), negation=0.08, circumstances=0.15)
    found = clause.object
    if not isinstance(found, NounPhrase):
        return question(dice)
    determiner = "this" if dice.chance(0.1) else "the"
    head = NounPhrase(found.noun, determiner, found.plural, found.adjective)
    relative = replace(clause, object=None, manner=None, gap="object")
    return Sentence("object relative", around_head(dice, replace(head, relative=relative)))


def around_head(dice: Dice, head: NounPhrase) -> Clause:
    """A main clause for a noun with a relative clause: what it is, or who knows it."""
    verbs = [lexicon().verbs[name] for name in KNOWN if head.noun in lexicon().objects[name]]
    if verbs and head.determiner != "every" and dice.chance(0.4):
        return Clause(dice.pick(verbs), other_subject(dice, head), object=head)
    return replace(being(dice, head), degree=None)


def purpose(dice: Dice) -> Sentence:
    """He goes into the kitchen to open the window."""
    verb = dice.pick(transitives("state", "point"))
    go = lexicon().verbs[dice.pick(("go", "go", "drive", "run"))]
    who = subject(dice, human=True)
    tense, modal = tense_for(dice, go)
    main = Clause(go, who, "past" if tense == "perfect" else tense, modal, place=direction(dice, go))
    other = doing(dice, verb, who, ("present", ""), negation=0, circumstances=0)
    return Sentence("purpose", main, replace(other, subject=None))


def coordination(dice: Dice) -> Sentence:
    """She buys an apple and eats it: one subject, one auxiliary, and a pronoun with the apple's gender."""
    words = lexicon()
    first, second = words.verbs[dice.pick(GETTING)], words.verbs[dice.pick(USING)]
    shared = [noun for noun in words.objects[first.name] if noun in words.objects[second.name]]
    if not shared:
        return coordination(dice)
    noun = dice.pick(shared)
    who = subject(dice, human=True)
    thing = described(dice, noun, {"the": 4, "a": 4, "own": 1, "number": 0 if noun.mass else 0.5}, who)
    tense, modal = tense_for(dice, first)
    if "progressive" in tense or second.past == second.english:
        tense = "past" if not modal else tense
    it = Pronoun(3, thing.plural, "" if thing.plural else noun.gender, thing=True)
    main = Clause(first, who, tense, modal, object=thing)
    return Sentence("coordination", main, Clause(second, who, tense, modal, object=it))


def contrast(dice: Dice) -> Sentence:
    """Anna is reading the newspaper, but Peter is washing the car."""
    verb, second = dice.pick(transitives()), dice.pick(transitives())
    tense = tense_for(dice, verb)
    if second.marks & {"state", "point"} or second.past == second.english:
        second = verb
    who = subject(dice, verb, human=True)
    main = doing(dice, verb, who, tense, circumstances=0)
    return Sentence("contrast", main, doing(dice, second, other_subject(dice, who), tense, circumstances=0))


def other_subject(dice: Dice, who: Nominal) -> Nominal:
    while alike(found := subject(dice, human=True), who) or alike(who, found):
        pass
    return found


MAKERS: dict[str, Callable[[Dice], Sentence]] = {
    "statement": statement,
    "fronted": fronted,
    "topic": topic,
    "question": question,
    "wh-question": wh_question,
    "which-question": which_question,
    "imperative": imperative,
    "because": because,
    "that": lambda dice: reported(dice, "that"),
    "whether": lambda dice: reported(dice, "whether"),
    "condition": condition,
    "subject relative": subject_relative,
    "object relative": object_relative,
    "purpose": purpose,
    "coordination": coordination,
    "contrast": contrast,
}
WEIGHTS = {
    "statement": 18,
    "fronted": 10,
    "topic": 3,
    "question": 9,
    "wh-question": 7,
    "which-question": 4,
    "imperative": 5,
    "because": 9,
    "that": 7,
    "whether": 3,
    "condition": 5,
    "subject relative": 6,
    "object relative": 6,
    "purpose": 3,
    "coordination": 3,
    "contrast": 3,
}
