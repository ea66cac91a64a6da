"""``heedful prepare``."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.options import AsJson, Flag, Overwrite, Repeated, Seed, more, number
from heedful.cli.terminal import console, plain_table, print_json, progress, visible
from heedful.config import DataConfig
from heedful.data.manifest import SIDES
from heedful.errors import TextError
from heedful.files import without_compression
from heedful.prepare.pipeline import prepare as make_corpus
from heedful.prepare.request import BOUNDS, SAMPLE_PAIRS, Request
from heedful.runs.folder import bundled_models
from heedful.tasks import PARSING, TASKS, Task
from heedful.text import pairs
from heedful.text.augmentation import KINDS
from heedful.text.cleaning import Rules
from heedful.text.pairs import ParallelText

_Names = tuple[str, ...]
_JSON_LINES = (".jsonl", ".ndjson")
_LONGEST = 40
"""Characters of an example that are shown."""
_MORE_TREES = more("about trees")
_MORE_TEXT, _MORE_CLEANING, _MORE_SUBWORDS = map(more, ("about the text", "about cleaning", "about the subwords"))


def prepare(
    *files: str,
    output: Path,
    source: Repeated = (),
    target: Repeated = (),
    tsv: Repeated = (),
    jsonl: Repeated = (),
    task: Annotated[Literal["translation", "parsing"] | None, _MORE_TREES] = None,
    trees: Annotated[Repeated, _MORE_TREES] = (),
    columns: str | None = None,
    source_field: Annotated[str, _MORE_TEXT] = "source",
    target_field: Annotated[str, _MORE_TEXT] = "target",
    valid_source: Repeated = (),
    valid_target: Repeated = (),
    valid_tsv: Repeated = (),
    valid_jsonl: Annotated[Repeated, _MORE_TEXT] = (),
    valid_trees: Annotated[Repeated, _MORE_TREES] = (),
    valid_pairs: Annotated[int, number(BOUNDS["valid_pairs"], whole=True)] = 0,
    test_pairs: Annotated[int, number(BOUNDS["test_pairs"], whole=True)] = 0,
    exclude: Repeated = (),
    augment: Annotated[Repeated, Parameter(consume_multiple=True)] = (),
    tag: Annotated[Repeated, _MORE_TEXT] = (),
    vocab_size: Annotated[int | None, number(BOUNDS["vocab_size"], whole=True)] = None,
    separate_vocabularies: Annotated[Flag, _MORE_SUBWORDS] = False,
    tokenizer: Path | None = None,
    max_length: Annotated[int, number(BOUNDS["max_length"], whole=True), _MORE_CLEANING] = DataConfig.max_length,
    max_ratio: Annotated[float, number(BOUNDS["max_ratio"]), _MORE_CLEANING] = DataConfig.max_ratio,
    keep: Annotated[Repeated, _MORE_CLEANING] = (),
    on_bad_line: Annotated[Literal["error", "drop"], _MORE_CLEANING] = "error",
    sample_pairs: Annotated[int, number(BOUNDS["sample_pairs"], whole=True), _MORE_SUBWORDS] = SAMPLE_PAIRS,
    bpe_dropout: Annotated[float, number(BOUNDS["bpe_dropout"]), _MORE_SUBWORDS] = 0.0,
    copies: Annotated[int, number(BOUNDS["copies"], whole=True), _MORE_SUBWORDS] = 1,
    seed: Annotated[Seed, _MORE_SUBWORDS] = 1,
    overwrite: Overwrite = False,
    quiet: Flag = False,
    as_json: AsJson = False,
) -> None:
    """Turn raw parallel text into a prepared corpus: read, clean, learn subwords, encode, store.

    Files are UTF-8, plain or compressed (.gz, .xz, .zst). Give as many as you like; the first --source belongs to the
    first --target, and so on. A weight after the name, as in --source news.en@2.5 or --tsv crawl.tsv.gz@0.5, says how
    often its pairs come in an epoch. Without validation text of your own, let --valid-pairs put some pairs aside.

    Args:
        files: Text with two fields a line, source, tab, target; or JSON lines, where the name ends in .jsonl.
        output: The folder to make. It appears when everything is done, or not at all.
        source: Source text, one sentence a line.
        target: Target text; its line n belongs to line n of the source.
        tsv: Text with two fields a line, source, tab, target.
        jsonl: Text with one JSON object a line.
        task: What a model shall learn; parsing where --trees is given, and otherwise translation.
        trees: Trees in brackets, (S (NP (DT A) (NN dog)) …), one after the other, to learn parsing from.
        columns: Which columns of TSV are source and target, as in --columns 1,2, where there are more than two.
        source_field: The field of --jsonl that holds the source.
        target_field: The field of --jsonl that holds the target.
        valid_source: Validation text; its lines are removed from the training text.
        valid_target: Validation text, target side.
        valid_tsv: Validation text with two fields a line.
        valid_jsonl: Validation text as JSON lines.
        valid_trees: Validation trees in brackets.
        valid_pairs: Put so many pairs of the training text aside, drawn by the seed, and validate on them. A pair that
            shares its source or its target with one of them is left out of the training text.
        test_pairs: Put so many aside to test on. The text of both is kept in the corpus, for `heedful evaluate`.
        exclude: Test sets in either language: a pair with a side that is one of their lines is never trained on. Of a
            line with tabs its fields count too, and of JSON lines every text in them, whatever its field is called.
        augment: Add versions of training pairs, so that a model reads what people write: for each kind the probability
            that a pair gets one beside itself, as in --augment upper=0.05 title=0.05 typos=0.02 copy=0.03 joined=0.1.
            upper: in capitals; title: as a Title Like This; typos: small typing errors in the source; copy: a name, a
            number, an amount or the like in both sides, which is to be copied; joined: two to four neighbouring
            sentences as one line. What is validated or tested on stays as it is.
        tag: Put a tag before each source of a file, so that a model knows where it comes from, as in --tag bt=FILE for
            sources that a model wrote: one subword, which no text becomes. --tag bt alone keeps a place for it.
        vocab_size: Subwords in the vocabulary; when not given, what suits the text: 5,000 for 4 MB of both sides
            together, and more with the power 0.35 of the size, 37,000 at most.
        separate_vocabularies: One vocabulary for each side instead of a shared one.
        tokenizer: Reuse the vocabulary of this folder, prepared corpus or model (a folder or a name) instead of
            learning one.
        max_length: A pair is left out when a side has more tokens than this, its end symbol included.
        max_ratio: A pair is left out when a side has more than this many times the other's tokens.
        keep: Switch off a rule of cleaning: empty, identical, validation, excluded, duplicate, too-long or ratio.
        on_bad_line: What to do with a line that is not UTF-8, not two fields, or not JSON.
        sample_pairs: Learn the vocabulary from at most this many pairs, drawn at random.
        bpe_dropout: Cut the words of the training text into subwords in many ways, at random: the probability that two
            parts which belong together stay apart. 0.1 suits small corpora, with --copies.
        copies: Store each training pair so many times, cut anew each time.
        seed: Another number draws other samples and cuts.
        quiet: Say nothing but errors.

    Examples:
        heedful prepare deu.txt --columns 1,2 --valid-pairs 1000 --test-pairs 1000 --output corpus
        heedful prepare --source a.en.gz --target a.de.gz --tsv b.tsv.xz@0.5 --exclude test.en --exclude test.de
            --valid-tsv dev.tsv --output corpus
    """
    if tokenizer is not None and not _is_there(tokenizer):
        tokenizer = bundled_models().get(str(tokenizer), tokenizer)
    named = [name for name in files if without_compression(_weighted(name)[0]).suffix in _JSON_LINES]
    tsv, jsonl = (*(name for name in files if name not in named), *tsv), (*named, *jsonl)
    fields, chosen = (source_field, target_field), _columns(columns)
    if chosen and not (tsv or valid_tsv):
        raise TextError(f"--columns {columns}: there is no TSV file to take columns of")
    corpora = _tagged(_corpora("", source, target, tsv, jsonl, fields, chosen), tag)
    validation = _corpora("valid-", valid_source, valid_target, valid_tsv, valid_jsonl, fields, chosen)
    learned = TASKS[task or ("parsing" if trees else "translation")]
    if texts := corpora + validation if learned is PARSING else (*trees, *valid_trees):
        name = texts[0].name if isinstance(texts[0], ParallelText) else texts[0]
        raise TextError(f"{name}: not for {learned.name}, which is given {learned.files}")
    request = Request(
        task=learned,
        corpora=corpora + _trees(trees),
        validation=validation + _trees(valid_trees),
        valid_pairs=valid_pairs,
        test_pairs=test_pairs,
        exclude=tuple(Path(path) for path in exclude),
        vocab_size=vocab_size,
        tokenizer=tokenizer,
        separate_vocabularies=separate_vocabularies,
        rules=Rules(keep=frozenset(keep), max_length=max_length, max_ratio=max_ratio),
        on_bad_line=on_bad_line,
        sample_pairs=sample_pairs,
        bpe_dropout=bpe_dropout,
        copies=copies,
        augment=_rates(augment),
        tags=tuple(text.partition("=")[0] for text in tag),
        seed=seed,
    )
    began = time.monotonic()
    with progress(unit="pairs", quiet=quiet) as reached:
        report = make_corpus(request, output=output, overwrite=overwrite, progress=reached)
    if as_json:
        print_json(report)
    elif not quiet:
        _print(report, output, time.monotonic() - began, task=learned)


def _corpora(
    prefix: str,
    source: _Names,
    target: _Names,
    tsv: _Names,
    jsonl: _Names,
    fields: tuple[str, str],
    columns: tuple[int, int] | None,
) -> tuple[ParallelText, ...]:
    if len(source) != len(target):
        raise TextError(
            f"--{prefix}source was given {len(source)} times and --{prefix}target {len(target)} times: "
            "each source file needs its target file"
        )
    corpora: list[ParallelText] = []
    for names in zip(source, target, strict=True):
        (source_path, weight), (target_path, other) = map(_weighted, names)
        if None not in (weight, other) and weight != other:
            raise TextError(f"{names[0]} and {names[1]} are one corpus but have two weights")
        corpora.append(pairs.two_files(source_path, target_path, weight or other or 1.0))
    corpora += [pairs.tsv(path, weight or 1.0, columns) for path, weight in map(_weighted, tsv)]
    corpora += [pairs.json_lines(path, *fields, weight or 1.0) for path, weight in map(_weighted, jsonl)]
    return tuple(corpora)


def _trees(names: _Names) -> tuple[ParallelText, ...]:
    return tuple(pairs.trees(path, weight or 1.0) for path, weight in map(_weighted, names))


def _tagged(corpora: tuple[ParallelText, ...], tags: _Names) -> tuple[ParallelText, ...]:
    """``bt=FILE``: the corpora, those of the file with the tag."""
    for text in tags:
        name, equals, file = text.partition("=")
        path = _weighted(file)[0]
        if equals and not any(path in corpus.paths for corpus in corpora):
            raise TextError(f"--tag {text[:_LONGEST]}: {str(path)[:_LONGEST]} is none of the files to train on")
        if twice := [corpus.tag for corpus in corpora if equals and path in corpus.paths and corpus.tag]:
            raise TextError(f"--tag {text[:_LONGEST]}: the file has the tag {twice[0]} already")
        corpora = tuple(
            dataclasses.replace(corpus, tag=name) if equals and path in corpus.paths else corpus for corpus in corpora
        )
    return corpora


def _rates(texts: _Names) -> dict[str, float]:
    """``upper=0.05`` as a kind and its rate; `Request` knows which there are."""
    rates: dict[str, float] = {}
    for text in texts:
        kind, equals, number = text.partition("=")
        problem = "must be a kind and its rate, as in upper=0.05" if kind not in rates else f"{kind} has a rate already"
        if not equals or kind in rates:
            hint = "; files stand before --augment, or behind another option" if _is_there(text) else ""
            raise TextError(f"--augment {text[:_LONGEST]}: {problem}; the kinds are {', '.join(KINDS)}{hint}")
        try:
            rates[kind] = float(number)
        except ValueError:
            raise TextError(f"--augment {text[:_LONGEST]}: {number[:_LONGEST]!r} is no number") from None
    return rates


def _columns(text: str | None) -> tuple[int, int] | None:
    """``1,2`` as two numbers."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([1-9]\d{0,5})\s*,\s*([1-9]\d{0,5})\s*", text, re.ASCII)
    if found is None or found[1] == found[2]:
        raise TextError(f"--columns {text[:_LONGEST]}: must be the source's and the target's column, as in 1,2")
    return int(found[1]), int(found[2])


