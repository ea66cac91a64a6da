"""Pairs of the training text put aside at random, to validate and to test on.

Which pairs are drawn follows from the seed and their places in the text, so the same text is split alike each time. No
two of them share a source or a target, and a pair that shares one with them is left out of the training text: a model
is never asked for what it was shown. The test pairs are drawn first, so they stay what they are whatever is asked for
beside them. Their text is kept in the corpus, since a model's translations are compared with text, not with ids.
"""

from __future__ import annotations

import itertools
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

_Placed = list[tuple[np.ndarray, SpoolBlock]]
"""Pairs, and their numbers among all."""


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
    looked_at, drawn = _drawn(gathered.spool, drawn_from, wanted=wanted, seed=request.seed)
    if len(drawn) < wanted:
        raise TextError(f"only {len(drawn):,} pairs share no text with each other; ask for fewer than {wanted:,}")
    split_at = itertools.accumulate(pairs.values(), initial=0)
    parts = {split: drawn[start:end] for split, (start, end) in zip(pairs, itertools.pairwise(split_at), strict=True)}
    blocks = {split: _blocks(looked_at, part) for split, part in parts.items() if part}
    train = np.ones(gathered.spool.pairs, bool)
    train[drawn] = False
    alike = _leave_out_alike(gathered, kept, train, blocks) if request.rules.judges("validation") else 0
    return HeldOut(blocks, train, alike)


def write_text(folder: Path, held_out: HeldOut) -> list[str]:
    """Write the text of both sides of each split, a pair a line; returns the files' names."""
    (folder / HELD_OUT).mkdir()
    names: list[str] = []
    for split, side in itertools.product(held_out.blocks, SIDES):
        lines = (text for block in held_out.blocks[split] for text in block.texts[side])
        names.append(f"{HELD_OUT}/{split}.{side}")
        (folder / names[-1]).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return names


def _drawn(spool: Spool, kept: np.ndarray, *, wanted: int, seed: int) -> tuple[_Placed, list[int]]:
    """The pairs that were looked at, and the numbers of so many of them, or of as many as share no text, as drawn."""
    numbers = np.flatnonzero(kept)
    order = np.argsort(noise.bits(noise.key("held out", seed), numbers), kind="stable")
    candidates = numbers[order[: _SPARE * wanted + 100]]
    looked_at = list(spool.chosen(np.sort(candidates)))
    found = {number: pair for own, block in looked_at for number, pair in zip(own.tolist(), block.pairs, strict=True)}
    taken: list[int] = []
    sources: set[str] = set()
    targets: set[str] = set()
    for number in candidates.tolist():
        source, target = found[number]
        has_lines = any(end in text for text in (source, target) for end in "\r\n")
        if len(taken) < wanted and not has_lines and source not in sources and target not in targets:
            taken.append(number)
            sources.add(source)
            targets.add(target)
    return looked_at, taken


def _blocks(looked_at: _Placed, numbers: list[int]) -> list[SpoolBlock]:
    """The pairs of these numbers, in the order of the text."""
    some = (block.at(np.flatnonzero(np.isin(own, numbers))) for own, block in looked_at)
    return [block for block in some if len(block)]


def _leave_out_alike(
    gathered: Gathered, kept: np.ndarray, train: np.ndarray, drawn: dict[str, list[SpoolBlock]]
) -> int:
    """Mark the other pairs that share a side with one that was drawn, and tell the ledger; returns how many."""
    sources, targets = (
        {text for block in itertools.chain(*drawn.values()) for text in block.texts[side]} for side in SIDES
    )
    count = 0
    for here, block in gathered.spool.placed_blocks():
        stays, counted = train[here], kept[here]
        alike = np.fromiter((one in sources or other in targets for one, other in block.pairs), bool, len(block))
        places = np.flatnonzero(alike & stays & counted)
        block.tell(gathered.ledger, "validation", places, corpus=gathered.corpora[block.corpus].name)
        stays[places] = False
        count += len(places)
    return count
