"""A model that is trained in seconds, for the tests of what is done with trained models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.training_toys import write_toy

from heedful.presets import resolve
from heedful.search.model_search import greedy_translations
from heedful.training.loop import train
from heedful.training.setup import Task

SMALL = [
    *("model.d_model=32", "model.d_ff=64", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=2"),
    *("training.source_tokens=512", "training.target_tokens=512", "training.warmup_steps=20"),
    *("training.validation_steps=0", "training.samples=0"),
]


def train_toy(folder: Path, *, steps: int = 40, task: str = "copy", settings: Sequence[str] = ()) -> Path:
    """A run on a toy task, with these settings instead of the usual ones; returns its folder."""
    corpus = write_toy(folder, task=task, pairs=400, valid=30)
    checkpoints = [f"training.steps={steps}", f"training.checkpoint_steps={steps // 4}", "training.average_last=2"]
    config = resolve(name="tiny", settings=[*SMALL, *checkpoints, *settings])
    request = Task(config=config, data=corpus, run=folder / "run", preset="tiny", device="cpu")
    train(request, report=lambda event: None, translate=greedy_translations)
    return folder / "run"
