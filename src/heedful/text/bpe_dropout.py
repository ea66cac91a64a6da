"""BPE-dropout (Provilkov, Emelianenko and Voita, 2020): the same vocabulary, but words are cut anew each time.

Each merge that BPE would make next is left out with some probability, so a word is seen whole and in parts, and a model
learns what the parts mean. For training text; what is translated is cut as `Subwords` does.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from heedful.text.subwords import Subwords

WAYS = 16
"""A word is cut at most so often; further occurrences take one of these cuts."""
_NO_RANK = 1 << 30
_NEVER = (_NO_RANK, 0)
"""For two subwords that no merge joins."""
_MOST_WORDS = 1 << 18
"""Words whose cuts are remembered; then all are forgotten."""


class RandomCuts:
    """Encodes lines as `Subwords.encode_raw` does, with random cuts; the same seed and lines give the same ids."""

    def __init__(self, subwords: Subwords, *, dropout: float, seed: int) -> None:
        self.subwords, self.dtype, self._dropout = subwords, subwords.dtype, dropout
        self._draw = random.Random(seed).random
        self._cuts: defaultdict[str, list[bytes]] = defaultdict(list)
        self._merges, self._byte_ids = subwords.merges, subwords.byte_ids

    def encode_raw(self, lines: Sequence[str]) -> list[bytes]:
        """The ids of each line as the bytes of a `dtype` array."""
        if len(self._cuts) > _MOST_WORDS:
            self._cuts.clear()
        return [b"".join(map(self._ids_of, self.subwords.words(line))) for line in lines]

    def _ids_of(self, word: str) -> bytes:
        known = self._cuts[word]
        if len(known) == WAYS:
            return known[int(self._draw() * WAYS)]
        known.append(np.array(self._cut(word), self.dtype).tobytes())
        return known[-1]

    def _cut(self, word: str) -> list[int]:
        """Make the merge of lowest rank that is not dropped, until none is left; a dropped one is drawn for again."""
        ids = [self._byte_ids[byte] for byte in word.encode("utf-8")]
        merges, draw, dropout = self._merges, self._draw, self._dropout
        ranks = [merges.get(pair, _NEVER)[0] for pair in itertools.pairwise(ids)]
        while ranks:
            open_, rank = ranks, min(ranks)
            while rank < _NO_RANK and draw() < dropout:
                open_ = list(open_)
                open_[open_.index(rank)] = _NO_RANK
                rank = min(open_)
            if rank == _NO_RANK:
                break
            place = open_.index(rank)
            ids[place : place + 2] = [merges[ids[place], ids[place + 1]][1]]
            del ranks[place]
            for left in (place - 1, place):
                if 0 <= left < len(ranks):
                    ranks[left] = merges.get((ids[left], ids[left + 1]), _NEVER)[0]
        return ids
