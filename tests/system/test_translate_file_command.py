"""``heedful translate-file``: documents with a real model, stopped and gone on with, and what it refuses."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from tests.commands import run_here, somebody

import heedful.cli.translate_file as command
from heedful.translation.translator import Translator

PAGE = (
    "# A dog\n\nA **brown** dog runs through the snow. See `snow.py`,\nor [the page](http://example.org/dogs).\n\n"
    "```\nA dog runs.\n```\n\n- Two men are talking.\n- {count} files\n"
)
ASKED = ("--engine", "torch", "--quiet", "--beam-size", "1")


def test_a_document_is_translated_and_goes_on_where_it_was_stopped(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "dog.md", tmp_path / "hund.md"
    source.write_text(PAGE)
    monkeypatch.setattr(command, "_BLOCK", 2)
    translated, translate = [], Translator.translate

    def stopped(self: Translator, lines: list[str], **options) -> list[str]:
        if len(translated) >= 2:
            raise KeyboardInterrupt
        translated.extend(lines)
        return translate(self, lines, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Translator, "translate", stopped)
        code, _, _ = run_here(capsys, "translate-file", source, "--output", output, *ASKED)
    assert code == 130
    assert not output.exists()
    before = list(translated)
    translated.clear()

    def counted(self: Translator, lines: list[str], **options) -> list[str]:
        translated.extend(lines)
        return translate(self, lines, **options)

    monkeypatch.setattr(Translator, "translate", counted)
    code, _, said = run_here(capsys, "translate-file", source, "--output", output, *ASKED, "--precision", "float64")
    assert code == 2
    assert 'precision "auto" before, "float64" now' in said
    code, _, _ = run_here(capsys, "translate-file", source, "--output", output, *ASKED)
    assert code == 0
    assert not set(before) & set(translated), "what was done is not done again"
    assert len(before) + len(translated) == 4
    found = output.read_text()
    for piece in ("# ", "**", "`snow.py`", "](http://example.org/dogs)", "```\nA dog runs.\n```", "\n- ", "{count}"):
        assert found.count(piece) == PAGE.count(piece), piece
    assert "Schnee" in found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dog.md", "hund.md"]
    code, _, said = run_here(capsys, "translate-file", source, "--output", output, *ASKED)
    assert code == 2
    assert "--overwrite" in said


@pytest.mark.parametrize(
    ("document", "output", "said"),
    [
        ("a.pdf", "b.pdf", "ends in .txt"),
        ("a.md", "b.txt", "must end in .md"),
        ("none.md", "b.md", "there is no file"),
        ("a.docx", "b.docx", "not a file of Word"),
        ("a.md", "none/b.md", "there is no folder"),
    ],
)
def test_what_it_cannot_do_is_said_before_a_model_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, document: str, output: str, said: str
) -> None:
    for name in ("a.pdf", "a.md", "a.docx"):
        (tmp_path / name).write_text("x")
    code, _, found = run_here(capsys, "translate-file", tmp_path / document, "--output", tmp_path / output)
    assert code == 2
    assert said in found


def test_a_folder_that_nothing_can_be_written_to_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.md").write_text("x")
        folder.chmod(0o555)
        with somebody():
            code, _, said = run_here(capsys, "translate-file", folder / "a.md", "--output", folder / "b.md", *ASKED)
        folder.chmod(0o755)
    assert code == 2
    assert f"--output {folder}/b.md cannot be written: nothing may be made in the folder {folder}" in said


def test_a_translation_lies_beside_its_document_with_the_language_in_its_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "dog.notes.txt").write_text("A dog runs.\n")
    asked = [word for word in ASKED if word != "--quiet"]
    code, _, said = run_here(capsys, "translate-file", tmp_path / "dog.notes.txt", *asked)
    assert code == 0
    assert "1 piece of text was translated" in said
    assert "Hund" in (tmp_path / "dog.notes.de.txt").read_text()
    code, _, said = run_here(capsys, "translate-file", tmp_path / "dog.notes.txt", *ASKED)
    assert code == 2
    assert "dog.notes.de.txt" in said
    assert "--overwrite" in said


def test_a_page_says_its_language_and_its_pictures_are_described_in_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "dog.html"
    source.write_text('<html lang="en-GB"><p>A dog runs. <img src="d.png" alt="A dog is &quot;hungry&quot;."></html>\n')
    code, _, _ = run_here(capsys, "translate-file", source, *ASKED)
    assert code == 0
    found = (tmp_path / "dog.de.html").read_text()
    assert '<html lang="de">' in found
    assert re.search(r'<img src="d.png" alt="[^"<>]*Hund[^"<>]*">', found)


def test_a_german_document_becomes_english_as_german_text_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "brief.txt"
    source.write_text("Der Hund läuft durch den Schnee.\nZwei Männer reden miteinander.\n")
    code, _, said = run_here(capsys, "translate-file", source, "--engine", "torch", "--beam-size", "1")
    assert code == 0
    assert "de-en-small" in said
    assert "dog" in (tmp_path / "brief.en.txt").read_text()
    code, _, said = run_here(capsys, "translate-file", source, *ASKED, "--to", "fr")
    assert code == 2
    assert "translates to fr" in said
