"""Writes the text that `heedful demo` learns from, the same bytes every time: python -m examples.grammar FILE."""

from __future__ import annotations

import argparse
import bz2
from pathlib import Path

from examples.grammar.corpus import corpus_lines

SEED, TRAIN, HELD_OUT = 1, 50_000, 1_300
"""What the package carries: as many pairs as the longest demo asks for."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a name that ends in .tsv.bz2")
    file = parser.parse_args().file
    file.write_bytes(bz2.compress(corpus_lines(SEED, train=TRAIN, held_out=HELD_OUT).encode()))
