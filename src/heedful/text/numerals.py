"""The numbers of a text and of its translation, compared: 1,000.5 and 1.000,5 are the same number."""

from __future__ import annotations

import re
from collections import Counter

_NUMERAL = re.compile(r"\d(?:[\d.,'’\u00a0\u202f]*\d)?")


def numerals(text: str) -> Counter[str]:
    """How often each number stands in a text, as its digits alone: what separates them differs between languages.

    >>> sorted(numerals("1,000.5 and 1.000,5 in 2026."))
    ['10005', '2026']
    """
    return Counter(re.sub(r"\D", "", match) for match in _NUMERAL.findall(text))


def differing_numerals(source: str, translation: str) -> dict[str, list[str]] | None:
    """The numbers that a translation lacks, and those that it adds; None where they are the same."""
    ours, theirs = numerals(source), numerals(translation)
    if ours == theirs:
        return None
    return {"missing": sorted((ours - theirs).elements()), "added": sorted((theirs - ours).elements())}
