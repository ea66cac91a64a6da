"""The stages behind the bundled models: their options exist, they go on where they stopped, (long) all of them run."""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import lzma
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from examples.grammar.corpus import pairs
from tests.doc_pages import shell
from tests.system.test_bundled_models import MOST_BYTES
from tests.unit.test_docs import options

from heedful import Transformer
from heedful.presets import resolve
from heedful.training.optimizer import scheduled_rate

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = (EXAMPLES / "small_models.sh").read_text(encoding="utf-8")
STAGES = [line.split()[1:] for line in SCRIPT.splitlines() if line.startswith("stage ")]


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("small_models")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few hundred generated pairs under the names of the corpora."""
    folder, generated = tmp_path_factory.mktemp("data"), iter(pairs(5, 6000))
    sys.path.insert(0, str(EXAMPLES))
    weights = importlib.import_module("small_models_text").WEIGHTS
    sys.path.remove(str(EXAMPLES))

    def write(name: str, count: int, *, end: str = "\n") -> None:
        some = [next(generated) for _ in range(count)]
        for language, side in (("en", "english"), ("de", "german")):
            path = folder / name.replace("LANG", language)
            path.parent.mkdir(exist_ok=True, parents=True)
            packed = lzma.compress if path.suffix == ".xz" else gzip.compress
            path.write_bytes(packed("".join(getattr(one, side) + end for one in some).encode()))

    everyday = "".join(f"{one.english}\t{one.german}\n" for one in (next(generated) for _ in range(300)))
    for text in (text for texts in weights.values() for text in texts):
        write(f"{text}.LANG.{'gz' if text.startswith('wmt-news') else 'xz'}", 20)
    (folder / "tatoeba-en-de").mkdir()
    (folder / "tatoeba-en-de" / "train.tsv.xz").write_bytes(lzma.compress(everyday.encode()))
    for name in ("msdocs-en-de/dotnet.LANG.xz", "debian-en-de/help.LANG.xz"):
        write(name, 50)
    write("debian-en-de/debian-mo.LANG.xz", 50, end=" --now\n")
    news = [f"wmt-news/newstest{name}.en-de.LANG.gz" for name in ("2013", "2014", "2014-2737")]
    for name in [*news, *(f"multi30k/{name}.LANG.gz" for name in ("val", "test_2016"))]:
        write(name, 5)
    return folder


def given(stages: Any, words: list[str], *, data: Path, work: Path) -> argparse.Namespace:
    """A stage's options as the script gives them, in miniature."""
    plain = [re.sub(r'"\$\{\w+:-(\d+)\}"', r"\1", word).replace('"$data"', str(data)) for word in words]
    plain = [word for word in plain if word != '"$@"']
    return stages.options().parse_args([*plain, "--work", str(work), "--miniature", "--device", "cpu"])


