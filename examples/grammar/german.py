"""German word forms, by rule: articles, adjective endings, nouns, pronouns, verbs and numbers.

Cases are nom, acc, dat and gen; genders m, f and n; a person is a number from 1 to 3 with singular or plural. It knows
nothing of word order.
"""

from __future__ import annotations

import re

from examples.grammar.lexicon import Noun, Verb

CASES = ("nom", "acc", "dat", "gen")
PERSONS = ((1, False), (2, False), (3, False), (1, True), (2, True), (3, True))
POSSESSIVES = {"my": "mein", "your": "dein", "his": "sein", "her": "ihr", "our": "unser", "their": "ihr"}

STRONG = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "p": ("e", "e", "en", "er"),
}
"""Endings of dieser, jeder and welcher by gender (p: plural), in the order of the cases."""
DEFINITE = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "p": ("die", "die", "den", "der"),
}
PRONOUNS = {
    (1, False, ""): ("ich", "mich", "mir"),
    (2, False, ""): ("du", "dich", "dir"),
    (3, False, "m"): ("er", "ihn", "ihm"),
    (3, False, "f"): ("sie", "sie", "ihr"),
    (3, False, "n"): ("es", "es", "ihm"),
    (1, True, ""): ("wir", "uns", "uns"),
    (3, True, ""): ("sie", "sie", "ihnen"),
}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}
IRREGULAR = {
    "sein": (("bin", "bist", "ist", "sind", "seid", "sind"), "war"),
    "haben": (("habe", "hast", "hat", "haben", "habt", "haben"), "hatte"),
    "werden": (("werde", "wirst", "wird", "werden", "werdet", "werden"), "wurde"),
    "mögen": (("mag", "magst", "mag", "mögen", "mögt", "mögen"), "mochte"),
    "können": (("kann", "kannst", "kann", "können", "könnt", "können"), "konnte"),
    "müssen": (("muss", "musst", "muss", "müssen", "müsst", "müssen"), "musste"),
    "wollen": (("will", "willst", "will", "wollen", "wollt", "wollen"), "wollte"),
    "sollen": (("soll", "sollst", "soll", "sollen", "sollt", "sollen"), "sollte"),
    "dürfen": (("darf", "darfst", "darf", "dürfen", "dürft", "dürfen"), "durfte"),
    "wissen": (("weiß", "weißt", "weiß", "wissen", "wisst", "wissen"), "wusste"),
}
"""The present in the order of PERSONS, and the preterite's first person."""
UNITS = ("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf")
TENS = ("zehn", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def number_word(number: int) -> str:
    """A number from 0 to 99.

    >>> [number_word(number) for number in (0, 7, 12, 16, 17, 21, 30, 76)]
    ['null', 'sieben', 'zwölf', 'sechzehn', 'siebzehn', 'einundzwanzig', 'dreißig', 'sechsundsiebzig']
    """
    if number < len(UNITS):
        return UNITS[number]
    tens, unit = divmod(number, 10)
    if tens == 1:
        return {6: "sech", 7: "sieb"}.get(unit, UNITS[unit]) + "zehn"
    ten = TENS[tens - 1]
    return f"{'ein' if unit == 1 else UNITS[unit]}und{ten}" if unit else ten


def article(determiner: str, case: str, gender: str) -> str:
    """The form of der, of a word like dieser (given as dies), or of one like ein, kein, mein; gender p is the plural.

    >>> article("der", "dat", "f"), article("dies", "acc", "m"), article("kein", "acc", "n")
    ('der', 'diesen', 'kein')
    """
    at = CASES.index(case)
    if determiner == "der":
        return DEFINITE[gender][at]
    if endingless(determiner, case, gender):
        return determiner
    return determiner + STRONG[gender][at]


def endingless(determiner: str, case: str, gender: str) -> bool:
    """Whether a determiner shows nothing of the case: then the adjective must."""
    inflected_as_ein = determiner.endswith(("ein", "ihr", "unser"))
    return inflected_as_ein and (case, gender) in {("nom", "m"), ("nom", "n"), ("acc", "n")}


def adjective_form(adjective: str, determiner: str, case: str, gender: str) -> str:
    """An adjective before a noun: strong without an article, weak after one, and strong after a bare ein or mein.

    >>> [adjective_form("teuer", article, "nom", "m") for article in ("", "der", "ein")]
    ['teurer', 'teure', 'teurer']
    """
    stem = {"teuer": "teur", "dunkel": "dunkl"}.get(adjective, adjective.removesuffix("e"))
    if not determiner or endingless(determiner, case, gender):
        strong = STRONG[gender][CASES.index(case)]
        return stem + ("en" if case == "gen" and gender in "mn" else strong)
    plain = (case, gender) in {("nom", "m"), ("nom", "f"), ("nom", "n"), ("acc", "f"), ("acc", "n")}
    return stem + ("e" if plain else "en")


def noun_form(noun: Noun, case: str, *, plural: bool) -> str:
    """A noun in a case: dative plurals end in -n or -s, weak masculines in -n, people's genitives in -s or -es."""
    if plural:
        return noun.german_plural + ("" if case != "dat" or noun.german_plural[-1] in "ns" else "n")
    if noun.weak:
        return noun.german if case == "nom" else noun.german_plural
    if case != "gen" or noun.gender == "f":
        return noun.german
    if noun.german_plural.endswith("s"):
        return noun.german + "s"
    syllables = len(re.findall("[aeiouäöüy]+", noun.german.lower()))
    return noun.german + ("es" if syllables == 1 or noun.german[-1] in "sßzx" else "s")


def relative_pronoun(case: str, gender: str) -> str:
    """The form of der, die, das that opens a relative clause; only the dative plural is not the article's."""
    return "denen" if (case, gender) == ("dat", "p") else article("der", case, gender)


def present(verb: str, person: int, plural: bool, *, third: str = "") -> str:
    """The present of an infinitive; ``third`` is its er-form where that is irregular.

    >>> [present("laden", *who, third="lädt") for who in PERSONS]
    ['lade', 'lädst', 'lädt', 'laden', 'ladet', 'laden']
    """
    if verb in IRREGULAR:
        return IRREGULAR[verb][0][PERSONS.index((person, plural))]
    stem = stem_of(verb)
    if plural:
        return stem + link(stem) + "t" if person == 2 else verb
    if person == 1:
        return re.sub("(?<=[^aeiou])el$", "l", stem) + "e"
    if person == 3:
        return third or stem + link(stem) + "t"
    changed = third.removesuffix("t") if third else stem + link(stem)
    return changed + ("t" if changed[-1] in "sßzx" else "st")


def preterite(verb: str, person: int, plural: bool) -> str:
    """The preterite of the few verbs whose spoken past it is: war, hatte, konnte."""
    first = IRREGULAR[verb][1]
    many = "n" if first.endswith("e") else "en"
    return first + ("", "st", "", many, "t", many)[PERSONS.index((person, plural))]


def participle(verb: Verb) -> str:
    """The past participle, with its separable prefix.

    >>> from examples.grammar.lexicon import lexicon
    >>> [participle(lexicon().verbs[name]) for name in ("open", "repair", "prepare", "call", "feed")]
    ['aufgemacht', 'repariert', 'vorbereitet', 'angerufen', 'gefüttert']
    """
    stem = stem_of(verb.german)
    # Words without the stress on their first syllable take no ge-.
    unstressed = verb.german.startswith(("be", "er", "ver", "zer")) or verb.german.endswith("ieren")
    regular = ("" if unstressed else "ge") + stem + link(stem) + "t"
    return verb.prefix + (verb.german_participle or regular)


def imperative(verb: Verb) -> str:
    """What one says to a friend, without the separable prefix: an e that becomes i in the er-form does so here too."""
    stem = stem_of(verb.german)
    if re.search("e[^aeiou]*$", stem) and re.search("i", verb.german_third):
        return verb.german_third.removesuffix("t")
    return stem + ("e" if link(stem) or stem.endswith(("er", "ier")) else "")


def zu_infinitive(verb: Verb) -> tuple[str, ...]:
    """The infinitive with zu: a word before it, or a syllable inside it."""
    return (f"{verb.prefix}zu{verb.german}",) if verb.prefix else ("zu", verb.german)


def stem_of(infinitive: str) -> str:
    """What the endings are added to."""
    return re.sub("(?:en|(?<=[lr])n)$", "", infinitive)


def link(stem: str) -> str:
    """The e that makes -t and -st sayable after d and t, and after n with a consonant that is not l or r."""
    return "e" if re.search("[dt]$|[^aeiouäöülrhn]n$|chn$", stem) else ""
