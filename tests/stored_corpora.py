"""Prepared corpora of ids alone: what tests of readers need, without text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from heedful.data.corpus import SplitWriter, stored_file
from heedful.data.manifest import Manifest, StoredVocabularies, StoredVocabulary, TextRecord, write_manifest

TEXTS = (TextRecord("a.en | a.de", 1.0), TextRecord("b.tsv", 2.5))


def stored_corpus(
    folder: Path,
    pairs: list[tuple[list[int], list[int]]],
    *,
    id_type: type[np.uint16] | type[np.uint32] = np.uint16,
    block: int = 7,
    texts: tuple[TextRecord, ...] = TEXTS,
) -> Path:
    """A prepared corpus with these ids, of each text in turn; its texts are named as older manifests do."""
    writer = SplitWriter(folder, split="train", id_type=id_type)
    for start in range(0, len(pairs), block):
        some = pairs[start : start + block]
        writer.add(
            source=[np.array(source, id_type).tobytes() for source, _ in some],
            target=[np.array(target, id_type).tobytes() for _, target in some],
            lines=np.arange(start, start + len(some)) * 3 + 1,
            corpora=np.array([place % len(texts) for place in range(len(some))]),
        )
    split = writer.close()
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "tokenizer.json").write_text("{}")
    (folder / "report.json").write_text("{}")
    small = {name: stored_file(folder / name) for name in ("tokenizer/tokenizer.json", "report.json")}
    size = 1 << 16 if id_type is np.uint16 else 1 << 31
    vocabulary = StoredVocabulary("tokenizer", size, small["tokenizer/tokenizer.json"].sha256)
    manifest = Manifest(
        id_type="uint16" if id_type is np.uint16 else "uint32",
        vocabularies=StoredVocabularies(vocabulary, vocabulary),
        corpora=texts,
        splits={"train": split},
        files={**writer.files, **small},
    )
    write_manifest(folder, manifest)
    return folder