def test_every_command_of_every_stage_has_options_that_exist(
    stages: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage up to where it reads what its commands would have made."""
    commands: list[list[str]] = []
    monkeypatch.setattr(
        stages, "together", lambda some, **_: commands.extend(list(map(str, words)) for words in some.values())
    )
    (tmp_path / "results").mkdir()
    (tmp_path / "subwords").mkdir()
    for source, target in (("en", "de"), ("de", "en")):
        (tmp_path / f"{source}-{target}").mkdir()
        for language in (source, target):
            (tmp_path / f"{source}-{target}" / f"taught-4.{language}").write_text("a line\n")
    for words in STAGES:
        wanted = given(stages, words, data=data, work=tmp_path)
        if wanted.stage == "text":
            stages.text(wanted)
            continue
        with pytest.raises((FileNotFoundError, SystemExit)):
            getattr(stages, wanted.stage)(wanted)
    known = options()
    assert {words[0] for words in commands} == {"prepare", "train", "evaluate", "translate", "bundle"}
    for name, *words in commands:
        for option in (re.split("=", word)[0] for word in words if word.startswith("--")):
            assert option.removeprefix("--") in known[name], f"{name} {option}"
    tags = {word for words in commands for word in words if word.startswith("bt=")}
    assert tags == {f"bt={tmp_path}/de-en/taught-4.en", f"bt={tmp_path}/en-de/taught-4.de"}


def test_its_model_fits_into_what_a_bundle_may_weigh(stages: Any) -> None:
    """A byte a weight of a matrix and four for each row, four a weight of a vector, and 32 a subword as measured."""
    vocab_size = stages.options().parse_args(["corpus", "original", "--data", "data"]).vocab_size
    with torch.device("meta"):
        model = Transformer(resolve(file=EXAMPLES / "small_models.toml").model, vocab_size=vocab_size)
    shapes = [parameter.shape for parameter in model.parameters()]
    weights = sum(shape.numel() + 4 * shape[0] if len(shape) == 2 else 4 * shape.numel() for shape in shapes)
    assert weights + 32 * vocab_size < MOST_BYTES


@pytest.mark.parametrize("size", ["base", "small"])
def test_the_rate_has_its_peak_where_the_warm_up_ends_and_is_0_at_the_end(stages: Any, size: str) -> None:
    wanted = stages.options().parse_args(["train", "run", "--size", size, "--minutes", "10"])
    kind, source = stages.SIZES[size].options
    named: dict[str, Any] = {"name": source} if kind == "--preset" else {"file": Path(source)}
    config = resolve(**named, settings=stages._schedule(wanted))
    assert config.model.d_model == stages.SIZES[size].d_model
    sizes = {"d_model": config.model.d_model, "training": config.training}
    rates = [scheduled_rate(step, **sizes, last=20_000) for step in range(1, 20_001)]
    assert max(rates) == pytest.approx(stages.SIZES[size].peak, rel=1e-3)
    assert rates.index(max(rates)) + 1 == config.training.warmup_steps
    assert rates[-1] < 1e-6


def test_sentences_are_told_from_code_and_buttons(stages: Any) -> None:
    is_sentence = importlib.import_module("small_models_text").is_sentence
    assert is_sentence("The file could not be opened.", "Die Datei konnte nicht geöffnet werden.")
    for english, german in (
        ("Open the recent file", "Zuletzt geöffnete Datei öffnen"),
        ("Not found.", "Nicht gefunden."),
        ("The file %s was not found.", "Die Datei %s wurde nicht gefunden."),
        ("Use --all to see all files.", "Mit --all werden alle Dateien gezeigt."),
    ):
        assert not is_sentence(english, german), english


def test_teachers_get_every_line_once_and_none_that_is_held_out(stages: Any, data: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.de.gz"
    more.write_bytes(gzip.compress(b"Das steht nur hier.\nDas auch.\nDas steht nur hier.\n"))
    texts = importlib.import_module("small_models_text")
    texts.write_texts(data, tmp_path, [more], miniature=True)
    lines = texts.lines_of(tmp_path / "all.de")
    assert len(lines) == len(set(lines))
    assert {"Das steht nur hier.", "Das auch."} <= set(lines)
    assert "Das auch." not in texts.lines_of(tmp_path / "all.en")
    held_out = {line for path in texts.kept_out(data) for line in texts.lines_of(path)}
    assert len(held_out) == 50
    assert not (held_out | set(texts.lines_of(tmp_path / "tatoeba-dev.de"))) & set(lines)


def test_what_a_teacher_said_so_far_is_beside_its_sources_and_weighs_as_they_do(stages: Any, tmp_path: Path) -> None:
    """1,024 lines are the least that two processes share; the second of them has been stopped."""
    for name in ("text", "en-de"):
        (tmp_path / name).mkdir()
    (tmp_path / "text" / "all.en").write_text("".join(f"line {number}\n" for number in range(1500)))
    (tmp_path / "text" / "all.en.json").write_text('{"4": 1200, "1.5": 300}')
    second = stages.lines_of_shard("2/2", 1500).start
    assert 0 < second < 1200
    (tmp_path / "en-de" / "said-1-of-2.de").write_text("".join(f"Zeile {number}\n" for number in range(second)))
    (tmp_path / "en-de" / "said-1-of-2.de.progress.json").write_text(f'{{"lines": {second}}}')
    part = "".join(f"Zeile {number}\n" for number in range(second, 1300))
    (tmp_path / "en-de" / "said-2-of-2.de.part").write_text(part + "Zei")
    (tmp_path / "en-de" / "said-2-of-2.de.progress.json").write_text(f'{{"lines": {1300 - second}}}')
    words = ["translate", "teacher", "--at-once", "2", "--work", str(tmp_path)]
    assert stages._taught(stages.options().parse_args(words), "en-de") == {"lines": 1300, "of": 1500}
    for weight, span in (("4", range(1200)), ("1.5", range(1200, 1300))):
        english, german = ((tmp_path / "en-de" / f"taught-{weight}.{each}").read_text() for each in ("en", "de"))
        assert english.splitlines() == [f"line {number}" for number in span]
        assert german.splitlines() == [f"Zeile {number}" for number in span]


WAIT = "import sys, time\nfor _ in range(600): time.sleep(0.1)\n"


def test_when_time_is_over_or_one_fails_none_is_left_running(stages: Any, tmp_path: Path) -> None:
    wait, fail = tmp_path / "wait.py", tmp_path / "fail.py"
    wait.write_text(WAIT)
    fail.write_text("raise SystemExit('no such corpus')")
    began = time.monotonic()
    with pytest.raises(stages.Stopped):
        stages.together({tmp_path / "a.log": [wait], tmp_path / "b.log": [wait]}, seconds=0.5)
    with pytest.raises(SystemExit, match="no such corpus"):
        stages.together({tmp_path / "c.log": [wait], tmp_path / "d.log": [fail]})
    assert time.monotonic() - began < 30


def run_stage(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**shell(folder), "PYTHON": "python", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return subprocess.run(words, check=False, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.long
def test_the_whole_chain_makes_two_bundles_and_their_scores_and_goes_on_where_it_was(
    stages: Any, data: Path, tmp_path: Path
) -> None:
    chain = ["bash", str(EXAMPLES / "small_models.sh"), str(data), "--miniature", "--device", "cpu"]
    result = run_stage(chain, tmp_path)
    assert result.returncode == 0, result.stderr
    work = tmp_path / "small"
    for pair in ("en-de", "de-en"):
        assert json.loads((work / pair / "student" / "status.json").read_text())["state"] == "finished"
        for name in ("newstest2013", "tatoeba-dev", "multi30k-val"):
            facts = json.loads((work / "scores" / f"{pair}-small" / f"{name}.json").read_text())
            assert facts["model"] == f"small/{pair}-small"
            assert facts["scores"][0]["signature"]
    taught = json.loads((work / "results" / "corpus-taught.json").read_text())
    original = json.loads((work / "results" / "corpus-original.json").read_text())
    assert taught["en-de"]["pairs"]["kept"] > original["en-de"]["pairs"]["kept"]
    words = [sys.executable, str(EXAMPLES / "small_models.py"), "train", "again", "--minutes", "1", "--miniature"]
    words += ["--device", "cpu", "--pairs", "en-de", "--set", "training.steps=1000000"]
    stopped = run_stage([*words, "--stop-after", "1"], tmp_path)
    assert "go on with the same line" in stopped.stderr
    status = json.loads((work / "en-de" / "again" / "status.json").read_text())
    before = status["step"]
    assert (status["state"], before > 0) == ("interrupted", True)
    run_stage([*words, "--stop-after", "0.5"], tmp_path)
    assert json.loads((work / "en-de" / "again" / "status.json").read_text())["step"] > before
