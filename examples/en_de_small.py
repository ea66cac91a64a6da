"""What the bundled model en-de-small needs beside its corpora: a held-out slice of Tatoeba, and joined lines.

    python examples/en_de_small.py hold-out train.tsv.xz --output tatoeba-dev.tsv
    python examples/en_de_small.py join train.tsv.xz --without tatoeba-dev.tsv --output joined.tsv

Tatoeba's sentences have seven words. A model that saw no longer ones of everyday life would not know what to do with a
line of several sentences, so some are joined, two to four to a line.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
from collections.abc import Iterator
from pathlib import Path

HELD_OUT = 2000
JOINED = 100_000


def pairs(path: Path) -> Iterator[tuple[str, str]]:
    """The English and German of each line."""
    raw = path.read_bytes()
    for line in (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode("utf-8").splitlines():
        english, german = line.split("\t")[:2]
        yield english.strip(), german.strip()


def drawn(*words: object) -> int:
    """A number that looks random and is always the same for the same words."""
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=8).digest(), "little")


def held_out(path: Path) -> list[tuple[str, str]]:
    """Of the English sentences the first in the order of their hashes, each with its first translation."""
    first: dict[str, str] = {}
    for english, german in pairs(path):
        first.setdefault(english, german)
    chosen = sorted(first, key=lambda english: drawn("held out", english))[:HELD_OUT]
    return [(english, first[english]) for english in chosen]


def joined(path: Path, without: Path) -> Iterator[tuple[str, str]]:
    """Lines of two to four sentences that have nothing to do with each other; none of what is held out."""
    english, german = (set(side) for side in zip(*pairs(without), strict=True))
    rest = [pair for pair in pairs(path) if pair[0] not in english and pair[1] not in german and all(pair)]
    for line in range(JOINED):
        count = 2 + drawn("count", line) % 3
        some = [rest[drawn("sentence", line, place) % len(rest)] for place in range(count)]
        yield " ".join(pair[0] for pair in some), " ".join(pair[1] for pair in some)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("hold-out", "join"))
    parser.add_argument("tatoeba", type=Path)
    parser.add_argument("--without", type=Path, help="what was held out")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "join" and not given.without:
        parser.error("join needs --without, the held-out lines")
    found = held_out(given.tatoeba) if given.command == "hold-out" else joined(given.tatoeba, given.without)
    given.output.write_text("".join(f"{english}\t{german}\n" for english, german in found), encoding="utf-8")


if __name__ == "__main__":
    main()
