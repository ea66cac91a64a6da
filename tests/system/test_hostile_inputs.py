"""A folder of hostile inputs, made here: each is refused with a message that says what, where and what to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from heedful.cli.main import main
from heedful.data.corpus import Corpus
from heedful.text.subwords import Subwords

GOOD_SOURCE, GOOD_TARGET = b"a b c\nd e f\ng h i\n", b"x y z\nu v w\nr s t\n"
FILES: dict[str, bytes] = {
    "good.en": GOOD_SOURCE,
    "good.de": GOOD_TARGET,
    "empty.en": b"",
    "empty.de": b"",
    "short.de": b"x y z\nu v w\n",
    "latin1.de": b"x y z\nGr\xfc\xdfe\nr s t\n",
    "utf16.de": "x\ny\nz\n".encode("utf-16"),
    "cut.de.gz": gzip.compress(b"".join(b"%d\n" % (n * n % 99991) for n in range(9999)))[:-4000],
    "plain.de.gz": GOOD_TARGET,
    "blank.de": b"\n \n\t\n",
    "one.tsv": b"a\tb\nonly one\n",
    "three.tsv": b"a\tb\nc\td\te\n",
    "commas.csv": b"a,b\nc,d\n",
    "array.jsonl": b'["a", "b"]\n',
    "lacks.jsonl": b'{"source": "a", "target": "b"}\n{"source": "a"}\n',
    "number.jsonl": b'{"source": "a", "target": 5}\n',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder.de").mkdir()
    return folder


def prepared(folder: Path, output: Path, *arguments: str) -> int:
    found = [str(folder / argument) if argument.partition("@")[0] in (*FILES, "folder.de", "missing.de") else argument
             for argument in arguments]  # fmt: skip
    try:
        main(["prepare", *found, "--output", str(output), "--quiet"])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def two(target: str) -> list[str]:
    return ["--source", "good.en", "--target", target]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (two("missing.de"), "there is no file {folder}/missing.de"),
        (two("folder.de"), "{folder}/folder.de is a folder, not a text file"),
        (
            two("short.de"),
            "good.en has 3 lines and {folder}/short.de has 2: the files of a pair must have the same number",
        ),
        (two("empty.de"), "good.en has 3 lines and {folder}/empty.de has 0"),
        (
            two("latin1.de"),
            "latin1.de, line 2: not UTF-8: byte 0xfc at position 3; if it is older Western text, iconv -f WINDOWS-1252 "
            "-t UTF-8 converts it (--on-bad-line drop leaves such lines out)",
        ),
        (two("utf16.de"), "utf16.de is UTF-16 text; heedful reads UTF-8 (iconv"),
        (two("cut.de.gz"), "cut.de.gz is cut short: the compressed data ends in the middle"),
        (two("plain.de.gz"), "plain.de.gz is damaged, or not compressed as its name says"),
        (two("blank.de"), "none of 3 pairs is left after cleaning: empty 3"),
        (["--source", "empty.en", "--target", "empty.de"], "empty.de is empty"),
        (
            ["--tsv", "one.tsv"],
            "one.tsv, line 2: 1 field where two with one tab between them are needed; two files of one language each "
            "are given as --source A --target B (--on-bad-line",
        ),
        (["--tsv", "three.tsv"], "three.tsv, line 2: 3 fields where two"),
        (["--jsonl", "array.jsonl"], "array.jsonl, line 1: a JSON list where an object is needed"),
        (["--jsonl", "lacks.jsonl"], 'lacks.jsonl, line 2: no field "target"; there are source; --source-field and'),
        (["--jsonl", "number.jsonl"], 'number.jsonl, line 1: field "target" is 5, not text'),
        ([], "nothing to prepare: give --source and --target, --tsv or --jsonl"),
        (
            ["commas.csv"],
            "commas.csv, line 1: 1 field where two with one tab between them are needed; commas are no tabs: save it "
            "as text with a tab between the two, or as JSON lines, for --jsonl (--on-bad-line",
        ),
        (["commas.csv", "--columns", "1,2"], "1 field, which --columns 1,2 goes beyond; commas are no tabs: save it"),
        (["--source", "good.en"], "--source was given 1 times and --target 0 times"),
        ([*two("good.de"), "--exclude", "missing.de"], "there is no file {folder}/missing.de"),
        ([*two("good.de"), "--valid-source", "good.en"], "--valid-source was given 1 times and --valid-target 0"),
        ([*two("good.de"), "--vocab-size", "100"], "--vocab-size 100: must be at least 259"),
        ([*two("good.de"), "--keep", "dupes"], "--keep dupes: there is no such rule; there are empty, identical"),
        ([*two("good.de"), "--max-length", "1"], "--max-length 1: must be at least 2"),
        ([*two("good.de"), "--max-ratio", "0"], "--max-ratio 0: must be at least 1"),
        ([*two("good.de"), "--tokenizer", "missing.de"], "there is no folder {folder}/missing.de to take a vocabulary"),
        ([*two("good.de"), "--tokenizer", "folder.de"], "there is no subword vocabulary in {folder}/folder.de"),
        (["--source", "good.en@0", "--target", "good.de"], "good.en@0: a weight must be above 0"),
        (["--source", "good.en@2", "--target", "good.de@3"], "are one corpus but have two weights"),
    ],
)
def test_each_is_refused_with_its_message_and_leaves_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert prepared(folder, tmp_path / "out", *arguments) == 2
    out, err = capsys.readouterr()
    assert message.format(folder=folder) in err
    assert err.startswith("error: ")
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [two("latin1.de"), ["--tsv", "three.tsv"], ["--jsonl", "lacks.jsonl"]])
def test_bad_lines_can_be_dropped_and_are_counted(folder: Path, tmp_path: Path, arguments: list[str]) -> None:
    assert prepared(folder, tmp_path / "out", *arguments, "--on-bad-line", "drop") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["rules"]["bad"]["removed"] == 1
    assert report["rules"]["bad"]["samples"][0]["line"] == 2


def test_strange_characters_never_shift_a_line(tmp_path: Path) -> None:
    """BOM, CRLF, a bell, U+2028, U+0085, tabs, form feeds, empty lines, a missing last newline: all at once."""
    strange = ["\u2028", "\u2029", "\u0085", "\x07", "\x0b", "\x0c", "\x1c", "\t", "\r", "", "\ufeff", "\U0001f600"]
    numbers = range(600)
    source = [f"{strange[number % 12]}s{strange[number % 7]} {number}" if number % 50 else "" for number in numbers]
    target = [f"{number} t{strange[number % 11]}" for number in numbers]
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(source).encode())
    (tmp_path / "b").write_bytes("\n".join(target).encode())
    assert prepared(tmp_path, tmp_path / "out", "--source", str(tmp_path / "a"), "--target", str(tmp_path / "b")) == 0
    corpus, subwords = Corpus(tmp_path / "out"), Subwords.load(tmp_path / "out" / "tokenizer")
    assert len(corpus) == 600 - 12
    for place in range(len(corpus)):
        pair = np.array([place])
        texts = [subwords.decode(side.ids(pair)[0]) for side in (corpus.source, corpus.target)]
        number = corpus.origin(place)[1] - 1
        assert texts == [source[number].strip(), target[number].strip()]
        assert texts[0].split()[-1] == texts[1].split()[0] == str(number)
