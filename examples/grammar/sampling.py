"""Sentences drawn at random, each a function of a seed and an index: one maker for each construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from examples.grammar.clauses import MODALS, being, doing, placeable, simple, tense_for, transitives
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
from examples.grammar.rng import Rng
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
    rng = Rng(seed, index)
    return MAKERS[rng.weighted(WEIGHTS)](rng)


def statement(rng: Rng) -> Sentence:
    if rng.chance(0.25):
        return Sentence("statement", simple(rng))
    verb = rng.pick(transitives())
    clause = doing(rng, verb, subject(rng, verb), tense_for(rng, verb), circumstances=0.5)
    if isinstance(clause.object, NounPhrase) and clause.object.noun.human and rng.chance(0.2):
        clause = replace(clause, object=other_person(rng, clause.subject))
    return Sentence("statement", clause)


def fronted(rng: Rng) -> Sentence:
    """Yesterday the man bought … : the time or the place comes first."""
    verb = rng.pick(transitives("state"))
    tense, modal = tense_for(rng, verb)
    tense = "past" if tense == "perfect" else tense
    clause = doing(rng, verb, subject(rng, verb), (tense, modal), circumstances=0)
    if rng.chance(0.15) and placeable(clause):
        return Sentence("fronted", replace(clause, place=location(rng)), lead="place")
    return Sentence("fronted", replace(clause, time=time_for(rng, tense, modal)), lead="time")


def topic(rng: Rng) -> Sentence:
    """This book I have already read: the object comes first."""
    verb = rng.pick([verb for verb in transitives() if not verb.german_preposition and verb.name != "have"])
    tense, modal = tense_for(rng, verb)
    if not modal and "state" not in verb.marks and tense in ("present", "progressive"):
        tense = "perfect"
    who = rng.pick((ME, ME, YOU, HE, SHE, WE, WE, THEY)) if rng.chance(0.8) else rng.pick(lexicon().people)
    clause = doing(rng, verb, who, (tense, modal), negation=0.3, circumstances=0.3)
    if not isinstance(clause.object, NounPhrase) or clause.object.noun.kind == "kin":
        return topic(rng)
    this = NounPhrase(clause.object.noun, "this", clause.object.plural, clause.object.adjective)
    return Sentence("topic", replace(clause, object=this, manner=None), lead="object")


def question(rng: Rng) -> Sentence:
    if rng.chance(0.2):
        return Sentence("question", simple(rng, negation=0))
    verb = rng.pick(transitives())
    return Sentence("question", doing(rng, verb, subject(rng, verb), tense_for(rng, verb), negation=0))


def wh_question(rng: Rng) -> Sentence:
    """Who, why, when or where."""
    lead = rng.weighted({"who": 3, "why": 3, "when": 2, "where": 2})
    verb = rng.pick(transitives("state") if lead in ("when", "where") else transitives())
    tense, modal = tense_for(rng, verb)
    if lead == "who":
        clause = doing(rng, verb, Who(), (tense, modal), negation=0.05, circumstances=0.2)
        return Sentence("wh-question", clause)
    if lead == "when" and tense in ("progressive", "perfect", "present"):
        tense = "past" if not modal else tense
    negation = 0.25 if lead == "why" else 0
    clause = doing(rng, verb, subject(rng, verb), (tense, modal), negation=negation, circumstances=0)
    return Sentence("wh-question", clause, lead=lead)


def which_question(rng: Rng) -> Sentence:
    verb = rng.pick(transitives())
    clause = doing(rng, verb, subject(rng, verb), tense_for(rng, verb), negation=0, circumstances=0.15)
    if not isinstance(clause.object, NounPhrase):
        return question(rng)
    noun = clause.object.noun
    countable = not noun.mass and ("state" not in verb.marks or verb.name in ("have", "need", "know"))
    many = countable and rng.chance(0.35)
    asked = NounPhrase(noun, "how many" if many else "which", many or clause.object.plural)
    return Sentence("which-question", replace(clause, object=asked, manner=None), lead="object")


def imperative(rng: Rng) -> Sentence:
    verb = rng.pick(transitives("state", "point", "unwilled"))
    clause = doing(rng, verb, Pronoun(2), ("present", ""), negation=0.2, circumstances=0)
    thing = clause.object
    if isinstance(thing, NounPhrase) and (thing.determiner == "no" or (thing.determiner == "a" and thing.plural)):
        clause = replace(clause, object=replace(thing, determiner="the"))
    if rng.chance(0.2) and not clause.negated:
        clause = replace(clause, time=rng.pick(lexicon().adverbs["command"]))
    return Sentence("imperative", replace(clause, subject=None))


def later_subject(rng: Rng, who: Nominal | None, again: float, verb: Verb) -> Nominal:
    """The same one once more, as a pronoun, or somebody else."""
    pronoun = pronoun_for(who)
    if pronoun and rng.chance(again):
        return pronoun
    return subject(rng, verb, human=True)


def because(rng: Rng) -> Sentence:
    if rng.chance(0.3):
        return because_it_is(rng)
    who = subject(rng, human=True)
    main = replace(being(rng, who, feeling=1.0), degree=None, negated=False)
    verb = rng.pick(transitives())
    tense, modal = tense_for(rng, verb)
    if main.tense == "past":
        tense, modal = "past", modal if modal in MODALS[:3] else ""
    other = doing(rng, verb, later_subject(rng, who, 0.6, verb), (tense, modal), circumstances=0.2)
    return Sentence("because", main, other)


def because_it_is(rng: Rng) -> Sentence:
    """Peter buys the coat because it is warm: the pronoun has the gender of the coat."""
    verb = lexicon().verbs[rng.pick(FOR_A_QUALITY)]
    tense, modal = tense_for(rng, verb)
    main = doing(rng, verb, subject(rng, human=True), (tense, modal), circumstances=0)
    thing = main.object
    if not isinstance(thing, NounPhrase) or thing.noun.human or thing.determiner in ("no", "a") or thing.of:
        return because(rng)
    it = Pronoun(3, thing.plural, "" if thing.plural else thing.noun.gender, thing=True)
    fitting = [quality for quality in qualities(thing.noun) if quality != thing.adjective]
    past = "past" if main.tense == "past" else "present"
    return Sentence("because", main, Clause(None, it, past, predicate=rng.pick(fitting)))


def reported(rng: Rng, conjunction: str) -> Sentence:
    """Peter says that …; Anna does not know whether … ."""
    matrix = rng.pick([v for v in lexicon().verbs.values() if "clause" in v.marks and v.preposition == conjunction])
    who = subject(rng, human=True)
    main = Clause(
        matrix, who, negated=matrix.name == "know whether" or (matrix.name == "believe that" and rng.chance(0.3))
    )
    if rng.chance(0.12):
        return Sentence(conjunction, main, simple(rng))
    verb = rng.pick(transitives())
    negation = 0.0 if conjunction == "whether" else 0.12
    other = later_subject(rng, who, 0.35, verb)
    clause = doing(rng, verb, other, tense_for(rng, verb), negation=negation, circumstances=0.2)
    return Sentence(conjunction, main, clause)


def condition(rng: Rng) -> Sentence:
    """If Peter finds the key, he will open the door."""
    verb = rng.pick([verb for verb in transitives() if verb.past != verb.english])
    other = doing(rng, verb, subject(rng, verb, human=True), ("present", ""), circumstances=0)
    second = rng.pick(transitives("state", "point"))
    tense = rng.pick((("future", ""), ("present", "can"), ("present", "must"), ("present", "should")))
    who = later_subject(rng, other.subject, 0.5, second)
    main = doing(rng, second, who, tense, negation=0.1, circumstances=0.1)
    if rng.chance(0.25):
        main = replace(being(rng, who, feeling=1.0), tense="present", degree=None, negated=False)
    return Sentence("condition", main, other)


def subject_relative(rng: Rng) -> Sentence:
    """The woman who is reading the newspaper is tired."""
    verb = rng.pick(transitives())
    head = person(rng, adjective=0.1)
    while head.noun.kind == "kin":
        head = person(rng, adjective=0.1)
    clause = doing(rng, verb, head, tense_for(rng, verb), negation=0.08, circumstances=0.15)
    head = replace(head, relative=replace(clause, subject=None, gap="subject"))
    return Sentence("subject relative", around_head(rng, head))


def object_relative(rng: Rng) -> Sentence:
    """The car that Peter has bought is new."""
    verb = rng.pick(transitives())
    who = subject(rng, verb)
    if isinstance(who, NounPhrase):
        who = replace(who, adjective=None)
    clause = doing(rng, verb, who, tense_for(rng, verb), negation=0.08, circumstances=0.15)
    found = clause.object
    if not isinstance(found, NounPhrase):
        return question(rng)
    determiner = "this" if rng.chance(0.1) else "the"
    head = NounPhrase(found.noun, determiner, found.plural, found.adjective)
    relative = replace(clause, object=None, manner=None, gap="object")
    return Sentence("object relative", around_head(rng, replace(head, relative=relative)))


def around_head(rng: Rng, head: NounPhrase) -> Clause:
    """A main clause for a noun with a relative clause: what it is, or who knows it."""
    verbs = [lexicon().verbs[name] for name in KNOWN if head.noun in lexicon().objects[name]]
    if verbs and head.determiner != "every" and rng.chance(0.4):
        return Clause(rng.pick(verbs), other_subject(rng, head), object=head)
    return replace(being(rng, head), degree=None)


def purpose(rng: Rng) -> Sentence:
    """He goes into the kitchen to open the window."""
    verb = rng.pick(transitives("state", "point"))
    go = lexicon().verbs[rng.pick(("go", "go", "drive", "run"))]
    who = subject(rng, human=True)
    tense, modal = tense_for(rng, go)
    main = Clause(go, who, "past" if tense == "perfect" else tense, modal, place=direction(rng, go))
    other = doing(rng, verb, who, ("present", ""), negation=0, circumstances=0)
    return Sentence("purpose", main, replace(other, subject=None))


def coordination(rng: Rng) -> Sentence:
    """She buys an apple and eats it: one subject, one auxiliary, and a pronoun with the apple's gender."""
    words = lexicon()
    first, second = words.verbs[rng.pick(GETTING)], words.verbs[rng.pick(USING)]
    shared = [noun for noun in words.objects[first.name] if noun in words.objects[second.name]]
    if not shared:
        return coordination(rng)
    noun = rng.pick(shared)
    who = subject(rng, human=True)
    thing = described(rng, noun, {"the": 4, "a": 4, "own": 1, "number": 0 if noun.mass else 0.5}, who)
    tense, modal = tense_for(rng, first)
    if "progressive" in tense or second.past == second.english:
        tense = "past" if not modal else tense
    it = Pronoun(3, thing.plural, "" if thing.plural else noun.gender, thing=True)
    main = Clause(first, who, tense, modal, object=thing)
    return Sentence("coordination", main, Clause(second, who, tense, modal, object=it))


def contrast(rng: Rng) -> Sentence:
    """Anna is reading the newspaper, but Peter is washing the car."""
    verb, second = rng.pick(transitives()), rng.pick(transitives())
    tense = tense_for(rng, verb)
    if second.marks & {"state", "point"} or second.past == second.english:
        second = verb
    who = subject(rng, verb, human=True)
    main = doing(rng, verb, who, tense, circumstances=0)
    return Sentence("contrast", main, doing(rng, second, other_subject(rng, who), tense, circumstances=0))


def other_subject(rng: Rng, who: Nominal) -> Nominal:
    while alike(found := subject(rng, human=True), who) or alike(who, found):
        pass
    return found


MAKERS: dict[str, Callable[[Rng], Sentence]] = {
    "statement": statement,
    "fronted": fronted,
    "topic": topic,
    "question": question,
    "wh-question": wh_question,
    "which-question": which_question,
    "imperative": imperative,
    "because": because,
    "that": lambda rng: reported(rng, "that"),
    "whether": lambda rng: reported(rng, "whether"),
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
