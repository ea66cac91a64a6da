"""`prepare`: read → clean → learn subwords → encode → store, in two passes that never hold the corpus in memory.

The first pass reads and cleans and puts the text aside on disk; the second encodes it. Between the two, duplicates are
found by their hashes and the vocabulary is learned from what is left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from heedful import __version__
from heedful.data.corpus_writer import file_entry, write_json, write_manifest
from heedful.data.folder import new_folder
from heedful.errors import TextError
from heedful.prepare.passes import Again, Encoded, Gathered, encoded_text, gathered_text
from heedful.prepare.report import characters_report, lengths_report, rules_report, vocabulary_report
from heedful.prepare.request import Progress, Request
from heedful.prepare.spool import Spool
from heedful.prepare.vocabulary import Vocabularies, given_vocabularies, new_vocabularies
from heedful.text.cleaning import Rules, first_of_each
from heedful.text.reading import require_readable


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
        report = _report(request, first, validation, vocabularies, splits)
        spool.remove()
        validation_spool.remove()
        _finish(folder, request, report, vocabularies, splits)
    return report


def _validation_rules(request: Request) -> Rules:
    """Validation text is taken as it is; only what cannot be used is left out."""
    keep = frozenset({"identical", "validation", "excluded", "duplicate", "ratio"}) | (request.rules.keep & {"empty"})
    return Rules(keep=keep, max_length=request.rules.max_length, max_ratio=request.rules.max_ratio)


def _report(
    request: Request, first: Gathered, validation: Gathered, vocabularies: Vocabularies, splits: dict[str, Encoded]
) -> dict[str, Any]:
    train, valid = splits["train"], splits.get("valid")
    kept = sum(train.kept)
    if not kept:
        found = ", ".join(f"{name} {entry.count:,}" for name, entry in first.ledger.removed.items() if entry.count)
        raise TextError(f"none of {sum(first.read):,} pairs is left after cleaning: {found or 'the files are empty'}")
    report: dict[str, Any] = {
        "heedful": __version__,
        "pairs": {"read": sum(first.read), "kept": kept},
        "corpora": _corpora(first, train),
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
            "corpora": _corpora(validation, valid),
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


def _corpora(gathered: Gathered, encoded: Encoded) -> list[dict[str, Any]]:
    return [
        {"name": corpus.name, "weight": corpus.weight, "read": read, "kept": kept}
        for corpus, read, kept in zip(gathered.corpora, gathered.read, encoded.kept, strict=True)
    ]


def _finish(
    folder: Path, request: Request, report: dict[str, Any], vocabularies: Vocabularies, splits: dict[str, Encoded]
) -> None:
    """The small files; the manifest last."""
    files: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    for side, name in vocabularies.folders.items():
        subwords = vocabularies.source if side == "source" else vocabularies.target
        path = subwords.save(folder / name)
        files[f"{name}/{path.name}"] = file_entry(path)
        entries[side] = {"folder": name, "size": subwords.vocab_size, "sha256": subwords.sha256}
    files["report.json"] = write_json(folder, "report.json", report)
    for split in splits.values():
        files |= split.files
    manifest = {
        "heedful": __version__,
        "id_type": np.dtype(vocabularies.id_type).name,
        "vocabularies": entries,
        "configuration": request.describe(),
        "corpora": report["corpora"],
        "validation": report.get("validation", {}).get("corpora", []),
        "splits": {name: split.entry for name, split in splits.items()},
        "files": files,
    }
    write_manifest(folder, manifest)
