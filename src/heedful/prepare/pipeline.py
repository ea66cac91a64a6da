"""`prepare`: read → clean → learn subwords → encode → store, in two passes that never hold the corpus in memory.

The first pass reads and cleans and puts the text aside on disk; the second encodes it. Between the two, duplicates are
found by their hashes and the vocabulary is learned from what is left.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from heedful import __version__
from heedful.background import Report
from heedful.data.corpus import stored_file
from heedful.data.manifest import (
    MANIFEST,
    SIDES,
    Manifest,
    StoredFile,
    StoredVocabularies,
    StoredVocabulary,
    read_manifest,
    write_manifest,
)
from heedful.errors import CorpusError, TextError
from heedful.files import new_folder, reason, require_only_ours, write_json
from heedful.prepare.encoding import (
    Again,
    Encoded,
    Vocabularies,
    encoded_text,
    given_vocabularies,
    new_vocabularies,
)
from heedful.prepare.gathering import Gathered, Spool, gathered_text
from heedful.prepare.report import characters_report, lengths_report, rules_report, vocabulary_report
from heedful.prepare.request import Request
from heedful.text.cleaning import Rules, first_of_each
from heedful.text.reading import require_readable

REPORT = "report.json"


def prepare(
    request: Request, *, output: Path, overwrite: bool = False, progress: Report | None = None
) -> dict[str, Any]:
    """Make the prepared corpus ``output`` and return its report."""
    tell = progress or (lambda *_: None)
    for path in request.files:
        require_readable(path)
    ready = given_vocabularies(request.tokenizer) if request.tokenizer else None
    judging_validation = _validation_rules(request)
    with (
        _new_corpus(output, request, overwrite=overwrite) as folder,
        Spool(folder / "validation.spool") as validation_spool,
        Spool(folder / "train.spool") as spool,
    ):
        validation = gathered_text(
            request, corpora=request.validation, spool=validation_spool, rules=judging_validation, tell=tell
        )
        if request.validation:
            _require_some(validation, validation_spool.pairs, "validation pairs")
        first = gathered_text(
            request, corpora=request.corpora, spool=spool, rules=request.rules, tell=tell, validation=validation
        )
        kept = first_of_each(first.hashes) if request.rules.judges("duplicate") else np.ones(spool.pairs, bool)
        first.hashes = first.hashes[:0]  # a hundred megabytes and more that learning needs
        vocabularies = ready or new_vocabularies(
            request, spool, kept, reached=lambda done: tell("learning subwords from", done, spool.pairs)
        )
        common = {"vocabularies": vocabularies, "folder": folder, "tell": tell}
        again = Again(request, vocabularies) if request.bpe_dropout else None
        splits = {"train": encoded_text(first, kept=kept, rules=request.rules, split="train", again=again, **common)}
        if request.validation:
            everything = np.ones(validation_spool.pairs, bool)
            splits["valid"] = encoded_text(
                validation, kept=everything, rules=judging_validation, split="valid", **common
            )
            _require_some(validation, splits["valid"].kept, "validation pairs")
        _require_some(first, splits["train"].kept, "pairs")
        report = _report(request, first, validation, vocabularies, splits)
        spool.remove()
        validation_spool.remove()
        _finish(folder, request, report, vocabularies, splits)
    return report


@contextlib.contextmanager
def _new_corpus(output: Path, request: Request, *, overwrite: bool) -> Iterator[Path]:
    """A folder to fill that becomes the corpus ``output``; only a corpus is replaced, and nothing else with it."""
    try:
        place = output.resolve()
    except (OSError, RuntimeError) as error:  # the current folder is gone, or links lead in a circle
        raise CorpusError(f"{output} cannot be made: {reason(error)}") from None
    with new_folder(place, error=CorpusError, doing="preparing") as folder:
        _require_replaceable(place, request, overwrite=overwrite)
        yield folder


def _require_replaceable(place: Path, request: Request, *, overwrite: bool) -> None:
    if place.exists() and not place.is_dir():
        raise CorpusError(f"{place} is a file; give the name of a folder that does not exist yet")
    if not place.exists() or not any(place.iterdir()):
        return
    if not (place / MANIFEST).is_file():
        raise CorpusError(f"{place} holds other files and is not a prepared corpus: give another folder")
    if not overwrite:
        raise CorpusError(f"{place} is there already; --overwrite replaces it")
    if inside := [path for path in request.files if path.resolve().is_relative_to(place)]:
        raise CorpusError(f"{inside[0]} is to be read and lies in {place}, which would be removed: give another folder")
    try:
        ours = {MANIFEST, *read_manifest(place).files}
    except CorpusError as error:
        raise CorpusError(
            f"nothing says what is in {place}, so it stays: remove it yourself, or give another folder. {error}"
        ) from None
    require_only_ours(place, ours=ours, error=CorpusError, what="corpus")


def _require_some(gathered: Gathered, kept: int, what: str) -> None:
    if not kept:
        found = ", ".join(f"{name} {entry.count:,}" for name, entry in gathered.ledger.removed.items() if entry.count)
        removed = found or "the files are empty"
        raise TextError(f"none of {sum(gathered.read):,} {what} is left after cleaning: {removed}")


def _validation_rules(request: Request) -> Rules:
    """Validation text is taken as it is; only what cannot be used is left out."""
    keep = frozenset({"identical", "validation", "excluded", "duplicate", "ratio"}) | (request.rules.keep & {"empty"})
    return Rules(keep=keep, max_length=request.rules.max_length, max_ratio=request.rules.max_ratio)


def _report(
    request: Request, first: Gathered, validation: Gathered, vocabularies: Vocabularies, splits: dict[str, Encoded]
) -> dict[str, Any]:
    train, valid = splits["train"], splits.get("valid")
    report: dict[str, Any] = {
        "heedful": __version__,
        "pairs": {"read": sum(first.read), "kept": train.kept},
        "corpora": [dataclasses.asdict(record) for record in train.texts],
        "rules": rules_report(first.ledger, request.rules),
        "exclude": [
            {"file": str(found.path), "texts": found.texts, "found": found.found} for found in first.exclusions
        ],
        "vocabulary": {},
        "lengths": {},
        "characters": {},
    }
    for side in SIDES:
        size = {"size": vocabularies.of(side).vocab_size}
        counts = train.counts[side], valid.counts[side] if valid else None
        report["vocabulary"][side] = vocabulary_report(*counts, trained=size | vocabularies.trained)
        report["lengths"][side] = lengths_report(counts[0].lengths)
        report["characters"][side] = characters_report(*counts)
    report["vocabulary"]["shared"] = vocabularies.source is vocabularies.target
    if valid:
        report["validation"] = {
            "pairs": {"read": sum(validation.read), "kept": valid.kept},
            "corpora": [dataclasses.asdict(record) for record in valid.texts],
            "rules": rules_report(validation.ledger, _validation_rules(request)),
            "lengths": {side: lengths_report(valid.counts[side].lengths) for side in SIDES},
        }
    report["notes"] = list(vocabularies.notes)
    if request.bpe_dropout:
        report["notes"].append(
            f"each training pair is stored {request.copies:,} times with its words cut anew: "
            f"BPE-dropout {request.bpe_dropout:g}; tokens and lengths above are of all copies"
        )
    return report


def _finish(
    folder: Path, request: Request, report: dict[str, Any], vocabularies: Vocabularies, splits: dict[str, Encoded]
) -> None:
    """Write the small files; the manifest last."""
    files: dict[str, StoredFile] = {}
    entries: dict[str, StoredVocabulary] = {}
    for side in SIDES:
        name, subwords = vocabularies.folders[side], vocabularies.of(side)
        path = subwords.save(folder / name)
        files[f"{name}/{path.name}"] = stored_file(path)
        entries[side] = StoredVocabulary(name, subwords.vocab_size, subwords.sha256)
    write_json(folder / REPORT, report)
    files[REPORT] = stored_file(folder / REPORT)
    for split in splits.values():
        files |= split.files
    manifest = Manifest(
        id_type=vocabularies.id_type_name,
        vocabularies=StoredVocabularies(**entries),
        corpora=splits["train"].texts,
        validation=splits["valid"].texts if "valid" in splits else (),
        configuration=request.record(),
        splits={name: split.stored for name, split in splits.items()},
        files=files,
        heedful=__version__,
    )
    write_manifest(folder, manifest)
