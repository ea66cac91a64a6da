"""Who and what a sentence is about, drawn at random: subjects, objects, times and places that make sense together."""

from __future__ import annotations

from functools import cache

from examples.grammar.english import number_word as english_number
from examples.grammar.german import number_word as german_number
from examples.grammar.lexicon import Adjective, Adverbial, Name, Noun, Preposition, Verb, lexicon, nouns_of
from examples.grammar.rng import Rng
from examples.grammar.sentences import Clause, Nominal, NounPhrase, Place, Pronoun

ME, YOU, WE, THEY = Pronoun(1), Pronoun(2), Pronoun(1, plural=True), Pronoun(3, plural=True)
HE, SHE = Pronoun(3, gender="m"), Pronoun(3, gender="f")
POSSESSORS = ("my", "your", "his", "her", "our", "their")
OWN = {ME: "my", YOU: "your", HE: "his", SHE: "her", WE: "our", THEY: "their"}
"""Whose things somebody has mostly to do with."""
CHILDREN = ("child", "boy", "girl", "pupil", "son", "daughter")
INDOORS = ("kitchen", "room", "garden", "park", "church")
"""Where nobody drives."""
DENIED = ("need", "find", "buy", "see", "drink", "eat", "write")
"""Verbs with which English says no book as readily as not a book."""
ARRIVALS = ("station", "airport", "school", "museum", "village", "hospital", "office")


def subject(rng: Rng, verb: Verb | None = None, *, human: bool = False) -> Nominal:
    """Somebody who can do it."""
    if verb and "animal" in verb.marks and not human and rng.chance(0.3):
        return NounPhrase(
            rng.pick(nouns_of("animal")),
            determiner=rng.weighted({"the": 4, "my": 1, "our": 1, "a": 0.5}),
            plural=rng.chance(0.3),
        )
    if rng.chance(0.28):
        return rng.pick((ME, YOU, HE, SHE, WE, THEY))
    if rng.chance(0.25):
        return rng.pick(lexicon().people)
    return person(rng)


def person(rng: Rng, *, adjective: float = 0.15) -> NounPhrase:
    """A person, with a determiner that suits: my mother, the teacher, a guest, every child."""
    if rng.chance(0.4):
        noun = rng.pick(nouns_of("kin"))
        determiner = rng.pick(POSSESSORS) if rng.chance(0.9) else "the"
        plural = rng.chance(0.2) and noun.english not in ("father", "mother", "grandfather", "grandmother", "boss")
    else:
        noun = rng.pick(nouns_of("person"))
        determiner = rng.weighted({"the": 7, "a": 1, "this": 0.7, "every": 0.5})
        plural = rng.chance(0.3) and determiner in ("the", "this")
    quality = rng.pick(qualities(noun)) if rng.chance(adjective) and determiner != "every" else None
    return NounPhrase(noun, determiner, plural, quality)


