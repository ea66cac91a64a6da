"""Clean text waiting on disk between the first pass (read, clean) and the second (encode), so that it need not fit
into memory, nor be read and cleaned twice. It lives in the hidden folder and is gone when the corpus is complete.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_HEADER = struct.Struct("<IIQQ")


@dataclass(frozen=True)
class SpoolBlock:
    """Some clean pairs of one corpus."""

    corpus: int
    sources: list[str]
    targets: list[str]
    lines: np.ndarray


class Spool(contextlib.AbstractContextManager["Spool"]):
    """Written once from front to back, read any number of times."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.pairs = 0
        self.source_bytes = self.target_bytes = 0

    def add(self, *, corpus: int, sources: Sequence[str], targets: Sequence[str], lines: np.ndarray) -> None:
        if not sources:
            return
        source, target = ("".join(texts).encode("utf-8") for texts in (sources, targets))
        self._file.write(_HEADER.pack(corpus, len(sources), len(source), len(target)))
        # Lengths instead of separators: a text may hold any character, line ends too.
        for texts in (sources, targets):
            self._file.write(np.fromiter(map(len, texts), np.uint32, len(texts)).tobytes())
        self._file.write(lines.astype(np.uint32).tobytes())
        self._file.write(source)
        self._file.write(target)
        self.pairs += len(sources)
        self.source_bytes += len(source)
        self.target_bytes += len(target)

    def blocks(self) -> Iterator[SpoolBlock]:
        self._file.flush()
        with self._path.open("rb") as file:
            while header := file.read(_HEADER.size):
                corpus, size, source_bytes, target_bytes = _HEADER.unpack(header)
                counts = np.frombuffer(file.read(12 * size), np.uint32).reshape(3, size)
                source, target = (file.read(count).decode("utf-8") for count in (source_bytes, target_bytes))
                yield SpoolBlock(corpus, _slices(source, counts[0]), _slices(target, counts[1]), counts[2])

    def remove(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _slices(text: str, lengths: np.ndarray) -> list[str]:
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    return [text[start:end] for start, end in itertools.pairwise([0, *ends])]
