"""A run from its first step to its last: what ends it, what it leaves, what it refuses."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.commands import run_here
from tests.training_toys import write_toy

from heedful.cli.main import main
from heedful.errors import CheckpointError, HeedfulError, TrainingError
from heedful.presets import resolve
from heedful.runs.checkpoints import read_checkpoint
from heedful.runs.folder import entries
from heedful.search.model_search import greedy_translations
from heedful.training import events
from heedful.training.loop import LoopState, train
from heedful.training.metrics import Clock
from heedful.training.setup import Task
from heedful.training.step import Trainer

SETTINGS = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.source_tokens=256", "training.target_tokens=256", "training.warmup_steps=10", "training.steps=12"),
    *("training.validation_steps=4", "training.checkpoint_steps=4", "training.log_steps=4", "training.samples=2"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy"), task="copy", pairs=300, valid=30)


def run(corpus: Path, output: Path, *changes: str, **options: object) -> tuple[LoopState, list[events.Event]]:
    seen: list[events.Event] = []
    config = resolve(name="tiny", settings=[*SETTINGS, *changes])
    task = Task(config=config, data=corpus, run=output, preset="tiny", device="cpu")
    task = replace(task, **options)  # pyright: ignore[reportArgumentType]
    return train(task, report=seen.append, translate=greedy_translations), seen


def metrics(output: Path, kind: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def test_a_run_leaves_everything_that_is_documented(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    progress, seen = run(corpus, output)
    assert progress.step == 12
    assert [line["step"] for line in metrics(output, "train")] == [4, 8, 12]
    assert [line["step"] for line in metrics(output, "validation")] == [4, 8, 12]
    for line in metrics(output, "train"):
        assert line["perplexity"] == pytest.approx(math.exp(line["negative_log_likelihood"]))  # pyright: ignore
        assert line["loss"] > 0  # pyright: ignore
    samples = metrics(output, "validation")[0]["samples"]
    assert len(samples) == 2  # pyright: ignore
    assert set(samples[0]) == {"source", "reference", "output"}  # pyright: ignore
    assert samples[0]["source"] == samples[0]["reference"]  # the task is to copy  # pyright: ignore
    assert [entry.step for entry in entries(output)] == [4, 8, 12]
    status, described = (json.loads((output / name).read_text()) for name in ("status.json", "run.json"))
    assert (status["state"], status["step"], status["steps"]) == ("finished", 12, 12)
    assert described["parameters"] == sum(t.numel() for t in read_checkpoint(entries(output)[-1].folder).model.values())
    assert (output / "tokenizer" / "tokenizer.json").read_bytes() == (
        corpus / "tokenizer" / "tokenizer.json"
    ).read_bytes()
    mean = torch.stack([read_checkpoint(e.folder, optimizer=False).model["embedding.weight"] for e in entries(output)])
    averaged = read_checkpoint(output / "averaged", optimizer=False).model["embedding.weight"]
    torch.testing.assert_close(averaged, mean.double().mean(0).float(), rtol=0, atol=0)
    assert isinstance(seen[0], events.Started)
    assert "padded batches, fused attention (on cpu)" in seen[0].facts["attention"]
    assert isinstance(seen[-1], events.Ended)
    assert seen[-1].averaged == [4, 8, 12]


@pytest.mark.parametrize(("own", "taken"), [(2, "8, 12"), (9, "4, 8, 12"), (1, "4, 8, 12")])
def test_averaging_again_takes_as_many_checkpoints_as_the_run_does(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], own: int, taken: str
) -> None:
    run(corpus, tmp_path / "run", f"training.average_last={own}")
    with pytest.raises(SystemExit, match="0"):
        main(["average", str(tmp_path / "run")])
    assert f"the mean of the checkpoints {taken} is in" in capsys.readouterr().out


def test_validation_is_the_same_however_it_is_batched(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "a")
    run(corpus, tmp_path / "b", "training.micro_batches=3")
    a, b = (metrics(tmp_path / name, "validation")[0] for name in "ab")
    assert a["loss"] == pytest.approx(b["loss"], rel=1e-2)  # dropout falls elsewhere; four steps hardly differ
    assert a["perplexity"] == pytest.approx(math.exp(a["loss"]))  # pyright: ignore
    # One word is one subword or more, so a word is harder to guess than a subword.
    assert a["perplexity_per_word"] >= a["perplexity"]  # pyright: ignore


def test_patience_ends_a_run_that_no_longer_gets_better(corpus: Path, tmp_path: Path) -> None:
    settings = "training.learning_rate_scale=1e-30", "training.steps=400", "training.patience=3"
    progress, seen = run(corpus, tmp_path / "run", *settings)
    assert isinstance(seen[-1], events.Ended)
    assert seen[-1].why == "3 validations in a row brought nothing better"
    assert progress.step < 40
    assert progress.best is not None


def test_what_is_shown_in_training_is_text_even_of_a_model_that_knows_nothing(corpus: Path, tmp_path: Path) -> None:
    said = ""
    for seed in (1, 3, 4):  # unrestricted, they say bytes that are no text
        run(corpus, tmp_path / f"{seed}", "training.steps=2", "training.validation_steps=1", f"training.seed={seed}")
        lines = metrics(tmp_path / f"{seed}", "validation")
        said += "".join(sample["output"] for line in lines for sample in line["samples"])  # pyright: ignore
    assert said
    assert "\ufffd" not in said


@pytest.mark.parametrize(
    ("error", "why"), [(OSError("the disk is gone"), "the disk is gone"), (ZeroDivisionError(), "ZeroDivisionError")]
)
def test_whatever_ends_a_run_is_told_in_its_status(corpus: Path, tmp_path: Path, error: Exception, why: str) -> None:
    def broken(*_: object) -> list[np.ndarray]:
        raise error

    task = Task(config=resolve(name="tiny", settings=SETTINGS), data=corpus, run=tmp_path / "run", device="cpu")
    with pytest.raises(type(error)):
        train(task, report=lambda _: None, translate=broken)
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert (status["state"], status["why"], status["step"]) == ("failed", why, 4)


def test_minutes_end_a_run(corpus: Path, tmp_path: Path) -> None:
    progress, seen = run(corpus, tmp_path / "run", "training.minutes=0.01", "training.steps=100000")
    assert isinstance(seen[-1], events.Ended)
    assert seen[-1].why == "0.01 minutes are over"
    assert entries(tmp_path / "run")[-1].step == progress.step


@pytest.mark.parametrize(("later", "expected"), [(0.3, range(24, 28)), (0.05, range(90, 110))])
def test_a_straight_line_ends_with_the_minutes_however_fast_the_machine_is_later(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: float, expected: range
) -> None:
    taken, step = [], Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda *given: taken.append(1) or step(*given))
    monkeypatch.setattr(Clock, "minutes", lambda _: 0.1 * min(len(taken), 10) + later * max(0, len(taken) - 10))
    linear = ("training.decay=linear", "training.minutes=6", "training.steps=150", "training.checkpoint_steps=2")
    linear += ("training.validation_steps=0",)
    progress, seen = run(corpus, tmp_path / "run", *linear, "training.log_steps=1")
    assert progress.step in expected
    lines = metrics(tmp_path / "run", "train")
    rates = [float(line["learning_rate"]) for line in lines]  # pyright: ignore
    assert rates.index(max(rates)) == 9, "the warm-up is as it was asked for"
    assert rates[-1] < 0.15 * max(rates)
    assert 0.2 * max(rates) < rates[len(rates) * 3 // 4] < 0.5 * max(rates), "a line, not a cliff"
    assert isinstance(seen[-1], events.Ended)
    assert "minutes" in seen[-1].why
    assert read_checkpoint(entries(tmp_path / "run")[-1].folder).state["progress"]["foreseen"]["minutes"] == 6
    assert run(corpus, tmp_path / "run", *linear, resume=True)[0].step == progress.step, "it is finished"
    more = [setting.replace("minutes=6", "minutes=8") for setting in linear]
    assert run(corpus, tmp_path / "run", *more, "training.log_steps=1", resume=True)[0].step > progress.step


def test_bleu_can_choose_the_best(corpus: Path, tmp_path: Path) -> None:
    progress, _ = run(corpus, tmp_path / "run", "training.best_by=bleu")
    lines = metrics(tmp_path / "run", "validation")
    assert all("BLEU" not in str(line["bleu"]) and "tok:13a" in str(line["bleu_signature"]) for line in lines)
    assert progress.best is not None
    assert progress.best.value == max(line["bleu"] for line in lines)  # pyright: ignore


def test_steps_that_are_not_finite_are_skipped_named_and_end_the_run(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    with pytest.raises(TrainingError, match="4 steps in a row had no finite loss and gradient") as caught:
        run(corpus, output, "training.learning_rate_scale=1e6", "training.max_skipped=4", "training.steps=100")
    assert "The last checkpoint is intact" in str(caught.value)
    skipped = metrics(output, "skipped")
    assert len(skipped) == 4
    assert all(":" in line for line in skipped[0]["lines"])  # pyright: ignore
    assert json.loads((output / "status.json").read_text())["state"] == "failed"


def test_fine_tuning_starts_from_the_weights_of_another_run(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "first")
    run(corpus, tmp_path / "second", "training.learning_rate_scale=1e-30", init=tmp_path / "first")
    begun = read_checkpoint(tmp_path / "first" / "averaged", optimizer=False).model
    ended = read_checkpoint(entries(tmp_path / "second")[-1].folder).model
    for name, value in begun.items():
        torch.testing.assert_close(ended[name], value, rtol=0, atol=1e-6)

    with pytest.raises(CheckpointError, match="is of another model"):
        run(corpus, tmp_path / "third", "model.d_ff=64", init=tmp_path / "first")
    other = write_toy(tmp_path / "other", task="reverse", pairs=300, seed=7, valid=10)
    with pytest.raises(CheckpointError, match="--tokenizer"):
        run(other, tmp_path / "fourth", init=tmp_path / "first")
    with pytest.raises(CheckpointError, match="there is no folder"):
        run(corpus, tmp_path / "fifth", init=tmp_path / "nowhere")


def begun_from(corpus: Path, output: Path, place: Path) -> dict[str, torch.Tensor]:
    """The weights that a run from a place begins with: its rate is too small to change any."""
    run(corpus, output, "training.learning_rate_scale=1e-30", "training.average_last=1", init=place)
    return read_checkpoint(entries(output)[-1].folder).model


def test_fine_tuning_takes_no_average_that_the_run_has_left_behind(corpus: Path, tmp_path: Path) -> None:
    first = tmp_path / "first"
    run(corpus, first)
    shutil.copytree(first / "averaged", tmp_path / "stale")
    run(corpus, first, "training.steps=24", "training.checkpoint_steps=12", resume=True)
    shutil.rmtree(first / "averaged")
    shutil.copytree(tmp_path / "stale", first / "averaged")
    newest = read_checkpoint(first / "checkpoints" / "step-00000024", optimizer=False).model
    begun = begun_from(corpus, tmp_path / "second", first)
    assert all((begun[name] - value).abs().max() < 1e-6 for name, value in newest.items())
    stale = read_checkpoint(tmp_path / "stale", optimizer=False).model
    assert any((begun[name] - value).abs().max() > 1e-3 for name, value in stale.items())
    begun = begun_from(corpus, tmp_path / "third", first / "averaged")
    assert all((begun[name] - value).abs().max() < 1e-6 for name, value in stale.items())


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ([], {"data": Path("nowhere")}, "there is no folder nowhere"),
        ([], {"device": "cuda:0"}, "no CUDA device"),
        ([], {"device": "tpu"}, "must be auto, cpu, cuda or cuda:N"),
        (["training.source_tokens=5"], {}, "raise training.source_tokens"),
        (["model.positions=learned", "model.max_positions=4"], {}, "learned positions end at"),
        (["training.patience=2", "training.validation_steps=0"], {}, "training.patience = 2 needs validation"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    changes: list[str], options: dict[str, object], message: str, corpus: Path, tmp_path: Path
) -> None:
    if "cuda:0" in options.values() and torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(HeedfulError, match=message):
        run(corpus, tmp_path / "run", *changes, **options)
    assert not (tmp_path / "run").exists()


def test_a_folder_with_other_files_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("years of work")
    with pytest.raises(TrainingError, match="holds other files"):
        run(corpus, tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "thesis.txt").read_text() == "years of work"


def test_a_run_in_the_place_of_a_file_is_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("years of work")
    with pytest.raises(TrainingError, match="file cannot be the folder of a run: it is a file"):
        run(corpus, tmp_path / "file")
    with pytest.raises(TrainingError, match=r"file/run cannot be the folder of a run: Not a directory"):
        run(corpus, tmp_path / "file" / "run", overwrite=True)
    assert (tmp_path / "file").read_text() == "years of work"


def test_overwrite_starts_anew(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run")
    run(corpus, tmp_path / "run", "training.steps=8", overwrite=True)
    assert [entry.step for entry in entries(tmp_path / "run")] == [4, 8]


def test_a_run_is_resumed_with_its_own_settings_and_what_is_set_anew(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(corpus, tmp_path / "run")
    again = ("train", corpus, "--output", tmp_path / "run", "--device", "cpu", "--resume")
    code, _, errors = run_here(capsys, *again, "--set", "training.steps=14")
    assert code == 0, errors
    assert "finished at step 14" in errors
    code, _, errors = run_here(capsys, *again, "--preset", "tiny")
    assert code == 2
    assert "was begun with another configuration" in errors
