"""Sentences drawn at random, each a function of a seed and an index: one maker for each construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from examples.grammar.clauses import MODALS, being, doing, placeable, simple, tense_for, transitives
from examples.grammar.dice import Dice
from examples.grammar.lexicon import Verb, lexicon
from examples.grammar.phrases import (
    HE,
    ME,
    SHE,
    THEY,
    WE,
    YOU,
    alike,
    described,
    direction,
    location,
    other_person,
    person,
    pronoun_for,
    qualities,
    subject,
    time_for,
)
from examples.grammar.sentences import Clause, Nominal, NounPhrase, Pronoun, Sentence, Who

KNOWN = ("know", "see", "like", "need", "love", "look for")
"""Verbs of one word in both languages' present, whose object can be a noun with a relative clause."""
GETTING = ("buy", "find", "order", "steal", "wash", "repair")
USING = ("eat", "drink", "read", "sell", "hide", "put on", "try on", "carry", "hang up", "turn on", "throw away")
"""What people do with what they have got."""
FOR_A_QUALITY = (
    *("buy", "sell", "like", "love", "need", "order", "wear", "put on", "try on", "look for", "throw away", "repair"),
    *("steal", "read", "visit", "hang up", "understand", "talk about", "dream of", "look after", "feed"),
)
"""What people do to a thing because of what it is like."""


def sentence(seed: int, index: int) -> Sentence:
    """The sentence of that index: the same on every machine."""
    dice = Dice(seed, index)
    return MAKERS[dice.weighted(WEIGHTS)](dice)


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
    who = dice.pick((ME, ME, YOU, HE, SHE, WE, WE, THEY)) if dice.chance(0.8) else dice.pick(lexicon().people)
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
    thing = clause.object
    if isinstance(thing, NounPhrase) and (thing.determiner == "no" or (thing.determiner == "a" and thing.plural)):
        clause = replace(clause, object=replace(thing, determiner="the"))
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
    main = Clause(
        matrix, who, negated=matrix.name == "know whether" or (matrix.name == "believe that" and dice.chance(0.3))
    )
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
