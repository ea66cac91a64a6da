"""Words that an output must hold, in this order: lexically constrained beam search.

A term may be spelled in several ways, and the search follows each: how many of its subwords a hypothesis ends in, as in
the matching of Knuth, Morris and Pratt. The first way is also offered to the search where the model would not think of
it. Hypotheses compete only with those that lack as many subwords, and take the beam's places in turns: the best that
lack nothing, the best that lack one, and so on (after Post and Vilar, 2018). None ends that lacks anything. One that
the model would end, though it lacks something, is given up: it would only say the sentence once more.

All is whole numbers in tensors of fixed shape: R terms with A ways of up to L subwords, each way with the K subwords
that matter to it. Terms come in turns, so of each hypothesis only one is followed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

FAR = 127
"""Subwords of a way that does not exist."""


@dataclass(frozen=True)
class Way:
    """One way to spell a term."""

    ids: tuple[int, ...]
    longer: tuple[int, ...] = ()
    """Subwords that may stand for the last one: they hold it, and an ending."""


Term = tuple[Way, ...]
"""The ways to spell a term; the search adds the first where the model would not."""


class RequiredShape(NamedTuple):
    """How many terms, ways, subwords of a way, and subwords that matter to it, there is room for."""

    terms: int = 0
    ways: int = 0
    length: int = 0
    letters: int = 0


MOST_REQUIRED = RequiredShape(terms=8, ways=4, length=24, letters=32)
"""Of any sentence. On CUDA there is always room for this, so that shapes stay."""


MOST_AVOIDED = 24
"""Words that such an output does not say."""


class RequiredTables(NamedTuple):
    """What the outputs of B sentences must hold; after their terms comes one that never does, for what is complete."""

    letters: Tensor
    """[B, R + 1, A, K] the subwords that matter, -1 where there is none."""
    steps: Tensor
    """[B, R + 1, A, L + 1, K + 1] how many subwords of a way are there after one more, given how many there were and
    which of the letters it is; the last stands for any other."""
    additions: Tensor
    """[B, R + 1, L + 1] the subword that goes on the first way, given how many are there."""
    lengths: Tensor
    """[B, R + 1, A] subwords of each way."""
    rest: Tensor
    """[B, R + 2] the subwords of each term and those after it, by their first ways."""
    fewest: Tensor
    """[B, R + 2] the same by the ways that need the fewest."""


def required_shape(terms: Sequence[Sequence[Term]]) -> RequiredShape:
    """Room for what each of these sentences must hold."""
    ways = [way for own in terms for term in own for way in term]
    if not ways:
        return RequiredShape()
    return RequiredShape(
        max(map(len, terms)),
        max(len(term) for own in terms for term in own),
        max(len(way.ids) for way in ways),
        max(len(_letters(way)) for way in ways),
    )


def required_tables(terms: Sequence[Sequence[Term]], shape: RequiredShape) -> RequiredTables:
    """The tables for what each of these sentences must hold."""
    places = len(terms), shape.terms + 1, shape.ways
    letters, lengths = np.full((*places, shape.letters), -1), np.full(places, FAR)
    steps = np.zeros((*places, shape.length + 1, shape.letters + 1), np.int64)
    additions = np.zeros((*places[:2], shape.length + 1), np.int64)
    rest, fewest = np.zeros((2, len(terms), shape.terms + 2), np.int64)
    for row, own in enumerate(terms):
        for place, term in reversed(list(enumerate(own))):
            first = term[0].ids
            additions[row, place, : len(first)] = first
            rest[row, place] = rest[row, place + 1] + len(first)
            fewest[row, place] = fewest[row, place + 1] + min(len(way.ids) for way in term)
            for number, way in enumerate(term):
                at = row, place, number
                lengths[at] = len(way.ids)
                letters[at][: len(_letters(way))] = _letters(way)
                known = _steps(way)
                steps[at][: len(known), : known.shape[1] - 1] = known[:, :-1]
                steps[at][: len(known), -1] = known[:, -1]
    return RequiredTables(*map(torch.from_numpy, (letters, steps, additions, lengths, rest, fewest)))


def _letters(way: Way) -> list[int]:
    return list(dict.fromkeys((*way.ids, *way.longer)))


@functools.lru_cache(maxsize=4096)
def _steps(way: Way) -> np.ndarray:
    """[length + 1, letters + 1], as in `RequiredTables`."""
    ids, last, letters = way.ids, len(way.ids) - 1, _letters(way)

    def after(there: int, letter: int) -> int:
        for count in range(there + 1, 0, -1):
            fits = letter == ids[count - 1] or (count - 1 == last and letter in way.longer)
            if fits and ids[: count - 1] == ids[there - count + 1 : there]:
                return count
        return 0

    steps = np.zeros((len(ids) + 1, len(letters) + 1), np.int64)
    for there in range(len(ids)):
        steps[there, :-1] = [after(there, letter) for letter in letters]
    steps[-1] = len(ids)  # what is there stays
    return steps


def addition(tables: RequiredTables, progress_BW: Tensor) -> Tensor:
    """[B, W, 1] the word that goes on the first way of the term whose turn it is."""
    slots = torch.arange(len(progress_BW), device=progress_BW.device)[:, None]
    return tables.additions[slots, progress_BW[..., 0], progress_BW[..., 1]][..., None]


def lacking(tables: RequiredTables, progress_BW: Tensor) -> Tensor:
    """[B, W] the subwords that must still come, by the first ways."""
    return tables.rest.gather(1, progress_BW[..., 0]) - progress_BW[..., 1]


class After(NamedTuple):
    """How far each of W hypotheses would come by each of M words."""

    progress: Tensor
    """[B, W, M, 1 + A]"""
    lacking: Tensor
    """[B, W, M] the subwords that must still come, by the first ways."""
    fewest: Tensor
    """[B, W, M] the fewest that must."""


def after(tables: RequiredTables, progress_BW: Tensor, words_BWM: Tensor) -> After:
    """How far hypotheses come by these words.

    ``progress_BW``: [B, W, 1 + A] the number of the term whose turn it is, and how many subwords of each of its ways
    there are.
    """
    slots = torch.arange(len(words_BWM), device=words_BWM.device)[:, None]
    turn, there = progress_BW[..., 0], progress_BW[..., 1:]
    ways = torch.arange(there.size(2), device=there.device)
    steps = tables.steps[slots[..., None], turn[..., None], ways, there]
    same = words_BWM[..., None, None] == tables.letters[slots, turn][:, :, None]
    letter = torch.where(same.any(-1), same.to(torch.uint8).argmax(-1), same.size(-1))
    there = steps[:, :, None].expand(-1, -1, letter.size(2), -1, -1).gather(4, letter[..., None]).squeeze(4)
    missing = tables.lengths[slots, turn][:, :, None] - there
    complete = (missing <= 0).any(-1)
    there = there.masked_fill(complete[..., None], 0)
    turn = turn[..., None] + complete
    lacks = tables.rest[slots[..., None], turn] - there[..., 0]
    later = tables.fewest[slots[..., None], turn + ~complete]
    fewest = later + missing.amin(-1).masked_fill(complete | (lacks <= 0), 0)
    return After(torch.cat([turn[..., None], there], -1), lacks, fewest)


def in_turns(values_BN: Tensor, lacking_BN: Tensor) -> Tensor:
    """The order in which continuations take places: the best that lack the fewest, the best that lack one more, …, and
    then the second best of each; those with -∞ are last.
    """
    best_first = values_BN.sort(dim=1, descending=True, stable=True).indices
    gone = values_BN == -torch.inf
    bank, order = lacking_BN.masked_fill(gone, 1 << 30).gather(1, best_first).sort(dim=1, stable=True)
    place = torch.arange(bank.size(1), device=bank.device).expand_as(bank)
    begins = torch.cat([torch.ones_like(gone[:, :1]), bank[:, 1:] != bank[:, :-1]], 1)
    rank = place - torch.where(begins, place, 0).cummax(1).values
    rank = rank.masked_fill(bank == 1 << 30, bank.size(1))
    turns = rank.sort(dim=1, stable=True).indices
    return best_first.gather(1, order.gather(1, turns))
