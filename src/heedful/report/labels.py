"""Subwords as a picture can show them: nothing invisible, nothing that disturbs what stands beside it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

SPACE = "·"
"""Stands for a space at the beginning of a subword."""
LONGEST = 24
"""Characters of a label; a longer subword is cut."""
DOTTED_CIRCLE = "◌"
"""What Unicode's charts set a combining mark on."""
JOINERS = "\u200c\u200d"


def labels(subwords: Sequence[str]) -> list[str]:
    """Each subword as a label.

    >>> labels([" Haus", "tür", " ", "\\n", "\\u0301a", "\\u200b"])
    ['·Haus', 'tür', '·', '⟨a⟩', '◌\\u0301a', '⟨200b⟩']
    """
    return [_label(subword) for subword in subwords]


def _label(subword: str) -> str:
    text = re.sub("^ +", lambda spaces: SPACE * len(spaces.group()), subword)
    head = text[: len(text) - len(text.lstrip(SPACE))]
    if unicodedata.category((text + " ")[len(head)]).startswith("M"):
        text = head + DOTTED_CIRCLE + text[len(head) :]
    # The joiners are part of how some words, and some emoji, are written; alone they cannot be seen.
    joiners = JOINERS if text.strip(JOINERS) else ""
    text = "".join(character if character in joiners else _visible(character) for character in text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _visible(character: str) -> str:
    """The character, or its number where it has no shape of its own or would turn the direction of writing."""
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    return f"⟨{ord(character):x}⟩"
