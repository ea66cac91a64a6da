"""The demo's text: English sentences with their German translations, written once by ``examples/grammar``.

``text.tsv.bz2`` has a pair a line, tabs between its fields. The held-out pairs come first and have three: English,
German, and which token is which. The pairs to train on have two.
"""

from __future__ import annotations

import bz2
import re
from pathlib import Path

from heedful.errors import DemoError

TEXT = Path(__file__).with_name("text.tsv.bz2")


def tokens_of(text: str) -> list[str]:
    """The words and punctuation marks of a line, in the order that alignments number them.

    >>> tokens_of("At two o'clock, Anna's twenty-one dogs slept.")
    ['At', 'two', "o'clock", ',', "Anna's", 'twenty-one', 'dogs', 'slept', '.']
    """
    return re.findall(r"[^\s,.?!]+|[,.?!]", text)


def write_demo_text(folder: Path, *, train: int, valid: int, test: int) -> None:
    """Write so many pairs of each part as files, one sentence a line, with alignments and a page that says what it is.

    Fewer pairs are the first of more, but that the test begins where the validation text ends.
    """
    lines = [line.split("\t") for line in bz2.decompress(TEXT.read_bytes()).decode().splitlines()]
    held_out, seen = ([line for line in lines if len(line) == fields] for fields in (3, 2))
    for what, wanted, there in (("train", train, seen), ("valid + test", valid + test, held_out)):
        if not 0 <= wanted <= len(there):
            raise DemoError(f"{what} = {wanted:,} pairs: the demo's text has 0 to {len(there):,}")
    if min(valid, test) < 0:
        raise DemoError(f"valid = {valid:,} and test = {test:,} pairs: both must be 0 or more")
    if folder.exists() and any(folder.iterdir()):
        raise DemoError(f"{folder} is not empty: give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": seen[:train], "valid": held_out[:valid], "test": held_out[valid : valid + test]}
    for part, pairs in parts.items():
        for field, side in enumerate(("en", "de") if part == "train" else ("en", "de", "align")):
            _write(folder / f"{part}.{side}", [pair[field] for pair in pairs])
    _write(folder / "README.txt", [README.format(train=train, valid=valid, test=test)])


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


README = """\
This text is generated. A program, heedful's demo grammar, wrote every sentence of it from a few hundred words and the
rules of English and German; nobody ever said them, and their content means nothing. A score on it says that a model has
learnt this grammar, and nothing about real text.

{train:,} pairs to train on, {valid:,} to validate, {test:,} to test. The same sizes give the same files.

Every sentence of valid.* and test.* has a verb and its object in a construction (a question, a relative clause, a
clause with because …) in which training never shows that verb with that object.

*.en and *.de: one sentence a line. *.align: which token is which, English-German, counted from 0; tokens are words, and
the marks , . ? and ! by themselves."""
