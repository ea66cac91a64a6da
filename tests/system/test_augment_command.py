"""`heedful prepare --augment`: versions beside the pairs, as many as asked for, and none of what is held out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import run_here

from heedful.data.corpus import Corpus
from heedful.prepare.encoding import given_vocabularies
from heedful.text import reading

RATES = {"upper": 0.1, "title": 0.2, "typos": 0.05, "copy": 0.15, "joined": 0.3}
NOUNS = {
    "house": "Haus",
    "garden": "Garten",
    "mountain": "Berg",
    "village": "Dorf",
    "window": "Fenster",
    "tree": "Baum",
}
NAMES = ["Paul", "Anna", "Robert", "Helga", "Martin", "Sophie", "Walter"]
LINES = 2000
Version = tuple[int, str, str]


def sentence(number: int) -> tuple[str, str]:
    nouns = list(NOUNS.items())
    (a, b), (c, d) = nouns[number % 6], nouns[number // 6 % 6]
    name = NAMES[number % 7]
    return f"Yesterday the {a} near the {c} was sold to {name} for number {number}.", (
        f"Gestern wurde {b} bei {d} an {name} unter Nummer {number} verkauft."
    )


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "pairs.tsv"
    path.write_text("".join("\t".join(sentence(number)) + "\n" for number in range(LINES)), encoding="utf-8")
    return path


def options(rates: dict[str, float]) -> list[str]:
    return ["--augment", *(f"{kind}={rate}" for kind, rate in rates.items())]


def prepared(capsys: pytest.CaptureFixture[str], output: Path, *arguments: str | Path) -> dict[str, Any]:
    size = () if "--tokenizer" in arguments else ("--vocab-size", "500")
    code, out, errors = run_here(capsys, "prepare", *arguments, "--output", output, "--json", *size)
    assert code == 0, errors
    return json.loads(out)


def stored(folder: Path, split: str = "train") -> list[Version]:
    """The line and both texts of every pair that is stored, read back from the ids."""
    corpus, sides = Corpus(folder, split), given_vocabularies(folder).sides
    source, target = (
        [own.decode(ids) for ids in getattr(corpus, side).sentences(len(corpus))] for side, own in sides.items()
    )
    lines = np.fromfile(folder / split / "lines.bin", "<u4").tolist()
    return list(zip(lines, source, target, strict=True))


def kind_of(version: Version) -> str:
    """By its looks alone."""
    line, source, target = version
    if source.isupper():
        return "upper"
    if source.count("sold to") > 1:
        return "joined"
    if " Near " in source or " Sold " in source:
        return "title"
    same = {word.strip(".") for word in sentence(line - 1)[1].split()}
    return "typos" if {word.strip(".") for word in target.split()} == same else "copy"


def versions(pairs: list[Version]) -> list[Version]:
    """What is stored beside the lines of the text."""
    return [pair for pair in pairs if pair[1:] != sentence(pair[0] - 1)]


def test_each_kind_is_added_as_often_as_it_says(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = prepared(capsys, tmp_path / "corpus", text, *options(RATES))
    found = stored(tmp_path / "corpus")
    assert len(found) - len(versions(found)) == report["pairs"]["kept"] == LINES, "every line is there as it was"
    counts = Counter(map(kind_of, versions(found)))
    assert {kind: entry["added"] for kind, entry in report["augmented"].items()} == counts
    for kind, rate in RATES.items():
        assert abs(counts[kind] - rate * LINES) < 4 * (LINES * rate * (1 - rate)) ** 0.5, kind
        assert {kind_of((sample["line"], sample["source"], sample["target"])) for sample in
                report["augmented"][kind]["samples"]} == {kind}  # fmt: skip
    by_line = {line: (source, target) for line, source, target in found if (source, target) == sentence(line - 1)}
    for line, source, target in versions(found):
        if kind_of((line, source, target)) == "joined":
            count = source.count("sold to")
            lines = [by_line[number] for number in range(line - count + 1, line + 1)]
            assert (source, target) == tuple(" ".join(texts) for texts in zip(*lines, strict=True))


def test_a_version_follows_from_the_seed_and_its_place_alone(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [first_lines(text, 1000), *options(RATES)]
    prepared(capsys, tmp_path / "one", *arguments)
    prepared(capsys, tmp_path / "again", *arguments)
    assert (tmp_path / "one" / "manifest.json").read_bytes() == (tmp_path / "again" / "manifest.json").read_bytes()
    one, same = stored(tmp_path / "one"), ["--tokenizer", tmp_path / "one"]
    with monkeypatch.context() as smaller:
        smaller.setattr(reading, "BLOCK_BYTES", 1000)
        prepared(capsys, tmp_path / "blocks", *arguments, *same)
    assert Counter(stored(tmp_path / "blocks")) == Counter(one), "however the file is cut"
    prepared(capsys, tmp_path / "half", first_lines(text, 500), *options(RATES), *same)
    assert Counter(stored(tmp_path / "half")) == Counter(pair for pair in one if pair[0] <= 500), "whatever follows"
    prepared(capsys, tmp_path / "other", *arguments, "--seed", "2", *same)
    assert len({*versions(stored(tmp_path / "other"))} & {*versions(one)}) < 0.3 * len(versions(one))


def first_lines(text: Path, count: int) -> Path:
    path = text.with_name(f"{count}.tsv")
    path.write_text("".join(text.read_text(encoding="utf-8").splitlines(keepends=True)[:count]), encoding="utf-8")
    return path


def test_nothing_that_is_held_out_is_touched_or_joined(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [first_lines(text, 600), *options(dict.fromkeys(RATES, 1.0)), "--valid-pairs", "40", "--test-pairs"]
    prepared(capsys, tmp_path / "corpus", *arguments, "40")
    sides = ("source", "target")
    aside = {
        split: [(tmp_path / "corpus/held-out" / f"{split}.{side}").read_text().splitlines() for side in sides]
        for split in ("valid", "test")
    }
    valid = [pair[1:] for pair in stored(tmp_path / "corpus", "valid")]
    assert valid == list(zip(*aside["valid"], strict=True)), (
        "validation has the pairs that were put aside, and no other"
    )
    numbers = {int(line.rpartition(" ")[2].strip(".")) for split in aside.values() for line in split[0]}
    assert len(numbers) == 80
    found = versions(stored(tmp_path / "corpus"))
    assert len(found) > 4 * 520
    for version in found:
        count = version[1].count("sold to") if kind_of(version) == "joined" else 1
        assert numbers.isdisjoint(range(version[0] - count, version[0])), "neither the pair nor a neighbour"


@pytest.mark.parametrize("kind", ["upper", "joined"])
def test_no_version_is_a_text_that_is_excluded(
    kind: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [first_lines(text, 60), "--augment", f"{kind}=1"]
    prepared(capsys, tmp_path / "all", *arguments)
    everything = stored(tmp_path / "all")
    secret = versions(everything)[::7]
    (tmp_path / "test.en").write_text("".join(f"{source}\n" for _, source, _ in secret), encoding="utf-8")
    prepared(capsys, tmp_path / "fewer", *arguments, "--exclude", tmp_path / "test.en", "--tokenizer", tmp_path / "all")
    assert Counter(stored(tmp_path / "fewer")) == Counter(everything) - Counter(secret)


def test_copies_have_versions_of_their_own_and_a_weight_is_theirs_too(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies = ["--bpe-dropout", "0.1", "--copies", "2"]
    report = prepared(capsys, tmp_path / "corpus", f"{text}@0.5", "--augment", "upper=0.2", *copies)
    found = Counter(versions(stored(tmp_path / "corpus")))
    assert sum(found.values()) == report["augmented"]["upper"]["added"]
    twice = sum(count == 2 for count in found.values())
    assert abs(twice - 0.04 * LINES) < 4 * (0.04 * LINES) ** 0.5, "each copy draws anew"
    corpus = Corpus(tmp_path / "corpus")
    assert np.unique(corpus.weights).tolist() == [0.5]
    assert len(corpus) == 2 * LINES + sum(found.values())


def test_the_profile_is_of_the_text_and_not_of_its_versions(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared(capsys, tmp_path / "plain", text)
    prepared(capsys, tmp_path / "corpus", text, *options(RATES))
    assert (tmp_path / "plain" / "profile.json").read_bytes() == (tmp_path / "corpus" / "profile.json").read_bytes()
    assert json.loads((tmp_path / "plain" / "report.json").read_text())["augmented"] == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["lower=0.1"], "--augment lower: there is no such kind; there are upper, title, typos, copy, joined"),
        (["upper=1.5"], "--augment upper=1.5: must be at least 0 and at most 1"),
        (["upper=nan"], "--augment upper=nan: must be at least 0 and at most 1"),
        (["upper=many"], "--augment upper=many: 'many' is no number"),
        (["upper"], "--augment upper: must be a kind and its rate, as in upper=0.05; the kinds are upper,"),
        (["upper=0.1", "copy=0.1", "upper=0.2"], "--augment upper=0.2: upper has a rate already"),
        (["upper=0.1", "pairs.tsv"], "files stand before --augment, or behind another option"),
    ],
)
def test_what_cannot_be_asked_for_is_said(
    given: list[str], expected: str, text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(text.parent)
    code, _, errors = run_here(capsys, "prepare", "pairs.tsv", "--augment", *given, "--output", "corpus")
    assert code == 2
    assert expected in " ".join(errors.split())
    assert not Path("corpus").exists()


def test_the_table_shows_what_was_added(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "prepare", text, "--augment", "upper=1", "--output", tmp_path / "corpus")
    assert code == 0
    assert f"upper  {LINES:,}  both sides in capitals  YESTERDAY THE" in " ".join(out.split(" " * 3))
