"""Text as people write it, in the spelling that a model has learned: Gruesse aus Muenchen, am 5. Dez., NO SMOKING.

German umlauts and ß that were typed as ae, oe, ue and ss: of a word the frequent words of the training text and the
subwords tell what is meant, of a sentence its other words. Abbreviations beside a number (months, millions, pages), an
accent for an apostrophe, and spaces for one. TEXT IN CAPITALS and Titles Like This: a model that has seen little of it
is given it as sentences are written. Which words keep a capital in the middle of a sentence (I, Monday, English) is
known from the training text. This module knows no model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from heedful.text.profile import Side
from heedful.text.sentences import Span

Case = Literal["capitals", "title"]

_WORD = re.compile(r"[^\W\d_]+")
_BEGINNING = re.compile(r"[\W_]*(([^\W\d_])[^\W_]*)")
"""A text's first word, where it begins with a letter, and this letter."""
_FEWEST_LETTERS = 4
_FEWEST_TITLE_WORDS = 3
_FEWEST_SHOUTED = 3
"""Words in capitals one after the other, most of them common; two may be the US ARMY, unless one is shouted alone."""
_BESIDE_CODE = frozenset("#_-+*/=[](){}<>$%@&|:")
"""What a word in capitals that is no emphasis may stand beside: [OPTION], MAX_SIZE, "ERROR: no space"."""
_TYPED = re.compile(r"(?<![aeq])ue|[ao]e", re.IGNORECASE)
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü", "A": "Ä", "O": "Ö", "U": "Ü"}
_BOTH = frozenset(("masse", "massen", "busse", "bussen"))
"""Words with ss that are others with ß."""
_SPACES = re.compile(r"(?<=\S)(?: {2,}|[\u00a0\u2000-\u200a\u202f])(?=\S)")
_HARD_SPACE = re.compile(r"(?<!\S)\(?(\S+)([\u00a0\u202f])([^\s.,;:!?)]+)")
_ACCENT = re.compile(r"(?<=[^\W\d_])`(?=[^\W\d_])")
_LONG = {
    "en": "January February March April June July August September October November December",
    "de": "Januar Februar März April Juni Juli August September Oktober November Dezember Millionen Milliarden Stunden",
}
# Before or after a number, with its full stop unless the sentence ends with that.
_SHORT = {
    "en": r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)",
    "de": r"(?:Jan|Feb|Mrz|Mär|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez|Mio|Mrd|(?<!\b1 )Std)",
}
_BESIDE_NUMBER = {
    language: re.compile(rf"(?:(?<=\d )|(?<=\d\. )|\b(?={short}\. \d)){short}\b(?:\.(?![\"'”“»)\]]*$))?")
    for language, short in _SHORT.items()
}
_ABBREVIATIONS = {
    "en": {
        r"[Ff]ig\.": "figure ", r"p\.": "page ", r"pp\.": "pages ", r"[Cc]h\.": "chapter ", r"[Ss]ec\.": "section ",
        r"[Aa]rt\.": "article ", r"[Mm]ax\.": "a maximum of ", r"[Mm]in\.": "at least ",
        r"(?:(?<=\d)(?<!\b1)|(?<=\d )(?<!\b1 ))h(?=\s?\d+ ?min\b)": " hours ",
    },
    "de": {
        r"Abb\.": "Abbildung ", r"S\.": "Seite ", r"Abs\.": "Absatz ", r"Kap\.": "Kapitel ", r"Art\.": "Artikel ",
        r"Tab\.": "Tabelle ", r"[Mm]ax\.": "maximal ", r"[Mm]in\.": "mindestens ",
        r"(?:(?<=\d)(?<!\b1)|(?<=\d )(?<!\b1 ))h(?=\s?\d+ ?[Mm]in\b)": " Stunden ",
    },
}  # fmt: skip
"""What a number follows, and what is written for it."""
_NO_CENTS = re.compile(r"(?<=\d),[-–—]+(?=[\s.)]|$)")
_TITLES = re.compile(r"(?<!\w)(Fr|Hrn?)\.(?=\s[A-ZÄÖÜ][a-zäöüß])")
_BEFORE_NUMBER = {
    language: [(re.compile(rf"(?<![^\W\d]|[.&/-]){short}\s?(?=\d)"), long) for short, long in own.items()]
    for language, own in _ABBREVIATIONS.items()
}