def _weighted(name: str) -> tuple[Path, float | None]:
    """``train.en@2`` is the file train.en with weight 2, unless there is a file of the whole name."""
    path, at, number = name.rpartition("@")
    if not at or _is_there(name):
        return Path(name), None
    try:
        weight = float(number)
    except ValueError:
        return Path(name), None
    if not 0 < weight < 1000:
        raise TextError(f"{name}: a weight must be above 0 and below 1000")
    return Path(path), weight


def _is_there(path: Path | str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 (Path.exists raises for a name that is too long to be one)


def _print(report: dict[str, Any], output: Path, seconds: float, *, task: Task) -> None:
    out = console()
    counts = report["pairs"]
    if len(report["corpora"]) > 1:
        table = plain_table("corpus", "weight", "read", "kept", right=("weight", "read", "kept"))
        for corpus in report["corpora"]:
            table.add_row(corpus["name"], f"{corpus['weight']:g}", f"{corpus['read']:,}", f"{corpus['kept']:,}")
        out.print(table, "")
    table = plain_table("removed", "pairs", "rule", "for example", right=("pairs",))
    for name, rule in report["rules"].items():
        if not rule["on"]:
            table.add_row(name, "off", rule["about"], "", style="dim")
        elif rule["removed"] or name != "bad":
            table.add_row(name, f"{rule['removed']:,}", rule["about"], _example(rule))
    table.add_row("", "", "")
    table.add_row("read", f"{counts['read']:,}", "")
    table.add_row("kept", f"{counts['kept']:,}", f"{counts['kept'] / counts['read']:.1%}")
    out.print(table, "")
    if report["augmented"]:
        table = plain_table("added", "pairs", "versions", "for example", right=("pairs",))
        for kind, entry in report["augmented"].items():
            table.add_row(kind, f"{entry['added']:,}", entry["about"], _example(entry))
        out.print(table, "")
    _print_sides(out, report)
    for entry in report["exclude"]:
        found = f"{entry['found']:,} of its {entry['texts']:,} texts stood in the training text"
        out.print(f"excluded {entry['file']}: {found}")
    for note in report["notes"]:
        out.print(f"note: {note}")
    if "held_out" in report:
        _print_held_out(out, report["held_out"], output)
    if "validation" not in report:
        aside = f"{task.name} takes {task.files}" if task.target_vocabulary else _advice(report)
        out.print(f"note: no validation text was given; {aside}")
    out.print(f"{output} is ready ({seconds:.1f} s); `heedful data {output}` describes it")
    out.print("what to type next:", f"  heedful train {output} {task.training} --output run", sep="\n")


def _advice(report: dict[str, Any]) -> str:
    """How to get validation text out of the training text: as much as `hold_out` allows beside what is tested on."""
    kept = sum(corpus["kept"] for corpus in report["corpora"] if not corpus["tag"])
    tested = report.get("held_out", {}).get("test", {"pairs": 0})["pairs"]
    pairs = min(1000, max(1, kept // 10), (kept - tested) // 2)
    if pairs < 1:
        return "there are too few pairs to put some aside: --valid-tsv takes others"
    return f"--valid-pairs {pairs} puts some pairs aside"


def _example(entry: dict[str, Any]) -> str:
    """The first sample of a rule or a kind, both sides."""
    samples = [entry["samples"][0][side] for side in SIDES] if entry["samples"] else []
    texts = ("–" if text is None else visible(text.replace("\n", "�"), most=_LONGEST) for text in samples)
    return " | ".join(texts)


def _print_held_out(out: Any, held_out: dict[str, Any], output: Path) -> None:
    for split, purpose in (("valid", "validate"), ("test", "test")):
        if entry := held_out.get(split):
            text = f"{output / entry['source']} and .target"
            pairs = f"{entry['pairs']:,} pair{'s' * (entry['pairs'] != 1)}"
            out.print(f"put aside: {pairs} to {purpose} on, as text in {text}")
    out.print(f"left out: {held_out['alike']:,} more that share their source or target with these")


def _print_sides(out: Any, report: dict[str, Any]) -> None:
    table = plain_table("", *SIDES, right=SIDES)

    def add(label: str, part: str, name: str, form: str = ",") -> None:
        table.add_row(label, *(format(report[part][side][name], form) for side in SIDES))

    add("shared vocabulary" if report["vocabulary"]["shared"] else "vocabulary", "vocabulary", "size")
    add("  subwords in use", "vocabulary", "used")
    add("  bytes a subword", "vocabulary", "bytes_per_subword", ".2f")
    add("tokens, END included", "lengths", "tokens")
    for name in ("mean", "median", "p95", "p99", "longest"):
        add(f"  {name} length", "lengths", name)
    add("characters", "characters", "distinct")
    if "validation" in report:
        counts = report["validation"]["pairs"]
        table.add_row("validation pairs", *([f"{counts['kept']:,} of {counts['read']:,}"] * 2))
        add("  subwords seen in training", "vocabulary", "validation_coverage", ".2%")
        add("  characters never seen", "characters", "validation_unseen")
    out.print(table, "")
