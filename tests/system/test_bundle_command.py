"""``heedful bundle``: a model to give away is small, tells no secrets, and is a model for every other command."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tests.commands import run_here
from tests.trained_toys import SMALL, train_toy
from tests.training_toys import toy_sentences

import heedful
from heedful.errors import CheckpointError
from heedful.runs.bundles import write_bundle
from heedful.runs.saved import read_model

LINES = [" ".join(words) for words in toy_sentences(40, seed=77)]
CARD = "\n# Sounds, copied\n\nA toy.\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"), steps=120)


@pytest.fixture(scope="module")
def bundle(run: Path) -> Path:
    return write_bundle(read_model(run), run.parent / "bundle", card=CARD.encode())


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("storage", "share"), [("int8", 0.36), ("bfloat16", 0.54), ("float32", 1.01)])
def test_what_is_written_is_what_is_said(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], storage: str, share: float
) -> None:
    (tmp_path / "card.md").write_text(CARD)
    output = tmp_path / "given"
    words = ("bundle", run, "--output", output, "--storage", storage, "--card", tmp_path / "card.md")
    code, out, _ = run_here(capsys, *words, "--languages", "en-de", "--json")
    assert code == 0
    facts: dict[str, Any] = json.loads(out)
    assert files_in(output) == {
        *("run.json", "README.md", "profile.json", "tokenizer/tokenizer.json"),
        *("averaged/model.safetensors", "averaged/state.json"),
    }
    weights = output / "averaged" / "model.safetensors"
    assert facts["weights"]["sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()
    assert facts["bytes"] == sum((output / name).stat().st_size for name in files_in(output))
    assert weights.stat().st_size < share * (run / "averaged" / "model.safetensors").stat().st_size
    assert (facts["step"], facts["storage"], facts["languages"]) == (120, storage, "en-de")
    assert (output / "README.md").read_text() == CARD
    assert json.loads((output / "averaged" / "state.json").read_text())["storage"] == storage
    assert {value.dtype for value in read_model(output).model.state_dict().values()} == {torch.float32}
    code, _, errors = run_here(capsys, *words)
    assert code == 2
    assert "is there already" in errors
    code, out, _ = run_here(capsys, *words, "--overwrite")
    assert code == 0
    assert facts["weights"]["sha256"] in out


def test_the_weights_are_the_runs_own_by_the_formats_page(run: Path, bundle: Path) -> None:
    """Read with safetensors and numpy alone, as another program would."""
    stored = load_file(bundle / "averaged" / "model.safetensors")
    for name, value in load_file(run / "averaged" / "model.safetensors").items():
        if value.ndim == 2:
            scale = stored[name + "/scale"][:, None]
            np.testing.assert_array_less(np.abs(stored[name] * scale - value), 0.02 * np.abs(value).max() + 1e-9)
        else:
            np.testing.assert_array_equal(stored[name], value)


def test_it_translates_as_the_run_does(run: Path, bundle: Path) -> None:
    given, original = (heedful.load(place, device="cpu") for place in (bundle, run))
    same = [a == b for a, b in zip(given.translate(LINES), original.translate(LINES), strict=True)]
    assert sum(same) >= 0.8 * len(LINES)
    for one, other in zip(given.score(LINES, LINES), original.score(LINES, LINES), strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, rel=0.05)


def test_it_tells_nothing_of_the_machine_it_was_trained_on(run: Path, bundle: Path) -> None:
    for name in files_in(bundle):
        assert str(run.parent).encode() not in (bundle / name).read_bytes(), name
    described = json.loads((bundle / "run.json").read_text())
    assert (described["command"], described["init"], described["data"]["folder"]) == (None, None, None)
    assert "platform" not in described["environment"]
    assert described["environment"]["packages"]["torch"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_whoever_may_read_the_description_may_read_the_weights(bundle: Path) -> None:
    modes = {name: (bundle / name).stat().st_mode for name in files_in(bundle)}
    assert len(set(modes.values())) == 1, modes


def test_one_checkpoint_of_a_run_can_be_given_away_and_a_bundle_again(run: Path, bundle: Path, tmp_path: Path) -> None:
    checkpoint = run / "checkpoints" / "step-00000090"
    exact = write_bundle(read_model(checkpoint), tmp_path / "exact", storage="float32")
    weights, expected = (load_file(place / "model.safetensors") for place in (exact / "averaged", checkpoint))
    for name, value in expected.items():
        np.testing.assert_array_equal(weights[name], value)
    again = write_bundle(read_model(bundle), tmp_path / "again")
    assert files_in(again) == files_in(bundle)
    assert (again / "README.md").read_text() == CARD
    once, twice = (read_model(place).model.state_dict() for place in (bundle, again))
    for name, value in once.items():
        torch.testing.assert_close(twice[name], value, rtol=0.02, atol=0.02 * float(value.abs().max()))


def test_a_damaged_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "harmed")
    weights = tmp_path / "harmed" / "averaged" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model.safetensors is damaged"):
        read_model(tmp_path / "harmed")


def test_training_begins_with_its_weights_and_never_goes_on_inside_it(
    run: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [*SMALL, "training.steps=2", "training.checkpoint_steps=1", "training.learning_rate_scale=1e-30"]
    options = [word for setting in settings for word in ("--set", setting)]
    words = ("train", run.parent / "corpus", "--preset", "tiny", *options, "--device", "cpu", "--quiet")
    code, _, errors = run_here(capsys, *words, "--init", bundle, "--output", tmp_path / "tuned")
    assert (code, errors) == (0, "")
    its_own = [word for setting in settings if setting.startswith("training.") for word in ("--set", setting)]
    words = ("train", run.parent / "corpus", *its_own, "--device", "cpu", "--quiet")
    code, _, errors = run_here(capsys, *words, "--init", bundle, "--output", tmp_path / "its-sizes")
    assert (code, errors) == (0, ""), "without a preset the model is what the other was"
    assert read_model(tmp_path / "its-sizes").config.model == read_model(bundle).config.model
    tuned, begun = (read_model(place).model.state_dict() for place in (tmp_path / "tuned", bundle))
    for name, value in begun.items():
        torch.testing.assert_close(tuned[name], value, rtol=0, atol=1e-6)
    shutil.copytree(bundle, tmp_path / "copy")
    before = files_in(tmp_path / "copy")
    code, _, errors = run_here(capsys, *words, "--output", tmp_path / "copy", "--resume")
    assert code == 2
    assert f"start a new run with --init {tmp_path / 'copy'}" in errors
    assert files_in(tmp_path / "copy") == before


def test_other_commands_work_on_it_or_say_why_not(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run_here(capsys, "average", bundle)
    assert code == 2
    assert "it has no checkpoints, and its weights are final" in errors
    code, out, _ = run_here(capsys, "runs", bundle, "--json")
    (row,) = json.loads(out)
    assert (code, row["state"], row["step"], row["problems"]) == (0, "bundle", 120, [])
    page = tmp_path / "page.html"
    code, out, _ = run_here(capsys, "report", bundle, "--output", page)
    assert code == 0
    assert "is a model to give away, which has no curves" in out
    assert "does not say which corpus it was" in out
    assert page.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--storage", "int4"), "error: --storage int4: must be one of float32, bfloat16, int8"),
        (("--languages", "english"), "--languages english: must be two codes"),
        (("--card", "nowhere.md"), "--card nowhere.md cannot be read"),
        (("--card", "empty.md"), "--card empty.md is empty"),
        (("--card", "picture.png"), "--card picture.png is not UTF-8 text"),
        (("--output", "others", "--overwrite"), "others is not a bundle, and only bundles are overwritten"),
        (("--output", "empty.md/given"), "cannot be made: "),
        (("--output", "."), "error: . is or holds the folder that you are in, and cannot be replaced"),
        (("--output", ".", "--overwrite"), "error: . is or holds the folder that you are in"),
        (("--output", "/", "--overwrite"), "error: / is or holds the folder that you are in"),
        (("--output", "x" * 300), "cannot be written: File name too long"),
        (("--card", "/dev/zero"), "--card /dev/zero cannot be read: it is a device or a pipe"),
        (("--card", "x" * 300), "cannot be read: File name too long"),
    ],
)
def test_a_users_mistake_is_said_and_nothing_is_written(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "thesis.txt").write_text("years of work")
    before = files_in(tmp_path)
    output = () if "--output" in options else ("--output", "given")
    code, _, errors = run_here(capsys, "bundle", run, *output, *options)
    assert code == 2
    assert message in errors
    assert files_in(tmp_path) == before


def test_an_empty_folder_is_filled_and_a_file_of_somebody_else_stops_the_next(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ("bundle", run, "--output", tmp_path, "--overwrite")
    assert run_here(capsys, *again)[0] == 0
    assert (tmp_path / "run.json").is_file()
    assert run_here(capsys, *again)[0] == 0
    (tmp_path / "averaged" / "thesis.txt").write_text("years of work")
    code, _, errors = run_here(capsys, *again)
    assert code == 2
    assert "holds averaged/thesis.txt beside the bundle, and replacing it would remove that too" in errors
    assert (tmp_path / "averaged" / "thesis.txt").read_text() == "years of work"
