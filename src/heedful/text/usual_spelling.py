"""Text as people type it, in the spelling that a model has learned: Gruesse aus Muenchen, am 5. Dez., it`s.

German umlauts and ß that were typed as ae, oe, ue and ss: of a word the frequent words of the training text and the
subwords tell what is meant, of a sentence its other words. Abbreviations of months and millions beside a number, an
accent for an apostrophe, and spaces for one. This module knows no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from heedful.text.profile import Side

_WORD = re.compile(r"[^\W\d_]+")
_TYPED = re.compile(r"(?<![aeq])ue|[ao]e", re.IGNORECASE)
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü", "A": "Ä", "O": "Ö", "U": "Ü"}
_BOTH = frozenset(("masse", "massen", "busse", "bussen"))
"""Words with ss that are others with ß."""
_SPACES = re.compile(r"(?<=\S) {2,}(?=\S)")
_ACCENT = re.compile(r"(?<=[^\W\d_])`(?=[^\W\d_])")
_LONG = {
    "en": "January February March April June July August September October November December",
    "de": "Januar Februar März April Juni Juli August September Oktober November Dezember Millionen Milliarden",
}
# Before or after a number, with its full stop unless the sentence ends with that.
_SHORT = {
    "en": r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)",
    "de": r"(?:Jan|Feb|Mrz|Mär|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez|Mio|Mrd)",
}
_BESIDE_NUMBER = {
    language: re.compile(rf"(?:(?<=\d )|(?<=\d\. )|\b(?={short}\. \d)){short}\b(?:\.(?![\"'”“»)\]]*$))?")
    for language, short in _SHORT.items()
}


def in_usual_spelling(text: str, side: Side, *, language: str | None, length: Callable[[str], int] | None) -> str:
    """A sentence in the spelling of its training text. ``length``: the number of subwords of a word."""
    text = _SPACES.sub(" ", _ACCENT.sub("'", text))
    if language not in _LONG:
        return text
    if any(map(str.isdigit, text)):
        text = _BESIDE_NUMBER[language].sub(lambda match: _written_out(match[0], _LONG[language]), text)
    return _with_umlauts(text, side, length) if language == "de" and length is not None else text


def _written_out(short: str, names: str) -> str:
    start = {"Mrz": "Mär", "Mio": "Mill", "Mrd": "Milliarden"}.get(short.strip("."), short[:3])
    return next(name for name in names.split() if name.startswith(start))


def _with_umlauts(text: str, side: Side, length: Callable[[str], int]) -> str:
    """German text with umlauts, if it has none and a word is no frequent one without; with ß in words frequent so,
    but for names as Anna Weiss.

    Names as Michael have fewer subwords with an umlaut: a capital asks for more than one.
    """

    def subwords(word: str) -> int:
        return min(length(word.lower()), length(word.capitalize()))

    def with_umlauts(word: str) -> str:
        return _TYPED.sub(lambda match: _UMLAUTS[match[0][0]], word)

    def with_sharp_s(word: str) -> str:
        return word.replace("ss", "ß").replace("SS", "ẞ")

    def is_meant(word: str, other: str) -> bool:
        frequent = {other.lower(), with_sharp_s(other).lower()} & side.words
        return bool(frequent) or subwords(other) + (not word.islower()) < subwords(word)

    strange = {word for word in _WORD.findall(text) if word.lower() not in side.words and word.lower() not in _BOTH}
    other = {word: with_umlauts(word) for word in strange if _TYPED.search(word)}
    if any(one in "äöü" for one in text.lower()) or not any(is_meant(*both) for both in other.items()):
        other.clear()
    foreign = {word for word, new in other.items() if subwords(new) > subwords(word) + 1}
    was_typed = bool(other)
    for word in strange if "ß" not in text else set[str]():
        own = other.get(word, word)
        sharp = with_sharp_s(own)
        is_name = word.istitle() and sharp.lower() not in side.forms and _WORD.findall(text)[0] != word
        if (sharp.lower() in side.words and not is_name) or (was_typed and subwords(sharp) < subwords(own)):
            other[word] = sharp
    return _WORD.sub(lambda match: match[0] if match[0] in foreign else other.get(match[0], match[0]), text)
