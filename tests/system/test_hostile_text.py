"""Text, folders and numbers that a user should not give to `prepare`: each is refused by name, and nothing is lost."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from tests.commands import run_here
from tests.mutations import EXAMPLES, require_clear_errors
from tests.stored_corpora import stored_corpus

from heedful.data.corpus import Corpus
from heedful.data.manifest import read_manifest
from heedful.errors import TextError
from heedful.prepare.description import described
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.text.pairs import two_files

WORDS = ["ba", "da", "fa", "ga", "ka", "la", "ma", "na", "pa", "ra", "sa", "ta", "va", "wa", "xa", "za"]
PAIRS = [(" ".join(WORDS[(i * k) % 16] for k in range(1, 6)) + f" {i}", f"{WORDS[i % 16]} {i}") for i in range(120)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with some text to prepare, which is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    Path("a.de").write_text("".join(f"{target}\n" for _, target in PAIRS))
    return tmp_path


class Prepared:
    """What `heedful prepare` said."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *options: str, text: bool = True) -> None:
        given = ["--source", "a.en", "--target", "a.de"] if text else []
        self.code, self.out, self.err = run_here(capsys, "prepare", *given, *options)
        self.err = " ".join(self.err.split())


# Folders


def test_overwrite_removes_no_folder_that_only_looks_like_a_corpus(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in ("{}", '{"format": "heedful corpus", "format_version": 1}', "[" * 10_000):
        Path("p").mkdir(exist_ok=True)
        Path("p/manifest.json").write_text(content)
        Path("p/thesis").write_text("years")
        found = Prepared(capsys, "--output", "p", "--overwrite")
        assert (found.code, Path("p/thesis").read_text()) == (2, "years")
        assert "nothing says what is in" in found.err
        assert "remove it yourself, or give another folder" in found.err


@pytest.mark.parametrize("name", ["raw.en", "train/raw.en", "deep/er/raw.en"])
def test_overwrite_stops_at_files_that_the_corpus_does_not_name(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert Prepared(capsys, "--output", "p").code == 0
    Path("p", name).parent.mkdir(parents=True, exist_ok=True)
    Path("p", name).write_text("raw")
    found = Prepared(capsys, "--output", "p", "--overwrite")
    assert (found.code, Path("p", name).read_text()) == (2, "raw")
    assert f"holds {name} beside the corpus, and replacing it would remove that too" in found.err
    Path("p", name).unlink()
    assert Prepared(capsys, "--output", "p", "--overwrite").code == 0


def test_overwrite_never_removes_what_is_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Prepared(capsys, "--output", "p").code == 0
    Path("a.en").rename("p/a.en")
    Path("a.en").symlink_to("p/a.en")
    found = Prepared(capsys, "--output", "p", "--overwrite")
    assert (found.code, Path("p/a.en").exists()) == (2, True)
    assert "a.en is to be read and lies in" in found.err


def test_a_file_and_a_folder_of_something_else_are_refused_and_an_empty_folder_filled(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "a.en is a file; give the name of a folder" in Prepared(capsys, "--output", "a.en", "--overwrite").err
    Path("photos").mkdir()
    Path("photos/cat.jpg").touch()
    found = Prepared(capsys, "--output", "photos", "--overwrite")
    assert "photos holds other files and is not a prepared corpus" in found.err
    Path("empty").mkdir()
    assert Prepared(capsys, "--output", "empty").code == 0
    again = Prepared(capsys, "--output", "empty")
    assert (again.code, "empty is there already; --overwrite replaces it" in again.err) == (2, True)


def test_a_kill_between_the_two_renames_loses_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Prepared(capsys, "--output", "p").code == 0
    before = Path("p/manifest.json").read_bytes()
    Path("p").rename(".p.replaced")
    assert "--overwrite replaces it" in Prepared(capsys, "--output", "p").err
    assert Path("p/manifest.json").read_bytes() == before


def test_another_process_that_prepares_the_same_folder_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fcntl = pytest.importorskip("fcntl")
    Path(".p.writing").mkdir()
    with Path(".p.writing/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another process is preparing" in Prepared(capsys, "--output", "p").err
    assert Prepared(capsys, "--output", "p").code == 0


def test_a_link_is_followed_as_often_as_one_likes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("there").mkdir()
    Path("link").symlink_to("there")
    assert Prepared(capsys, "--output", "link").code == 0
    assert Prepared(capsys, "--output", "link", "--overwrite").code == 0
    assert Path("link").is_symlink()
    assert len(Corpus(Path("there"))) == 120


@pytest.mark.parametrize("output", ["/", "x" * 300, "a.en/below", "loop"])
def test_a_place_that_cannot_be_a_folder_is_told(here: Path, capsys: pytest.CaptureFixture[str], output: str) -> None:
    Path("loop").symlink_to("loop")
    found = Prepared(capsys, "--output", output, "--overwrite")
    assert found.code == 2
    assert "cannot be made" in found.err


@pytest.mark.parametrize("option", ["--source", "--exclude", "--tokenizer", "--valid-tsv"])
def test_names_of_three_hundred_characters_are_told(
    here: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    others = ["--target", "a.de"] if option == "--source" else ["--source", "a.en", "--target", "a.de"]
    found = Prepared(capsys, *others, option, "x" * 300 + "@2", "--output", "p", text=False)
    assert found.code == 2
    assert "x" * 300 in found.err


def test_a_current_folder_that_is_gone_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").rmdir()
    options = ("--source", str(here / "a.en"), "--target", str(here / "a.de"), "--output", "p")
    found = Prepared(capsys, *options, text=False)
    assert found.code == 2
    assert "p cannot be made: No such file or directory" in found.err


# What must not be trained on


def excluded(capsys: pytest.CaptureFixture[str], *options: str) -> dict:
    found = Prepared(capsys, *options, "--json", "--output", "out")
    assert found.code == 0, found.err
    return json.loads(found.out)


TEST_SETS = {
    "test.txt": "".join(f"{target}\n" for _, target in PAIRS[:9]),
    "test.tsv": "".join(f"{source}\t{target}\n" for source, target in PAIRS[:9]),
    "three.tsv": "".join(f"7\t{source}\t{target}\n" for source, target in PAIRS[:9]),
    "test.jsonl": "".join(json.dumps({"source": s, "target": t, "id": 3}) + "\n" for s, t in PAIRS[:9]),
    "other.ndjson": "".join(json.dumps({"en": s}) + "\n" for s, _ in PAIRS[:9]),
    "deep.json": "".join(json.dumps({"translation": {"en": [s], "de": t}}) + "\n" for s, t in PAIRS[:9]),
    "nameless": "".join(json.dumps([s, t]) + "\n" for s, t in PAIRS[:9]),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", TEST_SETS)
def test_a_test_set_of_any_kind_is_excluded_and_counted(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, compressed: bool
) -> None:
    path = Path(name + ".gz" * compressed)
    path.write_bytes(gzip.compress(TEST_SETS[name].encode()) if compressed else TEST_SETS[name].encode())
    report = excluded(capsys, "--exclude", str(path))
    assert report["rules"]["excluded"]["removed"] == 9
    (entry,) = report["exclude"]
    assert entry["file"] == str(path)
    assert 9 <= entry["found"] <= 18
    assert entry["texts"] >= entry["found"]


def test_what_each_file_excluded_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("test.txt").write_text(TEST_SETS["test.txt"])
    Path("other.txt").write_text("not there\n")
    found = Prepared(capsys, "--exclude", "test.txt", "--exclude", "other.txt", "--output", "p")
    assert "excluded test.txt: 9 of its 9 texts stood in the training text" in found.out
    assert "excluded other.txt: 0 of its 1 texts stood in the training text" in found.out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", "", "--exclude empty.txt holds no text: it would exclude nothing"),
        ("blank.txt", "\n \n\t\n", "--exclude blank.txt holds no text: it would exclude nothing"),
        ("empty.jsonl", "{}\n", "holds no text"),
        ("pretty.json", '[\n  {"source": "x"}\n]\n', "pretty.json, line 1: not JSON, as .json says it is"),
        ("long.jsonl", f'{{"id": {"9" * 5000}}}\n', "long.jsonl, line 1: not JSON"),
    ],
)
def test_a_file_that_would_exclude_nothing_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    Path(name).write_text(content)
    found = Prepared(capsys, "--exclude", name, "--output", "p")
    assert (found.code, message in found.err) == (2, True), found.err
    assert not Path("p").exists()


# Text


def test_validation_text_of_blank_lines_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("blank").write_text("\n \n\n")
    found = Prepared(capsys, "--valid-source", "blank", "--valid-target", "blank", "--output", "p")
    assert found.code == 2
    assert "none of 3 validation pairs is left after cleaning: empty 3" in found.err


def test_validation_text_that_is_all_too_long_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("v.tsv").write_text("ba da fa ga " * 20 + "\tba\n")
    found = Prepared(capsys, "--valid-tsv", "v.tsv", "--max-length", "40", "--output", "p")
    assert "none of 1 validation pairs is left after cleaning: too-long 1" in found.err


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-32BE"])
def test_text_of_another_encoding_is_not_trained_on(
    here: Path, capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    for name in ("a.en", "a.de"):
        Path(name).write_bytes(Path(name).read_text().encode(encoding))
    found = Prepared(capsys, "--on-bad-line", "drop", "--output", "p")
    assert f"a.en is {encoding} text; heedful reads UTF-8 (iconv -f {encoding} -t UTF-8 converts it)" in found.err


@pytest.mark.parametrize("option", ["--source", "--exclude", "--tsv", "--valid-tsv"])
def test_a_device_is_refused(here: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    others = ["--target", "a.de"] if option == "--source" else ["--source", "a.en", "--target", "a.de"]
    found = Prepared(capsys, *others, option, "/dev/zero", "--on-bad-line", "drop", "--output", "p", text=False)
    assert "/dev/zero is a device, not a text file" in found.err


# Numbers


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vocab-size", "0"], "--vocab-size 0: must be at least 259"),
        (["--vocab-size", "2000000000"], "--vocab-size 2000000000: must be at least 259 and at most 10,000,000"),
        (["--seed", "-1"], "--seed -1: must be"),
        (["--seed", str(2**64)], f"--seed {2**64}: must be"),
        (["--max-ratio", "inf"], "--max-ratio inf: must be"),
        (["--max-ratio", "nan"], "--max-ratio nan: must be"),
        (["--max-length", "1"], "--max-length 1: must be at least 2"),
        (["--max-length", str(10**30)], "must be at least 2"),
        (["--bpe-dropout", "1"], "must be at least 0 and below 1"),
        (["--bpe-dropout", "0.1", "--copies", "1001"], "must be at least 1 and at most 1,000"),
        (["--sample-pairs", "0"], "--sample-pairs 0: must be at least 1"),
        (["--vocab-size", "300", "--tokenizer", "t"], "--vocab-size 300: cannot be had with --tokenizer"),
        (["--separate-vocabularies", "--tokenizer", "t"], "--separate-vocabularies: cannot be had with --tokenizer"),
    ],
)
def test_numbers_out_of_bounds_and_options_that_exclude_each_other(
    here: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    found = Prepared(capsys, *options, "--output", "p")
    assert (found.code, message in found.err) == (2, True), found.err


@pytest.mark.parametrize(
    "wrong",
    [{"vocab_size": 10**10}, {"seed": -1}, {"seed": 2**64}, {"copies": 0}, {"bpe_dropout": float("nan")}],
    ids=str,
)
def test_python_has_the_same_bounds(wrong: dict[str, float]) -> None:
    with pytest.raises(TextError, match="must be at least"):
        Request((two_files(Path("a"), Path("b")),), **wrong)  # pyright: ignore[reportArgumentType]


# Damaged corpora


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_mutated_manifest_is_read_or_refused(tmp_path: Path, examples: int) -> None:
    folder = stored_corpus(tmp_path, [([3, 4], [5]), ([6], [7, 8, 9]), ([], [10])])
    path = folder / "manifest.json"

    def read(spoiled: bytes) -> None:
        path.write_bytes(spoiled)
        corpus = Corpus(folder)
        corpus.weights.sum()
        for pair in range(len(corpus)):
            corpus.origin(pair)
            assert corpus.source.ids(corpus.lengths.source[:1] * 0)[0].max() < corpus.manifest.vocabularies.source.size

    require_clear_errors(path.read_bytes(), read, examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_corpus_with_a_mutated_manifest_is_described_or_refused(
    here: Path, capsys: pytest.CaptureFixture[str], examples: int
) -> None:
    assert Prepared(capsys, "--separate-vocabularies", "--valid-source", "a.en", "--valid-target", "a.de",
                    "--keep", "validation", "--output", "p").code == 0  # fmt: skip
    path = Path("p/manifest.json")

    def read(spoiled: bytes) -> None:
        path.write_bytes(spoiled)
        described(Path("p"), samples=1, seed=1, verify=False)

    require_clear_errors(path.read_bytes(), read, examples=examples)


def test_a_mutated_text_is_prepared_or_refused(here: Path) -> None:
    def read(spoiled: bytes) -> None:
        Path("a.en").write_bytes(spoiled)
        prepare(Request((two_files(Path("a.en"), Path("a.de")),), vocab_size=270), output=Path("p"), overwrite=True)
        read_manifest(Path("p"))

    require_clear_errors(Path("a.en").read_bytes(), read, examples=40)
