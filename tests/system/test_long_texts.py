"""Translations that take hours: stopped by anything and gone on with, or shared by several processes."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import run_here
from tests.trained_toys import train_toy
from tests.training_toys import toy_sentences

import heedful
from heedful.cli import long_texts
from heedful.cli.long_texts import lines_of_shard
from heedful.errors import TextError
from heedful.files import locked_file

LINES = [" ".join(words) for words in toy_sentences(600, seed=7)]
SHORT = ("--max-length", "8", "--threads", "1")
GREEDY = ("--greedy", "--batch-size", "4", *SHORT)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def translated(
    capsys: pytest.CaptureFixture[str], model: Path, text: Path, output: Path, *options: str | Path
) -> tuple[int, str]:
    """The exit code of `heedful translate`, and what it said."""
    files = ("--input", text, "--output", output)
    code, _, errors = run_here(capsys, "translate", "--model", model, *files, *options)
    return code, errors


def test_a_killed_translation_goes_on_and_is_what_it_would_have_been(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed between any two instructions: what was written after the last record does not count."""
    output, part, record = (tmp_path / name for name in ("out", "out.part", "out.progress.json"))
    command = ["-m", "heedful", "translate", "--model", model, "--input", text, "--output", output, "--resume", *GREEDY]
    with subprocess.Popen([sys.executable, *map(str, command)], stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not record.exists():
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    done = json.loads(record.read_text())
    assert 0 < done["lines"] < len(LINES)
    assert not done["finished"]
    assert not output.exists()
    kept = part.read_bytes()[: done["bytes"]]
    assert kept.count(b"\n") == done["lines"]
    with part.open("ab") as file:
        file.write(b"half a li")
    again: list[str] = []
    hypotheses = heedful.Translator.hypotheses

    def counted(self, lines, *args, **options):
        return hypotheses(self, (again.append(line) or line for line in lines), *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heedful.Translator, "hypotheses", counted)
        assert translated(capsys, model, text, output, "--resume", *GREEDY)[0] == 0
    assert again == LINES[done["lines"] :]  # nothing twice
    assert translated(capsys, model, text, tmp_path / "whole", *GREEDY)[0] == 0
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()
    assert output.read_bytes().startswith(kept)
    assert not part.exists()
    code, errors = translated(capsys, model, text, output, "--resume", *GREEDY)
    assert (code, "out is complete: there is nothing left to do" in errors) == (0, True)


def test_what_has_changed_since_is_refused_by_name(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    keep = os.fsync

    def interrupted(descriptor: int) -> None:
        keep(descriptor)
        if (tmp_path / "out.progress.json").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    code, errors = translated(capsys, model, text, output, "--resume", *GREEDY)
    monkeypatch.undo()
    assert code == 130
    assert "out.part holds what is done so far; the same command goes on" in errors
    before = (tmp_path / "out.progress.json").read_bytes()
    with locked_file(tmp_path / "out.part", error=TextError, busy="?"):
        assert "another process is writing" in translated(capsys, model, text, output, "--resume", *GREEDY)[1]
    shorter = tmp_path / "shorter"
    shorter.write_text("".join(f"{line}\n" for line in LINES[:-1]))
    refused = {
        "input": (shorter, GREEDY),
        "beam_size": (text, GREEDY[1:]),
        "min_length": (text, (*GREEDY, "--min-length", "2")),
        "json": (text, (*GREEDY, "--json")),
        "shard": (text, (*GREEDY, "--shard", "1/2")),
        "models": (text, (*GREEDY, "--model", model)),
        "precision": (text, (*GREEDY, "--precision", "float64")),
    }
    for name, (input_, options) in refused.items():
        code, errors = translated(capsys, model, input_, output, "--resume", *options)
        assert code == 2
        assert f"is of another translation: {name} " in errors
    assert (tmp_path / "out.progress.json").read_bytes() == before
    with gzip.open(tmp_path / "text.gz", "wt") as file:  # the same text is the same input
        file.write(text.read_text())
    assert translated(capsys, model, tmp_path / "text.gz", output, "--resume", *GREEDY)[0] == 0
    output.write_text("something else\n")
    assert "not what --resume wrote" in translated(capsys, model, text, output, "--resume", *GREEDY)[1]
    assert "give one of them" in translated(capsys, model, text, output, "--resume", "--overwrite")[1]


@pytest.mark.parametrize(
    "options", [("--greedy", "--json"), ("--sample", "--seed", "3", "--json"), ("--n-best", "2", "--beam-size", "2")]
)
def test_the_parts_of_a_text_one_after_the_other_are_the_whole(
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    """To the last bit, as with the usual numbers: parts are cut where lines are translated together."""
    monkeypatch.setattr(long_texts, "SHARD_LINES", 32)
    text = tmp_path / "text"
    text.write_text("".join(f"{line}\n" for line in LINES[:150]))
    exactly = (*options, "--batch-size", "2", *SHORT)
    assert translated(capsys, model, text, tmp_path / "whole", *exactly)[0] == 0
    for part, resume in ((1, True), (2, False), (3, True)):
        more = ["--resume"] if resume else []
        shard = ("--shard", f"{part}/3", *more)
        assert translated(capsys, model, text, tmp_path / f"{part}", *exactly, *shard)[0] == 0
    joined = b"".join((tmp_path / f"{part}").read_bytes() for part in (1, 2, 3))
    assert joined == (tmp_path / "whole").read_bytes()


@given(lines=st.integers(0, 30_000), parts=st.integers(1, 40))
def test_the_parts_hold_every_line_once_in_order(lines: int, parts: int) -> None:
    shards = [lines_of_shard(f"{part}/{parts}", lines) for part in range(1, parts + 1)]
    assert [place for shard in shards for place in shard] == list(range(lines))
    sizes = [len(shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 2 * long_texts.SHARD_LINES


@pytest.mark.parametrize("shard", ["0/3", "4/3", "3", "1/0", "a/b", "-1/2", "1/2/3"])
def test_a_part_that_there_is_not_is_refused(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], shard: str
) -> None:
    code, errors = translated(capsys, model, text, tmp_path / "out", f"--shard={shard}")
    assert code == 2
    assert f"--shard {shard}: must be the number of a part" in errors


def test_what_cannot_be_resumed_is_said_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for given_ in (("ba",), ("--output", tmp_path / "x", "ba"), ("--input", os.devnull)):
        assert run_here(capsys, "translate", "--resume", *given_)[0] == 2
    assert "--shard: for --input FILE" in run_here(capsys, "translate", "ba", "--shard", "1/2")[2]


def test_no_more_lines_are_read_than_are_translated_together(model: Path) -> None:
    translator = heedful.load(model, device="cpu", batch_size=2)
    read = itertools.count()
    endless = (LINES[number % len(LINES)] for number in read)
    options = translator.options.greedy()
    assert len(list(itertools.islice(translator.hypotheses(endless, options), 40))) == 40
    assert next(read) <= 2 * translator.lines_together + 1
