"""What `heedful bench` measures, against what can be counted without a clock."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.commands import run_here

from heedful.config import Config
from heedful.errors import TrainingError
from heedful.planning import bench as module
from heedful.planning.bench import Bench, GeneratedCorpus, bench
from heedful.presets import resolve
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import World

CPU = torch.device("cpu")
SETTINGS = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.source_tokens=300", "training.target_tokens=300"),
]


@pytest.fixture(scope="module")
def config() -> Config:
    return resolve(name="tiny", settings=SETTINGS)


def measured(config: Config) -> Bench:
    return bench(config, device=CPU, seconds=0.2, report=lambda *_: None)


@pytest.fixture(scope="module")
def found(config: Config) -> Bench:
    return measured(config)


def test_the_text_has_the_lengths_of_news_and_words_of_the_vocabulary() -> None:
    corpus = GeneratedCorpus(vocab_size=50, seed=1)
    source, target = corpus.lengths.source, corpus.lengths.target
    assert 25 < source.mean() < 30
    assert np.corrcoef(source, target)[0, 1] > 0.9
    ids = np.concatenate(corpus.target.sentences(len(corpus)))
    assert set(np.unique(ids)) == set(range(3, 50))
    assert len(ids) == (target - 1).sum()


def test_the_speed_is_whole_steps_of_the_real_batches_over_the_time(config: Config, found: Bench) -> None:
    corpus = GeneratedCorpus(vocab_size=config.data.vocab_size, seed=config.training.seed)
    batches = Batches(corpus, config.training, layout="padded", device=CPU, world=World())
    totals = np.cumsum([batches.step(step).target_tokens for step in range(1, 300)])
    tokens = found.training.target_tokens_per_second * found.training.seconds
    assert np.abs(totals - tokens).min() < 1e-3 * tokens
    assert found.step_tokens == 300


def test_the_parts_are_all_of_the_time_and_the_largest_is_what_holds_it_back(found: Bench) -> None:
    for work in (found.training, found.translating):
        assert sum(work.parts.values()) == pytest.approx(1) or min(work.parts.values()) == 0
        assert work.bound == "input" or work.parts[work.bound] == max(work.parts.values())
        assert 0 < work.parts["arithmetic"] < 1
        assert work.seconds >= 0.2


def test_an_output_is_as_long_as_its_input(found: Bench) -> None:
    work = found.translating
    assert 0.8 < work.target_tokens_per_second / work.source_tokens_per_second <= 1.01


def test_slow_batches_are_what_holds_training_back(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Batches.step

    def slow(self: Batches, step: int) -> StepBatch:
        time.sleep(0.4)  # longer than a step takes on a machine that has other work
        return quick(self, step)

    monkeypatch.setattr(module.Batches, "step", slow)
    work = measured(config).training
    assert work.bound == "input"
    assert work.input_share == pytest.approx(1, abs=0.3)


def test_sentences_that_learned_positions_cannot_take_are_refused() -> None:
    with pytest.raises(TrainingError, match=r"learned positions end at model.max_positions = 50"):
        measured(resolve(name="tiny", settings=[*SETTINGS, "model.positions=learned", "model.max_positions=50"]))


def test_a_step_is_made_smaller_where_the_machine_would_take_too_long(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "matmul_flops", lambda *_: 1e6)
    assert measured(config).step_tokens == 240


def test_the_command_prints_a_table_of_80_columns_and_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.planning.bench.bench", lambda *_, **__: FOUND)
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    code, out, _ = run_here(capsys, "bench", "--preset", "tiny", *settings)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "training       12,345" in out
    assert json.loads(run_here(capsys, "bench", "--json")[1])["training"]["bound"] == "memory"


_WORK = module.Work(13e3, 12_345.0, {"arithmetic": 0.3, "memory": 0.6, "overhead": 0.1}, "memory", 20.0, 1.5, 0.01)
FOUND = Bench("CPU, 2 threads", "float32", 9_625_600, 16_000, 8192, 9.6e10, 2e10, _WORK, _WORK)
