"""`prepare`: read → clean → learn subwords → encode → store, in two passes that never hold the corpus in memory.

The first pass reads and cleans and puts the text aside on disk; the second encodes it. Between the two, duplicates are
found by their hashes and the vocabulary is learned from what is left.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from heedful import __version__
from heedful.data.corpus_writer import stored_file
from heedful.data.folder import new_folder
from heedful.data.manifest import (
    SIDES,
    Manifest,
    StoredFile,
    StoredVocabularies,
    StoredVocabulary,
    TextRecord,
    write_manifest,
)
from heedful.errors import TextError
from heedful.files import write_json
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
from heedful.prepare.request import Progress, Request
from heedful.text.cleaning import Rules, first_of_each
from heedful.text.reading import require_readable

REPORT = "report.json"


def prepare(
    request: Request, *, output: Path, overwrite: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Make the prepared corpus ``output`` and return its report."""
    tell = progress or (lambda *_: None)
    for path in (
        *(path for corpus in (*request.corpora, *request.validation) for path in corpus.paths),
        *request.exclude,
    ):
        require_readable(path)
    ready = given_vocabularies(request.tokenizer) if request.tokenizer else None
    judging_validation = _validation_rules(request)
    with (
        new_folder(output, overwrite=overwrite) as folder,
        Spool(folder / "validation.spool") as validation_spool,
        Spool(folder / "train.spool") as spool,
    ):
        validation = gathered_text(
            request, corpora=request.validation, spool=validation_spool, rules=judging_validation, tell=tell
        )
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
        gathered = {"train": first, "valid": validation}
        records = {name: _records(gathered[name], split) for name, split in splits.items()}
        report = _report(request, gathered, vocabularies, splits, records)
        spool.remove()
        validation_spool.remove()
        _finish(folder, request, report, vocabularies, splits, records)
    return report


def _validation_rules(request: Request) -> Rules:
    """Validation text is taken as it is; only what cannot be used is left out."""
    keep = frozenset({"identical", "validation", "excluded", "duplicate", "ratio"}) | (request.rules.keep & {"empty"})
    return Rules(keep=keep, max_length=request.rules.max_length, max_ratio=request.rules.max_ratio)


def _report(
    request: Request,
    gathered: dict[str, Gathered],
    vocabularies: Vocabularies,
    splits: dict[str, Encoded],
    records: dict[str, tuple[TextRecord, ...]],
) -> dict[str, Any]:
    first, validation = gathered["train"], gathered["valid"]
    train, valid = splits["train"], splits.get("valid")
    kept = sum(train.kept)
    if not kept:
        found = ", ".join(f"{name} {entry.count:,}" for name, entry in first.ledger.removed.items() if entry.count)
        raise TextError(f"none of {sum(first.read):,} pairs is left after cleaning: {found or 'the files are empty'}")
    report: dict[str, Any] = {
        "heedful": __version__,
        "pairs": {"read": sum(first.read), "kept": kept},
        "corpora": [dataclasses.asdict(record) for record in records["train"]],
        "rules": rules_report(first.ledger, request.rules),
        "vocabulary": {},
        "lengths": {},
        "characters": {},
    }
    for side in ("source", "target"):
        size = {"size": (vocabularies.source if side == "source" else vocabularies.target).vocab_size}
        counts = train.counts[side], valid.counts[side] if valid else None
        report["vocabulary"][side] = vocabulary_report(*counts, trained=size | vocabularies.trained)
        report["lengths"][side] = lengths_report(counts[0].lengths)
        report["characters"][side] = characters_report(*counts)
    report["vocabulary"]["shared"] = vocabularies.source is vocabularies.target
    if valid:
        report["validation"] = {
            "pairs": {"read": sum(validation.read), "kept": sum(valid.kept)},
            "corpora": [dataclasses.asdict(record) for record in records["valid"]],
            "rules": rules_report(validation.ledger, _validation_rules(request)),
            "lengths": {side: lengths_report(valid.counts[side].lengths) for side in ("source", "target")},
        }
    report["notes"] = list(vocabularies.notes)
    if request.bpe_dropout:
        report["notes"].append(
            f"each training pair is stored {request.copies:,} times with its words cut anew: "
            f"BPE-dropout {request.bpe_dropout:g}; tokens and lengths above are of all copies"
        )
    return report


def _records(gathered: Gathered, encoded: Encoded) -> tuple[TextRecord, ...]:
    return tuple(
        TextRecord(text.name, text.weight, read, kept, text.kind, tuple(map(str, text.paths)), text.fields)
        for text, read, kept in zip(gathered.corpora, gathered.read, encoded.kept, strict=True)
    )


def _finish(
    folder: Path,
    request: Request,
    report: dict[str, Any],
    vocabularies: Vocabularies,
    splits: dict[str, Encoded],
    records: dict[str, tuple[TextRecord, ...]],
) -> None:
    """Write the small files; the manifest last."""
    files: dict[str, StoredFile] = {}
    entries: dict[str, StoredVocabulary] = {}
    for side in SIDES:
        name, subwords = vocabularies.folders[side], getattr(vocabularies, side)
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
        corpora=records["train"],
        validation=records.get("valid", ()),
        configuration=request.record(),
        splits={name: split.stored for name, split in splits.items()},
        files=files,
        heedful=__version__,
    )
    write_manifest(folder, manifest)
