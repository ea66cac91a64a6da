"""A prepared corpus: ids in memory-mapped shards. Opening it reads no ids into memory; each batch reads its own.

By default every file is hashed when the corpus is opened (a second or two for a gigabyte), so that a changed or
truncated shard is found then and named, and not in the middle of a run. What the numbers stand for is known to
`heedful.text`; docs/formats.md describes the files.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data.folder import MANIFEST
from heedful.errors import CorpusError

FORMAT = "heedful corpus"
FORMAT_VERSION = 1


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared corpus, once it is sure that it is one and of this version."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        missing = not Path(folder).exists()
        problem = (
            f"there is no folder {folder}" if missing else f"{folder} is not a prepared corpus: no {MANIFEST} in it"
        )
        raise CorpusError(f"{problem}; `heedful prepare` makes one") from None
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CorpusError(f"{path} is not the manifest of a prepared corpus")
    if manifest.get("format_version") != FORMAT_VERSION:
        found = f"{path} is of format version {manifest.get('format_version')}"
        raise CorpusError(f"{found}; this heedful reads version {FORMAT_VERSION}: prepare the corpus again")
    if missing := [key for key in ("files", "splits", "corpora", "id_type") if key not in manifest]:
        raise CorpusError(f"{path} lacks {', '.join(missing)}: prepare the corpus again")
    return manifest


def check_files(folder: Path, *, contents: bool) -> None:
    """Raise for the files that are missing, of another size, or, with ``contents``, changed; all of them are named."""
    files: dict[str, dict[str, Any]] = read_manifest(folder)["files"]
    problems = {name: _wrong_size(Path(folder) / name, entry["bytes"]) for name, entry in files.items()}
    if contents:
        sound = [name for name, problem in problems.items() if not problem]
        with concurrent.futures.ThreadPoolExecutor() as pool:  # hashing lets go of the interpreter's lock
            for name, digest in zip(sound, pool.map(lambda name: _sha256(Path(folder) / name), sound), strict=True):
                if digest != files[name]["sha256"]:
                    problems[name] = "its contents have changed since it was prepared"
    found = [f"  - {name}: {problem}" for name, problem in problems.items() if problem]
    if found:
        raise CorpusError(f"the prepared corpus {folder} is damaged; prepare it again:\n" + "\n".join(found))


@dataclass(frozen=True)
class Side:
    """One language of a split."""

    lengths: np.ndarray
    """Subwords of each pair, without control ids."""
    offsets: np.ndarray
    """Where each pair's ids begin, counted over all shards."""
    shards: tuple[np.ndarray, ...]
    first_ids: np.ndarray
    """Where each shard begins, counted over all shards."""

    def ids(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the pairs, one after the other, as int32, and each pair's number of ids."""
        lengths = self.lengths[pairs].astype(np.int64)
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

    def sentences(self, count: int) -> list[np.ndarray]:
        """The ids of each of the first ``count`` pairs."""
        ids, lengths = self.ids(np.arange(count))
        return np.split(ids, np.cumsum(lengths)[:-1]) if count else []


@dataclass(frozen=True)
class Origin:
    """Where a pair stood in the text that was prepared."""

    corpus: str
    line: int


class Corpus:
    """One split of a prepared corpus."""

    def __init__(self, folder: Path, split: str = "train", *, verify: bool = True) -> None:
        """Open a split; ``verify=False`` checks the sizes of the files but not their contents."""
        self.folder, self.split = Path(folder), split
        self.manifest = read_manifest(self.folder)
        check_files(self.folder, contents=verify)
        if split not in self.manifest["splits"]:
            there = ", ".join(self.manifest["splits"])
            raise CorpusError(f"{folder} has no split called {split}; it has {there}")
        self._entry = self.manifest["splits"][split]
        self.source, self.target = self._side("source"), self._side("target")

    def __len__(self) -> int:
        return self._entry["pairs"]

    @cached_property
    def source_tokens(self) -> np.ndarray:
        """Tokens of each pair's source as the encoder sees it: its subwords and END."""
        return self.source.lengths.astype(np.int32) + 1

    @cached_property
    def target_tokens(self) -> np.ndarray:
        """Tokens of each pair's target as the decoder sees it: START and the subwords in, the subwords and END out."""
        return self.target.lengths.astype(np.int32) + 1

    @cached_property
    def weights(self) -> np.ndarray:
        """How often each pair comes in an epoch, by the weight its corpus was given; validation is never weighted."""
        if self.split != "train":
            return np.ones(len(self))
        weights = np.array([corpus["weight"] for corpus in self.manifest["corpora"]])
        return weights[self._mapped(self._entry["corpora"], "<u2")]

    def origin(self, pair: int) -> Origin:
        """The corpus and the line a pair came from."""
        corpus = int(self._mapped(self._entry["corpora"], "<u2")[pair])
        key = "corpora" if self.split == "train" else "validation"
        return Origin(self.manifest[key][corpus]["name"], int(self._mapped(self._entry["lines"], "<u4")[pair]))

    def _side(self, side: str) -> Side:
        entry = self._entry[side]
        id_type = "<u2" if self.manifest["id_type"] == "uint16" else "<u4"
        return Side(
            lengths=self._mapped(entry["lengths"], "<u2" if entry["length_type"] == "uint16" else "<u4"),
            offsets=self._mapped(entry["offsets"], "<u8"),
            shards=tuple(self._mapped(shard["file"], id_type) for shard in entry["shards"]),
            first_ids=np.array([shard["first_id"] for shard in entry["shards"]], np.int64),
        )

    def _mapped(self, name: str, dtype: str) -> np.ndarray:
        path = self.folder / name
        if not path.stat().st_size:  # an empty file cannot be mapped
            return np.empty(0, dtype)
        # A plain array over the map: indexing a memmap object costs several times more.
        return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def _wrong_size(path: Path, size: int) -> str | None:
    if not path.is_file():
        return "missing"
    there = path.stat().st_size
    return None if there == size else f"{there:,} bytes where {size:,} were written"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
