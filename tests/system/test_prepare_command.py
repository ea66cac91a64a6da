"""`heedful prepare` and `heedful data` as a user meets them."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.commands import heedful

from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.prepare.encoding import given_vocabularies
from heedful.text.subwords import Subwords

ADJECTIVES, NOUNS = ["red", "old", "small", "quick", "quiet", "new"], ["house", "tree", "dog", "garden", "book", "ship"]
ROT, DINGE = ["rot", "alt", "klein", "schnell", "leise", "neu"], ["Haus", "Baum", "Hund", "Garten", "Buch", "Schiff"]


def sentence(number: int) -> tuple[str, str]:
    a, b, c, d = number % 6, number // 6 % 6, number // 36 % 6, number // 216 % 6
    english = f"The {ADJECTIVES[a]} {NOUNS[b]} and the {ADJECTIVES[c]} {NOUNS[d]}, number {number}."
    return english, f"{DINGE[b]} ist {ROT[a]} und {DINGE[d]} ist {ROT[c]}, Nummer {number}."


@pytest.fixture
def text(tmp_path: Path) -> Path:
    pairs = [sentence(number) for number in range(1296)]
    training, validation, test = pairs[:1000], pairs[1000:1100], pairs[1100:1200]
    noise = [*training[:7], validation[3], (test[4][0], "anders"), ("", "leer"), ("same", "same"), ("x", "y " * 40)]
    for name, rows in (("train", training + noise), ("dev", validation), ("test", test)):
        (tmp_path / f"{name}.en").write_text("".join(source + "\n" for source, _ in rows), encoding="utf-8")
        (tmp_path / f"{name}.de").write_text("".join(target + "\n" for _, target in rows), encoding="utf-8")
    return tmp_path


def arguments(text: Path) -> list[str | Path]:
    files = ["--source", text / "train.en", "--target", text / "train.de"]
    files += ["--valid-source", text / "dev.en", "--valid-target", text / "dev.de", "--exclude", text / "test.en"]
    return ["prepare", *files, "--output", text / "corpus"]


def test_one_command_makes_a_corpus_that_says_what_was_done(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    removed = {rule: entry["removed"] for rule, entry in report["rules"].items()}
    assert removed == {"bad": 0, "empty": 1, "identical": 1, "validation": 1, "excluded": 1, "duplicate": 7,
                       "too-long": 0, "ratio": 1}  # fmt: skip
    assert report["pairs"] == {"read": 1012, "kept": 1000}
    assert report == json.loads((text / "corpus" / "report.json").read_text())
    corpus, subwords = Corpus(text / "corpus"), Subwords.load(text / "corpus" / "tokenizer")
    for number in (0, 1, 500, 999):
        pair = np.array([number])
        decoded = tuple(subwords.decode(side.ids(pair)[0]) for side in (corpus.source, corpus.target))
        assert decoded == sentence(number)
        assert corpus.origin(number)[1] == number + 1
    assert len(Corpus(text / "corpus", "valid")) == 100
    assert not [path for path in text.iterdir() if path.name.startswith(".")]


def test_the_same_input_gives_the_same_bytes(text: Path) -> None:
    assert heedful(*arguments(text), "--quiet") == 0
    first = {path.relative_to(text): path.read_bytes() for path in (text / "corpus").rglob("*") if path.is_file()}
    assert heedful(*arguments(text), "--quiet", "--overwrite") == 0
    assert first == {
        path.relative_to(text): path.read_bytes() for path in (text / "corpus").rglob("*") if path.is_file()
    }


def test_the_table_is_printed_and_quiet_is_quiet(
    text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert heedful(*arguments(text)) == 0
    out, err = capsys.readouterr()
    assert re.search(r"duplicate +7 ", out)
    assert re.search(r"kept +1,000 ", out)
    assert "is ready" in out
    assert "MB of text: the vocabulary gets" in " ".join(out.split()), "a small corpus gets a clear message"
    assert err == "", "what is done within seconds needs no progress"
    assert heedful(*arguments(text), "--quiet", "--overwrite") == 0
    assert capsys.readouterr() == ("", "")


def test_nothing_is_overwritten_without_being_asked(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--quiet") == 0
    assert heedful(*arguments(text), "--quiet") == 2
    assert "corpus is there already; --overwrite replaces it" in capsys.readouterr().err


def test_several_corpora_with_weights_in_every_format(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [sentence(number) for number in range(1200, 1296)]
    with gzip.open(text / "more.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in rows[:40])
    lines = [json.dumps({"en": source, "de": target}) for source, target in rows[40:]]
    (text / "more.jsonl").write_text("\n".join(lines))
    more = ["--tsv", f"{text / 'more.tsv.gz'}@2.5", "--jsonl", text / "more.jsonl", "--source-field", "en"]
    assert heedful(*arguments(text), *more, "--target-field", "de", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [(entry["weight"], entry["kept"]) for entry in report["corpora"]] == [(1, 1000), (2.5, 40), (1, 56)]
    corpus = Corpus(text / "corpus")
    assert np.unique(corpus.weights, return_counts=True)[1].tolist() == [1056, 40]
    plan = Schedule(corpus.lengths, 500, 500, seed=1, weights=corpus.weights)
    assert plan.pairs_per_epoch == 1056 + 100
    assert corpus.origin(1000) == (str(text / "more.tsv.gz"), 1)


def test_a_vocabulary_can_be_reused(text: Path) -> None:
    assert heedful(*arguments(text), "--quiet", "--vocab-size", "320") == 0
    again = [*arguments(text)[:-1], text / "again", "--quiet"]
    assert heedful(*again, "--tokenizer", text / "corpus") == 0
    assert heedful(*again, "--tokenizer", text / "corpus" / "tokenizer", "--overwrite") == 0
    assert (
        given_vocabularies(text / "again").sides["source"].sha256
        == given_vocabularies(text / "corpus").sides["source"].sha256
    )


def test_separate_vocabularies_on_request(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--separate-vocabularies", "--json") == 0
    assert json.loads(capsys.readouterr().out)["vocabulary"]["shared"] is False
    source, target = given_vocabularies(text / "corpus").sides.values()
    assert source.sha256 != target.sha256
    corpus, pair = Corpus(text / "corpus"), np.array([5])
    assert source.decode(corpus.source.ids(pair)[0]) == sentence(5)[0]
    assert target.decode(corpus.target.ids(pair)[0]) == sentence(5)[1]
    assert heedful("data", text / "corpus") == 0
    assert "source and" in capsys.readouterr().out


def test_an_over_long_pair_is_reported_and_never_cut(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--max-length", "32", "--keep", "ratio", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    rule = report["rules"]["too-long"]
    assert rule["removed"] > 0
    assert "tokens" in rule["samples"][0]["why"]
    assert max(report["lengths"][side]["longest"] for side in ("source", "target")) <= 32
    assert report["rules"]["ratio"]["on"] is False


def test_characters_that_training_never_shows_are_reported(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (text / "dev.de").open("a") as target, (text / "dev.en").open("a") as source:
        target.write("ein Ω und noch ein Ω\n")
        source.write("an omega\n")
    assert heedful(*arguments(text), "--json") == 0
    characters = json.loads(capsys.readouterr().out)["characters"]
    assert characters["target"]["validation_unseen_samples"][0] == {"character": "Ω", "code": "U+03A9", "count": 2}
    assert characters["source"]["validation_unseen"] == 0


def test_the_sample_for_the_vocabulary_is_seeded_and_stated(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--sample-pairs", "200", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert 120 < report["vocabulary"]["source"]["trained_on_pairs"] < 280
    assert any("from a sample of" in note for note in report["notes"])


def test_bpe_dropout_stores_pairs_again_and_cuts_their_words_anew(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, again = text / "plain", text / "again"
    assert heedful(*arguments(text)[:-1], plain, "--quiet") == 0
    copies = ("--bpe-dropout", "0.2", "--copies", "3", "--tokenizer", plain)
    assert heedful(*arguments(text)[:-1], again, *copies, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    once, thrice = Corpus(plain), Corpus(again)
    assert report["pairs"]["kept"] == len(once) == len(thrice) / 3
    assert "stored 3 times" in report["notes"][-1]
    decode = Subwords.load(plain / "tokenizer").decode
    texts = [
        sorted(decode(corpus.source.ids(np.array([n]))[0]) for n in range(len(corpus))) for corpus in (once, thrice)
    ]
    assert texts[1] == sorted(texts[0] * 3)
    assert thrice.lengths.source.sum() > 3 * once.lengths.source.sum(), "some words are cut finer"
    assert (Corpus(plain, "valid").lengths.source == Corpus(again, "valid").lengths.source).all()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("--copies", "3"), "without --bpe-dropout all copies would be the same"),
        (("--bpe-dropout", "1"), "must be at least 0 and below 1"),
        (("--bpe-dropout", "0.1", "--copies", "0"), "must be at least 1 and at most 1,000"),
    ],
)
def test_impossible_copies_are_refused(
    text: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, ...], says: str
) -> None:
    assert heedful(*arguments(text)[:-1], text / "never", *wrong) == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert not (text / "never").exists()


def test_data_describes_a_corpus(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--quiet") == 0
    assert heedful("data", text / "corpus", "--batch-tokens", "500", "--verify", "--samples", "2") == 0
    out = capsys.readouterr().out
    assert re.search(r"train +source +1,000", out)
    assert re.search(r"valid +target +100", out)
    assert "·" in out
    assert "Ġ" not in out, "pieces are text, not byte symbols"
    assert "batches of 500 tokens a side" in out
    assert "files are as they were written" in out
    assert heedful("data", text / "corpus", "--batch-tokens", "500", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["batches"]["fuller"] > 0.9
    assert facts["splits"]["train"]["pairs"] == 1000


def test_data_names_a_changed_file(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--quiet") == 0
    path = text / "corpus" / "train" / "target-00000.bin"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    assert heedful("data", text / "corpus", "--verify") == 2
    assert "train/target-00000.bin: its contents have changed" in capsys.readouterr().err


def test_data_on_a_wrong_folder_is_a_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful("data", tmp_path / "nowhere") == 2
    assert "there is no folder" in capsys.readouterr().err
    assert heedful("data", tmp_path) == 2
    assert "is not a prepared corpus" in capsys.readouterr().err


def test_a_batch_too_small_for_the_corpus_is_a_clear_error(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful(*arguments(text), "--quiet") == 0
    assert heedful("data", text / "corpus", "--batch-tokens", "5") == 2
    assert "tokens, but a batch holds at most 5" in capsys.readouterr().err


def test_ctrl_c_leaves_nothing_half_done(tmp_path: Path) -> None:
    # A pipe that never ends: the command is certainly in the middle of its work when it is interrupted.
    os.mkfifo(tmp_path / "endless.tsv")
    command = [
        sys.executable,
        "-m",
        "heedful",
        "prepare",
        "--tsv",
        tmp_path / "endless.tsv",
        "--output",
        tmp_path / "out",
    ]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        (tmp_path / "endless.tsv").open("w") as pipe,
    ):
        try:
            pipe.write("a b c\tx y z\n" * 1000)
            pipe.flush()
            assert _appears(tmp_path / ".out.writing")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()  # one that did not stop would fail the tests after this one
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["endless.tsv"]


def _appears(path: Path) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists():
            return True
        time.sleep(0.02)
    return False


def test_a_reader_that_stops_reading_is_no_error(text: Path) -> None:
    assert heedful(*arguments(text), "--quiet") == 0
    command = f"{sys.executable} -m heedful data {text / 'corpus'} --json --samples 900 | head -1"
    run = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "{\n", "")
    command = f"{sys.executable} -m heedful data {text / 'corpus'} --samples 900 | head -1"
    run = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_no_torch_is_imported() -> None:
    code = "import sys, heedful.cli.main, heedful.prepare.description; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_multi30k_batches_are_as_full_as_promised(
    multi30k: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", multi30k / "train.en.gz", "--target", multi30k / "train.de.gz"]
    assert heedful("prepare", *files, "--output", tmp_path / "corpus", "--quiet") == 0
    for tokens, measure, least in ((4096, "padded", 0.92), (25_600, "fuller", 0.97)):
        assert heedful("data", tmp_path / "corpus", "--batch-tokens", str(tokens), "--json") == 0
        assert json.loads(capsys.readouterr().out)["batches"][measure] >= least
