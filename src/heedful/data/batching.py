"""Section 5.1: batches of sentence pairs of about the same length, up to a number of tokens on each side.

The batch of step s is a pure function of (lengths, weights, seed, budgets, s): no state, no earlier batch, no earlier
epoch. Each epoch sorts the pairs by length with fresh noise, cuts the sorted line greedily into batches, and shuffles
the batches.

The number of batches is the same in every epoch, so that step → (epoch, batch) is a division. It comes from the line
sorted without noise: cutting a line greedily gives the fewest batches, and the noiseless line
is the same multiset of lengths each epoch, or is longer than what the epoch holds, element by element. An epoch whose
noise saves batches splits some; one whose noise costs more than 0.5 % falls back to the noiseless line, where only
pairs of equal length change places. Both are tested; the second did not happen in 76 epochs of Multi30k and of a mix
of 1.1 M pairs.

How often a pair comes in an epoch: weight w means ⌊w⌋ times, and once more in a share w - ⌊w⌋ of the epochs. Which
pairs come once more is a systematic sample: the pairs of one weight stand in a line sorted by length, and the epoch
takes them at even distances from a random start. So each pair has the same chance, and the lengths of the sample are
nearly the same each epoch. The sample's k-th pair lies in a known stretch of the line; the longest lengths there bound
it, whatever the epoch. That is what lets the number of batches be fixed in advance.

This module does not know of ids, micro-batches or layouts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from heedful.config import TrainingConfig
from heedful.data import noise
from heedful.data.corpus import Corpus, Lengths
from heedful.data.manifest import SIDES
from heedful.errors import BatchError

_NOISE = 0.08
"""A length may count as up to this much more: nothing below 13 tokens, where equal lengths are many anyway.

