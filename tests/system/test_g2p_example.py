"""The grapheme-to-phoneme example: how it cuts a dictionary, and its script from end to end on invented words."""

from __future__ import annotations

import doctest
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from examples import g2p

from heedful.errors import HeedfulError
from heedful.presets import resolve

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = ["model.d_model=16", "model.d_ff=16", "model.encoder_layers=1", "model.decoder_layers=1", "training.steps=4"]
TINY += ["training.validation_steps=4", "training.checkpoint_steps=2", "training.average_last=2"]
SOUNDS = {"a": "AE1", "b": "B", "i": "IH0", "k": "K", "o": "AO2", "s": "S", "t": "T"}


def invented_words(count: int) -> list[str]:
    draw = random.Random(1)
    return sorted({"".join(draw.choices(list(SOUNDS), k=draw.randint(3, 6))) for _ in range(count)})


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    """CMUdict's format; every third word has a second pronunciation, every fifth one that differs in stress alone."""
    lines = [";;; invented words"]
    for place, word in enumerate(invented_words(500)):
        phonemes = [SOUNDS[letter] for letter in word]
        lines.append(f"{word} {' '.join(phonemes)} # a remark")
        if place % 3 == 0:
            lines.append(f"{word}(2) {' '.join([*phonemes, 'Z'])}")
        if place % 5 == 0:
            lines.append(f"{word}(3) {' '.join(phonemes).replace('1', '2').replace('0', '1')}")
    path = tmp_path / "words.dict"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_every_word_is_in_one_part_with_all_its_pronunciations(dictionary: Path, tmp_path: Path) -> None:
    words = g2p.dictionary_of(g2p.entries_of_file(dictionary), stress=False)
    sizes = g2p.write_parts(words, tmp_path / "g2p")
    read = {path.name: path.read_text().splitlines() for path in (tmp_path / "g2p").iterdir()}
    letters = {part: set(read[f"{part}.letters"]) for part in ("train", "valid", "test")}
    assert sum(map(len, letters.values())) == len(letters["train"] | letters["valid"] | letters["test"]) == len(words)
    assert {part: len(members) for part, members in letters.items()} == sizes
    said: dict[str, set[str]] = {}
    for part in ("train", "valid"):
        for spelled, phonemes in zip(read[f"{part}.letters"], read[f"{part}.phonemes"], strict=True):
            said.setdefault(spelled.replace(" ", ""), set()).add(phonemes)
    for spelled, line in zip(read["test.letters"], read["test.references"], strict=True):
        said[spelled.replace(" ", "")] = set(line.split("\t"))
    for place, word in enumerate(invented_words(500)):
        plain = " ".join(SOUNDS[letter].rstrip("012") for letter in word)
        assert said[word] == ({plain, plain + " Z"} if place % 3 == 0 else {plain})


def test_a_tenth_is_held_out_whatever_the_dictionary() -> None:
    words = [f"word{number}" for number in range(20_000)]
    shares = {part: sum(g2p.part_of(word) == part for word in words) / len(words) for part in g2p.PARTS}
    assert shares == pytest.approx({"test": 0.10, "valid": 0.05, "train": 0.85}, abs=0.01)


def test_stress_is_kept_if_asked_for() -> None:
    entries = [("read", ["R", "EH1", "D"]), ("read", ["R", "EH2", "D"])]
    assert g2p.dictionary_of(entries, stress=True) == {"read": [["R", "EH1", "D"], ["R", "EH2", "D"]]}
    assert g2p.dictionary_of(entries, stress=False) == {"read": [["R", "EH", "D"]]}


def test_a_line_without_phonemes_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.dict").write_text("cat K AE1 T\ndog\n")
    with pytest.raises(HeedfulError, match=r"bad\.dict, line 2: a word and its phonemes are needed"):
        list(g2p.entries_of_file(tmp_path / "bad.dict"))


def test_its_settings_are_settings() -> None:
    config = resolve(file=EXAMPLES / "g2p.toml")
    assert (config.model.d_model, config.model.encoder_layers, config.training.steps) == (256, 4, 12_000)


def test_the_script_goes_from_a_dictionary_to_error_rates(dictionary: Path, tmp_path: Path) -> None:
    cut = [sys.executable, str(EXAMPLES / "g2p.py"), "split", "--dictionary", str(dictionary), "--output", "g2p"]
    subprocess.run(cut, check=True, cwd=tmp_path, capture_output=True)
    settings = [word for setting in TINY for word in ("--set", setting)]
    result = subprocess.run(
        ["bash", str(EXAMPLES / "g2p.sh"), "--device", "cpu", "--threads", "1", *settings],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HEEDFUL": f"{sys.executable} -m heedful", "PYTHON": sys.executable},
    )
    assert result.returncode == 0, result.stderr
    rates = json.loads(result.stdout.splitlines()[-1])
    references = (tmp_path / "g2p" / "test.references").read_text().splitlines()
    assert rates["words"] == len(references)
    # Four steps teach nothing; what counts is that they are rates of these words and phonemes.
    assert 0 < rates["wrong"] == round(rates["word_error_rate"] * rates["words"])
    assert rates["phoneme_error_rate"] == pytest.approx(rates["edits"] / rates["phonemes"])
    corpus = json.loads((tmp_path / "g2p" / "corpus" / "report.json").read_text())
    assert corpus["vocabulary"]["source"]["used"] == len(SOUNDS)  # one subword a letter
    assert corpus["vocabulary"]["target"]["used"] == len(SOUNDS) + 1  # one a phoneme, and Z


def test_what_is_right_has_no_error(tmp_path: Path) -> None:
    (tmp_path / "references").write_text("R EH D\tR IY D\nK AE T\n")
    (tmp_path / "out").write_text("R IY D\nK AE T S\n")
    rates = g2p.score(tmp_path / "out", tmp_path / "references")
    assert (rates.wrong, rates.outputs, rates.edits, rates.symbols) == (1, 2, 1, 6)


def test_its_examples_are_true() -> None:
    assert doctest.testmod(g2p) == doctest.TestResults(failed=0, attempted=4)
