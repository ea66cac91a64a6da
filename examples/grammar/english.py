"""English word forms, by rule: verbs, a and an, pronouns and numbers. It knows nothing of word order."""

from __future__ import annotations

import re

from examples.grammar.lexicon import Verb

PRONOUNS = {
    (1, False, ""): ("I", "me"),
    (2, False, ""): ("you", "you"),
    (3, False, "m"): ("he", "him"),
    (3, False, "f"): ("she", "her"),
    (3, False, "n"): ("it", "it"),
    (1, True, ""): ("we", "us"),
    (3, True, ""): ("they", "them"),
}
UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
DOUBLED = ("put", "get", "forget", "run")
"""Verbs that double their last letter before -ing."""


def number_word(number: int) -> str:
    """A number from 0 to 99.

    >>> [number_word(number) for number in (0, 13, 20, 47)]
    ['zero', 'thirteen', 'twenty', 'forty-seven']
    """
    if number < 20:
        return (UNITS + TEENS)[number]
    tens, unit = divmod(number, 10)
    return TENS[tens - 2] + (f"-{UNITS[unit]}" if unit else "")


def indefinite_article(following: str) -> str:
    """a or an, by the sound of the word that follows.

    >>> indefinite_article("apple"), indefinite_article("honest"), indefinite_article("book")
    ('an', 'an', 'a')
    """
    return "an" if following[0].lower() in "aeiou" or following == "honest" else "a"


def third_person(verb: str) -> str:
    """The form with he, she and it.

    >>> [third_person(verb) for verb in ("have", "go", "carry", "play", "watch")]
    ['has', 'goes', 'carries', 'plays', 'watches']
    """
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if re.search("[^aeiou]y$", verb) else verb + "s"


def ing_form(verb: Verb) -> str:
    """The participle of the progressive."""
    base = verb.english
    if base in DOUBLED:
        return base + base[-1] + "ing"
    return (base[:-1] if re.search("[^e]e$", base) else base) + "ing"


def form_of_be(person: int, plural: bool, *, past: bool = False) -> str:
    """am, are, is, was or were."""
    if plural or person == 2:
        return "were" if past else "are"
    if past:
        return "was"
    return "am" if person == 1 else "is"
