"""docs/formats.md names every file that is written and every field in it."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.doc_pages import DOCS
from tests.trained_toys import SMALL, train_toy

import heedful
from heedful import Transformer
from heedful.cli.main import COMMANDS, command_named, main
from heedful.config import SECTIONS, Config
from heedful.presets import resolve
from heedful.runs.bundles import write_bundle
from heedful.runs.descriptions import Languages
from heedful.runs.saved import read_model
from heedful.search.options import SearchOptions

PAGE = (DOCS / "formats.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", PAGE.partition("## What `--json` prints")[2], re.MULTILINE))
SETTINGS = {*vars(SearchOptions()), *SECTIONS, *(name.partition(".")[2] for name in Config().settings)}
ASKED = {
    "data": "{corpus} --batch-tokens 512",
    "plan": "{corpus} --preset tiny",
    "bench": "--preset tiny --seconds 1 --device cpu --threads 1",
    "runs": "{run}",
    "models": "{run}",
    "curves": "{run}",
    "report": "{run} {run} --source a --reference b",
    "average": "{run}",
    "evaluate": "--model {run} --source a --reference b --resamples 9",
    "compare": "a b --reference b --resamples 9 --trials 9",
    "score": "--model {run} --source a --target b",
    "attention": "--model {run} b --alignment",
    "translate": "--model {run} b",
    "bundle": "{run} --output bundle",
    "export": "{run} --to marian --output engine",
    "presets": "tiny",
    "config": "--preset tiny",
}
"""A command line of each command that takes --json."""
FREE = {"config", "configuration", "histogram", "files", "samples", "rules", "packages"}
FREE |= {"character_counts", "word_counts", "augmented", "augment", "left_out"}
"""Objects whose keys are no fields: settings, ranges, names of files, packages and scores, words; rules and kinds."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"))


def fields(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in FREE:
                yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


def is_named(name: str) -> bool:
    return re.search(rf"[`.]{re.escape(name)}\b", PAGE) is not None


def test_every_field_is_named(run: Path) -> None:
    corpus = Path(json.loads((run / "run.json").read_text())["data"]["folder"])
    files = [run / "run.json", run / "status.json", *run.rglob("state.json"), *corpus.glob("*.json")]
    assert len(files) >= 6
    values = [json.loads(path.read_text()) for path in files]
    values += [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [name for name in sorted({name for value in values for name in fields(value)}) if not is_named(name)] == []


def test_every_file_is_named(run: Path) -> None:
    corpus = Path(json.loads((run / "run.json").read_text())["data"]["folder"])
    for path in [*run.rglob("*"), *corpus.rglob("*")]:
        name = re.sub(r"^step-\d+$", "step-", path.name)
        assert name in PAGE, path


def test_what_a_bundle_adds_is_named(run: Path, tmp_path: Path) -> None:
    bundle = write_bundle(read_model(run), tmp_path / "bundle", card=b"# A toy", spoken=Languages("en", "de"))
    files = [bundle / "run.json", bundle / "averaged" / "state.json"]
    named = [name for path in files for name in fields(json.loads(path.read_text()))]
    assert {"bundle", "languages", "storage"} <= set(named)
    assert [name for name in named if not is_named(name)] == []
    assert [path for path in bundle.rglob("*") if path.name not in PAGE] == []


def test_everything_that_takes_json_has_its_row() -> None:
    taking = {name for name in COMMANDS if "as_json" in inspect.signature(command_named(name)).parameters}
    assert set(ROWS) == taking
    assert taking - set(ASKED) == {"prepare", "parse", "demo", "reproduce"}, "tests of theirs read what they print"


@pytest.mark.parametrize("command", ASKED)
def test_every_field_that_json_prints_is_in_its_row(
    command: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("a", "b c d\nc d\n"), ("b", "b c d\nd c\n")):
        (tmp_path / name).write_text(lines)
    corpus = json.loads((run / "run.json").read_text())["data"]["folder"]
    words = [word.format(run=run, corpus=corpus) for word in ASKED[command].split()]
    with pytest.raises(SystemExit, match="0"):
        main([command, *words, "--json"])
    out = capsys.readouterr().out
    values = [json.loads(line) for line in out.splitlines()] if command in ("score", "translate") else json.loads(out)
    found = set(fields(values)) - (SETTINGS if command in ("config", "presets", "evaluate") else set())
    row = ROWS[command] + {"report": ROWS["evaluate"] + ROWS["compare"], "data": PAGE}.get(command, "")
    assert found or command == "config"
    assert sorted(name for name in found if f"`{name}`" not in row) == []


def test_weights_are_under_the_models_names_and_the_shared_matrix_is_there_once(run: Path) -> None:
    description = json.loads((run / "run.json").read_text())
    stored = load_file(run / "averaged" / "model.safetensors")
    model = Transformer(resolve(name="tiny", settings=SMALL).model, vocab_size=description["vocab_size"])
    assert set(stored) == set(model.state_dict())
    assert sum(tensor.numel() for tensor in stored.values()) == description["parameters"]
    assert {tensor.dtype for tensor in stored.values()} == {torch.float32}
    assert [folder.name for folder in run.rglob("step-*") if (folder / "optimizer.safetensors").exists()]
    assert not (run / "averaged" / "optimizer.safetensors").exists()


def test_a_model_can_be_moved_with_the_parts_the_page_names(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "run.json", tmp_path)
    for part in ("tokenizer", "averaged"):
        shutil.copytree(run / part, tmp_path / part)
    lines = ["a b c", "d"]
    moved, original = (heedful.load(place, device="cpu") for place in (tmp_path, run))
    assert moved.translate(lines) == original.translate(lines)
