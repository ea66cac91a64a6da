"""The command that a report prints makes the very corpus again: it is run, and the manifests are compared."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from heedful.cli.main import main
from heedful.data.manifest import read_manifest
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.report.repetition import is_one_command, prepare_command
from heedful.text.pairs import json_lines, tsv

WORDS = ["ba", "da", "fa", "ga", "ka", "la", "ma", "na", "pa", "ra", "sa", "ta", "va", "wa", "xa", "za"]
PAIRS = [(" ".join(WORDS[(i * k) % 16] for k in range(1, 5 + i % 4)), WORDS[i % 16] * (1 + i // 16)) for i in range(96)]
JSON_LINES = ["--jsonl", "c.jsonl", "--source-field", "en", "--target-field", "de"]
TWO_FILES = ["--source", "a.en", "--target", "a.de"]

OPTIONS = {
    "two files": TWO_FILES,
    "words cut at random": [*TWO_FILES, "--bpe-dropout", "0.15", "--copies", "3", "--seed", "7"],
    "versions": ["b.tsv", "--augment", "upper=0.25", "joined=0.333333333333", "--augment", "typos=1"],
    "tags": ["b.tsv@2", "b.tsv@3@0.5", "--tag", "bt=b.tsv@3", "--tag", "later"],
    "a long limit, many digits": [*TWO_FILES, "--max-length", "1000000", "--max-ratio", "2.3333333333333"],
    "weights": ["--source", "a.en@2.5", "--target", "a.de@2.5", "--tsv", "b.tsv@0.333333333333", "--tsv", "b.tsv@2"],
    "names like weights": ["--tsv", "b.tsv@3", "--tsv", "b.tsv@3@2", "--tsv", "b.tsv@3.0"],
    "names like options": ["--tsv=--b.tsv", "--tsv=-b.tsv@2", "--exclude=-ex.txt"],
    "names for a shell": ["--tsv", "it's $b.tsv", "--exclude", "ex clude.txt"],
    "json lines": [*JSON_LINES, "--valid-jsonl", "v.jsonl"],
    "json lines of the usual fields": ["--jsonl", "usual.jsonl@2", "--jsonl", "usual.jsonl"],
    "every kind": [*TWO_FILES, "--tsv", "b.tsv", *JSON_LINES, "--valid-tsv", "valid.tsv", "--valid-jsonl", "v.jsonl@2"],
    "what is left out": [*TWO_FILES, "--exclude", "ex clude.txt", "--exclude", "valid.tsv", "--valid-tsv", "valid.tsv"],
    "what is kept": [*TWO_FILES, *TWO_FILES, "--keep", "duplicate", "--keep", "ratio", "--max-ratio", "1"],
    "vocabularies": [*TWO_FILES, "--separate-vocabularies", "--vocab-size", "280", "--sample-pairs", "20"],
    "a given vocabulary": [*TWO_FILES, "--tokenizer", "earlier"],
    "pairs put aside": ["b.tsv", "--valid-pairs", "7", "--test-pairs", "5", "--seed", "3"],
    "some columns": ["three.tsv", "--columns", "3,1"],
    "bad lines": ["--tsv", "bad.tsv", "--on-bad-line", "drop"],
}  # fmt: skip


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "a.en").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    (folder / "a.de").write_text("".join(f"{target}\n" for _, target in PAIRS))
    rows = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    for name in ("b.tsv", "b.tsv@3", "--b.tsv", "-b.tsv", "it's $b.tsv"):
        (folder / name).write_text(rows)
    (folder / "three.tsv").write_text("".join(f"{target}\tCC-BY\t{source}\n" for source, target in PAIRS))
    (folder / "bad.tsv").write_text(rows + "no tab\n")
    (folder / "valid.tsv").write_text("one two\tthree\n" + rows[:200].rpartition("\n")[0] + "\n")
    for name in ("ex clude.txt", "-ex.txt"):
        (folder / name).write_text("".join(f"{source}\n" for source, _ in PAIRS[:9]))
    for name, fields, pairs in (
        ("c.jsonl", ("en", "de"), PAIRS),
        ("v.jsonl", ("en", "de"), PAIRS[:5]),
        ("usual.jsonl", ("source", "target"), PAIRS),
    ):
        lines = (json.dumps(dict(zip(fields, pair, strict=True))) for pair in pairs)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def made(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--quiet"])


def command_of(corpus: Path, *, output: Path) -> list[str]:
    """What a shell hands over of the command that the report prints."""
    command = prepare_command(read_manifest(corpus), output=str(output))
    program, *words = shlex.split(command.replace("\\\n", " "))  # a shell joins the lines
    assert program == "heedful"
    return words


@pytest.mark.parametrize("name", OPTIONS)
def test_the_printed_command_makes_the_same_corpus(
    name: str, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(texts)
    if name == "a given vocabulary" and not Path("earlier").exists():
        made(["prepare", *TWO_FILES, "--output", "earlier"])
    made(["prepare", *OPTIONS[name], "--output", str(tmp_path / "corpus")])
    made(command_of(tmp_path / "corpus", output=tmp_path / "again"))
    assert read_manifest(tmp_path / "again") == read_manifest(tmp_path / "corpus")


@pytest.mark.parametrize("name", ["two files", "weights", "json lines", "every kind"])
def test_of_an_older_corpus_its_name_is_enough(
    name: str, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older manifests have no kind, paths and fields of a text."""
    monkeypatch.chdir(texts)
    made(["prepare", *OPTIONS[name], "--output", str(tmp_path / "corpus")])
    expected = read_manifest(tmp_path / "corpus")
    stored = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    for text in (*stored["corpora"], *stored["validation"]):
        for field in ("kind", "paths", "fields"):
            del text[field]
    (tmp_path / "corpus" / "manifest.json").write_text(json.dumps(stored))
    made(command_of(tmp_path / "corpus", output=tmp_path / "again"))
    assert read_manifest(tmp_path / "again") == expected


def test_a_corpus_that_only_python_can_make_is_said_to_be_one(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(texts)
    columns, usual = tsv(Path("b.tsv")), json_lines(Path("usual.jsonl"), "source", "target")
    cases = {
        "in order": ((columns, usual), True),
        "another order": ((usual, columns), False),
        "two kinds of fields": ((usual, json_lines(Path("c.jsonl"), "en", "de")), False),
    }
    for name, (corpora, expected) in cases.items():
        prepare(Request(corpora=corpora), output=tmp_path / name)
        assert is_one_command(read_manifest(tmp_path / name)) == expected, name
