"""Writes a split of a prepared corpus: shards of ids, lengths, offsets, and where each pair came from.

Everything is hashed while it is written, so that no file is read again. `heedful.data.corpus` reads what this writes;
docs/formats.md describes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heedful.data.manifest import SIDES, Shard, StoredFile, StoredSide, StoredSplit
from heedful.files import sha256

SHARD_IDS = 1 << 26
"""Ids in one shard, about: 128 MiB in 16 bits. A pair never spans two shards."""


class _HashedFile:
    """A file that knows its size and hash as it grows."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        self._file = (folder / name).open("wb")
        self._sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._sha256.update(data)
        self.size += len(data)

    def close(self) -> StoredFile:
        """Put the file safely on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return StoredFile(self.size, self._sha256.hexdigest())

    def abandon(self) -> None:
        self._file.close()


class _Side:
    """One language of a split."""

    def __init__(self, folder: Path, split: str, side: str, id_type: np.dtype) -> None:
        self._folder, self._prefix, self._id_type = folder, f"{split}/{side}", id_type
        self._shard: _HashedFile | None = None
        self.shards: list[Shard] = []
        self.lengths: list[np.ndarray] = []
        self.files: dict[str, StoredFile] = {}
        self.pairs = self.ids = self.longest = 0

    def add(self, raw: Sequence[bytes]) -> None:
        width = self._id_type.itemsize
        lengths = np.fromiter(map(len, raw), np.int64, len(raw)) // width
        if self._shard is None or self._shard.size >= SHARD_IDS * width:
            self._end_shard()
            self._shard = _HashedFile(self._folder, f"{self._prefix}-{len(self.shards):05d}.bin")
            self.shards.append(Shard(self._shard.name, self.pairs, self.ids))
        self._shard.write(b"".join(raw))
        self.lengths.append(lengths.astype(np.uint32))
        self.pairs += len(raw)
        self.ids += int(lengths.sum())
        self.longest = max(self.longest, int(lengths.max(initial=0)))

    def _end_shard(self) -> None:
        if self._shard is not None:
            self.files[self._shard.name] = self._shard.close()
            self._shard = None

    def close(self) -> StoredSide:
        self._end_shard()
        length_type = "uint16" if self.longest < 1 << 16 else "uint32"
        little = np.dtype(length_type).newbyteorder("<")
        lengths, offsets = (_HashedFile(self._folder, f"{self._prefix}-{what}.bin") for what in ("lengths", "offsets"))
        position = 0
        for block in self.lengths:
            lengths.write(block.astype(little).tobytes())
            ends = position + np.cumsum(block, dtype=np.int64)
            starts = np.concatenate(([position], ends[:-1])) if len(ends) else ends
            offsets.write(starts.astype("<u8").tobytes())
            position = int(ends[-1]) if len(ends) else position
        for file in (lengths, offsets):
            self.files[file.name] = file.close()
        return StoredSide(self.ids, self.longest, length_type, lengths.name, offsets.name, tuple(self.shards))

    def abandon(self) -> None:
        if self._shard is not None:
            self._shard.abandon()


class SplitWriter(contextlib.AbstractContextManager["SplitWriter"]):
    """Takes the pairs of one split, in order."""

    def __init__(self, folder: Path, *, split: str, id_type: type[np.unsignedinteger]) -> None:
        little = np.dtype(id_type).newbyteorder("<")
        self._sides = {side: _Side(folder, split, side, little) for side in SIDES}
        self._lines, self._corpora = (_HashedFile(folder, f"{split}/{what}.bin") for what in ("lines", "corpora"))
        self.files: dict[str, StoredFile] = {}
        self.pairs = 0

    def add(self, *, source: Sequence[bytes], target: Sequence[bytes], lines: np.ndarray, corpora: np.ndarray) -> None:
        """Pairs as raw ids, the line each stood in, and the number of its corpus."""
        assert len(source) == len(target) == len(lines) == len(corpora), "a pair is missing its other half"
        if not source:
            return
        self._sides["source"].add(source)
        self._sides["target"].add(target)
        self._lines.write(np.asarray(lines).astype("<u4").tobytes())
        self._corpora.write(np.asarray(corpora).astype("<u2").tobytes())
        self.pairs += len(source)

    def close(self) -> StoredSplit:
        """End the split; `files` is complete after this."""
        sides = {name: side.close() for name, side in self._sides.items()}
        for side in self._sides.values():
            self.files |= side.files
        for file in (self._lines, self._corpora):
            self.files[file.name] = file.close()
        return StoredSplit(self.pairs, self._lines.name, self._corpora.name, **sides)

    def __exit__(self, *_: object) -> None:
        for side in self._sides.values():
            side.abandon()
        self._lines.abandon()
        self._corpora.abandon()


def stored_file(path: Path) -> StoredFile:
    """The size and hash of a file that is there already."""
    return StoredFile(path.stat().st_size, sha256(path))