More noise means more varied batch-mates and more padding. On Multi30k in batches of 4,096 tokens: 0.04 leaves 58 % of
a pair's batch-mates the same in the next epoch and fills 94.4 % of the padded places, 0.08 40 % and 93.3 %, 0.12 22 %
and 91.7 %."""
_SLACK = 200
"""One batch in so many may be given away, so that the number of batches can be fixed."""
_CHUNK = 1 << 20
"""Pairs handled at once: what bounds the memory of a plan."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """The batches of all steps. Give it ``Corpus.lengths`` and ``Corpus.weights``.

    ``batch(step)`` is an array of pair numbers; with the same arguments it is the same for ever. The plan of the epoch
    last asked for is kept (four bytes a pair).
    """

    lengths: Lengths
    source_budget: int
    target_budget: int
    seed: int
    weights: np.ndarray | None = None
    _plans: dict[int, EpochPlan] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, corpus: Corpus, training: TrainingConfig, *, seed: int | None = None) -> Schedule:
        """The batches that a run has of a corpus; ``seed``: another than the run's."""
        seed = training.seed if seed is None else seed
        return cls(corpus.lengths, training.source_tokens, training.target_tokens, seed, corpus.weights)

    def __post_init__(self) -> None:
        if not len(self.lengths):
            raise BatchError("there are no pairs to make batches of")
        for side in SIDES:
            tokens, budget = getattr(self.lengths, side), getattr(self, f"{side}_budget")
            if tokens.max() > budget:
                pair = int(tokens.argmax())
                raise BatchError(
                    f"pair {pair} has {int(tokens[pair]):,} {side} tokens, but a batch holds at most {budget:,}: "
                    f"raise training.{side}_tokens, or prepare the corpus with a smaller --max-length"
                )

    @cached_property
    def _appearances(self) -> Appearances:
        return Appearances(self.lengths, weights=self.weights)

    @cached_property
    def pairs_per_epoch(self) -> int:
        """Pairs in an epoch, each counted as often as it comes."""
        return len(self._appearances)

    @cached_property
    def steps_per_epoch(self) -> int:
        """Batches in every epoch."""
        bounds = self._appearances.bounds
        line = _sorted_line(bounds, key=np.uint64(0), noisy=False)
        fewest = len(self._cuts(bounds.of(line))) - 1
        return min(self.pairs_per_epoch, fewest + fewest // _SLACK)

    def batch(self, step: int) -> np.ndarray:
        """The pair numbers of a step's global batch, steps counted from 0."""
        epoch, index = divmod(step, self.steps_per_epoch)
        return self.epoch(epoch).batch(index)

    def epoch(self, epoch: int) -> EpochPlan:
        """All batches of one epoch."""
        plan = self._plans.get(epoch)
        if plan is None:
            self._plans.clear()  # frees the old plan before the new one grows
            plan = self._plans[epoch] = self._plan(epoch)
        return plan

    def _plan(self, epoch: int) -> EpochPlan:
        bounds = self._appearances.bounds
        for noisy in (True, False):
            line = _sorted_line(bounds, key=noise.key("order", self.seed, epoch), noisy=noisy)
            pairs = self._appearances.pairs(line, seed=self.seed, epoch=epoch)
            cuts = self._cuts(self.lengths.of(pairs))
            if len(cuts) - 1 <= self.steps_per_epoch:
                break
        else:
            raise AssertionError("the noiseless line needs at most the batches of its bound")
        cuts = _with_splits(cuts, self.steps_per_epoch)
        order = noise.permutation(noise.key("batches", self.seed, epoch), self.steps_per_epoch)
        return EpochPlan(pairs, cuts, order)

    def _cuts(self, line: Lengths) -> np.ndarray:
        """Where the batches of a line begin, and its end: each takes as many pairs as fit."""
        budgets = self.source_budget, self.target_budget
        cuts, start, size = [0], 0, len(line)
        chunk = max(_CHUNK, 2 * max(budgets))  # every pair has a token: a chunk holds more than one batch
        while start < size:
            s, t = line.source[start : start + chunk], line.target[start : start + chunk]
            found = _chunk_cuts(np.cumsum(s, dtype=np.int64), np.cumsum(t, dtype=np.int64), budgets)
            if start + chunk < size:
                found.pop()  # the last batch might go on in the next chunk, which begins with it
            cuts += [start + end for end in found]
            start = cuts[-1]
        return np.array(cuts)


@dataclass(frozen=True, eq=False)
class EpochPlan:
    """One epoch: the pairs in their sorted line, where the batches are cut, and the order of the batches."""

    pairs: np.ndarray
    cuts: np.ndarray
    order: np.ndarray

    def __len__(self) -> int:
        return len(self.order)

    def batch(self, index: int) -> np.ndarray:
        """The pair numbers of the batch at this place of the epoch."""
        place = self.order[index]
        return self.pairs[self.cuts[place] : self.cuts[place + 1]]


def _sorted_line(lengths: Lengths, *, key: np.uint64, noisy: bool) -> np.ndarray:
    """The order of pairs by source length, then by target length up and down in turn; equal ones in random order.

    Turning at each source length keeps neighbours alike across the turn. One sort of 64-bit numbers that hold
    lengths, random bits and the position: no two are equal, so the order does not depend on the sort's kind.
    """
    source, target, size = lengths.source, lengths.target, len(lengths)
    s_bits, t_bits = ((int(tokens.max() * (1 + 2 * _NOISE)) + 1).bit_length() for tokens in (source, target))
    place_bits = max(1, (size - 1).bit_length())
    spare = 64 - s_bits - t_bits - place_bits
    assert spare >= 0, "more pairs times lengths than 64 bits can number"
    keys = np.empty(size, np.uint64)
    for start in range(0, size, _CHUNK):
        positions = np.arange(start, min(start + _CHUNK, size), dtype=np.uint64)
        s, t = (tokens[start : start + _CHUNK].astype(np.uint64) for tokens in (source, target))
        random = noise.bits(key, positions)
        if noisy:
            s, t = _stretched(s, random >> np.uint64(48)), _stretched(t, (random >> np.uint64(32)) & np.uint64(0xFFFF))
        t = np.where(s & np.uint64(1), np.uint64((1 << t_bits) - 1) - t, t)
        packed = (s << np.uint64(t_bits)) | t
        random_bits = min(spare, 32)
        packed = (packed << np.uint64(random_bits)) | (random & np.uint64((1 << random_bits) - 1))
        keys[start : start + _CHUNK] = (packed << np.uint64(place_bits)) | positions
    keys.sort()
    keys &= np.uint64((1 << place_bits) - 1)
    return keys.astype(np.uint32)


def _stretched(tokens: np.ndarray, random: np.ndarray) -> np.ndarray:
    """Whole lengths, each made up to `_NOISE` longer; ``random`` holds 16 bits."""
    return tokens + ((tokens * random * np.uint64(round(_NOISE * 1024))) >> np.uint64(26))


def _chunk_cuts(source: np.ndarray, target: np.ndarray, budgets: tuple[int, int]) -> list[int]:
    """The ends of the batches of one chunk, given its cumulative tokens. A loop over batches, not pairs."""
    ends, start, size = [], 0, len(source)
    source_before = target_before = 0
    while start < size:
        end = min(
            int(source.searchsorted(source_before + budgets[0], side="right")),
            int(target.searchsorted(target_before + budgets[1], side="right")),
        )
        ends.append(end)
        source_before, target_before, start = int(source[end - 1]), int(target[end - 1]), end
    return ends


def _with_splits(cuts: np.ndarray, batches: int) -> np.ndarray:
    """The same line in exactly so many batches: those of the most pairs are halved."""
    while (missing := batches - (len(cuts) - 1)) > 0:
        sizes = np.diff(cuts)
        halved = np.argsort(-sizes, kind="stable")[:missing]
        halved = halved[sizes[halved] > 1]
        cuts = np.sort(np.concatenate((cuts, cuts[halved] + sizes[halved] // 2)))
    return cuts


class Appearances:
    """All appearances of an epoch, numbered; which pair stands behind a number may change with the epoch."""

    def __init__(self, lengths: Lengths, *, weights: np.ndarray | None) -> None:
        self._lengths = lengths
        self._whole: np.ndarray | None = None
        self._samples: list[_Sample] = []
        if weights is not None and not np.all(weights == 1):
            self._whole = np.repeat(np.arange(len(lengths), dtype=np.uint32), weights.astype(np.int64))
            self._samples = [_Sample(weights, share, lengths) for share in np.unique(weights % 1).tolist() if share > 0]

    def __len__(self) -> int:
        whole = len(self._lengths) if self._whole is None else len(self._whole)
        return whole + sum(sample.size for sample in self._samples)

    @cached_property
    def bounds(self) -> Lengths:
        """Tokens that each appearance has at most, whatever the epoch."""
        if self._whole is None:
            return self._lengths
        parts = [self._lengths.of(self._whole), *(sample.bounds for sample in self._samples)]
        return Lengths(np.concatenate([p.source for p in parts]), np.concatenate([p.target for p in parts]))

    def pairs(self, appearances: np.ndarray, *, seed: int, epoch: int) -> np.ndarray:
        """The pairs behind the appearances in this epoch."""
        if self._whole is None:
            return appearances
        drawn = [sample.pairs(noise.key("sample", number, seed, epoch)) for number, sample in enumerate(self._samples)]
        return np.concatenate([self._whole, *drawn])[appearances]


class _Sample:
    """A share of the pairs of one fractional weight."""

    def __init__(self, weights: np.ndarray, share: float, lengths: Lengths) -> None:
        members = np.flatnonzero(weights % 1 == share).astype(np.uint32)
        self._line = members[np.lexsort((members, lengths.target[members], lengths.source[members]))]
        self.size = max(1, round(share * len(members)))
        self._lengths = lengths.of(self._line)
        self._cells = self._lengths.source.astype(np.int64) << 32 | self._lengths.target

    @cached_property
    def bounds(self) -> Lengths:
        # The k-th of the sample lies at (k + u) * distance with 0 <= u < 1, rounded down.
        count = len(self._line)
        first = np.arange(self.size, dtype=np.int64) * count // self.size
        last = np.minimum(count, -(-np.arange(1, self.size + 1, dtype=np.int64) * count // self.size) + 1)
        return Lengths(*(_window_maxima(side, first, last) for side in (self._lengths.source, self._lengths.target)))

    def pairs(self, key: np.uint64) -> np.ndarray:
        # Pairs of equal length change places, so that neighbours in the line are not bound to the same epochs.
        order = np.lexsort((noise.bits(key, self._line), self._cells))
        count = len(self._line)
        places = ((np.arange(self.size) + noise.fraction(key)) * (count / self.size)).astype(np.int64)
        return self._line[order[np.minimum(places, count - 1)]]


def _window_maxima(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """max(values[first:last]) for each window; the windows are in order and of nearly one size."""
    # reduceat takes pairs (first, last) and gives the maximum at each even place.
    padded = np.append(values, values[-1:])
    return np.maximum.reduceat(padded, np.stack((first, last), axis=1).ravel())[::2]
