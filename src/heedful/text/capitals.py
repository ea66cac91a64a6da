"""TEXT IN CAPITALS and Titles Like This: a model that has seen little of it is given it as sentences are written.

Which words keep a capital in the middle of a sentence (I, Monday, English) is known from the training text. This module
knows no model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal

Case = Literal["capitals", "title"]

_WORD = re.compile(r"[^\W\d_]+")
_FEWEST_LETTERS = 4
_FEWEST_TITLE_WORDS = 3


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
    if len(words) >= _FEWEST_TITLE_WORDS <= len(long) + 1 and long and all(map(str.istitle, [words[0], *long])):
        telling = (
            words[1:] if small is None else [word for word in words[1:] if word.istitle() and word.lower() in small]
        )
        return "title" if telling else None
    return None


def in_sentence_case(sentence: str, usual_form: Callable[[str], str], *, keep: Collection[str] = ()) -> str:
    """The sentence in small letters but for its first and for words that have a capital everywhere.

    ``usual_form``: of a word in small letters. ``keep``: words that stay as they are.

    >>> in_sentence_case("DO I KNOW X1?", lambda word: {"i": "I"}.get(word, word), keep=["X1"])
    'Do I know X1?'
    """

    def lower(match: re.Match[str]) -> str:
        return match[0] if match[0] in keep else usual_form(match[0].lower())

    lowered = re.sub(r"[^\W_]+", lower, sentence)
    first = _WORD.search(lowered)
    return (
        lowered
        if first is None
        else lowered[: first.start()] + lowered[first.start() :][:1].upper() + (lowered[first.start() + 1 :])
    )


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
    return re.sub(r"(?<![^\W_'’])[^\W\d_]{4,}", lambda word: word[0][:1].upper() + word[0][1:], sentence)
