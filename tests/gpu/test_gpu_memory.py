"""The memory that `heedful plan` expects of captured steps, beside what they take on this GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.training_toys import write_toy

from heedful.data.corpus import Corpus
from heedful.planning.plan import make_plan
from heedful.presets import resolve
from heedful.training.batches import Batches
from heedful.training.distributed import World
from heedful.training.setup import built_model
from heedful.training.step import Trainer, precision_for

BUDGETS = ("training.source_tokens=8192", "training.target_tokens=8192")


@pytest.mark.parametrize("preset", ["small", "base"])
def test_the_estimate_is_within_a_quarter_of_what_captured_steps_take(preset: str, tmp_path: Path) -> None:
    data, device = write_toy(tmp_path / "toy", task="copy", pairs=6000), torch.device("cuda")
    expected = make_plan(data, preset=preset, settings=BUDGETS, accelerator="H200").memory.total
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    config, corpus = resolve(name=preset, settings=BUDGETS), Corpus(data)
    precision = precision_for(config, device)
    trainer = Trainer(built_model(config, corpus, precision), config, precision=precision, world=World())
    batches = Batches(corpus, config.training, layout="packed", device=device, world=World())
    trainer.accelerate()
    for step in range(1, batches.schedule.steps_per_epoch + 1):
        trainer.step(batches.step(step))
    torch.cuda.synchronize()
    taken = torch.cuda.max_memory_reserved()
    # On an H200: 1.92 GiB taken and 1.86 expected (small), 6.87 and 7.49 (base).
    assert expected == pytest.approx(taken, rel=0.25)
