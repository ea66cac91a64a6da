"""`heedful prepare FILE --valid-pairs N --test-pairs N`: from one raw file to a split that does not leak."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

from heedful.cli.main import main
from heedful.data.corpus import Corpus
from heedful.text.subwords import Subwords

SIDES = ("source", "target")


def heedful(*arguments: str | Path) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text as the exchanges of sentences are: most sources have several targets, and most targets several sources."""
    draw = random.Random(1)
    pairs = [(f"the {draw.randrange(300)} old houses", f"die {draw.randrange(300)} alten Dächer") for _ in range(900)]
    pairs += pairs[:50]
    path = tmp_path_factory.mktemp("raw") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\tCC-BY 2.0 (France)\n" for source, target in pairs), encoding="utf-8")
    return path


def prepared(raw: Path, output: Path, *arguments: str) -> Path:
    assert heedful("prepare", raw, "--columns", "1,2", *arguments, "--output", output, "--quiet") == 0
    return output


def texts(corpus: Path, split: str) -> list[list[str]]:
    """Both sides of a split, read back from its ids."""
    subwords, opened = Subwords.load(corpus / "tokenizer"), Corpus(corpus, split)
    return [[subwords.decode(ids) for ids in getattr(opened, side).sentences(len(opened))] for side in SIDES]


def put_aside(corpus: Path, split: str) -> list[list[str]]:
    return [(corpus / "held-out" / f"{split}.{side}").read_text(encoding="utf-8").splitlines() for side in SIDES]


def test_no_text_of_either_side_stands_on_both_sides_of_the_split(raw: Path, tmp_path: Path) -> None:
    corpus = prepared(raw, tmp_path / "corpus", "--valid-pairs", "30", "--test-pairs", "20")
    train, valid, test = texts(corpus, "train"), put_aside(corpus, "valid"), put_aside(corpus, "test")
    assert [len(valid[0]), len(test[0])] == [30, 20]
    for side in range(2):
        sets = [set(part[side]) for part in (train, valid, test)]
        assert sum(map(len, sets)) == len(set().union(*sets)), "no text is in two of them"
    assert texts(corpus, "valid") == valid
    report = json.loads((corpus / "report.json").read_text())
    everything = {tuple(line.split("\t")[:2]) for line in raw.read_text(encoding="utf-8").splitlines()}
    assert report["pairs"]["kept"] + 50 + report["held_out"]["alike"] == len(everything)
    assert report["rules"]["validation"]["removed"] == report["held_out"]["alike"] > 0
    assert {*zip(*train, strict=True), *zip(*valid, strict=True), *zip(*test, strict=True)} <= everything


def test_a_split_is_the_same_each_time_and_the_test_pairs_whatever_is_beside_them(raw: Path, tmp_path: Path) -> None:
    both = prepared(raw, tmp_path / "both", "--valid-pairs", "30", "--test-pairs", "20")
    again = prepared(raw, tmp_path / "again", "--valid-pairs", "30", "--test-pairs", "20")
    assert (both / "manifest.json").read_bytes() == (again / "manifest.json").read_bytes()
    alone = prepared(raw, tmp_path / "alone", "--test-pairs", "20")
    assert put_aside(alone, "test") == put_aside(both, "test")
    assert not (alone / "held-out" / "valid.source").exists()
    other = prepared(raw, tmp_path / "other", "--test-pairs", "20", "--seed", "2")
    assert put_aside(other, "test") != put_aside(both, "test")


def test_a_third_column_is_named_with_the_option_that_mends_it(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert heedful("prepare", raw, "--output", tmp_path / "corpus") == 2
    assert "3 fields where two with one tab between them are needed; --columns 1,2 takes the first" in _error(capsys)
    assert heedful("prepare", raw, "--columns", "1,4", "--output", tmp_path / "corpus") == 2
    assert "3 fields, which --columns 1,4 goes beyond" in _error(capsys)
    for wrong in ("1", "0,1", "1,1", "a,b", "1,2,3"):
        assert heedful("prepare", raw, "--columns", wrong, "--output", tmp_path / "corpus") == 2
        assert f"--columns {wrong}: must be the source's and the target's column, as in 1,2" in _error(capsys)


def test_what_cannot_be_put_aside_is_said(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["prepare", raw, "--columns", "1,2", "--output", tmp_path / "corpus", "--valid-pairs"]
    assert heedful(*start, "3000") == 2
    assert "--valid-pairs 3000: of 893 pairs at most half are put aside, so give at most 446" in _error(capsys)
    assert heedful(*start, "400") == 2
    assert "pairs share no text with each other; ask for fewer than 400" in _error(capsys)
    assert heedful(*start, "5", "--valid-tsv", raw) == 2
    assert "--valid-pairs 5: validation text was given already" in _error(capsys)
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize(("pairs", "tested", "advised"), [(20, 0, 2), (20, 9, 1), (2, 0, 1), (20_000, 0, 1000)])
def test_so_many_pairs_are_advised_as_can_be_put_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pairs: int, tested: int, advised: int
) -> None:
    (tmp_path / "few.tsv").write_text("".join(f"a cow {n}\teine Kuh {n}\n" for n in range(pairs)))
    start = ["prepare", tmp_path / "few.tsv", "--vocab-size", "300", "--output", tmp_path / "corpus", "--overwrite"]
    start += ["--test-pairs", str(tested)]
    assert heedful(*start) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"no validation text was given; --valid-pairs {advised} puts some pairs aside" in said
    assert heedful(*start, "--valid-pairs", str(advised)) == 0, "the advice can be followed"
    assert f"{advised:,} pair{'s' * (advised != 1)} to validate on" in " ".join(capsys.readouterr().out.split())


def test_one_pair_is_not_advised_to_be_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.tsv").write_text("a cow\teine Kuh\n")
    assert heedful("prepare", tmp_path / "one.tsv", "--output", tmp_path / "corpus") == 0
    assert "there are too few pairs to put some aside: --valid-tsv takes others" in capsys.readouterr().out


def test_the_page_says_where_the_text_that_was_put_aside_lies(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert heedful("prepare", raw, "--columns", "1,2", "--valid-pairs", "9", "--test-pairs", "8", "--output", "c") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "9 pairs to validate on, as text in c/held-out/valid.source and .target" in said
    assert "8 pairs to test on, as text in c/held-out/test.source and .target" in said
    assert heedful("prepare", raw, "--columns", "1,2", "--output", "c", "--overwrite", "--quiet") == 0, "all is ours"


def _error(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def test_what_training_says_to_type_next_scores_the_pairs_that_were_put_aside(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = prepared(raw, tmp_path / "my RUN", "--test-pairs", "20")
    settings = ["--preset", "tiny", "--set", "training.steps=2", "--device", "cpu", "--threads", "1"]
    assert heedful("train", corpus, "--output", tmp_path / "run", *settings) == 0
    told = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("  heedful evaluate"))
    assert heedful(*shlex.split(told)[1:], "--resamples", "9") == 0
    assert f"20 sentences of {corpus}/held-out/test.target" in capsys.readouterr().out
