"""What the bundled models need beside their corpora: a held-out slice of Tatoeba, joined lines, sentences.

    python examples/small_models.py hold-out train.tsv.xz --output tatoeba-dev.tsv
    python examples/small_models.py join train.tsv.xz --without tatoeba-dev.tsv --output joined.tsv
    python examples/small_models.py sentences mo.en.xz help.en.xz --output sentences.tsv --rest rest.tsv

Tatoeba's sentences have seven words. A model that saw no longer ones of everyday life would not know what to do with a
line of several sentences, so some are joined, two to four to a line. Of the messages and manuals of programs a third
are sentences; the rest are names of buttons, options, code, and the model sees fewer of them.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

HELD_OUT = 2000
JOINED = 100_000
FEWEST_WORDS = 4
END = re.compile(r'[.!?:]["»“)]?$')
CODE = re.compile(r"%[a-zA-Z0-9$(]|[{}<>\\_=|@#&$\[]|--")


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


def is_sentence(english: str, german: str) -> bool:
    """Whether both sides end as sentences do, without code, and the English has some words."""
    whole = all(END.search(side) and not CODE.search(side) for side in (english, german))
    return whole and len(english.split()) >= FEWEST_WORDS


def sorted_out(files: list[Path]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The sentences of NAME.en.xz and NAME.de.xz, and the rest; without the lines that hold a tab."""
    sentences: list[tuple[str, str]] = []
    rest: list[tuple[str, str]] = []
    for file in files:
        both = (file, file.with_name(file.name.replace(".en.", ".de.")))
        sides = [lzma.decompress(side.read_bytes()).decode("utf-8").split("\n")[:-1] for side in both]
        for english, german in zip(*sides, strict=True):
            if "\t" not in english + german:
                (sentences if is_sentence(english, german) else rest).append((english, german))
    return sentences, rest


def write(path: Path, found: Iterable[tuple[str, str]]) -> None:
    path.write_text("".join(f"{english}\t{german}\n" for english, german in found), encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("hold-out", "join"):
        command = commands.add_parser(name)
        command.add_argument("tatoeba", type=Path)
        command.add_argument("--output", type=Path, required=True)
    command.add_argument("--without", type=Path, required=True, help="what was held out")
    command = commands.add_parser("sentences")
    command.add_argument("files", type=Path, nargs="+", help="NAME.en.xz, beside which is NAME.de.xz")
    command.add_argument("--output", type=Path, required=True, help="the sentences")
    command.add_argument("--rest", type=Path, required=True, help="the other lines")
    given = parser.parse_args()
    if given.command == "hold-out":
        write(given.output, held_out(given.tatoeba))
    elif given.command == "join":
        write(given.output, joined(given.tatoeba, given.without))
    else:
        sentences, rest = sorted_out(given.files)
        write(given.output, sentences)
        write(given.rest, rest)


if __name__ == "__main__":
    main()
