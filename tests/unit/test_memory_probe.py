"""What is found out before step 1: whether the largest batch can be computed, and how fine it must be cut if not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.training_toys import write_toy

from heedful.data.corpus import Corpus
from heedful.errors import TrainingError
from heedful.presets import resolve
from heedful.search.model_search import greedy_translations
from heedful.training import events, loop, setup, step
from heedful.training.batches import Batches
from heedful.training.distributed import World
from heedful.training.optimizer import optimizer_tensors
from heedful.training.setup import Prepared, Task, prepared_run
from heedful.training.step import Precision, Trainer

CPU = torch.device("cpu")
SETTINGS = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.source_tokens=512", "training.target_tokens=512", "training.steps=3", "training.validation_steps=2"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"), task="copy", pairs=300, valid=30)


def new_task(data: Path, run: Path, **options: object) -> Task:
    task = Task(config=resolve(name="tiny", settings=SETTINGS), data=data, run=run, device="cpu")
    return dataclasses.replace(task, **options)  # pyright: ignore[reportArgumentType]


def as_if_on_cuda(task: Task) -> Prepared:
    """A run whose trainer says that it is on a GPU, though nothing is."""
    prepared = prepared_run(task, device=CPU, world=World(), translate=greedy_translations, report=lambda _: None)
    prepared.trainer.precision = Precision(torch.device("cuda"), half=True)
    return prepared


def found_fine_enough(prepared: Prepared, *, automatic: bool = False) -> tuple[int, list[events.Event]]:
    seen: list[events.Event] = []
    count = step.fine_enough(prepared.trainer, prepared.batches, automatic=automatic, report=seen.append)
    return count, seen


def packed_batches(data: Path, *, count: int = 1) -> Batches:
    training = dataclasses.replace(resolve(name="tiny", settings=SETTINGS).training, micro_batches=count)
    return Batches(Corpus(data), training, layout="packed", device=CPU, world=World())


def fitting(micro_batches: int) -> Callable[[Trainer, Batches], bool]:
    """In place of a GPU: what fits if it is cut into so many micro-batches at least."""
    return lambda _, batches: batches.micro_batches >= micro_batches


def test_a_batch_that_does_not_fit_is_refused_with_the_number_that_does(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = as_if_on_cuda(new_task(data, tmp_path / "run"))
    monkeypatch.setattr(step, "_fits", fitting(3))
    with pytest.raises(TrainingError, match=r"memory with training.micro_batches = 1; training.micro_batches = 4 is"):
        found_fine_enough(prepared)
    monkeypatch.setattr(step, "_fits", fitting(5000))
    with pytest.raises(TrainingError, match="with 1024 micro-batches neither"):
        found_fine_enough(prepared)


def test_auto_micro_batches_takes_the_number_that_does_and_says_so(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = as_if_on_cuda(new_task(data, tmp_path / "run"))
    monkeypatch.setattr(step, "_fits", fitting(2))
    text = "the largest batch does not fit into memory; taking training.micro_batches = 2"
    assert found_fine_enough(prepared, automatic=True) == (2, [events.Warned(text)])


def test_a_run_that_is_cut_finer_is_so_in_training_validation_and_its_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, world = new_task(data, tmp_path / "run"), World()
    whole = prepared_run(task, device=CPU, world=world, translate=greedy_translations, report=lambda _: None)
    monkeypatch.setattr(setup, "fine_enough", lambda *_, **__: 4)
    cut = prepared_run(task, device=CPU, world=world, translate=greedy_translations, report=lambda _: None)
    assert cut.task.config.training.micro_batches == 4
    assert len(cut.batches.step(1).micro_batches) == 4
    assert cut.validation is not None
    assert len(cut.validation.batches.step(1).micro_batches) == 4
    np.testing.assert_array_equal(cut.batches.step(5).pairs, whole.batches.step(5).pairs)
    loop.train(task, report=lambda _: None, translate=greedy_translations)
    assert json.loads((task.run / "run.json").read_text())["config"]["training"]["micro_batches"] == 4


def test_batches_cut_anew_are_those_that_were_cut_so_from_the_beginning(data: Path) -> None:
    made, recut = packed_batches(data, count=3), packed_batches(data).recut(3)
    for a, b in zip(made.step(4).micro_batches, recut.step(4).micro_batches, strict=True):
        torch.testing.assert_close(a.source, b.source, rtol=0, atol=0)


def test_a_rehearsal_changes_nothing(data: Path, tmp_path: Path) -> None:
    trained = []
    for rehearsed in (False, True):
        options = {"device": CPU, "world": World(), "translate": greedy_translations}
        prepared = prepared_run(new_task(data, tmp_path), **options, report=lambda _: None)
        trainer, batches = prepared.trainer, prepared.batches
        if rehearsed:
            before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
            trainer.rehearse(step._largest(batches))
            for name, value in trainer.model.state_dict().items():
                assert torch.equal(value, before[name])
            assert not any(state.any() for state in optimizer_tensors(trainer.optimizer).values())
        for number in (1, 2):
            trainer.step(batches.step(number))
        trained.append(trainer.model.state_dict())
    assert all(torch.equal(trained[0][name], trained[1][name]) for name in trained[0])


def test_a_run_that_is_refused_leaves_no_folder(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise TrainingError("too large")

    monkeypatch.setattr(setup, "fine_enough", refuse)
    with pytest.raises(TrainingError, match="too large"):
        loop.train(new_task(data, tmp_path / "run"), report=lambda _: None, translate=greedy_translations)
    assert not (tmp_path / "run").exists()
