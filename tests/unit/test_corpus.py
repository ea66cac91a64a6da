"""What was stored is what is read; what was damaged is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from heedful.data import corpus_writer
from heedful.data.corpus import Corpus, check_files, read_manifest
from heedful.data.corpus_writer import SplitWriter, write_json, write_manifest
from heedful.errors import CorpusError


def stored(folder: Path, pairs: list[tuple[list[int], list[int]]], *, id_type=np.uint16, block: int = 7) -> Path:
    """A prepared corpus with these ids."""
    with SplitWriter(folder, split="train", id_type=id_type) as writer:
        for start in range(0, len(pairs), block):
            some = pairs[start : start + block]
            writer.add(
                source=[np.array(source, id_type).tobytes() for source, _ in some],
                target=[np.array(target, id_type).tobytes() for _, target in some],
                lines=np.arange(start, start + len(some)) * 3 + 1,
                corpora=np.array([place % 2 for place in range(len(some))]),
            )
        entry = writer.close()
    corpora = [{"name": "a", "weight": 1.0}, {"name": "b", "weight": 2.5}]
    files = writer.files | {"report.json": write_json(folder, "report.json", {})}
    manifest = {"id_type": np.dtype(id_type).name, "corpora": corpora, "splits": {"train": entry}, "files": files}
    write_manifest(folder, manifest)
    return folder


def random_pairs(count: int, *, largest: int = 60_000) -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(1)
    return [
        (rng.integers(3, largest, rng.integers(0, 9)).tolist(), rng.integers(3, largest, rng.integers(1, 9)).tolist())
        for _ in range(count)
    ]


@pytest.mark.parametrize("id_type", [np.uint16, np.uint32])
@pytest.mark.parametrize("shard_ids", [5, 100, 1 << 20])
def test_every_pair_comes_back_in_any_order_out_of_any_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id_type, shard_ids: int
) -> None:
    monkeypatch.setattr(corpus_writer, "SHARD_IDS", shard_ids)
    pairs = random_pairs(100, largest=60_000 if id_type is np.uint16 else 2**31 - 1)
    corpus = Corpus(stored(tmp_path, pairs, id_type=id_type))
    assert len(corpus) == 100
    assert len(corpus.source.shards) > 1 or shard_ids > 100
    order = np.random.default_rng(2).integers(0, 100, 300)
    for side, number in ((corpus.source, 0), (corpus.target, 1)):
        ids, lengths = side.ids(order)
        assert ids.dtype == np.int32
        assert ids.tolist() == [id_ for place in order for id_ in pairs[place][number]]
        assert lengths.tolist() == [len(pairs[place][number]) for place in order]
    assert corpus.source_tokens.tolist() == [len(source) + 1 for source, _ in pairs]


def test_no_pair_is_no_ids(tmp_path: Path) -> None:
    ids, lengths = Corpus(stored(tmp_path, random_pairs(3))).source.ids(np.array([], np.int64))
    assert (len(ids), len(lengths)) == (0, 0)


def test_a_pair_knows_where_it_came_from_and_how_often_it_comes(tmp_path: Path) -> None:
    corpus = Corpus(stored(tmp_path, random_pairs(10)))
    assert corpus.origin(3).corpus == "b"
    assert corpus.origin(3).line == 10
    assert corpus.weights.tolist() == [1, 2.5, 1, 2.5, 1, 2.5, 1, 1, 2.5, 1]


def test_a_changed_shard_is_found_at_load_and_named(tmp_path: Path) -> None:
    path = stored(tmp_path, random_pairs(20)) / "train/source-00000.bin"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"is damaged.*\n  - train/source-00000\.bin: its contents have changed"):
        Corpus(tmp_path)
    Corpus(tmp_path, verify=False)


@pytest.mark.parametrize("verify", [True, False])
def test_truncated_and_missing_files_are_found_even_without_verification(tmp_path: Path, verify: bool) -> None:
    folder = stored(tmp_path, random_pairs(20))
    path = folder / "train/target-00000.bin"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-2])
    (folder / "train/lines.bin").unlink()
    with pytest.raises(CorpusError) as error:
        Corpus(folder, verify=verify)
    assert f"train/target-00000.bin: {size - 2:,} bytes where {size:,} were written" in str(error.value)
    assert "train/lines.bin: missing" in str(error.value)


def test_an_untouched_corpus_passes_the_check(tmp_path: Path) -> None:
    check_files(stored(tmp_path, random_pairs(20)), contents=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a prepared corpus: no manifest.json in it; `heedful prepare` makes one"),
        ("{", "cannot be read"),
        ("[]", "is not the manifest of a prepared corpus"),
        ('{"format": "other"}', "is not the manifest of a prepared corpus"),
        ('{"format": "heedful corpus", "format_version": 99}', "format version 99; this heedful reads version 1"),
        ('{"format": "heedful corpus", "format_version": 1}', "lacks files, splits, corpora, id_type"),
    ],
)
def test_a_folder_that_is_no_prepared_corpus_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(CorpusError, match=message):
        read_manifest(tmp_path)


def test_a_missing_folder_and_a_missing_split_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no folder"):
        Corpus(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match="has no split called valid; it has train"):
        Corpus(stored(tmp_path, random_pairs(3)), "valid")


def test_the_manifest_names_every_file(tmp_path: Path) -> None:
    folder = stored(tmp_path, random_pairs(20))
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there == {*json.loads((folder / "manifest.json").read_text())["files"], "manifest.json"}
