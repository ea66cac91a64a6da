"""Pairs of the training text put aside at random, to validate and to test on.

Which pairs are drawn follows from the seed and their places in the text, so the same text is split alike each time. No
two of them share a source or a target, and a pair that shares one with them is left out of the training text: a model
is never asked for what it was shown. The test pairs are drawn first, so they stay what they are whatever is asked for
beside them. Their text is kept in the corpus, since a model's translations are compared with text, not with ids.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.data import noise
from heedful.data.manifest import SIDES
from heedful.errors import TextError
from heedful.prepare.gathering import Gathered, Spool, SpoolBlock
from heedful.prepare.request import Request

HELD_OUT = "held-out"
_SPARE = 4
"""Pairs that are looked at for each one that is wanted: some share a text with one that was drawn before."""


@dataclass(frozen=True)
class _Drawn:
    """A pair and where it stood."""

    number: int
    corpus: int
    line: int
    source: str
    target: str


@dataclass(frozen=True)
class HeldOut:
    """What was put aside."""

    blocks: dict[str, list[SpoolBlock]]
    """The pairs by split, test and valid, in the order of the text."""
    train: np.ndarray
    """For every pair whether it may be trained on."""
    alike: int
    """Pairs that share a side with one that was put aside."""

    def report(self) -> dict[str, object]:
        """What was put aside, with the file that holds each side."""
        splits = {
            split: {"pairs": sum(map(len, blocks))} | {side: f"{HELD_OUT}/{split}.{side}" for side in SIDES}
            for split, blocks in self.blocks.items()
        }
        return {**splits, "alike": self.alike}


def hold_out(request: Request, gathered: Gathered, kept: np.ndarray, *, drawn_from: np.ndarray) -> HeldOut:
    """Draw the pairs that were asked for; of all that are kept, those that are alike are left out too."""
    pairs = {"test": request.test_pairs, "valid": request.valid_pairs}
    wanted, there = sum(pairs.values()), int(drawn_from.sum())
    if 2 * wanted > there:
        options = " and ".join(f"--{split}-pairs {count}" for split, count in pairs.items() if count)
        raise TextError(f"{options}: of {there:,} pairs at most half are put aside, so give at most {there // 2:,}")
    drawn = _drawn(gathered.spool, drawn_from, wanted=wanted, seed=request.seed)
    if len(drawn) < wanted:
        raise TextError(f"only {len(drawn):,} pairs share no text with each other; ask for fewer than {wanted:,}")
    split_at = itertools.accumulate(pairs.values(), initial=0)
    parts = {split: drawn[start:end] for split, (start, end) in zip(pairs, itertools.pairwise(split_at), strict=True)}
    train = np.ones(gathered.spool.pairs, bool)
    train[[pair.number for pair in drawn]] = False
    alike = _leave_out_alike(gathered, kept, train, drawn) if request.rules.judges("validation") else 0
    return HeldOut({split: list(_blocks(part)) for split, part in parts.items() if part}, train, alike)


def write_text(folder: Path, held_out: HeldOut) -> list[str]:
    """Write the text of both sides of each split, a pair a line; returns the files' names."""
    (folder / HELD_OUT).mkdir()
    names: list[str] = []
    for split, side in itertools.product(held_out.blocks, SIDES):
        lines = (text for block in held_out.blocks[split] for text in block.texts[side])
        names.append(f"{HELD_OUT}/{split}.{side}")
        (folder / names[-1]).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return names


def _drawn(spool: Spool, kept: np.ndarray, *, wanted: int, seed: int) -> list[_Drawn]:
    """So many pairs, in the order in which they were drawn, or as many as share no text."""
    numbers = np.flatnonzero(kept)
    order = np.argsort(noise.bits(noise.key("held out", seed), numbers), kind="stable")
    candidates = numbers[order[: _SPARE * wanted + 100]]
    found: dict[int, _Drawn] = {}
    looked_at = np.sort(candidates)
    for here, block in spool.placed_blocks():
        own = looked_at[(here.start <= looked_at) & (looked_at < here.stop)]
        chosen = block.at(own - here.start)
        pairs = zip(own.tolist(), chosen.lines.tolist(), *(chosen.texts[side] for side in SIDES), strict=True)
        found |= {number: _Drawn(number, block.corpus, line, *texts) for number, line, *texts in pairs}
    taken: list[_Drawn] = []
    sources: set[str] = set()
    targets: set[str] = set()
    for pair in (found[number] for number in candidates.tolist()):
        has_lines = any(end in text for text in (pair.source, pair.target) for end in "\r\n")
        if len(taken) < wanted and not has_lines and pair.source not in sources and pair.target not in targets:
            taken.append(pair)
            sources.add(pair.source)
            targets.add(pair.target)
    return taken


def _leave_out_alike(gathered: Gathered, kept: np.ndarray, train: np.ndarray, drawn: list[_Drawn]) -> int:
    """Mark the other pairs that share a side with one that was drawn, and tell the ledger; returns how many."""
    sources, targets = {pair.source for pair in drawn}, {pair.target for pair in drawn}
    count = 0
    for here, block in gathered.spool.placed_blocks():
        stays, counted = train[here], kept[here]
        texts = zip(block.texts["source"], block.texts["target"], strict=True)
        alike = np.fromiter((source in sources or target in targets for source, target in texts), bool, len(block))
        places = np.flatnonzero(alike & stays & counted)
        block.tell(gathered.ledger, "validation", places, corpus=gathered.corpora[block.corpus].name)
        stays[places] = False
        count += len(places)
    return count


def _blocks(pairs: list[_Drawn]) -> Iterator[SpoolBlock]:
    """The pairs in the order of the text, those of each corpus together."""
    in_order = sorted(pairs, key=lambda pair: pair.number)
    for corpus, group in itertools.groupby(in_order, key=lambda pair: pair.corpus):
        some = list(group)
        texts = {side: [getattr(pair, side) for pair in some] for side in SIDES}
        yield SpoolBlock(corpus, texts, np.array([pair.line for pair in some], np.uint32))
