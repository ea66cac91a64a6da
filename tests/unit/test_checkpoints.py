"""Checkpoints: what is written is what is read, what is damaged is named, what is pruned is what nobody needs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from tests.unit.test_runs import DESCRIPTION
from torch import Tensor

from heedful.config import Config
from heedful.errors import CheckpointError
from heedful.files import new_folder, write_json
from heedful.runs import checkpoints
from heedful.runs.checkpoints import (
    Checkpoint,
    newest_sound,
    prune,
    read_checkpoint,
    scheduled_entries,
    write_average,
    write_checkpoint,
)
from heedful.runs.descriptions import MODEL, OPTIMIZER, STATE, differing_settings, read_run
from heedful.runs.folder import AVERAGED, entries
from heedful.runs.metrics import METRICS, cut_metrics


def checkpoint(step: int, *, scheduled: bool = True) -> Checkpoint:
    """Weights and optimiser drawn from the step, and a state with what JSON could spoil."""
    draw = torch.Generator().manual_seed(step)
    model = {"weight": torch.randn(3, 5, generator=draw), "bias": torch.randn(5, generator=draw, dtype=torch.float64)}
    optimizer = {"exp_avg.weight": torch.randn(3, 5, generator=draw), "step.weight": torch.tensor(float(step))}
    state = {"progress": {"step": step, "best": None, "loss": 0.1 + 0.2}, "name": "Größe — 大"}
    return Checkpoint(step, model, optimizer, state, scheduled)


def written(run: Path, *steps: int, scheduled: bool = True) -> Path:
    for step in steps:
        write_checkpoint(run, checkpoint(step, scheduled=scheduled))
    return run


def assert_same_tensors(some: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert set(some) == set(other)
    for name in some:
        torch.testing.assert_close(some[name], other[name], rtol=0, atol=0)


@pytest.mark.parametrize("scheduled", [True, False])
def test_what_is_written_is_what_is_read(tmp_path: Path, scheduled: bool) -> None:
    wanted = checkpoint(7, scheduled=scheduled)
    folder = write_checkpoint(tmp_path, wanted)
    assert sorted(path.name for path in folder.iterdir()) == sorted([MODEL, OPTIMIZER, STATE])
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1, "who may read one may read all"
    got = read_checkpoint(folder)
    assert_same_tensors(got.model, wanted.model)
    assert_same_tensors(got.optimizer, wanted.optimizer)
    assert (got.step, got.state, got.scheduled) == (7, wanted.state, scheduled)
    assert read_checkpoint(folder, optimizer=False).optimizer == {}


def test_the_state_holds_the_hash_of_each_file(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, checkpoint(7))
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (MODEL, OPTIMIZER)}
    assert json.loads((folder / STATE).read_text())["files"] == hashes


def test_checkpoints_are_listed_by_step_and_other_names_are_not_checkpoints(tmp_path: Path) -> None:
    assert entries(tmp_path) == []
    written(tmp_path, 1000, 20, 300)
    for stranger in (".step-00000400.writing", "step-", "step-5.old", "notes"):
        (tmp_path / "checkpoints" / stranger).mkdir()
    assert [entry.step for entry in entries(tmp_path)] == [20, 300, 1000]


@pytest.mark.parametrize("name", [MODEL, OPTIMIZER])
@pytest.mark.parametrize("harm", ["one bit", "cut short", "emptied", "removed"])
def test_a_harmed_file_is_named_and_the_checkpoint_before_is_used(tmp_path: Path, name: str, harm: str) -> None:
    written(tmp_path, 10, 20)
    path = entries(tmp_path)[-1].folder / name
    contents = bytearray(path.read_bytes())
    if harm == "removed":
        path.unlink()
    else:
        contents[-1] ^= 1
        path.write_bytes({"one bit": contents, "cut short": contents[:-1], "emptied": b""}[harm])
    expected = (
        f"{path} is missing" if harm == "removed" else f"{path} is damaged: its contents are not what was written"
    )
    with pytest.raises(CheckpointError) as error:
        read_checkpoint(path.parent)
    assert str(error.value) == expected
    found, problems = newest_sound(tmp_path)
    assert found is not None
    assert (found.step, problems) == (10, [expected])


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (None, "is not a checkpoint: no state.json in it"),
        (b'{"format": "heedful check', "is damaged, or not JSON: "),
        (b"\xff\xfe", "is damaged, or not JSON: "),
        (b"[]", "holds no JSON object"),
        (b'{"format": "something else"}', "does not say that it is a heedful checkpoint"),
        (b'{"format": "heedful checkpoint", "format_version": 9}', "is of format version 9; this heedful reads"),
    ],
)
def test_a_harmed_state_is_named_with_what_is_wrong(tmp_path: Path, contents: bytes | None, message: str) -> None:
    folder = write_checkpoint(tmp_path, checkpoint(10))
    (folder / STATE).unlink()
    if contents is not None:
        (folder / STATE).write_bytes(contents)
    with pytest.raises(CheckpointError) as error:
        read_checkpoint(folder)
    assert message in str(error.value)
    assert str(folder) in str(error.value)
    found, problems = newest_sound(tmp_path)
    assert found is None
    assert len(problems) == 1
    assert scheduled_entries(tmp_path) == []


@pytest.mark.parametrize("field", ["step", "files", "scheduled", "state"])
def test_a_state_without_one_of_its_fields_is_damaged(tmp_path: Path, field: str) -> None:
    folder = write_checkpoint(tmp_path, checkpoint(10))
    head = json.loads((folder / STATE).read_text())
    del head[field], head["sha256"]
    (folder / STATE).write_text(json.dumps(head))
    with pytest.raises(CheckpointError, match=f"is damaged: it has no {field}"):
        read_checkpoint(folder)
    prune(tmp_path, keep=1, best=None)  # must not fall over it either


def test_writing_the_same_step_again_repairs_a_damaged_checkpoint_and_leaves_a_sound_one(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, checkpoint(10))
    before = (folder / STATE).stat().st_mtime_ns
    write_checkpoint(tmp_path, checkpoint(10))
    assert (folder / STATE).stat().st_mtime_ns == before
    (folder / MODEL).write_bytes(b"")
    write_checkpoint(tmp_path, checkpoint(10))
    assert_same_tensors(read_checkpoint(folder).model, checkpoint(10).model)


@pytest.mark.parametrize("error", [OSError("No space left on device"), SafetensorError("I/O error")])
def test_a_write_that_fails_leaves_nothing_and_the_earlier_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    written(tmp_path, 10)
    real = checkpoints.save_file

    def failing(tensors: dict[str, Tensor], path: Path) -> None:
        if path.name == OPTIMIZER:
            path.write_bytes(b"half")
            raise error
        real(tensors, path)

    monkeypatch.setattr(checkpoints, "save_file", failing)
    with pytest.raises(
        CheckpointError, match=r"step-00000020 could not be written: .*the earlier checkpoints are untouched"
    ):
        write_checkpoint(tmp_path, checkpoint(20))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000010"]
    found, problems = newest_sound(tmp_path)
    assert found is not None
    assert (found.step, problems) == (10, [])


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_text("old")

    def interrupted(place: Path) -> None:
        with new_folder(place, error=CheckpointError) as folder:
            (folder / "half").write_text("half")
            raise KeyboardInterrupt

    for place in (tmp_path / "new", tmp_path / "there"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(place)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there" / "old").read_text() == "old"


def test_what_a_killed_writer_left_is_no_checkpoint_and_does_not_stop_the_next_writer(tmp_path: Path) -> None:
    unfinished = tmp_path / "checkpoints" / ".step-00000010.writing"
    unfinished.mkdir(parents=True)
    (unfinished / MODEL).write_bytes(b"half")
    assert entries(tmp_path) == []
    write_checkpoint(tmp_path, checkpoint(10))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000010"]


def test_json_is_replaced_in_one_move(tmp_path: Path) -> None:
    write_json(tmp_path / "status.json", {"step": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "status.json", {"step": object()})
    assert json.loads((tmp_path / "status.json").read_text()) == {"step": 1}


def steps_with_optimizer(run: Path) -> list[int]:
    return [entry.step for entry in entries(run) if (entry.folder / OPTIMIZER).exists()]


def test_pruning_keeps_the_last_scheduled_ones_the_newest_and_the_best(tmp_path: Path) -> None:
    written(tmp_path, 10, 20, 30, 40, 50)
    written(tmp_path, 45, 60, scheduled=False)
    prune(tmp_path, keep=2, best=10)
    # 40 and 50 are the last two scheduled, 60 the newest, 10 the best; 45 was a stop that the run has long passed.
    assert [entry.step for entry in entries(tmp_path)] == [10, 40, 50, 60]
    assert steps_with_optimizer(tmp_path) == [50, 60]
    assert [entry.step for entry in scheduled_entries(tmp_path)] == [10, 40, 50]
    prune(tmp_path, keep=2, best=50)
    assert [entry.step for entry in entries(tmp_path)] == [40, 50, 60]


def test_a_checkpoint_without_its_optimiser_can_be_averaged_but_not_resumed_from(tmp_path: Path) -> None:
    written(tmp_path, 10, 20, 30)
    prune(tmp_path, keep=3, best=None)
    first = entries(tmp_path)[0].folder
    assert_same_tensors(read_checkpoint(first, optimizer=False).model, checkpoint(10).model)
    with pytest.raises(CheckpointError, match="is missing"):
        read_checkpoint(first)


def test_the_average_is_the_float64_mean_by_hand(tmp_path: Path) -> None:
    written(tmp_path, 10, 20, 30, 40)
    written(tmp_path, 45, scheduled=False)
    assert write_average(tmp_path, last=3) == [20, 30, 40]
    got = read_checkpoint(tmp_path / AVERAGED, optimizer=False)
    for name, kind in (("weight", np.float32), ("bias", np.float64)):
        parts = [checkpoint(step).model[name].numpy().astype(np.float64) for step in (20, 30, 40)]
        expected = ((parts[0] + parts[1] + parts[2]) / 3).astype(kind)
        np.testing.assert_array_equal(got.model[name].numpy(), expected)
    assert got.state == checkpoint(40).state
    assert json.loads((tmp_path / AVERAGED / STATE).read_text())["averaged_steps"] == [20, 30, 40]
    with pytest.raises(CheckpointError, match=r"has 4 checkpoints to average \(10, 20, 30, 40\), not 5; --last 4"):
        write_average(tmp_path, last=5)


def test_a_damaged_checkpoint_is_not_averaged_and_the_old_average_stays(tmp_path: Path) -> None:
    written(tmp_path, 10, 20)
    write_average(tmp_path, last=2)
    before = (tmp_path / AVERAGED / MODEL).read_bytes()
    (entries(tmp_path)[0].folder / MODEL).write_bytes(b"")
    with pytest.raises(CheckpointError, match="is damaged"):
        write_average(tmp_path, last=2)
    assert (tmp_path / AVERAGED / MODEL).read_bytes() == before


LINES = [b'{"kind": "train", "step": 5}\n', b'{"kind": "validation", "step": 10}\n', b'{"kind": "train", "step": 15}\n']
HALVES = [b"", b'{"kind": "tr', b'{"kind": "train", "step": 20}', b"\x00\x00\x00", b"[]\n", b"7\n"]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(("step", "kept"), [(0, 0), (5, 1), (10, 2), (12, 2), (15, 3), (99, 3)])
def test_metrics_are_cut_after_a_step_and_before_a_half_written_line(
    tmp_path: Path, half: bytes, step: int, kept: int
) -> None:
    (tmp_path / METRICS).write_bytes(b"".join(LINES) + half)
    cut_metrics(tmp_path, after_step=step)
    assert (tmp_path / METRICS).read_bytes() == b"".join(LINES[:kept])


def test_no_metrics_are_nothing_to_cut(tmp_path: Path) -> None:
    cut_metrics(tmp_path, after_step=5)
    assert list(tmp_path.iterdir()) == []


def test_a_setting_that_is_younger_than_a_run_counts_as_its_default(tmp_path: Path) -> None:
    stored = {**DESCRIPTION, "config": dataclasses.asdict(Config())}
    del stored["config"]["training"]["residual_scale"]
    write_json(tmp_path / "run.json", stored)
    before, wanted = read_run(tmp_path).config, Config()
    assert differing_settings(before, wanted) == []
    wanted = dataclasses.replace(wanted, training=dataclasses.replace(wanted.training, residual_scale=0.5))
    assert differing_settings(before, wanted) == ["training.residual_scale: 0.29 there, 0.5 now"]


def test_a_setting_that_is_younger_than_this_heedful_is_named(tmp_path: Path) -> None:
    config = dataclasses.asdict(Config())
    config["model"]["experts"] = 8
    write_json(tmp_path / "run.json", {**DESCRIPTION, "heedful": "9.0", "config": config})
    with pytest.raises(CheckpointError, match=r"heedful 9.0\) holds settings that this version cannot use"):
        read_run(tmp_path)
