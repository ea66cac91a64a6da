"""manifest.json: what is in a prepared corpus, read with care and written last.

A manifest that exists as a `Manifest` fits itself: every name lies inside the folder and is the one that the writer
gives, and sizes, counts and types agree with each other. Whether the files agree too is `check_files`'s question.
docs/formats.md describes every field.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from heedful.errors import CorpusError
from heedful.files import is_plain_name, read_json, reason, require_format, sha256, write_typed
from heedful.typed import typed

MANIFEST, TOKENIZER = "manifest.json", "tokenizer.json"
SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")
_FORMAT, _VERSION = "heedful corpus", 1
_WIDTHS = {"uint16": 2, "uint32": 4}
_MOST_WEIGHT = 1000

IntegerType = Literal["uint16", "uint32"]


@dataclass(frozen=True)
class StoredFile:
    """A file as it was written."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class StoredVocabulary:
    """The subwords of one side."""

    folder: str
    size: int
    """Control ids included."""
    sha256: str = ""
    """Of its file; a manifest says it always, a run that is old may not."""


@dataclass(frozen=True)
class StoredVocabularies:
    """Equal where the subwords are shared."""

    source: StoredVocabulary
    target: StoredVocabulary

    @property
    def shared(self) -> bool:
        return self.source == self.target

    @property
    def sizes(self) -> dict[str, Any]:
        """As a model takes them: the source's is None where one vocabulary is shared."""
        return {"vocab_size": self.target.size, "source_vocab_size": None if self.shared else self.source.size}


@dataclass(frozen=True)
class Shard:
    """A file of ids, and the numbers of its first pair and its first id."""

    file: str
    first_pair: int
    first_id: int


@dataclass(frozen=True)
class StoredSide:
    """One language of a split."""

    ids: int
    longest: int
    length_type: IntegerType
    lengths: str
    offsets: str
    shards: tuple[Shard, ...]


@dataclass(frozen=True)
class StoredSplit:
    """The pairs for one purpose, and the files of lines and corpora that they came from."""

    pairs: int
    lines: str
    corpora: str
    source: StoredSide
    target: StoredSide


@dataclass(frozen=True)
class TextRecord:
    """A parallel text that was prepared. Older manifests say its name alone, out of which the rest is read."""

    name: str
    weight: float
    read: int = 0
    kept: int = 0
    kind: Literal["files", "tsv", "jsonl", "trees", ""] = ""
    """How it was given; empty, until it is read out of the name, in older manifests."""
    paths: tuple[str, ...] = ()
    """The source's and the target's file, or the one file of both."""
    fields: tuple[str, ...] = ()
    """The source's and the target's field of JSON lines, or column of TSV where it has more than two."""
    tag: str = ""
    """What stands before its sources, if anything does."""

    def __post_init__(self) -> None:
        found = len(self.paths), len(self.fields)
        usual = {"files": [(2, 0)], "tsv": [(1, 0), (1, 2)], "jsonl": [(1, 2)], "trees": [(1, 0)]}
        if self.kind and found not in usual[self.kind]:
            raise ValueError(f"{self.name!r:.80} has {found[0]} paths and {found[1]} fields, which {self.kind} has not")
        if self.kind == "tsv" and not all(field.isdecimal() and int(field) for field in self.fields):
            raise ValueError(f"{self.name!r:.80} has fields that are no numbers of columns, which tsv needs")


@dataclass(frozen=True)
class RulesRecord:
    """The limits of cleaning; None: not known."""

    keep: tuple[str, ...] = ()
    max_length: int | None = None
    max_ratio: float | None = None


@dataclass(frozen=True)
class RequestRecord:
    """What `prepare` was asked; None: nothing was, or an older manifest does not say."""

    vocab_size: int | None = None
    tokenizer: str | None = None
    separate_vocabularies: bool = False
    rules: RulesRecord = field(default_factory=RulesRecord)
    on_bad_line: str | None = None
    exclude: tuple[str, ...] = ()
    valid_pairs: int | None = None
    test_pairs: int | None = None
    sample_pairs: int | None = None
    bpe_dropout: float | None = None
    copies: int | None = None
    augment: dict[str, float] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    """All that the vocabulary has, whether a text has them or not."""
    seed: int | None = None


