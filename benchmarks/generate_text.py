"""Parallel text of any size with the statistics that make preparing hard: Zipf's law and millions of distinct words.

    python benchmarks/generate_text.py 10000000 /path/to/folder

writes text.en and text.de there. Words are drawn so that the r-th most frequent has a probability near 1/r; sentence
lengths are log-normal with a mean near ten words. The same arguments give the same bytes on one machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

DISTINCT_WORDS = 1_300_000
"""On each side; most of them occur in 10 M pairs, so that both sides together have over two million."""
CHUNK = 50_000
CONSONANTS, VOWELS = "bcdfghklmnprstvwz", "aeiouäöy"


def words(count: int, *, salt: int) -> list[str]:
    """Different pronounceable words, short ones first, as in real text."""
    syllables = [c + v for c in CONSONANTS for v in VOWELS]
    shuffled = np.random.default_rng(salt).permutation(len(syllables))
    syllables = [syllables[place] for place in shuffled]
    endings = ("", "n", "s", "r", "t", "ng")
    found = []
    for number in range(count):
        word, rest = "", number // len(endings)
        while True:
            word += syllables[rest % len(syllables)]
            rest //= len(syllables)
            if not rest:
                break
            rest -= 1
        found.append(word + endings[number % len(endings)])
    return found


def lines(vocabulary: list[str], lengths: np.ndarray, rng: np.random.Generator) -> str:
    """One sentence a line."""
    ranks = np.exp(rng.random(int(lengths.sum())) * np.log(len(vocabulary))).astype(np.int64) - 1
    chosen = [vocabulary[rank] for rank in ranks.tolist()]
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    return "".join([" ".join(chosen[start:end]) + ".\n" for start, end in zip(starts, ends, strict=True)])


def generate(pairs: int, folder: Path, *, seed: int = 1) -> tuple[Path, Path]:
    """Write the two files and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "text.en", folder / "text.de"
    vocabularies = [words(DISTINCT_WORDS, salt=salt) for salt in (1, 2)]
    rng = np.random.default_rng(seed)
    with paths[0].open("w", encoding="utf-8") as source, paths[1].open("w", encoding="utf-8") as target:
        for start in range(0, pairs, CHUNK):
            count = min(CHUNK, pairs - start)
            lengths = np.clip(rng.lognormal(2.15, 0.55, count), 1, 90).astype(np.int64)
            source.write(lines(vocabularies[0], lengths, rng))
            others = np.maximum(1, lengths + rng.integers(-1, 3, count))
            target.write(lines(vocabularies[1], others, rng))
    return paths


if __name__ == "__main__":
    generate(int(sys.argv[1]), Path(sys.argv[2]))
