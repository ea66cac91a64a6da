"""Files of a run, spoiled in every way: success or a clear error, never anything else, and soon."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save
from tests.mutations import EXAMPLES, require_clear_errors
from tests.unit.test_runs import DESCRIPTION, SKIPPED_TEXT, STATUS, TRAIN_TEXT, VALIDATION_TEXT

from heedful.config import Config
from heedful.files import sha256
from heedful.runs.checkpoints import Checkpoint, read_checkpoint, write_checkpoint
from heedful.runs.descriptions import (
    MODEL,
    STATE,
    CheckpointState,
    read_run,
    read_state,
    read_status,
    write_run,
    write_state,
)
from heedful.runs.lists import models_in, runs_below
from heedful.runs.metrics import METRICS, Metrics, cut_metrics, read_metrics
from heedful.runs.saved import config_of


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_metrics_are_read_and_cut(tmp_path: Path, examples: int) -> None:
    def read(content: bytes) -> Metrics:
        (tmp_path / METRICS).write_bytes(content)
        metrics = read_metrics(tmp_path)
        cut_metrics(tmp_path, after_step=50)
        assert not read_metrics(tmp_path).problems or metrics.problems
        return metrics

    lines = [TRAIN_TEXT, VALIDATION_TEXT, SKIPPED_TEXT, TRAIN_TEXT.replace('"step": 50', '"step": 60')]
    require_clear_errors("".join(f"{line}\n" for line in lines).encode(), read, examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_run_json_is_read_listed_and_written_again(tmp_path: Path, examples: int) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "copy").mkdir()

    def read(content: bytes) -> None:
        (tmp_path / "run" / "run.json").write_bytes(content)
        runs_below(tmp_path / "run")
        models_in([tmp_path / "run"])
        description = read_run(tmp_path / "run")
        assert config_of(tmp_path / "run").model == description.config.model
        write_run(tmp_path / "copy", description)
        assert read_run(tmp_path / "copy") == description

    bundle = {"bundle": True, "languages": {"source": "en", "target": "de"}, "environment": {"cores": 2}}
    command = {"words": ["heedful", "train"], "folder": "/home"}
    valid = {**DESCRIPTION, **bundle, "command": command, "config": dataclasses.asdict(Config())}
    require_clear_errors(json.dumps(valid).encode(), read, examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_status_json_is_read_and_listed(tmp_path: Path, examples: int) -> None:
    (tmp_path / "run.json").write_text(json.dumps(DESCRIPTION))

    def read(content: bytes) -> None:
        (tmp_path / "status.json").write_bytes(content)
        (run,) = runs_below(tmp_path)
        status = read_status(tmp_path)
        assert run.step == status.step

    require_clear_errors(json.dumps(STATUS).encode(), read, examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("hashed", [True, False], ids=["with its hash", "as version 0.1.0 wrote it"])
def test_any_state_json_is_read(tmp_path: Path, hashed: bool, examples: int) -> None:
    progress = {"step": 50, "minutes": 0.5, "best": {"step": 40, "metric": "loss", "value": 3.5}}
    state = {"progress": progress, "environment": {"torch": "2.11", "device": "CPU"}}
    wanted = CheckpointState(
        step=50, scheduled=True, storage="int8", files={MODEL: "0" * 64}, averaged_steps=(40, 50), state=state
    )
    write_state(tmp_path, wanted)
    valid = json.loads((tmp_path / STATE).read_text())
    if not hashed:
        del valid["sha256"]

    def read(content: bytes) -> None:
        (tmp_path / STATE).write_bytes(content)
        found = read_state(tmp_path)
        assert not hashed or "sha256" not in json.loads(content) or found == wanted

    require_clear_errors(json.dumps(valid).encode(), read, examples=examples)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("storage", [None, "int8"])
def test_any_file_of_weights_is_read_even_if_its_hash_is_right(
    tmp_path: Path, storage: str | None, examples: int
) -> None:
    matrix = torch.arange(12, dtype=torch.float32).view(3, 4)
    weights = {"bias": torch.ones(4), "weight": matrix}
    if storage == "int8":
        weights = {"bias": torch.ones(4), "weight": matrix.to(torch.int8), "weight/scale": torch.ones(3)}
    folder = write_checkpoint(tmp_path, Checkpoint(5, weights, {}, {}))
    state = dataclasses.replace(read_state(folder), storage=storage)

    def read(content: bytes) -> None:
        (folder / MODEL).write_bytes(content)
        write_state(folder, dataclasses.replace(state, files={MODEL: sha256(folder / MODEL)}))
        read_checkpoint(folder, optimizer=False)

    require_clear_errors(save(weights), read, examples=examples)
