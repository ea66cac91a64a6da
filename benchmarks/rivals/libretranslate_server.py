"""LibreTranslate's own server with models of ours: in an environment with libretranslate, protobuf and spacy.

    PYTHON benchmarks/rivals/libretranslate_server.py FOLDER PORT THREADS

``FOLDER`` has a folder ``FROM_TO`` for each direction, as `heedful export --to ctranslate2` writes them. The server's
own models cannot be had without a network, so ours become packages of Argos Translate: their subwords as a model of
sentencepiece, in which a piece is worth what its place among the merges says, so that it cuts English and German as
ours are cut. Sentences are found by spaCy's rules, which need no model. What is set is what the server's authors let
one set: int8, the threads, and batches of 512 subwords instead of 32.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path


def bytes_of_letters() -> dict[str, int]:
    """Which byte a letter of byte-level subwords stands for: a printable one itself, the others those from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}


def pieces_of(subwords: Sequence[str]) -> Iterator[str]:
    """Sentencepiece's names; a subword that is no text of its own gets one that no text has."""
    letters = bytes_of_letters()
    for number, subword in enumerate(subwords):
        if number < 3:  # padding, which stands for what is unknown, begin, end
            yield subword
            continue
        piece = bytes(letters[letter] for letter in subword).decode(errors="ignore").replace(" ", "▁")
        whole = len(piece.replace("▁", " ").encode()) == len(subword)
        yield piece if whole and piece.isprintable() else f"<{number}>"


def write_package(exported: Path, packages: Path) -> None:
    """A package of Argos Translate around an exported model."""
    from sentencepiece import sentencepiece_model_pb2  # pyright: ignore[reportMissingImports]

    source, target = exported.name.split("_")
    package = packages / f"translate-{exported.name}"
    package.mkdir(parents=True)
    (package / "model").symlink_to(exported.resolve())
    vocabulary = exported / "shared_vocabulary.json"
    pieces = list(pieces_of(json.loads(vocabulary.read_text())))
    vocabulary.write_text(json.dumps(pieces))
    model = sentencepiece_model_pb2.ModelProto()
    kinds = {0: 2, 1: 3, 2: 3}  # unknown, control, control; the others are text
    for number, piece in enumerate(pieces):
        model.pieces.add(piece=piece if number else "<unk>", score=-float(number), type=kinds.get(number, 1))
    model.trainer_spec.model_type = 2  # byte-pair encoding
    model.trainer_spec.pad_id = -1
    model.normalizer_spec.name = "identity"
    (package / "sentencepiece.model").write_bytes(model.SerializeToString())
    names = {"from_code": source, "from_name": source, "to_code": target, "to_name": target}
    (package / "metadata.json").write_text(json.dumps({"package_version": "1.0", "argos_version": "1.0", **names}))


def main(folder: Path, port: str, threads: str) -> None:
    for kind in ("DATA", "CACHE", "CONFIG"):
        os.environ[f"XDG_{kind}_HOME"] = str(folder / kind.lower())
    os.environ |= {"ARGOS_CHUNK_TYPE": "SPACY", "ARGOS_COMPUTE_TYPE": "int8", "ARGOS_BATCH_SIZE": "512"}
    os.environ["ARGOS_INTRA_THREADS"] = threads
    for exported in sorted(folder.glob("??_??")):
        write_package(exported, folder / "data" / "argos-translate" / "packages")
    import spacy  # pyright: ignore[reportMissingImports]

    rules = folder / "cache" / "argos-translate" / "spacy"  # where a model that was fetched would lie
    rules.parent.mkdir(parents=True)
    spacy.blank("xx").to_disk(rules)
    (rules / "senter").mkdir()
    (rules / "senter" / "model").touch()
    sys.argv = ["libretranslate", "--port", port, "--disable-web-ui"]
    sys.stdout = sys.stderr
    from libretranslate.main import main as serve  # pyright: ignore[reportMissingImports]

    serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
