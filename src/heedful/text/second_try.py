"""What a translation got wrong of numbers, times, names and code, so that a second try gets it right.

A number that is lost, changed or said twice, an amount with another currency or without its unit, a name that is
spelled almost right, a file or a name of a program that is another: the sentence is translated once more with a name in
its place (`heedful.text.carrying`). Of a time in words that got lost, half past nine, it has the digits. What is right
costs nothing. This module knows no model.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from heedful.text.carrying import Piece
from heedful.text.clock import in_digits
from heedful.text.numbers import Languages, written, wrong_numbers
from heedful.text.profile import Profile, Side
from heedful.text.sentences import Span, with_edits

_WORD = re.compile(r"[^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)*")
_NUMBER = re.compile(r"\b([Nn][Oo])\.\s?(\d\w*(?:[./-]\w+)*)")
_ENDINGS = (
    r"(?i:pdf|docx?|xlsx?|pptx?|odt|txt|csv|json|xml|ya?ml|toml|html?|css|js|py|java|cpp|sh|sql|md|ini|conf|cfg|log|bak|"
    r"png|jpe?g|gif|svg|mp[34]|zip|gz|exe|dll|com|org|net|de|ch|eu|io)"
)
"""Of files and hosts: what stands before any other may be the end of a sentence that no space follows."""
_CODE = re.compile(
    r"(?<![\w./\\-])(?:[A-Za-z]:\\|(?:~|\.\.?)/|/(?=[\w.-]+/))[\w./\\+-]*\w"
    rf"|(?<![\w./-])[\w-]+(?:\.[\w-]+)*\.(?:{_ENDINGS}(?![\w-]|\.\w)|[a-z]+(?=/\w))(?:/[\w./?=&%#+-]*\w)?"
    r"|(?<![\w./-])@?[^\W_]+(?:_+[^\W_]+)+|(?<![\w@/.-])@[^\W\d_]\w+|(?<!\S)--[a-z]+(?:-[a-z]+)+(?![\w-])"
    r"|(?<!\w)(?:SELECT\s[^;]{1,300}?\sFROM|INSERT\sINTO|UPDATE\s\w+\sSET|DELETE\sFROM)\s[^;]{1,300};"
)
"""Files, hosts, names as max_value and @max_muster, options as --no-color, statements of SQL: none of it is translated.
--or is a dash."""
_STREET = re.compile(
    r"(?<![\w-])(?!Bundes|Land|Kreis|Staats)[A-ZÄÖÜ][\w-]*(?:[Ss]tr\.|[Ss]tra(?:ß|ss)e|gasse|allee)\s\d{1,4}(?:\s?[a-h])?(?![\w-]|\s[A-ZÄÖÜ])"
)
"""A German address, which stays one: Hauptstr. 5. Not on a street five houses."""
_NAMES_OF_UNITS = {
    "mg": "milli?gram", "g": "gram", "kg": "kilo", "ml": "millilit", "cl": "[cz]entilit", "l": "lit[er]", "t": "ton",
    "m²": "square|quadrat", "km²": "square|quadrat", "m³": "cubic|kubik",
}  # fmt: skip
"""What else a translation may have for them."""
_AMOUNT = re.compile(rf"(?<![\w.,/-])(\d+(?:[.,]\d+)*)([ \u00a0]?(?P<unit>{'|'.join(_NAMES_OF_UNITS)}))(?![\w²³/'’-])")
_NO, _NEIN = re.compile(r"\bno\b(?!\.\s?\d)", re.IGNORECASE), re.compile(r"\bnein\b", re.IGNORECASE)
_AFTER_NUMBER = re.compile(r"\s(?!(?:is|was|has|had|will|can|must|of|in|on|at|for|to|from|and|or)\b)[a-z]")
"""What counts follows: No. 5 people came."""
_INITIALS = re.compile(r"(?<![\w.])((?:[A-Z]\.[ \u00a0]?){2,6})([A-Z][^\W\d_]+)")
_FEWEST_LETTERS, _MOST_LETTERS = 5, 40
"""Of a name: a shorter one is one letter away from too many words."""


@dataclass(frozen=True)
class Wrong:
    """What a translation got wrong."""

    pieces: tuple[Piece, ...] = ()
    """Of the source, each with how it is written in the other language."""
    added: frozenset[str] = frozenset()
    """Numbers that only the translation has, as digits: nothing can be carried instead of them."""
    in_digits: str | None = None
    """The source with its times in digits, where one in words is lost; numbers and names wait for that."""

    def is_mended_by(self, other: Wrong) -> bool:
        """Whether a second translation, of which this other is wrong, is right."""
        return not other.pieces and not other.in_digits and other.added <= self.added


def wrong(source: str, translation: str, *, languages: Languages, profile: Profile | None) -> Wrong:
    """The numbers, names and code of a sentence that its translation got wrong.

    >>> found = wrong("It cost $1,299 then.", "Es kostete 1.29 $.", languages=("en", "de"), profile=None)
    >>> [(piece.text, piece.put) for piece in found.pieces]
    [('$1,299', '1.299 $')]
    """
    numbers, added = wrong_numbers(source, translation, languages=languages)
    kept = itertools.chain(_CODE.finditer(source), _STREET.finditer(source) if languages[0] == "de" else ())
    pieces = [Piece(match[0], match.span(), True) for match in kept if match[0] not in translation]
    pieces += _lost_units(source, translation, languages)
    pieces += _denied_numbers(source, translation) if languages == ("en", "de") else []
    inside = {place for piece in pieces for place in range(*piece.span)}
    for number in numbers:
        begin, end = number.span
        if begin not in inside:
            put = written(number.text, source[:begin], source[end:], languages=languages)
            pieces.append(Piece(number.text, number.span, True, put))
    if profile is not None:
        pieces += [Piece(source[slice(*span)], span, True) for span in _wrong_names(source, translation, profile)]
    pieces.sort(key=lambda piece: piece.span)
    return Wrong(tuple(pieces), frozenset(added), in_digits(source, translation, languages=languages))


def with_initials(source: str, translation: str) -> str:
    """The translation with as many initials before a name as the source has; it needs no second try.

    >>> with_initials("J. R. R. Tolkien wrote it.", "J. R. R. R. Tolkien hat es geschrieben.")
    'J. R. R. Tolkien hat es geschrieben.'
    """
    for match in _INITIALS.finditer(source):
        own = re.findall("[A-Z]", match[1])
        found = [*re.finditer(rf"(?<![\w.])(?:[A-Z]\.[ \u00a0]?){{1,9}}(?={match[2]})", translation)]
        said = [re.findall("[A-Z]", one[0]) for one in found]
        if len(said) == 1 and said[0] != own and {*said[0]} == {*own}:
            translation = with_edits(translation, [(found[0].span(), match[1])])
    return translation


def _lost_units(source: str, translation: str, languages: Languages) -> Iterator[Piece]:
    """The amounts as 200 g and 30 m² of which the translation has another unit or none."""
    for match in _AMOUNT.finditer(source):
        unit = match["unit"]
        if not re.search(rf"(?i:{_NAMES_OF_UNITS[unit]})|(?<![^\W\d_]){unit}(?!\w)", translation):
            yield Piece(match[0], match.span(), True, written(match[1], languages=languages) + match[2])


def _denied_numbers(source: str, translation: str) -> Iterator[Piece]:
    """The numbers as No. 2026/0417 of which the translation has made Nein, unless it may have been meant."""
    if len(_NEIN.findall(translation)) <= len(_NO.findall(source)):
        return
    for match in _NUMBER.finditer(source):
        begins = not any(map(str.isalnum, source[: match.start()]))
        if not (begins and match[2].isdecimal() and _AFTER_NUMBER.match(source, match.end())):
            yield Piece(match[0], match.span(), True, f"{'NR' if match[1].isupper() else 'Nr'}. {match[2]}")


def _wrong_names(source: str, translation: str, profile: Profile) -> Iterator[Span]:
    """Where the names are instead of which the translation has a word that is almost the same, or two that were one.

    A name is two words and more with a capital that the training text does not have often, as people have them. What
    stands alone, or is frequent, may have a form of its own in the other language: Qatar and Katar. Where every noun
    has a capital, names cannot be told from nouns, which are often almost the same in another language.
    """
    if profile.source.has_capital_nouns:
        return
    own, said = {*_WORD.findall(source)}, _WORD.findall(translation)
    names = [name for name in _names(source, profile.source) if len(name) > 1]
    lost = [[part[0] for part in name if _is_long(part[0]) and not _stands_in(part[0], translation)] for name in names]
    if not any(lost):
        return
    new = [word for word in said if word not in own and word.lower() not in profile.target.words]
    almost = {key for word in new if _is_long(word) for key in _almost(word)}
    almost |= {(one + other).casefold() for one, other in itertools.pairwise(said)}
    for name, words in zip(names, lost, strict=True):
        if any(word.casefold() in almost or not almost.isdisjoint(_almost(word)) for word in words):
            yield name[0].start(), name[-1].end()


def _names(source: str, side: Side) -> list[list[re.Match[str]]]:
    """The words with a capital that the training text does not have often, those that follow each other together."""
    found: list[list[re.Match[str]]] = []
    for match in _WORD.finditer(source):
        word = match[0]
        if word[0].isupper() and not word.isupper() and word.lower() not in side.words:
            if found and source[found[-1][-1].end() : match.start()] == " ":
                found[-1].append(match)
            else:
                found.append([match])
    return found


def _is_long(word: str) -> bool:
    return _FEWEST_LETTERS <= len(word) <= _MOST_LETTERS


def _stands_in(name: str, text: str) -> bool:
    """Whether a word of the text begins with the name: the rest is an ending."""
    return re.search(rf"(?<!\w){re.escape(name)}", text) is not None


def _almost(word: str) -> Iterator[str]:
    """What two words have in common of which one is the other with a letter more, less or changed, not at the end.

    >>> {*_almost("Demir")} & {*_almost("Dämir")}, {*_almost("Serb")} & {*_almost("Serbe")}
    ({'d*mir'}, set())
    """
    word = word.casefold()
    for at in range(len(word)):
        yield f"{word[:at]}*{word[at:]}"
        if at < len(word) - 1:
            yield f"{word[:at]}*{word[at + 1 :]}"
