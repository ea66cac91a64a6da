"""A prepared corpus: ids in memory-mapped shards. Opening it reads no ids into memory; each batch reads its own.

By default every file is hashed when the corpus is opened (a second or two for a gigabyte), so that a changed or
truncated shard is found then and named, and not in the middle of a run. What the numbers stand for is known to
`heedful.text`; docs/formats.md describes the files.

`SplitWriter` writes what `Corpus` reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from heedful.data.manifest import SIDES, Shard, StoredFile, StoredSide, StoredSplit, check_files, damaged, read_manifest
from heedful.errors import CorpusError
from heedful.files import sha256

SHARD_IDS = 1 << 26
"""Ids in one shard, about: 128 MiB in 16 bits. A pair never spans two shards."""


@dataclass(frozen=True, eq=False)
class Lengths:
    """Tokens of each pair on both sides, as the model sees them: its subwords, and END or START."""

    source: np.ndarray
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    def of(self, pairs: np.ndarray) -> Lengths:
        """The lengths of these pairs alone."""
        return Lengths(self.source[pairs], self.target[pairs])

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest side of any pair; 0 where there are none."""
        return int(max(self.source.max(initial=0), self.target.max(initial=0)))

    @cached_property
    def totals(self) -> tuple[int, int]:
        """All source tokens and all target tokens."""
        return int(self.source.sum(dtype=np.int64)), int(self.target.sum(dtype=np.int64))


