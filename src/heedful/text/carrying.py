"""What must not be translated is carried through: taken out of a sentence before, and put back after.

URLs, e-mail addresses, dates as 2026-11-16 or 16.11.2026, feet and inches, weekdays as Mon–Fri, placeholders of
programs, code, and words in letters that a model does not know, stand where a name could stand. The model is given a
name instead (X1, X2, …), which it copies; where that fails they are treated as the rest is. Tags, emoji and unknown
signs are left out. All come back by `heedful.text.putting_back`. Numbers and names are left to the model; what it gets
wrong of them is carried in a second try (`heedful.text.second_try`). This module knows no model.
"""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from heedful.text.numbers import Languages, written
from heedful.text.profile import Profile
from heedful.text.sentences import EMOJIS, Span, with_edits
from heedful.text.usual_spelling import (
    Case,
    begins_with_capital,
    case_of,
    in_sentence_case,
    in_small_letters,
    in_usual_spelling,
    shouted,
    unlike_titles,
)

Known = Callable[[str], bool]
"""Whether a model has learned a character."""

# What looks behind begins only where a run begins: no text, however strange, takes more than one look at each place.
_CODE = re.compile(r"(?<![`\w])`{1,3}[^`\n]+`{1,3}")
_WORDS = re.compile(
    r"(?:https?|ftp|file)://[^\s<>\"'“”«»`]*[^\s<>\"'“”«»`.,;:!?)\]}]|\bwww\.[^\s<>\"'“”«»`]*[^\s<>\"'“”«»`.,;:!?)\]}]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.-])(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)"
    r"|\d{1,2}\.[ \u00a0]\d{1,2}\.[ \u00a0]\d{4})(?![\w-]|\.\d)"
    r"|(?<![\w.,/'’′])\d{1,3}['’′]\s?\d{1,2}(?:\.\d+|½)?(?:[\"”″]|['’′]{2})(?!\w)"
    r"|(?<![\w./-])[\w./-]*(?:(?:\{\{[^{}\n]*\}\}|\$?\{[^{}\s]*\}"
    r"|%(?:\([^()\s]+\)|\d+\$)?[-+#0-9.]*(?:hh?|ll?|[jztL])?[sdifguxXc@](?![a-z])"
    r"|\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%)(?:[\w/-]|\.(?=\w))*)+"
)
_DAYS = {
    "en": (r"(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)", ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")),
    "de": (r"(?:Mo|Di|Mi|Do|Fr|Sa|So)", ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")),
}
"""How weekdays are abbreviated."""
_MONTHS = r"(?:Jan|Feb|M[aä]r|Apr|Ma[yi]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])"
_BEFORE_TIME = {
    "en": rf"\.?(?=,?\s(?:\d\d?(?::\d\d|\s?[ap]\.?m\b|\s?[-–]\s?\d|(?:st|nd|rd|th)?\s{_MONTHS})|{_MONTHS}\w*\.?\s\d))",
    "de": rf"(?:(?<!So)|(?<=So)(?=[.,]|\s[\d.:]+\s?(?:[–-]|bis)\s?[\d.:]+\s?Uhr))\.?"
    rf"(?=,?\s\d\d?(?:\.\s?(?:(?:0?[1-9]|1[0-2])\.(?!\d\d\b)|{_MONTHS})|(?:[:.]\d\d)?\s?(?:Uhr|[-–]\s?\d|bis\s\d)))",
}
"""What makes sure that one alone is a weekday: a date or a time."""
_BETWEEN_DAYS = {"to": "bis", "and": "und", "or": "oder", "bis": "to", "und": "and", "oder": "or"}
TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)(?:\s[^<>]*)?(/?)>|&(?:[a-zA-Z]+|#\d+);")
_RAISED = re.compile(
    r"(?<![\w>&])(?!I<)(?:(?:[A-Z]{1,2}[a-z]?|[a-z]|[ckm]m)<(su[bp]|t\d+)>[\d+−-]{1,3}</\1>)+[A-Z]{0,2}(?![\w<])"
)
"""H<sub>2</sub>O and x<sup>2</sup>, which are one word; a longer word may have the number of a note."""
_DAY = re.compile(r"(?<=[^\W\d_] )(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])(?:\.(?!\w|[\"'”“»)\]]*$))")
_EMOJIS = re.compile(EMOJIS)
_PLAIN = {
    **dict.fromkeys("’‘‛´ʼ‚‹›", "'"),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("—–‐‑−", "-"),
    **dict.fromkeys("\xad\u200b\u2060\ufeff", ""),
    "…": "...",
    "⁄": "/",
    "ﬁ": "fi",
    "ẞ": "ẞ",
}
"""What a character that a model does not know is replaced by rather than carried."""


NAME = re.compile(r"X\d+")
"""What a model is given instead of a piece."""


@dataclass(frozen=True)
class Piece:
    """Something that is not translated, and where it stands."""

    text: str
    span: Span
    is_word: bool
    """It stands where a name could stand."""
    put: str | None = None
    """What is put back, where that is not the text itself."""


def pieces_of(text: str, known: Known | None = None, *, also: Iterable[Piece] = ()) -> list[Piece]:
    """All that is carried through, in order; ``known``: without it every character is taken for known.

    ``also``: more of it, unless it overlaps with what may not be taken apart.

    >>> [piece.text for piece in pieces_of("Mail <b>a.b@c.de</b> {0} files, 100% sure 🙂.")]
    ['<b>', 'a.b@c.de', '</b>', '{0}', '🙂']
    """
    found: list[Piece] = []
    for pattern, is_word in ((_CODE, True), (_RAISED, True), (TAG, False), (_WORDS, True), (_EMOJIS, False)):
        _add(found, (Piece(match[0], match.span(), is_word) for match in pattern.finditer(text)))
    _add(found, also)
    if known is not None and not text.isascii():
        _add(found, (Piece(text[slice(*span)], span, is_word) for span, is_word in _unknown(text, known)))
    return found


def _add(found: list[Piece], pieces: Iterable[Piece]) -> None:
    """Add what does not overlap with what was found before, which is in order."""
    pieces = sorted(pieces, key=lambda piece: piece.span)
    if not pieces:  # as in most text
        return
    taken = [piece.span for piece in found]
    begins = [begin for begin, _ in taken]
    reached = 0
    for piece in pieces:
        begin, end = piece.span
        following = bisect.bisect_left(begins, end)  # only the one before it can reach into this
        if reached <= begin < end and (not following or taken[following - 1][1] <= begin):
            found.append(piece)
            reached = end
    found.sort(key=lambda piece: piece.span)


def _unknown(text: str, known: Known) -> Iterator[tuple[Span, bool]]:
    """Words with letters that are not known, neighbours as one, and runs of other characters that are not known."""
    strange = {one for one in set(text) if not one.isascii() and not one.isspace() and not known(one)}
    strange -= _PLAIN.keys()
    letters = "".join(one for one in strange if one.isalnum() or unicodedata.category(one)[0] == "M")
    signs = "".join(strange - {*letters})
    if letters:
        word = rf"(?<![\w'’-])[\w'’-]*[{re.escape(letters)}][\w'’-]*"
        for match in re.finditer(rf"{word}(?:[\s,.·、，]+{word})*", text):
            yield match.span(), True
    if signs:
        # A sign beside a number goes with it: 5€.
        sign, number = f"[{re.escape(signs)}]+", r"(?<![\d.,])\d(?:[\d.,]*\d)?"
        for match in re.finditer(rf"({number}\s?{sign}|{sign}\s?{number})|{sign}", text):
            yield match.span(), bool(match[1])


def weekdays(text: str, languages: Languages) -> list[Piece]:
    """Abbreviated weekdays, two or more together or before a time, as the other language has them; alone, So and Sun
    are words.

    >>> [(piece.text, piece.put) for piece in weekdays("Mo.–Fr. und Sa/So; Mi 10 Uhr", ("de", "en"))]
    [('Mo.–Fr.', 'Mon.–Fri.'), ('Sa/So', 'Sat/Sun'), ('Mi', 'Wed')]
    """
    source, target = languages
    if source not in _DAYS or target not in _DAYS or source == target:
        return []
    (day, own), (_, others) = _DAYS[source], _DAYS[target]
    between = rf"(?:\s?[–—/&+-]\s?|,\s|\s(?:{'|'.join(_BETWEEN_DAYS)})\s)"
    names = dict(zip(own, others, strict=True))

    def other(match: re.Match[str]) -> str:
        return _BETWEEN_DAYS.get(match[0]) or names[match[0][: len(own[0])]]

    single = rf"{day}{_BEFORE_TIME[source]}"
    found = re.finditer(
        rf"(?<![\w.-])(?<!\b[Tt]he )(?:{day}\.(?:{between}{day}\.)+|{day}(?:{between}{day})+|{single})(?!\w)", text
    )
    found = [match for match in found if not text.startswith("-", match.end())]
    return [Piece(match[0], match.span(), True, re.sub(r"[^\W\d_]+", other, match[0])) for match in found]


def _spoons(text: str, languages: Languages) -> list[Piece]:
    """Amounts as 2 tbsp, as a recipe of the other language has them: models know no such spoon."""
    names = {"en": {"tbsp": "EL", "tsp": "TL"}, "de": {"EL": "tbsp", "TL": "tsp"}}.get(languages[0] or "", {})
    if {*languages} != {"en", "de"}:
        return []
    found = re.finditer(
        rf"(?<![\w.,/])(\d+(?:[.,/–-]\d+)?|(?:\d+\s?)?[¼½¾])\s?({'|'.join(names)})s?\b\.?(?![-/])", text
    )
    return [
        Piece(match[0], match.span(), True, f"{written(match[1], languages=languages)} {names[match[2]]}")
        for match in found
    ]


def _days(text: str, languages: Languages) -> list[Piece]:
    """German dates as 24.12., without the last full stop, which other languages do not write."""
    found = _DAY.finditer(text) if languages[0] == "de" != languages[1] else ()
    return [Piece(match[0], match.span(), True, match[0][:-1]) for match in found]


def _in_other_words(text: str, languages: Languages) -> list[Piece]:
    """What has a form of its own in the other language, that no model need say."""
    return [*weekdays(text, languages), *_spoons(text, languages), *_days(text, languages)]


def plain(text: str, known: Known | None) -> str:
    """The text with typographic signs that are not known in their plain form."""
    if known is None or text.isascii():
        return text
    return "".join(_PLAIN.get(one, one) if not one.isascii() and not known(one) else one for one in text)


@dataclass(frozen=True)
class Passage:
    """A sentence that is ready for a model, and what is to be put into its translation."""

    source: str
    given: str
    """What the model is given."""
    words: tuple[tuple[str, str], ...] = ()
    """The name that stands for each piece, and what is put back."""
    marks: tuple[tuple[Piece, int], ...] = ()
    """What was left out, each with its place in `given`."""
    case: Case | None = None
    """How the sentence was written, if that was changed."""
    shouted: tuple[Span, ...] = ()
    """Where `given` has words that were in capitals, as the rest of it was not."""
    is_text: bool = True
    """Whether there is anything to translate: not numbers and carried pieces alone."""
    alone: str = ""
    """What stands for it where there is not, if that is not the sentence itself."""
    has_capital: bool = False
    """Whether its translation begins with a capital, as it does itself."""


def passage(
    sentence: str,
    profile: Profile | None = None,
    *,
    names: bool = True,
    also: Collection[Piece] = (),
    languages: Languages = (None, None),
    length: Callable[[str], int] | None = None,
) -> Passage:
    """A sentence with names instead of what is carried; without ``names``, with nothing in its place.

    ``profile``: says which characters a model has learned, and whether it can read capitals. ``also``: what else is
    carried, always with names. ``languages``: in which an amount is written that is carried. ``length``: the number of
    subwords of a word.

    >>> passage("Open <b>{0}</b> now 🙂.").given
    'Open X1 now.'
    """
    known = profile.source.knows if profile else None
    given, alone, at = "", "", 0
    words: list[tuple[str, str]] = []
    marks: list[tuple[Piece, int]] = []
    taken = {*NAME.findall(sentence)}
    free = (name for name in map("X{}".format, itertools.count(1)) if name not in taken)

    def learned(own: str) -> str:
        own = plain(own, known)
        return in_usual_spelling(own, profile.source, language=languages[0], length=length) if profile else own

    for piece in pieces_of(sentence, known, also=[*also, *_in_other_words(sentence, languages)]):
        begin, end = piece.span
        given += learned(sentence[at:begin])
        alone += sentence[at:begin] + (piece.put or piece.text)
        at = end
        put = piece.put or (written(piece.text, languages=languages) if piece.is_word else piece.text)
        if piece.is_word and (names or piece in also):
            words.append((next(free), put))
            given += words[-1][0]
            continue
        after = sentence[end : end + 1]
        if given[-1:].isspace() and (not after or after.isspace() or after in ".,;:!?"):
            given = given[:-1]
        elif given[-1:].isalnum() and after.isalnum():
            given += " "
        elif not given and after.isspace():  # a sentence begins without white space, which comes back with the mark
            at = len(sentence) - len(sentence[at:].lstrip())
            alone += sentence[end:at]
        marks.append((replace(piece, text=put), len(given)))
    given += learned(sentence[at:])
    alone += sentence[at:]
    case, loud, ours = None, [], {name for name, _ in words}
    if profile is not None and profile.does_capitals is False:
        case = case_of(NAME.sub("", given), small=profile.source.small_words)
        usual = lambda word: profile.source.usual_form(word, length)  # noqa: E731
        alone_too = lambda word: profile.source.emphasises(word, length)  # noqa: E731
        emphasis = {"alone": alone_too, "frequent": profile.source.most_frequent}
        loud = [] if case else shouted(given, profile.source.words, keep=ours, **emphasis)
        kept = ours | unlike_titles(given) if case == "title" else ours
        given = in_sentence_case(given, usual, keep=kept) if case else given
        given = with_edits(given, ((span, in_small_letters(given[slice(*span)], usual)) for span in loud))
    is_text = _is_text(given, ours, profile)
    alone = "" if is_text or alone == sentence else alone
    has_capital = None not in languages and profile is not None and bool(profile.target.forms)
    has_capital = has_capital and begins_with_capital(given) and not NAME.match(given)
    return Passage(sentence, given, tuple(words), tuple(marks), case, tuple(loud), is_text, alone, has_capital)


def _is_text(given: str, names: Collection[str], profile: Profile | None) -> bool:
    left = NAME.sub(lambda match: "" if match[0] in names else match[0], given)
    numbers = profile is None or profile.source.is_of_numbers
    return any(map(str.isalnum if numbers else str.isalpha, left))
