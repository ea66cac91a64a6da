"""Which source word a target word comes from: alignments from attention, Pharaoh's format, alignment error rate.

Words are what spaces separate, or what somebody else says they are (`located_words`). Works on arrays of weights and
lists of subwords; it does not know of models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.errors import HeedfulError
from heedful.symbols import END_LABEL

Links = frozenset[tuple[int, int]]
"""Pairs of a source word and a target word, counted from 0."""


@dataclass(frozen=True)
class Word:
    """A word and the places of its subwords."""

    text: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Gold:
    """What people say about a sentence: links that must be there, and those that may be (the sure ones among them)."""

    sure: Links
    possible: Links


def words_of(subwords: Sequence[str]) -> list[Word]:
    """The words that the subwords spell; one begins at each subword with a leading space. The end symbol is left out.

    >>> [word.text for word in words_of([" Trans", "former", ",", " nicht", "⟨end⟩"])]
    ['Transformer,', 'nicht']
    """
    words: list[Word] = []
    count = len(subwords) - (bool(subwords) and subwords[-1] == END_LABEL)
    for place, subword in enumerate(subwords[:count]):
        # Spaces alone begin a word too: what follows them may be a subword without one.
        if not words or (subword.startswith(" ") and words[-1].text):
            words.append(Word("", ()))
        words[-1] = Word(words[-1].text + subword.strip(" "), (*words[-1].places, place))
    if len(words) > 1 and not words[-1].text:  # spaces at the end of the sentence
        last = words.pop()
        words[-1] = Word(words[-1].text, words[-1].places + last.places)
    return [word for word in words if word.text]


def located_words(text: str, words: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[Word]:
    """Words as somebody else has cut a text, each with the places of the subwords that cover a character of it.

    ``spans``: where each subword begins and ends in the text. A subword that two words share belongs to both.

    >>> [word.places for word in located_words("Ja, nein", ["Ja", ",", "nein"], [(0, 2), (2, 3), (3, 6), (6, 8)])]
    [(0,), (1,), (2, 3)]
    """
    located: list[Word] = []
    after = 0
    for word in words:
        begin = text.find(word, after)
        if begin < 0:
            raise HeedfulError(f"the word {word!r} is not in {text[after:]!r}, the rest of {text!r}")
        after = begin + len(word)
        covering = [place for place, (first, end) in enumerate(spans) if first < after and end > begin]
        located.append(Word(word, tuple(covering)))
    return located


def aligning_layer(layers: int) -> int:
    """The decoder layer, counted from 1, that aligns words best when nobody has measured it.

    In deep decoders the last but one (Garg et al., 2019, found so for six layers); in shallow ones the last: in the
    demo's model of two layers its error rate is 0.09, the first's 0.47.

    >>> aligning_layer(6), aligning_layer(2)
    (5, 2)
    """
    return layers - 1 if layers > 3 else layers


def soft_alignment(cross_HTS: np.ndarray) -> np.ndarray:
    """One layer's cross-attention as an alignment of subwords, ``[T, S]``: the mean over its heads."""
    return cross_HTS.astype(np.float64).mean(0)


def word_weights(soft_TS: np.ndarray, *, source: Sequence[Word], target: Sequence[Word]) -> np.ndarray:
    """A soft alignment of words, ``[target words, source words]``.

    The weight of a source word is the sum over its subwords, that of a target word the mean over its own. What a row
    lacks to 1 is attention to the end symbol.
    """
    by_source = [soft_TS[:, list(word.places)].sum(1) for word in source]
    columns = np.stack(by_source, axis=1) if source else np.zeros((len(soft_TS), 0))
    rows = [columns[list(word.places)].mean(0) for word in target]
    return np.stack(rows) if target else np.zeros((0, len(source)))


def hard_alignment(weights: np.ndarray) -> Links:
    """For each target word the source word with the greatest weight, the first of equal ones."""
    if not weights.size:
        return frozenset()
    return frozenset((int(source), target) for target, source in enumerate(weights.argmax(1)))


def diagonal_alignment(source_words: int, target_words: int) -> Links:
    """The baseline that reads no word: each target word goes with the source word at the same share of the length."""
    if not source_words:
        return frozenset()
    return frozenset(((2 * place + 1) * source_words // (2 * target_words), place) for place in range(target_words))


def pharaoh(links: Links) -> str:
    """The links as Pharaoh's format has them, ``source-target``, in the order of the target.

    >>> pharaoh(frozenset({(2, 1), (0, 0)}))
    '0-0 2-1'
    """
    return " ".join(f"{source}-{target}" for source, target in sorted(links, key=lambda link: link[::-1]))


def gold_alignment(line: str, *, where: str = "alignment") -> Gold:
    """A line of Pharaoh's format: ``3-4`` is a sure link, ``3?4`` (or ``3p4``) a possible one."""
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    for given in line.split():
        match = re.fullmatch(r"([0-9]+)([-?p])([0-9]+)", given)
        if match is None:
            raise HeedfulError(f"{where}: {given!r} is no link; 3-4 is a sure one, 3?4 a possible one")
        link = int(match[1]), int(match[3])
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def alignment_error_rate(found: Iterable[Links], gold: Iterable[Gold]) -> float:
    """AER of a corpus: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), each count over all sentences; 0 is perfect."""
    right = total = 0
    found, gold = list(found), list(gold)
    if len(found) != len(gold):
        raise HeedfulError(f"{len(found):,} alignments and {len(gold):,} gold alignments: each needs its own")
    for links, people in zip(found, gold, strict=True):
        right += len(links & people.sure) + len(links & (people.possible | people.sure))
        total += len(links) + len(people.sure)
    if not total:
        raise HeedfulError("no alignment error rate: neither the alignments nor the gold ones have a link")
    return 1 - right / total
