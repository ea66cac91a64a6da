"""`prepare`: read → clean → learn subwords → encode → store, in two passes that never hold the corpus in memory.

The first pass reads and cleans and puts the text aside on disk; the second encodes it. Between the two, duplicates are
found by their hashes and the vocabulary is learned from what is left.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful import __version__
from heedful.background import Report, no_report
from heedful.data.corpus import stored_file
from heedful.data.manifest import (
    MANIFEST,
    SIDES,
    Manifest,
    StoredVocabularies,
    StoredVocabulary,
    read_manifest,
    write_manifest,
)
from heedful.errors import CorpusError, TextError
from heedful.files import new_folder, require_only_ours, write_json
from heedful.prepare.augmenting import Augmentation
from heedful.prepare.encoding import (
    Encoded,
    Vocabularies,
    characters_report,
    encoded_text,
    given_vocabularies,
    lengths_report,
    new_vocabularies,
    vocabulary_report,
)
from heedful.prepare.gathering import Gathered, Spool, gathered_text
from heedful.prepare.held_out import HeldOut, hold_out, write_text
from heedful.prepare.request import Request
from heedful.text.augmentation import KINDS, is_english
from heedful.text.bpe_dropout import RandomCuts
from heedful.text.cleaning import RULES, Ledger, Rules, first_of_each
from heedful.text.profile import PROFILE, Profile, profile_of, write_profile
from heedful.text.reading import require_readable
from heedful.text.subwords import Subwords

_REPORT = "report.json"
_PROFILED_PAIRS = 50_000
"""Of which the words are counted for the profile, about: more tell nothing new."""


@dataclass(frozen=True)
class _Clean:
    """The text after the first pass."""

    train: Gathered
    validation: Gathered
    unique: np.ndarray
    """For each pair to train on whether it stood there for the first time."""
    held_out: HeldOut | None

    @property
    def kept(self) -> np.ndarray:
        """Which pairs are trained on."""
        return self.unique & self.held_out.train if self.held_out else self.unique


def prepare(request: Request, *, output: Path, overwrite: bool = False, progress: Report = no_report) -> dict[str, Any]:
    """Make the prepared corpus ``output`` and return its report."""
    for path in request.files:
        require_readable(path)
    ready = given_vocabularies(request.tokenizer, task=request.task) if request.tokenizer else None
    with (
        new_folder(output, error=CorpusError, doing="preparing") as folder,
        Spool(folder / "validation.spool") as validation_spool,
        Spool(folder / "train.spool") as spool,
    ):
        _require_replaceable(output.resolve(), request, overwrite=overwrite)
        clean = _first_pass(request, spool, validation_spool, progress)
        augmentation = _augmentation(request, clean)
        untagged = ready or new_vocabularies(
            request,
            spool,
            clean.kept,
            augmentation=augmentation,
            reached=lambda done: progress("learning subwords from", done, spool.pairs),
        )
        vocabularies = untagged.with_tags(request.all_tags)
        splits = _second_pass(request, clean, vocabularies, augmentation, folder, progress)
        report = _report(request, clean, vocabularies, splits)
        texts = write_text(folder, clean.held_out) if clean.held_out else []
        write_profile(folder, _profile(clean, splits["train"]))
        _finish(folder, request, report, vocabularies, splits, texts)
    return report


def _first_pass(request: Request, spool: Spool, validation_spool: Spool, tell: Report) -> _Clean:
    rules = _validation_rules(request)
    validation = gathered_text(request.validation, request, spool=validation_spool, rules=rules, tell=tell)
    if request.validation:
        _require_some(validation, validation_spool.pairs, "validation pairs")
    train = gathered_text(request.corpora, request, spool=spool, rules=request.rules, tell=tell, validation=validation)
    unique = first_of_each(train.hashes) if request.rules.judges("duplicate") else np.ones(spool.pairs, bool)
    train.hashes = train.hashes[:0]  # a hundred megabytes and more that learning needs
    held_out = _held_out(request, train, unique)
    if held_out and request.valid_pairs:
        validation = _validation_of(train, held_out, validation_spool, request)
    return _Clean(train, validation, unique, held_out)


def _augmentation(request: Request, clean: _Clean) -> Augmentation | None:
    """What versions the text gets, none of which may be a text that is kept from training."""
    rates = {kind: rate for kind, rate in request.augment.items() if rate}
    if not rates:
        return None
    aside = itertools.chain(*(clean.held_out.blocks.values() if clean.held_out else ()))
    blocks = [*clean.validation.spool.blocks(), *aside]
    secret = (clean.train.excluded.union(*(block.texts[side] for block in blocks)) for side in SIDES)
    to_english = is_english(target for _, target in _sample(clean))
    return Augmentation(rates, request.seed, to_english=to_english, secret=tuple(secret))


def _second_pass(
    request: Request,
    clean: _Clean,
    vocabularies: Vocabularies,
    augmentation: Augmentation | None,
    folder: Path,
    tell: Report,
) -> dict[str, Encoded]:
    storing: dict[str, Any] = {"vocabularies": vocabularies, "folder": folder, "tell": tell}
    again = {"copies": request.copies, "cuts": _random_cuts(request, vocabularies), "augmentation": augmentation}
    told = {"kept": clean.kept, "duplicates": ~clean.unique}
    splits = {"train": encoded_text(clean.train, **told, rules=request.rules, split="train", **again, **storing)}
    if pairs := clean.validation.spool.pairs:
        told = {"kept": np.ones(pairs, bool), "duplicates": np.zeros(pairs, bool)}
        rules = _validation_rules(request)
        splits["valid"] = encoded_text(clean.validation, **told, rules=rules, split="valid", **storing)
        _require_some(clean.validation, splits["valid"].kept, "validation pairs")
    _require_some(clean.train, splits["train"].kept, "pairs")
    return splits


def _profile(clean: _Clean, train: Encoded) -> Profile:
    """What the training text is like, without versions: all its characters, and the words of some of its lines."""
    counts = {side: train.counts[side].characters for side in SIDES}
    characters = {
        side: {chr(code): int(count[code]) for code in np.flatnonzero(count)} for side, count in counts.items()
    }
    return profile_of(_sample(clean), characters)


def _sample(clean: _Clean) -> Iterator[tuple[str, str]]:
    """An even sample of the pairs that are trained on."""
    places = np.flatnonzero(clean.kept)
    for _, block in clean.train.spool.chosen(places[:: max(1, len(places) // _PROFILED_PAIRS)]):
        yield from block.pairs


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


def _held_out(request: Request, first: Gathered, unique: np.ndarray) -> HeldOut | None:
    if not (request.test_pairs or request.valid_pairs):
        return None
    real = unique
    if any(text.tag for text in first.corpora):  # what a model wrote tests nothing
        real = unique & np.concatenate(
            [np.full(len(one), not first.corpora[one.corpus].tag) for one in first.spool.blocks()]
        )
    return hold_out(request, first, unique, drawn_from=real)


def _validation_of(first: Gathered, held_out: HeldOut, spool: Spool, request: Request) -> Gathered:
    """The pairs that were put aside for it, as if they had been given as text of their own."""
    read = [0] * len(first.corpora)
    for block in held_out.blocks["valid"]:
        spool.add(block)
        read[block.corpus] += len(block)
    return dataclasses.replace(first, spool=spool, ledger=Ledger(seed=request.seed), read=read, exclusions=[])


def _random_cuts(request: Request, vocabularies: Vocabularies) -> dict[str, RandomCuts] | None:
    if not request.bpe_dropout:
        return None
    return {
        side: RandomCuts(subwords, dropout=request.bpe_dropout, seed=2 * request.seed + number)
        for number, (side, subwords) in enumerate(vocabularies.sides.items())
        if isinstance(subwords, Subwords)
    }


def _require_some(gathered: Gathered, kept: int, what: str) -> None:
    if not kept:
        found = ", ".join(f"{name} {entry.count:,}" for name, entry in gathered.ledger.entries.items() if entry.count)
        removed = found or "the files are empty"
        raise TextError(f"none of {sum(gathered.read):,} {what} is left after cleaning: {removed}")


def _validation_rules(request: Request) -> Rules:
    """Validation text is taken as it is; only what cannot be used is left out."""
    keep = frozenset({"identical", "validation", "excluded", "duplicate", "ratio"}) | (request.rules.keep & {"empty"})
    return Rules(keep=keep, max_length=request.rules.max_length, max_ratio=request.rules.max_ratio)


def _report(request: Request, clean: _Clean, vocabularies: Vocabularies, splits: dict[str, Encoded]) -> dict[str, Any]:
    first, validation = clean.train, clean.validation
    train, valid = splits["train"], splits.get("valid")
    report: dict[str, Any] = {
        "heedful": __version__,
        "pairs": {"read": sum(first.read), "kept": train.kept},
        "corpora": [dataclasses.asdict(record) for record in train.texts],
        "rules": _rules_report(first.ledger, request.rules),
        "exclude": first.exclusions,
        "augmented": _augmented_report(train.added, request.augment),
        "vocabulary": {},
        "lengths": {},
        "characters": {},
    }
    for side in SIDES:
        size = {"size": vocabularies.sides[side].vocab_size}
        counts = train.counts[side], valid.counts[side] if valid else None
        report["vocabulary"][side] = vocabulary_report(*counts, trained=size | vocabularies.trained)
        report["lengths"][side] = lengths_report(counts[0].lengths)
        report["characters"][side] = characters_report(*counts)
    report["vocabulary"]["shared"] = vocabularies.shared
    if valid:
        report["validation"] = {
            "pairs": {"read": sum(validation.read), "kept": valid.kept},
            "corpora": [dataclasses.asdict(record) for record in valid.texts],
            "rules": _rules_report(validation.ledger, _validation_rules(request)),
            "lengths": {side: lengths_report(valid.counts[side].lengths) for side in SIDES},
        }
    if clean.held_out:
        report["held_out"] = clean.held_out.report()
    report["notes"] = list(vocabularies.notes)
    if request.bpe_dropout:
        report["notes"].append(
            f"each training pair is stored {request.copies:,} times with its words cut anew: "
            f"BPE-dropout {request.bpe_dropout:g}; tokens and lengths above are of all copies"
        )
    return report


def _rules_report(ledger: Ledger, rules: Rules) -> dict[str, Any]:
    """Every rule in its order: whether it judged, how many pairs it removed, and samples."""
    return {
        name: {
            "about": about,
            "on": rules.judges(name),
            "removed": ledger.entries[name].count,
            "samples": ledger.entries[name].samples,
        }
        for name, about in RULES.items()
    }


def _augmented_report(added: Ledger, rates: Mapping[str, float]) -> dict[str, Any]:
    """For each kind of versions what it is, its rate, how many were added, and samples."""
    return {
        kind: {"about": KINDS[kind], "rate": rates[kind], "added": entry.count, "samples": entry.samples}
        for kind, entry in added.entries.items()
    }


def _finish(
    folder: Path,
    request: Request,
    report: dict[str, Any],
    vocabularies: Vocabularies,
    splits: dict[str, Encoded],
    texts: list[str],
) -> None:
    """Write the small files; the manifest last. ``texts``: files that are there already."""
    files = {name: stored_file(folder / name) for name in texts}
    entries: dict[str, StoredVocabulary] = {}
    for side in SIDES:
        name, subwords = vocabularies.folders[side], vocabularies.sides[side]
        path = subwords.save(folder / name)
        files[f"{name}/{path.name}"] = stored_file(path)
        entries[side] = StoredVocabulary(name, subwords.vocab_size, subwords.sha256)
    write_json(folder / _REPORT, report)
    files |= {name: stored_file(folder / name) for name in (_REPORT, PROFILE)}
    for split in splits.values():
        files |= split.files
    manifest = Manifest(
        id_type=vocabularies.id_type,
        vocabularies=StoredVocabularies(**entries),
        corpora=splits["train"].texts,
        validation=splits["valid"].texts if "valid" in splits else (),
        configuration=request.record(),
        splits={name: split.stored for name, split in splits.items()},
        files=files,
        heedful=__version__,
        task=request.task.name,
    )
    write_manifest(folder, manifest)
