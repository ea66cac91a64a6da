"""What was stored is what is read; what was damaged is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.stored_corpora import stored_corpus

from heedful.data import corpus as corpus_files
from heedful.data.corpus import Corpus
from heedful.data.manifest import TextRecord, check_files, read_manifest
from heedful.errors import CorpusError


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
    monkeypatch.setattr(corpus_files, "SHARD_IDS", shard_ids)
    pairs = random_pairs(100, largest=60_000 if id_type is np.uint16 else 2**31 - 1)
    corpus = Corpus(stored_corpus(tmp_path, pairs, id_type=id_type))
    assert len(corpus) == 100
    assert len(corpus.source.shards) > 1 or shard_ids > 100
    order = np.random.default_rng(2).integers(0, 100, 300)
    for side, number in ((corpus.source, 0), (corpus.target, 1)):
        ids, lengths = side.ids(order)
        assert ids.dtype == np.int32
        assert ids.tolist() == [id_ for place in order for id_ in pairs[place][number]]
        assert lengths.tolist() == [len(pairs[place][number]) for place in order]
    assert corpus.lengths.source.tolist() == [len(source) + 1 for source, _ in pairs]


def test_no_pair_is_no_ids(tmp_path: Path) -> None:
    ids, lengths = Corpus(stored_corpus(tmp_path, random_pairs(3))).source.ids(np.array([], np.int64))
    assert (len(ids), len(lengths)) == (0, 0)


def test_a_pair_knows_where_it_came_from_and_how_often_it_comes(tmp_path: Path) -> None:
    corpus = Corpus(stored_corpus(tmp_path, random_pairs(10)))
    assert corpus.origin(3) == ("b.tsv", 10)
    assert corpus.weights.tolist() == [1, 2.5, 1, 2.5, 1, 2.5, 1, 1, 2.5, 1]


def test_a_changed_shard_is_found_at_load_and_named(tmp_path: Path) -> None:
    path = stored_corpus(tmp_path, random_pairs(20)) / "train/source-00000.bin"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"is damaged.*\n  - train/source-00000\.bin: its contents have changed"):
        Corpus(tmp_path)
    Corpus(tmp_path, verify=False)


@pytest.mark.parametrize("verify", [True, False])
def test_truncated_and_missing_files_are_found_even_without_verification(tmp_path: Path, verify: bool) -> None:
    folder = stored_corpus(tmp_path, random_pairs(20))
    path = folder / "train/target-00000.bin"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-2])
    (folder / "train/lines.bin").unlink()
    with pytest.raises(CorpusError) as error:
        Corpus(folder, verify=verify)
    assert f"train/target-00000.bin: {size - 2:,} bytes where {size:,} were written" in str(error.value)
    assert "train/lines.bin: missing" in str(error.value)


def test_an_untouched_corpus_passes_the_check(tmp_path: Path) -> None:
    folder = stored_corpus(tmp_path, random_pairs(20))
    check_files(folder, read_manifest(folder), contents=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a prepared corpus: no manifest.json in it; `heedful prepare` makes one"),
        ("{", "is damaged, or not JSON: .*: prepare the corpus again"),
        ("[" * 200_000, "is damaged, or not JSON: it is nested too deeply: prepare the corpus again"),
        ("[]", "holds no JSON object: prepare the corpus again"),
        ('{"format": "other"}', "does not say that it is a heedful corpus"),
        ('{"format": "heedful corpus", "format_version": 99}', "format version 99; this heedful reads version 1"),
        (
            '{"format": "heedful corpus", "format_version": 1}',
            "damaged; prepare it again:\n  - manifest.json: it has no id_type",
        ),
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
        Corpus(stored_corpus(tmp_path, random_pairs(3)), "valid")


def test_the_manifest_names_every_file(tmp_path: Path) -> None:
    folder = stored_corpus(tmp_path, random_pairs(20))
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there == {*json.loads((folder / "manifest.json").read_text())["files"], "manifest.json"}


def test_the_texts_of_older_manifests_are_read_out_of_their_names(tmp_path: Path) -> None:
    names = ("x/a.en | x/a.de", "b.tsv.gz", "c.jsonl (en, de)")
    folder = stored_corpus(tmp_path, random_pairs(3), texts=tuple(TextRecord(name, 1.0) for name in names))
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["corpora"] = [
        {"name": record["name"], "weight": 1, "read": 1, "kept": 1} for record in manifest["corpora"]
    ]
    path.write_text(json.dumps(manifest))
    found = [(record.kind, record.paths, record.fields) for record in read_manifest(folder).corpora]
    assert found == [
        ("files", ("x/a.en", "x/a.de"), ()),
        ("tsv", ("b.tsv.gz",), ()),
        ("jsonl", ("c.jsonl",), ("en", "de")),
    ]


def test_fields_without_a_kind_are_not_believed(tmp_path: Path) -> None:
    texts = (TextRecord("a.en | a.de", 1.0, fields=("x", "y")), TextRecord("b.tsv", 1.0, fields=("x", "y")))
    found = read_manifest(stored_corpus(tmp_path, random_pairs(3), texts=texts)).corpora
    assert [record.fields for record in found] == [(), ()]


def _shard(manifest: dict) -> dict:
    return manifest["splits"]["train"]["source"]["shards"][0]


DAMAGE = {
    "a name outside the folder": lambda m: m["files"].update({"../x": {"bytes": 1, "sha256": ""}}),
    "a vocabulary outside the folder": lambda m: m["vocabularies"]["source"].update(folder="../config"),
    "another vocabulary": lambda m: m["vocabularies"]["source"].update(sha256="0"),
    "no vocabularies": lambda m: m.pop("vocabularies"),
    "no shards": lambda m: m["splits"]["train"]["source"].pop("shards"),
    "an empty list of shards": lambda m: m["splits"]["train"]["source"].update(shards=[]),
    "a shard elsewhere": lambda m: _shard(m).update(file="../../etc/passwd"),
    "the other side's shard": lambda m: _shard(m).update(file="train/target-00000.bin"),
    "a shard that begins later": lambda m: _shard(m).update(first_id=1),
    "no bytes": lambda m: m["files"]["train/lines.bin"].pop("bytes"),
    "bytes as text": lambda m: m["files"]["train/lines.bin"].update(bytes="80"),
    "no train": lambda m: m["splits"].update(other=m["splits"].pop("train")),
    "a weight that is no number": lambda m: m["corpora"][0].update(weight=float("nan")),
    "an endless weight": lambda m: m["corpora"][0].update(weight=float("inf")),
    "a huge weight": lambda m: m["corpora"][0].update(weight=10**400),
    "no text": lambda m: m.update(corpora=[]),
    "a text of one path and two fields": lambda m: m["corpora"][1].update(kind="tsv", paths=["b"], fields=["x", "y"]),
    "a text too few": lambda m: m["corpora"].pop(),
    "more pairs": lambda m: m["splits"]["train"].update(pairs=21),
    "fewer pairs than none": lambda m: m["splits"]["train"].update(pairs=-1),
    "very many pairs": lambda m: m["splits"]["train"].update(pairs=10**400),
    "more ids": lambda m: m["splits"]["train"]["source"].update(ids=10**30),
    "wider ids": lambda m: m.update(id_type="uint32"),
    "other ids": lambda m: m.update(id_type="float64"),
    "wider lengths": lambda m: m["splits"]["train"]["target"].update(length_type="uint32"),
    "a larger vocabulary": lambda m: m["vocabularies"]["target"].update(size=1 << 17),
    "a smaller vocabulary": lambda m: m["vocabularies"]["target"].update(size=300),
    "a list for an object": lambda m: m.update(splits=[]),
    "null": lambda m: m.update(files=None),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_manifest_is_refused_and_says_what_to_do(tmp_path: Path, damage: str) -> None:
    folder = stored_corpus(tmp_path, random_pairs(20))
    Corpus(folder)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    DAMAGE[damage](manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(CorpusError, match=r"is damaged; prepare it again:\n  - "):
        Corpus(folder)


def test_files_that_do_not_fit_each_other_are_named_even_without_verification(tmp_path: Path) -> None:
    folder = stored_corpus(tmp_path, random_pairs(20))
    path = folder / "train" / "source-lengths.bin"
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(CorpusError, match=r"train/source-offsets\.bin: does not fit train/source-lengths\.bin"):
        Corpus(folder, verify=False)
