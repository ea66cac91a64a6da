"""Words that carry what they say, so that two languages can be aligned; from words to text.

Two words are aligned when they share a key: the same noun of the same phrase, the same verb, the same negation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PUNCTUATION = ",.?!"


class Word(NamedTuple):
    """A token and the keys of what it says."""

    text: str
    keys: tuple[str, ...] = ()


def tidied(words: Sequence[Word]) -> list[Word]:
    """Words as a sentence: a comma before another mark goes, and the first letter is large."""
    pairs = zip(words, [*words[1:], None], strict=True)
    kept = [word for word, after in pairs if not (word.text == "," and after and after.text in PUNCTUATION)]
    first = kept[0]
    return [first._replace(text=first.text[0].upper() + first.text[1:]), *kept[1:]]


def text_of(tokens: Sequence[str]) -> str:
    """The line of text that tokens make.

    >>> text_of(["Ja", ",", "Annas", "Hund", "."])
    'Ja, Annas Hund.'
    """
    return "".join(token if token in PUNCTUATION else f" {token}" for token in tokens).strip()


def links(source: Sequence[Word], target: Sequence[Word]) -> tuple[tuple[int, int], ...]:
    """The pairs of positions whose words share a key, in order."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(target):
        for key in word.keys:
            places.setdefault(key, []).append(place)
    found = {(place, other) for place, word in enumerate(source) for key in word.keys for other in places.get(key, ())}
    return tuple(sorted(found))