@cache
def qualities(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that suit a noun: no child is old."""
    unsuited = {"old": CHILDREN, "young": ("grandmother", "grandfather")}
    return tuple(
        quality for quality in lexicon().adjectives[noun.kind] if noun.english not in unsuited.get(quality.english, ())
    )


def pronoun_for(nominal: Nominal | None) -> Pronoun | None:
    """What a later clause calls somebody, where both languages are sure of it."""
    if isinstance(nominal, Pronoun):
        return nominal
    if isinstance(nominal, Name):
        return Pronoun(3, gender=nominal.gender)
    if not isinstance(nominal, NounPhrase) or nominal.determiner in ("every", "no"):
        return None
    if nominal.plural:
        return THEY
    gender = nominal.noun.natural_gender
    return Pronoun(3, gender=gender) if gender in ("m", "f") else None


def object_for(rng: Rng, verb: Verb, who: Nominal | None, *, negated: bool = False) -> NounPhrase:
    """Something the verb can be done to, other than the one who does it."""
    nouns = lexicon().objects[verb.name]
    noun = rng.pick(nouns)
    while isinstance(who, NounPhrase) and who.noun is noun:
        noun = rng.pick(nouns)
    return described(rng, noun, determiner_weights(verb, noun, negated=negated), who)


def determiner_weights(verb: Verb, noun: Noun, *, negated: bool) -> dict[str, float]:
    """How often each determiner: nobody has the brother, and nobody loves a language."""
    if verb.name == "have":
        return {"a": 6, **({} if negated or noun.mass else {"no": 1, "number": 1.5})}
    weights = {"the": 4, "own": 2, "this": 0.6}
    if noun.kind == "kin":
        return {"the": 1, "own": 6, "of": 0.4}
    if not noun.human and not negated:
        weights |= {"of": 0.3, "name": 0.5}
    if noun.human:
        del weights["own"]
    if "many" in verb.marks:
        return {"own": 2, "this": 1, "plural": 3, "number": 2}
    if "state" in verb.marks and verb.name != "need":
        return weights
    if not negated and not noun.mass:
        weights["number"] = 0.8
    return weights | {"a": 3} | ({"no": 0.5} if verb.name in DENIED and not negated else {})


def described(rng: Rng, noun: Noun, weights: dict[str, float], who: Nominal | None = None) -> NounPhrase:
    """A noun with a determiner drawn by weight, and now and then an adjective, a number or an owner."""
    choice = rng.weighted(weights)
    plural = not noun.mass and (choice in ("number", "plural") or "plural" in weights or rng.chance(0.25))
    if choice == "of" and noun.kind == "kin":
        plural = False
    if choice == "no" and "own" in weights:
        plural = not noun.mass  # she buys no apples; but he has no car
    quality = rng.pick(qualities(noun)) if rng.chance(0.28) and choice != "of" else None
    if choice == "number":
        few = noun.human or rng.chance(0.8)
        number = rng.pick(range(2, 13) if few else range(13, 100))
        return NounPhrase(noun, "", True, quality, number=number)
    if choice == "name":
        return NounPhrase(noun, "", plural, quality, owner=rng.pick(lexicon().people))
    if choice == "of":
        owner = rng.pick([person for person in nouns_of("person", "kin") if person is not noun])
        return NounPhrase(noun, "the", plural, of=NounPhrase(owner))
    own = rng.pick(POSSESSORS) if rng.chance(0.3) else OWN.get(pronoun_for(who) or ME, "my")
    return NounPhrase(noun, {"own": own, "plural": "a"}.get(choice, choice), plural, quality)


def other_person(rng: Rng, who: Nominal | None) -> Nominal:
    """Somebody else, to whom or with whom something is done."""
    while True:
        if rng.chance(0.3):
            found: Nominal = rng.pick((ME, YOU, HE, SHE, WE, THEY))
        elif rng.chance(0.3):
            found = rng.pick(lexicon().people)
        else:
            phrase = person(rng, adjective=0.05)
            found = NounPhrase(phrase.noun, "the" if phrase.determiner in ("a", "every") else phrase.determiner)
        if not alike(found, who):
            return found


def alike(one: Nominal, other: Nominal | None) -> bool:
    """Whether two could be the same person: I and me, I and us, he and Peter, Anna and Anna."""
    if isinstance(one, NounPhrase):
        return isinstance(other, NounPhrase) and one.noun is other.noun
    if isinstance(one, Pronoun) and isinstance(other, Pronoun) and one.person == other.person:
        return one.person < 3 or (one.plural, one.gender) == (other.plural, other.gender)
    return one == other or (isinstance(one, Pronoun) and one == pronoun_for(other))


def time_for(rng: Rng, tense: str, modal: str) -> Adverbial:
    """A time that suits the tense."""
    if modal:
        tense = "past" if tense == "past" else "future"
    if tense in ("past", "future") and rng.chance(0.25):
        return span(rng, ago=tense == "past")
    if tense != "progressive" and rng.chance(0.1):
        number = rng.pick(range(2, 13))
        english = (("at", "1"), (english_number(number), "2"), ("o'clock", "3"))
        return Adverbial(english, (("um", "1"), (german_number(number), "2"), ("Uhr", "3")))
    return rng.pick(lexicon().adverbs[tense])


def span(rng: Rng, *, ago: bool) -> Adverbial:
    """three years ago, in twenty-one days."""
    unit = rng.pick(lexicon().adverbs["spans"][: None if ago else 4])
    largest = {"years": 100, "hours": 13}.get(unit.english[0][0], 31)
    number = rng.pick(range(2, 13) if rng.chance(0.5) else range(2, largest))
    english, german = (english_number(number), "2"), (german_number(number), "2")
    units = (unit.english[0][0], "3"), (unit.german[0][0], "3")
    if ago:
        return Adverbial((english, units[0], ("ago", "1")), (("vor", "1"), german, units[1]))
    return Adverbial((("in", "1"), english, units[0]), (("in", "1"), german, units[1]))


def location(rng: Rng, *, city: float = 0.25) -> Place:
    """Where something happens."""
    if rng.chance(city):
        return Place(Preposition("in", "in", "dat"), rng.pick(lexicon().cities))
    noun, preposition = rng.pick(tuple(lexicon().locations.items()))
    return Place(preposition, lexicon().nouns[noun])


def arrival(rng: Rng) -> Place:
    """Where somebody arrives."""
    if rng.chance(0.4):
        return Place(Preposition("in", "in", "dat"), rng.pick(lexicon().cities))
    noun = rng.pick(ARRIVALS)
    return Place(lexicon().locations[noun], lexicon().nouns[noun])


def direction(rng: Rng, verb: Verb) -> Place:
    """Where somebody goes."""
    if verb.name in ("drive", "come") and rng.chance(0.4):
        return Place(Preposition("to", "nach", "dat"), rng.pick(lexicon().cities))
    places = [noun for noun in lexicon().directions if verb.name != "drive" or noun not in INDOORS]
    noun = rng.pick(places)
    return Place(lexicon().directions[noun], lexicon().nouns[noun])


def is_plain(clause: Clause) -> bool:
    """Whether nothing stands where a manner would be odd."""
    found = clause.object
    return not clause.negated and (found is None or (isinstance(found, NounPhrase) and found.definite))
