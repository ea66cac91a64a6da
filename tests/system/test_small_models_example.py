"""The script behind the bundled models: its options exist, its model fits, and (long) it runs from end to end."""

from __future__ import annotations

import gzip
import importlib
import json
import lzma
import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from examples.grammar.corpus import pairs
from tests.doc_pages import shell
from tests.system.test_bundled_models import MOST_BYTES
from tests.unit.test_docs import options

from heedful import Transformer
from heedful.presets import resolve

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = (EXAMPLES / "small_models.sh").read_text(encoding="utf-8").replace("\\\n", " ")
TINY = ["model.d_model=16", "model.d_ff=16", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1"]
TINY += ["training.steps=4", "training.validation_steps=4", "training.checkpoint_steps=2", "training.average_last=2"]


def test_its_options_exist() -> None:
    known = options()
    commands = re.findall(r"^ *(?:test .* )?heedful (\w+)(.*)$", SCRIPT, flags=re.MULTILINE)
    expected = "prepare prepare train curves bundle evaluate models"
    assert [command for command, _ in commands] == expected.split()
    for command, rest in commands:
        for option in re.findall(r"--([a-z-]+)", rest):
            assert option in known[command], f"{command} --{option}"


def test_its_model_fits_into_what_a_bundle_may_weigh() -> None:
    """A byte a weight of a matrix and four for each row, four a weight of a vector, and 32 a subword as measured."""
    (vocab_size,) = map(int, re.findall(r"--vocab-size (\d+)", SCRIPT))
    with torch.device("meta"):
        model = Transformer(resolve(file=EXAMPLES / "small_models.toml").model, vocab_size=vocab_size)
    shapes = [parameter.shape for parameter in model.parameters()]
    weights = sum(shape.numel() + 4 * shape[0] if len(shape) == 2 else 4 * shape.numel() for shape in shapes)
    assert weights + 32 * vocab_size < MOST_BYTES


def test_sentences_are_told_from_code_and_buttons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    is_sentence = importlib.import_module("small_models").is_sentence
    assert is_sentence("The file could not be opened.", "Die Datei konnte nicht geöffnet werden.")
    for english, german in (
        ("Open the recent file", "Zuletzt geöffnete Datei öffnen"),
        ("Not found.", "Nicht gefunden."),
        ("The file %s was not found.", "Die Datei %s wurde nicht gefunden."),
        ("Use --all to see all files.", "Mit --all werden alle Dateien gezeigt."),
    ):
        assert not is_sentence(english, german), english


@pytest.mark.long
@pytest.mark.parametrize("pair", ["en-de", "de-en"])
def test_it_makes_a_bundle_and_its_scores(tmp_path: Path, pair: str) -> None:
    generated = iter(pairs(5, 6000))
    data = tmp_path / "data"

    def write(name: str, count: int, *, end: str = "\n") -> None:
        some = [next(generated) for _ in range(count)]
        for language, side in (("en", "english"), ("de", "german")):
            path = data / name.replace("LANG", language)
            path.parent.mkdir(exist_ok=True, parents=True)
            packed = lzma.compress if path.suffix == ".xz" else gzip.compress
            path.write_bytes(packed("".join(getattr(one, side) + end for one in some).encode()))

    everyday = "".join(f"{one.english}\t{one.german}\n" for one in (next(generated) for _ in range(3500)))
    for name in re.findall(r"^add [0-9.]+ (.*)$", SCRIPT, flags=re.MULTILINE):
        for text in subprocess.check_output(["bash", "-c", f"echo {name}"], text=True).split():
            write(f"{text}.LANG.{'gz' if text.startswith('wmt-news') else 'xz'}", 30)
    (data / "tatoeba-en-de").mkdir()
    (data / "tatoeba-en-de" / "train.tsv.xz").write_bytes(lzma.compress(everyday.encode()))
    for name in ("msdocs-en-de/dotnet.LANG.xz", "debian-en-de/help.LANG.xz"):
        write(name, 100)
    write("debian-en-de/debian-mo.LANG.xz", 100, end=" --now\n")
    news = [f"wmt-news/newstest{name}.en-de.LANG.gz" for name in ("2013", "2014", "2014-2737")]
    for name in [*news, *(f"multi30k/{name}.LANG.gz" for name in ("val", "test_2016"))]:
        write(name, 5)
    (tmp_path / "card.md").write_text(f"# {pair}-small: a trial\n")
    settings = [word for setting in TINY for word in ("--set", setting)]
    environment = {
        **shell(tmp_path),
        "CARD": "card.md",
        "PYTHON": "python",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    result = subprocess.run(
        ["bash", EXAMPLES / "small_models.sh", "data", pair, *settings, "--device", "cpu"],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert f"{pair}-small: a trial" in result.stdout
    for name in ("newstest2013", "tatoeba-dev", "multi30k-val"):
        facts = json.loads((tmp_path / pair / f"{name}.json").read_text())
        assert facts["model"] == f"{pair}/{pair}-small"
        assert facts["scores"][0]["signature"]
