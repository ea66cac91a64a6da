"""`heedful train --minutes` and `heedful plan --minutes`: a run that suits its time, and ends in it."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.commands import heedful
from tests.training_toys import write_toy

from heedful.data.corpus import Corpus
from heedful.errors import PlanError
from heedful.planning import fit, probe
from heedful.planning.fit import fitted_run
from heedful.presets import parameter_count
from heedful.runs.descriptions import read_run, read_status
from heedful.runs.saved import read_model

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy") / "data", task="copy", pairs=4000)


def machine(monkeypatch: pytest.MonkeyPatch, *, flops_per_second: float) -> None:
    """A machine of this speed, whatever the size of the model."""

    def timed_steps(data: Path, config: object, **_: object) -> tuple[int, float]:
        room = fit._Room(Corpus(data, verify=False), 0.0, on_gpu=False, file=None, settings=())
        return 1000, 1000 * room.flops_a_token(config.model) / flops_per_second  # pyright: ignore

    monkeypatch.setattr(probe, "timed_steps", timed_steps)


def test_more_time_and_a_faster_machine_give_larger_models_and_never_fewer_tokens_than_they_need(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "_PARAMETERS_A_TOKEN", 1e9)
    monkeypatch.setattr(fit, "_MOST_EPOCHS", 10**9)
    sizes = Corpus(data).manifest.vocabularies.sizes
    tokens = Corpus(data).lengths.totals[1]
    found = []
    for flops, minutes in ((1e9, 15), (1e10, 15), (1e11, 15), (1e11, 150), (1e12, 150), (1e13, 600)):
        machine(monkeypatch, flops_per_second=flops)
        run = fitted_run(data, minutes=minutes, device=CPU)
        found.append(parameter_count(run.config.model, **sizes))
        if found[-1] > found[0]:
            assert run.epochs * tokens >= 0.9 * fit._TOKENS_A_PARAMETER * found[-1]
    assert found == sorted(found)
    assert len(set(found)) >= 4


def test_the_schedule_ends_with_the_minutes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, flops_per_second=2e9)
    run = fitted_run(data, minutes=15, device=CPU)
    training = run.config.training
    assert training.decay == "linear"
    assert run.steps < training.steps <= 1.5 * run.steps + 1, "a machine that turns out faster has steps left"
    assert training.warmup_steps == run.steps // 10
    assert 14.5 < training.minutes < 15
    corpus = Corpus(data)
    room = fit._Room(corpus, 0.0, on_gpu=False, file=None, settings=())
    seconds = run.epochs * corpus.lengths.totals[1] * room.flops_a_token(run.config.model) / 2e9
    assert 0.85 * 900 < seconds < 0.98 * 900
    assert 8 <= run.steps // training.validation_steps <= 11
    peak = training.learning_rate_scale * (run.config.model.d_model * training.warmup_steps) ** -0.5
    assert peak == pytest.approx(fit._PEAK / run.config.model.d_model, rel=0.01)


def test_a_text_that_is_seen_often_gets_equation_3_and_a_mean_of_many_checkpoints(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, flops_per_second=2e9)
    monkeypatch.setattr(fit, "_TOKENS_OFTEN", 100_000)
    often = fitted_run(data, minutes=15, device=CPU)
    training = often.config.training
    assert often.epochs > fit._OFTEN
    assert (training.decay, training.residual_scale) == ("inverse-sqrt", 1.0)
    assert training.average_last == fit._AVERAGED[True]
    seen = training.average_last * training.checkpoint_steps / often.steps
    assert 0.15 < seen < 0.25, "a fifth of the steps"
    named = fitted_run(data, minutes=15, device=CPU, settings=["training.decay=linear"]).config.training
    assert (named.decay, named.average_last) == ("linear", fit._AVERAGED[False])
    monkeypatch.setattr(fit, "_TOKENS_OFTEN", 10**12)
    seldom = fitted_run(data, minutes=15, device=CPU).config.training
    assert (seldom.decay, seldom.residual_scale, seldom.average_last) == ("linear", 0.29, fit._AVERAGED[False])
    assert seldom.target_tokens >= training.target_tokens


def test_a_small_text_gets_no_more_epochs_and_no_larger_model_than_it_bears(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, flops_per_second=1e14)
    run = fitted_run(data, minutes=60, device=CPU)
    assert run.epochs <= fit._MOST_EPOCHS
    assert run.config.model.dropout == 0.3
    sizes, tokens = Corpus(data).manifest.vocabularies.sizes, Corpus(data).lengths.totals[1]
    assert parameter_count(run.config.model, **sizes) <= fit._PARAMETERS_A_TOKEN * tokens


def test_a_small_text_that_its_epochs_end_before_the_minutes_has_its_steps_all_the_same(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, flops_per_second=1e12)
    runs = [fitted_run(data, minutes=minutes, device=CPU) for minutes in (60, 600)]
    assert {run.config.training.target_tokens for run in runs} == {1024}, "more minutes made the batches larger"
    assert all(run.epochs == fit._MOST_EPOCHS and run.steps > fit.FEW_STEPS for run in runs)
    assert {run.lacks for run in runs} == {"text"}, "the advice was more minutes"
    assert all(run.about.endswith("(60.0 epochs, the most that so little text bears)") for run in runs), "else why?"


def test_what_is_asked_for_stays_and_the_rest_is_fitted_to_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, flops_per_second=1e10)
    (tmp_path / "mine.toml").write_text("[model]\ndropout = 0.25\n[training]\nseed = 7\n")
    settings = ["model.d_model=96", "training.target_tokens=900"]
    run = fitted_run(data, minutes=15, device=CPU, file=tmp_path / "mine.toml", settings=settings)
    model, training = run.config.model, run.config.training
    assert (model.d_model, model.d_ff, model.dropout, training.seed) == (96, 384, 0.25, 7)
    assert training.target_tokens == 900
    assert training.source_tokens != 900


def test_what_begins_with_a_models_weights_is_that_model_at_a_low_rate(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ["--preset", "tiny", "--set", "model.num_heads=2", "--set", "training.steps=2", "--quiet"]
    assert heedful("train", data, "--output", tmp_path / "first", *first) == 0
    options = ["--minutes", "1", "--set", "training.steps=5", "--device", "cpu", "--output", tmp_path / "second"]
    assert heedful("train", data, "--init", tmp_path / "first", *options) == 0
    told = capsys.readouterr().err
    assert "fitted to 1 minute here: 2+2 layers of 64, 1,024 tokens a batch" in told
    assert "hardly begins to translate" not in told, "it has begun"
    model, training = (getattr(read_run(tmp_path / "second").config, part) for part in ("model", "training"))
    assert (model.d_model, model.num_heads) == (64, 2)
    peak = training.learning_rate_scale * (model.d_model * training.warmup_steps) ** -0.5
    assert peak == pytest.approx(fit._FINE_PEAK / model.d_model, rel=0.05)
    assert heedful("train", data, "--init", tmp_path / "first", *options, "--resume") == 0, "with its own settings"


def test_time_that_is_too_short_is_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, flops_per_second=1e6)
    with pytest.raises(PlanError, match=r"--minutes 1: a step takes .* s here; give it more time"):
        fitted_run(data, minutes=1, device=CPU)
    with pytest.raises(PlanError, match=r"opening the corpus and timing a few steps took longer"):
        fitted_run(data, minutes=1, device=CPU, began=time.monotonic() - 60)


def test_a_gpu_is_left_to_its_minutes_too(data: Path) -> None:
    run = fitted_run(data, minutes=15, device=None, flops_per_second=1e13)
    assert run.config.training.decay == "linear"
    assert fitted_run(data, minutes=5, device=None, flops_per_second=1e13).config.training.compile


def test_a_fitted_run_ends_in_time_says_what_it_is_and_goes_on_with_its_own_settings(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, flops_per_second=3e10)  # faster than this one: the minutes end it, not the steps
    asked = ["train", data, "--minutes", "0.1", "--output", tmp_path / "run", "--device", "cpu", "--threads", "1"]
    assert heedful(*asked) == 0
    told = capsys.readouterr().err
    assert re.search(r"fitted to 0.1 minutes here: 2\+2 layers of \d+, 1,024 tokens a batch, warm-up \d+, about", told)
    assert "note: in fewer than 1,000 steps a model hardly begins to translate: give it more minutes" in told
    description, status = read_run(tmp_path / "run"), read_status(tmp_path / "run")
    assert status.state == "finished"
    assert status.minutes is not None
    assert status.minutes <= 0.1, "its steps, and what came before them was taken off"
    assert description.preset is None
    assert read_model(tmp_path / "run").step == status.step, "the model is that of the end"
    assert heedful(*asked) == 2
    assert capsys.readouterr().err.startswith("error: "), "nothing is timed for a run that cannot begin"
    assert heedful(*asked, "--resume") == 0
    assert read_run(tmp_path / "run").config.model == description.config.model


def test_the_same_minutes_change_nothing_and_others_are_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, flops_per_second=3e10)

    def told(minutes: str, *more: str) -> str:
        asked = ["--minutes", minutes, "--set", "training.steps=3", "--device", "cpu", "--output", tmp_path / "run"]
        assert heedful("train", data, *asked, *more) == 0
        return capsys.readouterr().err

    told("5")
    own = read_run(tmp_path / "run").config.training.minutes
    assert own < 5, "some went by before it began"
    assert "changed since" not in told("5", "--resume")
    assert read_run(tmp_path / "run").config.training.minutes == own
    assert f"changed since the run began: training.minutes: {own} there, 6.0 now" in told("6", "--resume")
    assert "changed since" not in told("6", "--resume")
    assert "changed since the run began: training.minutes: 6.0 there, 5.0 now" in told("5", "--resume")


def test_a_preset_with_minutes_is_the_preset_and_its_end(data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('preset = "tiny"\n[training]\nlog_steps = 3\n')
    options = ["--minutes", "0.01", "--set", "training.log_steps=4", "--quiet"]
    assert heedful("train", data, "--config", tmp_path / "mine.toml", *options, "--output", tmp_path / "run") == 0
    description = read_run(tmp_path / "run")
    assert description.preset == "tiny", "a preset that a file names is remembered"
    config = description.config
    assert (config.training.minutes, config.training.log_steps, config.model.d_model) == (0.01, 4, 64)


def test_plan_advises_what_train_would_fit(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful("plan", data, "--minutes", "2") == 0
    told = capsys.readouterr().out
    assert "fitted to 2 minutes: 2+2 layers of" in told
    assert f"to train it: heedful train {data} --minutes 2 --output run" in " ".join(told.split())
    assert heedful("plan", data, "--minutes", "20", "--accelerator", "H100", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "tokens a batch" in found["fitted"]
    assert found["seconds"] <= 20 * 60


def test_plan_says_plainly_that_a_preset_would_take_days_and_what_to_type_instead(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = probe.probed_speed
    slow = lambda *given, **named: replace(real(*given, **named), flops_per_second=1e10)  # noqa: E731
    monkeypatch.setattr(probe, "probed_speed", slow)
    assert heedful("plan", data, "--preset", "small") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "days; for a model that suits the time you have: heedful train" in told
    assert "--minutes 15 --output run" in told
