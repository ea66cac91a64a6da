"""``heedful models``: what can be given to --model, and what its card says."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from tests.commands import run_here
from tests.stored_corpora import stored_corpus
from tests.trained_toys import train_toy
from tests.unit.test_runs import DESCRIPTION

from heedful.cli.models import table_of
from heedful.data.manifest import TextRecord
from heedful.runs import folder as names
from heedful.runs.bundles import write_bundle
from heedful.runs.descriptions import Languages, RunDescription, TrainedOn, read_state, write_state
from heedful.runs.lists import ListedModel, card_title, languages
from heedful.runs.saved import read_model
from heedful.typed import typed


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(names, "BUNDLED", tmp_path / "bundled")
    (tmp_path / "here" / "runs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_bundled_models_come_first_then_those_here_and_in_runs(
    run: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run, "runs/first")
    shutil.copytree(run, "second")
    shutil.copytree(run, "deep/below/third")
    card = b"\n\n## Little one: copies sounds\n\nMore.\n"
    given = write_bundle(read_model(run), folder.parent / "bundled" / "little", card=card, spoken=Languages("en", "de"))
    code, out, _ = run_here(capsys, "models", "--json")
    assert code == 0
    little, second, first = json.loads(out)
    assert little == {
        "model": "little",
        "bundled": True,
        "bytes": (given / "averaged" / "model.safetensors").stat().st_size,
        "parameters": sum(value.numel() for value in read_model(run).model.parameters()),
        "languages": "en-de",
        "step": 40,
        "about": "Little one: copies sounds",
    }
    assert (second["model"], first["model"]) == ("second", str(Path("runs/first")))
    assert first["about"] == "tiny; train.source and train.target"
    assert (first["bundled"], first["languages"], first["step"]) == (False, None, 40)
    assert first["bytes"] == (run / "averaged" / "model.safetensors").stat().st_size
    assert [row["model"] for row in json.loads(run_here(capsys, "models", "deep/below", "--json")[1])] == [
        *("little", str(Path("deep/below/third")))
    ]


def test_a_folder_that_is_a_run_is_listed_and_a_newer_checkpoint_is_the_model(
    run: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run, "mine")
    shutil.copytree("mine/checkpoints/step-00000040", "mine/checkpoints/step-00000050")
    state = Path("mine/checkpoints/step-00000050")
    write_state(state, dataclasses.replace(read_state(Path("mine/checkpoints/step-00000040")), step=50))
    (row,) = json.loads(run_here(capsys, "models", "mine", "--json")[1])
    assert (row["model"], row["step"]) == ("mine", 50)


def test_what_cannot_be_used_is_named_with_the_reason(
    run: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("begun", "harmed", "halved", "foreign"):
        shutil.copytree(run, name)
    for name in ("averaged", "checkpoints"):
        shutil.rmtree(Path("begun") / name)
    Path("harmed/averaged/state.json").write_text("{")
    Path("halved/averaged/state.json").unlink()
    Path("foreign/run.json").write_text('{"format": "somebody else\'s"}')
    found = {row["model"]: row["about"] for row in json.loads(run_here(capsys, "models", "--json")[1])}
    assert set(found) == {"begun", "harmed", "halved"}
    assert found["halved"] == "cannot be used: halved/averaged is not a checkpoint: no state.json in it"
    assert found["begun"] == "no checkpoint yet"
    assert "cannot be used: harmed/averaged/state.json is damaged" in found["harmed"]


def test_nothing_found_is_said_and_a_missing_folder_is_a_mistake(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_here(capsys, "models")
    assert code == 0
    assert "no models: none came with heedful, and there is no run in this folder or in runs/" in out
    assert run_here(capsys, "models", "--json")[1].strip() == "[]"
    code, _, errors = run_here(capsys, "models", "nowhere")
    assert code == 2
    assert "there is no folder nowhere" in errors


def test_the_table_fits_a_terminal_of_80_columns_and_loses_no_number_or_path() -> None:
    path = "experiments/2026/" + "a-rather-long-name-" * 3 + "end"
    about = "A model of everyday English and German sentences, with a title that goes on and on"
    rows = [
        ListedModel("en-de-small", True, 23_412_345, 22_912_000, "en-de", 120_000, about),
        ListedModel(path, False, None, None, None, None, "no checkpoint yet"),
    ]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(table_of(rows))
    shown = capture.get()
    assert max(map(len, shown.splitlines())) <= 80
    for number in ("23.4", "22,912,000", "120,000", "en-de-small", "en-de"):
        assert number in shown
    column = "".join(line.split()[0] for line in shown.splitlines()[2:] if line.split() and line[0] != " ")
    assert path in column


@pytest.mark.parametrize(
    ("corpora", "expected"),
    [
        (["a/train.en | a/train.de"], ("en", "de")),
        (["train.en.gz | train.de.gz", "more.en | more.de"], ("en", "de")),
        (["train.en | train.de", "train.fr | train.de"], None),
        (["train.source | train.target"], None),
        (["pairs.tsv"], None),
        (["train.en | copy.en"], None),
    ],
)
def test_languages_are_the_endings_of_the_training_files(
    tmp_path: Path, corpora: list[str], expected: tuple[str, str] | None
) -> None:
    stored_corpus(tmp_path, [([3], [4])], texts=tuple(TextRecord(name, 1.0) for name in corpora))
    description = typed(RunDescription, {**DESCRIPTION, "data": {"folder": str(tmp_path)}})
    assert languages(description) == (expected and Languages(*expected))
    said = dataclasses.replace(description, languages=Languages("fi", "et"))
    assert languages(said) == Languages("fi", "et")
    assert languages(dataclasses.replace(description, data=TrainedOn(str(tmp_path / "gone")))) is None


def test_a_card_without_a_line_has_no_title(tmp_path: Path) -> None:
    assert card_title(tmp_path) is None
    (tmp_path / "README.md").write_text("\n#\n \n")
    assert card_title(tmp_path) is None