def in_usual_spelling(text: str, side: Side, *, language: str | None, length: Callable[[str], int] | None) -> str:
    """A sentence in the spelling of its training text. ``length``: the number of subwords of a word."""
    text = _SPACES.sub(" ", _ACCENT.sub("'", text))
    if language not in _LONG:
        return text
    if any(map(str.isdigit, text)):
        text = _BESIDE_NUMBER[language].sub(lambda match: _written_out(match[0], _LONG[language]), text)
        for short, long in _BEFORE_NUMBER[language]:
            text = short.sub(
                lambda match, long=long: long[0].upper() + long[1:] if match[0][0].isupper() else long, text
            )
    if language == "de":  # Fr. Meier zahlt 5,- Euro
        titles = {"Fr": "Frau", "Hr": "Herr", "Hrn": "Herrn"}
        text = _TITLES.sub(lambda match: titles[match[1]], _NO_CENTS.sub("", text))
    return _with_umlauts(text, side, length) if language == "de" and length is not None else text


def _written_out(short: str, names: str) -> str:
    start = {"Mrz": "Mär", "Mio": "Mill", "Mrd": "Milliarden", "Std": "Stunden"}.get(short.strip("."), short[:3])
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
        both = with_sharp_s(other)
        frequent = {other.lower(), both.lower()} & side.words
        if both != other and subwords(both) < subwords(word):  # Gruesse: of two changes the first may gain nothing
            return True
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


def with_hard_spaces(translation: str, source: str) -> str:
    """The translation with a space at which no line ends in what the source has with one: 10 kg, which stays so.

    >>> with_hard_spaces("Es wiegt 10 kg.", "It is 10\u00a0kg.") == "Es wiegt 10\u00a0kg."
    True
    """
    for before, space, after in {*_HARD_SPACE.findall(source)}:
        pattern = rf"(?<![^\W_]){re.escape(before)} {re.escape(after)}(?![^\W_])"
        translation = re.sub(pattern, lambda match, space=space: match[0].replace(" ", space), translation)
    return translation


def case_of(sentence: str, *, small: Collection[str] | None = None) -> Case | None:
    """How a sentence is written, if not as sentences are.

    ``small``: words without a capital elsewhere, one of which a title must have: Ask Tom Baker is none. None: all are.

    >>> case_of("NO SMOKING"), case_of("How to Bake a Cake"), case_of("Tom lives in New York.")
    ('capitals', 'title', None)
    """
    words = _WORD.findall(sentence)
    if all(map(str.isupper, words)) and sum(map(len, words)) >= _FEWEST_LETTERS:
        return "capitals"
    long = [word for word in words if len(word) > 3]
    if not (len(words) >= _FEWEST_TITLE_WORDS <= len(long) + 1 and long):
        return None
    if any(map(str.islower, [words[0], *long])):
        return None
    is_telling = small is None or any(word.istitle() and word.lower() in small for word in words[1:])
    return "title" if is_telling else None


def unlike_titles(title: str) -> set[str]:
    """The words of a title that are written so everywhere: NASA, iPhone, the letters of U.S.

    >>> sorted(unlike_titles("NASA Shows a U.S. iPhone 5G for Vitamin C in a Movie"))
    ['5G', 'C', 'NASA', 'S', 'U', 'iPhone']
    """
    words = re.findall(r"[^\W_]+", title)
    return {word for word in words if any(map(str.isupper, word[1:])) or (len(word) == 1 and word not in {"A", "a"})}


def in_sentence_case(sentence: str, usual_form: Callable[[str], str], *, keep: Collection[str] = ()) -> str:
    """The sentence in small letters but for its first and for words that have a capital everywhere.

    ``usual_form``: of a word in small letters. ``keep``: words that stay as they are.

    >>> in_sentence_case("DO I KNOW X1?", lambda word: {"i": "I"}.get(word, word), keep=["X1"])
    'Do I know X1?'
    """
    lowered = in_small_letters(sentence, usual_form, keep=keep)

    def as_beginning(first: re.Match[str]) -> str:
        return first[0] if first[0] in keep else first[0][0].upper() + first[0][1:]

    return _WORD.sub(as_beginning, lowered, count=1)