@dataclass(frozen=True)
class Side:
    """One language of a split."""

    id_counts: np.ndarray
    """Subwords of each pair, without control ids."""
    offsets: np.ndarray
    """Where each pair's ids begin, counted over all shards."""
    shards: tuple[np.ndarray, ...]
    first_ids: np.ndarray
    """Where each shard begins, counted over all shards."""

    def ids(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the pairs, one after the other, as int32, and each pair's number of ids."""
        lengths = self.id_counts[pairs].astype(np.int64)
        starts = self.offsets[pairs].astype(np.int64)
        shard_of = np.searchsorted(self.first_ids, starts, side="right") - 1
        ends = np.cumsum(lengths)
        # Position k of the result is id number k - (where its pair begins here) + (where it begins in the shard).
        positions = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
        shard_of_id = np.repeat(shard_of, lengths)
        flat = np.empty(len(positions), np.int32)
        for shard in np.unique(shard_of):
            here = shard_of_id == shard
            flat[here] = self.shards[shard][positions[here] - self.first_ids[shard]]
        return flat, lengths

    def sentences(self, pairs: int | np.ndarray) -> list[np.ndarray]:
        """The ids of each of these pairs, or of the first so many."""
        ids, lengths = self.ids(np.arange(pairs) if isinstance(pairs, int) else pairs)
        return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []


class Corpus:
    """One split of a prepared corpus."""

    def __init__(self, folder: Path, split: str = "train", *, verify: bool = True) -> None:
        """Open a split; ``verify=False`` checks the sizes of the files but not their contents."""
        self.folder, self.split = Path(folder), split
        self.manifest = read_manifest(self.folder)
        check_files(self.folder, self.manifest, contents=verify)
        if split not in self.manifest.splits:
            raise CorpusError(f"{folder} has no split called {split}; it has {', '.join(self.manifest.splits)}")
        self._stored = self.manifest.splits[split]
        self._texts = self.manifest.corpora if split == "train" else self.manifest.validation
        self.source, self.target = self._side(self._stored.source), self._side(self._stored.target)
        self._require_sound(ids=verify)

    def __len__(self) -> int:
        return self._stored.pairs

    @cached_property
    def lengths(self) -> Lengths:
        """Tokens of each pair: the encoder sees the subwords and END, the decoder START and the subwords."""
        return Lengths(*(side.id_counts.astype(np.int32) + 1 for side in (self.source, self.target)))

    @cached_property
    def weights(self) -> np.ndarray:
        """How often each pair comes in an epoch, by the weight its corpus was given; validation is never weighted."""
        if self.split != "train":
            return np.ones(len(self))
        weights = np.array([text.weight for text in self._texts])
        return weights[self._text_of]

    def origin(self, pair: int) -> tuple[str, int]:
        """The name of the text and the line that a pair came from."""
        line = int(self._mapped(self._stored.lines, "uint32")[pair])
        return self._texts[int(self._text_of[pair])].name, line

    @property
    def _text_of(self) -> np.ndarray:
        """The number of the text that each pair came from."""
        return self._mapped(self._stored.corpora, "uint16")

    def _side(self, stored: StoredSide) -> Side:
        return Side(
            id_counts=self._mapped(stored.lengths, stored.length_type),
            offsets=self._mapped(stored.offsets, "uint64"),
            shards=tuple(self._mapped(shard.file, self.manifest.id_type) for shard in stored.shards),
            first_ids=np.array([shard.first_id for shard in stored.shards], np.int64),
        )

    def _require_sound(self, *, ids: bool) -> None:
        """Raise unless the files fit each other; ``ids``: all ids are looked at too, which takes a while."""
        problems: dict[str, str] = {}
        if self._text_of.max(initial=0) >= max(1, len(self._texts)):
            problems[self._stored.corpora] = "names a text that the manifest does not"
        for name in SIDES:
            side, stored = getattr(self, name), getattr(self._stored, name)
            ends, begins = np.cumsum(side.id_counts, dtype=np.uint64), side.first_ids.astype(np.uint64)
            fits = np.array_equal(side.offsets[1:], ends[:-1]) and not side.offsets[:1].any()
            if not fits or int(ends[-1] if len(ends) else 0) != stored.ids:
                problems[stored.offsets] = f"does not fit {stored.lengths}"
            elif np.equal(*(np.searchsorted(side.offsets, begins, side=end) for end in ("left", "right"))).any():
                problems[stored.offsets] = "a pair lies in two shards"
            size = getattr(self.manifest.vocabularies, name).size
            if ids and any(shard.max(initial=0) >= size for shard in side.shards):
                beyond = f"these ids, or those of the next shards, exceed the {size:,} subwords"
                problems[stored.shards[0].file] = beyond
        if problems:
            raise CorpusError(damaged(self.folder, problems))

    def _mapped(self, name: str, integer: str) -> np.ndarray:
        path, dtype = self.folder / name, np.dtype(integer).newbyteorder("<")
        if not path.stat().st_size:  # an empty file cannot be mapped
            return np.empty(0, dtype)
        # A plain array over the map: indexing a memmap object costs several times more.
        return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


class SplitWriter:
    """Takes the pairs of one split, in order, and appends them to the files of a new folder."""

    def __init__(self, folder: Path, *, split: str, id_type: np.dtype | type[np.unsignedinteger]) -> None:
        self._folder, self._split = folder, split
        (folder / split).mkdir(parents=True)
        little = np.dtype(id_type).newbyteorder("<")
        self._sides = {side: _SideWriter(folder, f"{split}/{side}", little) for side in SIDES}
        self._lines, self._corpora = f"{split}/lines.bin", f"{split}/corpora.bin"
        self.files: dict[str, StoredFile] = {}
        self.pairs = 0

    def add(self, *, source: Sequence[bytes], target: Sequence[bytes], lines: np.ndarray, corpora: np.ndarray) -> None:
        """Write pairs as raw ids, the line each stood in, and the number of its corpus."""
        assert len(source) == len(target) == len(lines) == len(corpora), "a pair is missing its other half"
        if source:
            self._sides["source"].add(source)
            self._sides["target"].add(target)
        _append(self._folder / self._lines, np.asarray(lines).astype("<u4").tobytes())
        _append(self._folder / self._corpora, np.asarray(corpora).astype("<u2").tobytes())
        self.pairs += len(source)

    def close(self) -> StoredSplit:
        """Write the lengths; `files` is complete after this."""
        sides = {name: side.close() for name, side in self._sides.items()}
        for path in sorted((self._folder / self._split).iterdir()):
            self.files[f"{self._split}/{path.name}"] = stored_file(path)
        return StoredSplit(self.pairs, self._lines, self._corpora, **sides)


class _SideWriter:
    """One language of a split."""

    def __init__(self, folder: Path, prefix: str, id_type: np.dtype) -> None:
        self._folder, self._prefix, self._id_type = folder, prefix, id_type
        self._shards: list[Shard] = []
        self._lengths: list[np.ndarray] = []
        self._pairs = self._ids = 0

    def add(self, raw: Sequence[bytes]) -> None:
        lengths = np.fromiter(map(len, raw), np.int64, len(raw)) // self._id_type.itemsize
        if not self._shards or self._ids - self._shards[-1].first_id >= SHARD_IDS:
            self._shards.append(Shard(f"{self._prefix}-{len(self._shards):05d}.bin", self._pairs, self._ids))
        _append(self._folder / self._shards[-1].file, b"".join(raw))
        self._lengths.append(lengths.astype(np.uint32))
        self._pairs += len(raw)
        self._ids += int(lengths.sum())

    def close(self) -> StoredSide:
        counts = np.concatenate([np.zeros(0, np.uint32), *self._lengths])
        longest = int(counts.max(initial=0))
        length_type = "uint16" if longest < 1 << 16 else "uint32"
        lengths, offsets = (f"{self._prefix}-{what}.bin" for what in ("lengths", "offsets"))
        counts.astype(np.dtype(length_type).newbyteorder("<")).tofile(self._folder / lengths)
        (np.cumsum(counts, dtype=np.int64) - counts).astype("<u8").tofile(self._folder / offsets)
        return StoredSide(self._ids, longest, length_type, lengths, offsets, tuple(self._shards))


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def stored_file(path: Path) -> StoredFile:
    """The size and hash of a file that is there already."""
    return StoredFile(path.stat().st_size, sha256(path))
