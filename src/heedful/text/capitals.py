"""TEXT IN CAPITALS and Titles Like This: a model that has seen little of it is given it as sentences are written.

Which words keep a capital in the middle of a sentence (I, Monday, English) is known from the training text. This module
knows no model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from heedful.text.sentences import Span

Case = Literal["capitals", "title"]

_WORD = re.compile(r"[^\W\d_]+")
_BEGINNING = re.compile(r"[\W_]*(([^\W\d_])[^\W_]*)")
"""A text's first word, where it begins with a letter, and this letter."""
_FEWEST_LETTERS = 4
_FEWEST_TITLE_WORDS = 3
_FEWEST_SHOUTED = 3
"""Words in capitals one after the other, most of them common; two may be the US ARMY, unless each is shouted alone."""
_BESIDE_CODE = frozenset("#_-+*/=[](){}<>$%@&|:")
"""What a word in capitals that is no emphasis may stand beside: [OPTION], MAX_SIZE, "ERROR: no space"."""


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
    if len(words) >= _FEWEST_TITLE_WORDS <= len(long) + 1 and long and not any(map(str.islower, [words[0], *long])):
        telling = (
            words[1:] if small is None else [word for word in words[1:] if word.istitle() and word.lower() in small]
        )
        return "title" if telling else None
    return None


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
    first = _WORD.search(lowered)
    return (
        lowered
        if first is None or first[0] in keep
        else lowered[: first.start()] + lowered[first.start() :][:1].upper() + (lowered[first.start() + 1 :])
    )


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
) -> list[Span]:
    """Where words in capitals stand in a sentence that is written otherwise, several together or such as NOT.

    ``common``: words in small letters, of which most must be: NASA ESA JAXA is nothing to shout. ``keep``: words that
    stay as they are. ``alone``: whether a word is shouted where it has no others beside it.

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
    spans = {(run[0].start(), run[-1].end()): [word[0] for word in run] for run in runs if run}
    return [
        (begin, end)
        for (begin, end), run in spans.items()
        if _is_shouted(run, common)
        or (_BESIDE_CODE.isdisjoint({*sentence[begin - 1 : begin], *sentence[end : end + 1]}) and all(map(alone, run)))
    ]


def _is_shouted(run: list[str], common: Collection[str]) -> bool:
    words = [word.lower() for word in run if len(word) > 1]
    return len(words) >= _FEWEST_SHOUTED and 2 * sum(word in common for word in words) > len(words)


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
