"""Which pairs of the training text get which versions beside them (`--augment`).

A version is added and the pair stays, so nothing of the text is lost. Whether line n of a corpus gets one, and which,
follows from (seed, kind, number of the corpus, line, copy) and the text there, never from how a file was cut into
blocks. Only pairs that are trained on have versions or are joined, and no version is a text that was put aside,
validated on or excluded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from heedful.data import noise
from heedful.data.manifest import SIDES
from heedful.prepare.gathering import SpoolBlock
from heedful.text import augmentation
from heedful.text.augmentation import Draw, Pair

_LOOKED_BACK = 8
"""Lines in which neighbours are looked for: some say the same as the one after them."""


@dataclass(frozen=True)
class Augmentation:
    """What versions a training text gets."""

    rates: Mapping[str, float]
    """For each kind the probability that a pair gets one."""
    seed: int
    to_english: bool = False
    secret: tuple[frozenset[str], ...] = (frozenset(), frozenset())
    """The sources and the targets that must not be trained on."""


@dataclass(frozen=True)
class Versions:
    """Some versions, and the kind of each."""

    block: SpoolBlock
    kinds: tuple[str, ...]

    def at(self, places: np.ndarray) -> Versions:
        return Versions(self.block.at(places), tuple(self.kinds[place] for place in places.tolist()))


def versions_of(block: SpoolBlock, asked: Augmentation, *, before: SpoolBlock | None = None, copy: int = 0) -> Versions:
    """The versions of all pairs of a block; ``before``: what `neighbours` gave of the blocks before it."""
    whole = block if before is None else neighbours(before, block, most=None)
    found: list[tuple[int, str, Pair]] = []
    for kind, rate in asked.rates.items():
        bits = noise.bits(noise.key("augment", asked.seed, kind, block.corpus, copy), block.lines)
        for place in np.flatnonzero(bits < np.uint64(min(rate * 2.0**64, 2**64 - 1))).tolist():
            draw = random.Random(int(bits[place])).random
            version = _version(kind, whole, len(whole) - len(block) + place, draw, asked)
            if version and not any(text in texts for text, texts in zip(version, asked.secret, strict=True)):
                found.append((place, kind, version))
    texts = {side: [version[number] for _, _, version in found] for number, side in enumerate(SIDES)}
    lines = block.lines[[place for place, _, _ in found]]
    return Versions(SpoolBlock(block.corpus, texts, lines), tuple(kind for _, kind, _ in found))


def neighbours(before: SpoolBlock | None, block: SpoolBlock, *, most: int | None = _LOOKED_BACK) -> SpoolBlock:
    """The last pairs, at most so many, of what came before and a block, as far as they are of one corpus."""
    if before is not None and before.corpus == block.corpus:
        texts = {side: before.texts[side] + block.texts[side] for side in SIDES}
        block = SpoolBlock(block.corpus, texts, np.concatenate((before.lines, block.lines)))
    return block if most is None else block.at(np.arange(max(0, len(block) - most), len(block)))


def _version(kind: str, block: SpoolBlock, place: int, draw: Draw, asked: Augmentation) -> Pair | None:
    pair = _pair(block, place)
    if kind == "upper":
        return augmentation.upper(pair)
    if kind == "title":
        return augmentation.title(pair, draw, to_english=asked.to_english)
    if kind == "typos":
        return augmentation.typos(pair, draw)
    if kind == "copy":
        return augmentation.copy(pair, draw)
    return augmentation.joined(_lines_before(block, place), pair, draw)


def _pair(block: SpoolBlock, place: int) -> Pair:
    return block.texts["source"][place], block.texts["target"][place]


def _lines_before(block: SpoolBlock, place: int) -> Iterator[Pair]:
    """The pairs of the lines before one, backwards, as long as none of the lines is missing."""
    for earlier in range(place - 1, max(-1, place - 1 - _LOOKED_BACK), -1):
        if block.lines[earlier] + 1 != block.lines[earlier + 1]:
            return
        yield _pair(block, earlier)