@dataclass(frozen=True)
class Manifest:
    """Everything that is known of a prepared corpus without opening its other files."""

    id_type: IntegerType
    vocabularies: StoredVocabularies
    corpora: tuple[TextRecord, ...]
    splits: dict[str, StoredSplit]
    files: dict[str, StoredFile]
    validation: tuple[TextRecord, ...] = ()
    configuration: RequestRecord = field(default_factory=RequestRecord)
    heedful: str = ""
    task: str = "translation"
    """What a model learns from it, by the names of `heedful.tasks`."""

    def __post_init__(self) -> None:
        if "train" not in self.splits:
            raise ValueError("splits has no train")
        if outside := [name for name in self.files if not all(map(is_plain_name, name.split("/")))]:
            raise ValueError(f"files names {outside[0]!r:.80}, which is not a place inside the folder")
        for side in SIDES:
            stored: StoredVocabulary = getattr(self.vocabularies, side)
            file = self.files.get(f"{stored.folder}/{TOKENIZER}")
            if not is_plain_name(stored.folder) or file is None or file.sha256 != stored.sha256:
                raise ValueError(f"vocabularies.{side} is not the file of subwords in {stored.folder!r:.80}")
            if not 0 < stored.size <= 1 << 8 * _WIDTHS[self.id_type]:
                size = _count(stored.size)
                raise ValueError(f"vocabularies.{side}.size is {size}, which {self.id_type} cannot number")
        for record in (*self.corpora, *self.validation):
            if not 0 < record.weight < _MOST_WEIGHT:
                weight = f"the weight of {record.name!r:.80} is {record.weight}"
                raise ValueError(f"{weight}, not between 0 and {_MOST_WEIGHT}")
        for name, split in self.splits.items():
            self._require_split(name, split)

    def _require_split(self, name: str, split: StoredSplit) -> None:
        texts = self.corpora if name == "train" else self.validation
        if split.pairs < 0 or (split.pairs and not texts):
            raise ValueError(f"splits.{name!r:.80} has {_count(split.pairs)} pairs of {len(texts)} texts")
        expected = [(split.lines, "lines.bin", 4 * split.pairs), (split.corpora, "corpora.bin", 2 * split.pairs)]
        for side in SIDES:
            stored: StoredSide = getattr(split, side)
            begins = [shard.first_id for shard in stored.shards]
            if begins[:1] != [0] and (begins or stored.ids):
                raise ValueError(f"the shards of {f'{name}/{side}'!r:.80} do not begin with the first id")
            expected.append((stored.lengths, f"{side}-lengths.bin", _WIDTHS[stored.length_type] * split.pairs))
            expected.append((stored.offsets, f"{side}-offsets.bin", 8 * split.pairs))
            for number, (shard, end) in enumerate(zip(stored.shards, [*begins[1:], stored.ids], strict=False)):
                size = _WIDTHS[self.id_type] * (end - shard.first_id)
                expected.append((shard.file, f"{side}-{number:05d}.bin", size))
        for file, usual, size in expected:
            if file != f"{name}/{usual}" or file not in self.files:
                raise ValueError(f"files does not name {f'{name}/{usual}'!r:.80}")
            if (written := self.files[file].bytes) != size:
                raise ValueError(f"{file!r:.80} has {_count(written)} bytes, and {_count(size)} by what it counts")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a prepared corpus, once it is sure that it is one, of this version, and fits itself."""
    path = Path(folder) / MANIFEST
    try:
        value = read_json(path, error=CorpusError)
        require_format(value, path, name=_FORMAT, version=_VERSION, error=CorpusError)
    except (FileNotFoundError, NotADirectoryError):
        other = f"{folder} is not a prepared corpus: no {MANIFEST} in it"
        problem = other if Path(folder).exists() else f"there is no folder {folder}"
        raise CorpusError(f"{problem}; `heedful prepare` makes one") from None
    except CorpusError as error:
        raise CorpusError(f"{error}: prepare the corpus again") from None
    try:
        manifest = typed(Manifest, value)
    except ValueError as problem:
        raise CorpusError(damaged(folder, {MANIFEST: str(problem)})) from None
    return dataclasses.replace(
        manifest,
        corpora=tuple(map(_with_paths, manifest.corpora)),
        validation=tuple(map(_with_paths, manifest.validation)),
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the last file of a prepared corpus."""
    assert manifest.splits["train"].pairs, "`prepare` refuses a text of which no pair is left"
    write_typed(folder / MANIFEST, manifest, name=_FORMAT, version=_VERSION)


def check_files(folder: Path, manifest: Manifest, *, contents: bool) -> None:
    """Raise for the files that are missing, of another size, or, with ``contents``, changed; all of them are named."""

    def problem(name: str) -> str | None:
        path, stored = Path(folder) / name, manifest.files[name]
        try:
            if not path.is_file():
                return "missing"
            size = path.stat().st_size
            if size != stored.bytes:
                return f"{size:,} bytes where {_count(stored.bytes)} were written"
            if contents and sha256(path) != stored.sha256:
                return "its contents have changed since it was prepared"
        except OSError as error:
            return f"cannot be read: {reason(error)}"
        return None

    with concurrent.futures.ThreadPoolExecutor() as pool:  # hashing lets go of the interpreter's lock
        found = dict(zip(manifest.files, pool.map(problem, manifest.files), strict=True))
    if problems := {name: problem for name, problem in found.items() if problem}:
        raise CorpusError(damaged(folder, problems))


def damaged(folder: Path, problems: dict[str, str]) -> str:
    """What to say of a prepared corpus with these problems, by the names of its files."""
    lines = "\n".join(f"  - {name}: {problem}" for name, problem in problems.items())
    return f"the prepared corpus {folder} is damaged; prepare it again:\n{lines}"


def _with_paths(record: TextRecord) -> TextRecord:
    """What an older manifest says by a name alone, as fields."""
    if record.kind:
        return record
    source, separator, target = record.name.partition(" | ")
    if separator:
        return dataclasses.replace(record, kind="files", paths=(source, target), fields=())
    if named := re.fullmatch(r"(.*) \((.+), (.+)\)", record.name):
        return dataclasses.replace(record, kind="jsonl", paths=(named[1],), fields=(named[2], named[3]))
    return dataclasses.replace(record, kind="tsv", paths=(record.name,), fields=())


def _count(number: int) -> str:
    return f"{number:,}" if abs(number) < 10**18 else "far too many"
