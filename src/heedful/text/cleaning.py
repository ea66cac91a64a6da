"""The rules that leave pairs out of the training text, and a record of what each of them removed.

Each pair is judged by the rules in a fixed order and counted under the first that removes it; the order changes the
counts, never what is kept. Rules that need subwords (too long, ratio) judge token counts, END included, since that is
what the model sees. This module does not know how the pairs are stored.
"""

from __future__ import annotations

import hashlib
import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from heedful.text.pairs import PairBlock

RULES: dict[str, str] = {
    "bad": "not readable as text (see --on-bad-line)",
    "empty": "one side is empty or white space",
    "identical": "both sides are the same",
    "validation": "one side is also a line of that side's validation text, or was put aside",
    "excluded": "one side is also a line, or a field, of an --exclude file",
    "duplicate": "the same pair stood before",
    "too-long": "a side has more tokens than --max-length",
    "ratio": "one side has more than --max-ratio times the other's tokens",
}
"""Every rule, in the order in which they judge."""
ALWAYS = ("bad",)
"""Rules that cannot be switched off: there is no text to keep."""
SAMPLES = 5
_SAMPLE_CHARACTERS = 300


@dataclass(frozen=True)
class Rules:
    """Which rules judge, and their limits."""

    keep: frozenset[str] = frozenset()
    """Rules that are switched off."""
    max_length: int = 1024
    max_ratio: float = 9.0

    def judges(self, rule: str) -> bool:
        return rule not in self.keep


@dataclass
class Entry:
    """What is told of one rule: how many pairs, and a fair sample of them."""

    count: int = 0
    samples: list[dict[str, object]] = field(default_factory=list)


class Ledger:
    """Counts and samples by rule. The samples are drawn evenly from all pairs of a rule, the same ones each time."""

    def __init__(self, *, seed: int, rules: Iterable[str] = RULES) -> None:
        self.entries = {rule: Entry() for rule in rules}
        self._random = random.Random(seed)

    def add(self, rule: str, source: str | None, target: str | None, *, corpus: str, line: int, why: str = "") -> None:
        entry = self.entries[rule]
        entry.count += 1
        # Reservoir sampling: after n pairs each of them is a sample with probability SAMPLES / n.
        place = entry.count - 1 if entry.count <= SAMPLES else self._random.randrange(entry.count)
        if place >= SAMPLES:
            return
        sample: dict[str, object] = {"corpus": corpus, "line": line, "source": _short(source), "target": _short(target)}
        sample |= {"why": why} if why else {}
        entry.samples[place : place + 1] = [sample]


def clean_line(line: str) -> str:
    """The line in NFC without surrounding white space: what is compared, and what is kept."""
    return line.strip() if line.isascii() else unicodedata.normalize("NFC", line).strip()


class Cleaner:
    """The rules that need only the pair itself and the texts that must not be trained on."""

    def __init__(
        self,
        rules: Rules,
        *,
        ledger: Ledger,
        validation: tuple[Iterable[str], Iterable[str]] = ((), ()),
        excluded: Iterable[str] = (),
    ) -> None:
        self._rules, self._ledger = rules, ledger
        self._validation = [set(lines) - {""} if rules.judges("validation") else set() for lines in validation]
        self._excluded = set(excluded) - {""} if rules.judges("excluded") else set()
        self.excluded: set[str] = set()
        """The texts of removed pairs, one of which at least was to be excluded."""

    def kept(self, block: PairBlock, *, corpus: str) -> tuple[list[str], list[str], np.ndarray]:
        """The clean source and target texts that stay, and their line numbers."""
        sources, targets, lines = [], [], []
        drop_empty, drop_identical = self._rules.judges("empty"), self._rules.judges("identical")
        (source_validation, target_validation), excluded = self._validation, self._excluded
        clean = ([None if line is None else clean_line(line) for line in side] for side in (block.source, block.target))
        for number, (source, target) in enumerate(zip(*clean, strict=True), block.first_line):
            if source is None or target is None:
                rule = "bad"
            elif drop_empty and not (source and target):
                rule = "empty"
            elif drop_identical and source == target:
                rule = "identical"
            elif source in source_validation or target in target_validation:
                rule = "validation"
            elif source in excluded or target in excluded:
                rule = "excluded"
                self.excluded.update((source, target))
            else:
                sources.append(source)
                targets.append(target)
                lines.append(number)
                continue
            self._ledger.add(rule, source, target, corpus=corpus, line=number)
        return sources, targets, np.array(lines, np.uint32)


def pair_hashes(sources: Sequence[str], targets: Sequence[str]) -> bytes:
    """128 bits for each pair, one after the other: equal pairs have equal hashes, and only they."""
    # The length keeps ("ab", "c") apart from ("a", "bc").
    pairs = (f"{len(source)} {source}{target}".encode() for source, target in zip(sources, targets, strict=True))
    return b"".join([hashlib.blake2b(pair, digest_size=16).digest() for pair in pairs])


def first_of_each(hashes: np.ndarray) -> np.ndarray:
    """For rows of two 64-bit numbers: True for the first of each group of equal rows.

    Sorting beside the corpus instead of a set of Python objects: 24 bytes a pair at most.
    """
    first = np.ones(len(hashes), bool)
    order = np.argsort(hashes[:, 0], kind="stable")
    leading = hashes[:, 0][order]
    candidates = np.flatnonzero(leading[1:] == leading[:-1])
    if not len(candidates):
        return first
    # Few rows share their first half; only those are compared whole.
    rows = order[np.unique(np.concatenate((candidates, candidates + 1)))]
    halves = hashes[rows]
    by_value = np.lexsort((rows, halves[:, 1], halves[:, 0]))
    halves, rows = halves[by_value], rows[by_value]
    first[rows[1:][(halves[1:] == halves[:-1]).all(axis=1)]] = False
    return first


def length_verdicts(source_tokens: np.ndarray, target_tokens: np.ndarray, *, rules: Rules) -> dict[str, np.ndarray]:
    """For the rules that count tokens: which pairs each removes; no pair is named twice."""
    longer, shorter = np.maximum(source_tokens, target_tokens), np.minimum(source_tokens, target_tokens)
    too_long = (longer > rules.max_length) & rules.judges("too-long")
    ratio = (longer > rules.max_ratio * shorter) & rules.judges("ratio") & ~too_long
    return {"too-long": np.flatnonzero(too_long), "ratio": np.flatnonzero(ratio)}


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= _SAMPLE_CHARACTERS:
        return text
    return f"{text[:_SAMPLE_CHARACTERS]} … ({len(text):,} characters)"