def in_small_letters(text: str, usual_form: Callable[[str], str], *, keep: Collection[str] = ()) -> str:
    """The text with every word in its usual form, but for those to keep; no character changes its place."""

    def lower(match: re.Match[str]) -> str:
        form = match[0] if match[0] in keep else usual_form(match[0].lower())
        return form if len(form) == len(match[0]) else match[0]

    return re.sub(r"[^\W_]+", lower, text)


def shouted(
    sentence: str,
    common: Collection[str],
    *,
    keep: Collection[str] = (),
    alone: Callable[[str], bool] = lambda _: False,
    frequent: Collection[str] = (),
) -> list[Span]:
    """Where words in capitals stand in a sentence that is written otherwise, several together or such as NOT.

    ``common``: words in small letters, of which most must be: NASA ESA JAXA is nothing to shout. ``keep``: words that
    stay as they are. ``alone``: whether a word is shouted where it has no others beside it, but for ``frequent`` ones.

    >>> shouted("Thanks, but PLEASE DO NOT REPLY to NASA.", {"please", "do", "not"})
    [(12, 31)]
    """
    runs: list[list[re.Match[str]]] = [[]]
    for word in re.finditer(r"[^\W_]+(?:['’][^\W\d_]+)*", sentence):
        goes_on = runs[-1] and sentence[runs[-1][-1].end() : word.start()].isspace()
        if not word[0].isupper() or word[0] in keep:
            runs.append([])
        elif goes_on:
            runs[-1].append(word)
        else:
            runs.append([word])
    found: list[Span] = []
    for run in filter(None, runs):
        words = [word[0].lower() for word in run if len(word[0]) > 1]
        if len(words) >= _FEWEST_SHOUTED and 2 * sum(word in common for word in words) > len(words):
            found.append((run[0].start(), run[-1].end()))
            continue
        own = run[len(run[0][0]) == 1 : len(run) - (len(run[-1][0]) == 1)]  # I DO NOT, X NOT Y
        is_alone = [alone(word[0]) for word in own]
        if any(is_alone) and all(one or word[0].lower() in frequent for one, word in zip(is_alone, own, strict=True)):
            begin, end = own[0].start(), own[-1].end()
            if _BESIDE_CODE.isdisjoint({*sentence[begin - 1 : begin], *sentence[end : end + 1]}):
                found.append((begin, end))
    return found


def agreement(some: Sequence[str], others: Sequence[str]) -> float:
    """The share of words, in their order, that texts have in common with others."""
    matchers = [difflib.SequenceMatcher(None, a.split(), b.split()) for a, b in zip(some, others, strict=True)]
    return sum(matcher.ratio() for matcher in matchers) / len(matchers)


def in_case(sentence: str, case: Case, *, language: str | None) -> str:
    """A translation as its source was written; only English has Titles Like This."""
    if case == "capitals":
        return sentence.replace("ß", "SS").upper()
    if language != "en":
        return sentence
    return re.sub(
        r"(?<![^\W_'’])[^\W\d_]{4,}", lambda word: word[0].title() if word[0].islower() else word[0], sentence
    )


def begins_with_capital(sentence: str) -> bool:
    """Whether the first word of a sentence has a capital."""
    first = _BEGINNING.match(sentence)
    return first is not None and first[2].isupper()


def begun(translation: str, source: str) -> str:
    """The translation with a capital at its beginning, but for a word with one inside, or that the source has too.

    >>> begun("“date of birth”", "„Geburtsdatum“"), begun("iPhone", "Das iPhone"), begun("ls", "Befehl ls")
    ('“Date of birth”', 'iPhone', 'ls')
    """
    first = _BEGINNING.match(translation)
    if first is None or not first[1].islower() or first[1] in re.findall(r"[^\W_]+", source):
        return translation
    raised, (begin, end) = first[2].upper(), first.span(2)
    return translation[:begin] + raised + translation[end:] if len(raised) == 1 else translation
