"""A run's metrics as TensorBoard's event files. The package ``tensorboard`` is an extra."""

from __future__ import annotations

import math
from pathlib import Path

from heedful.errors import ReportError
from heedful.report.curves import sound_metrics
from heedful.runs.metrics import Sample, TrainLine, ValidationLine, number

TRAIN = ("loss", "negative_log_likelihood", "perplexity", "learning_rate", "gradient_norm", "target_tokens", "skipped")
VALIDATION = ("loss", "perplexity", "perplexity_per_word", "bleu")
WALL = ("tokens_per_second", "peak_share", "memory_gib")


def write_events(run_folder: Path, *, output: Path) -> Path:
    """Write every number and sample of ``metrics.jsonl`` as events into a folder that has none yet."""
    metrics = sound_metrics(run_folder)
    if output.is_dir() and any(output.glob("events.out.tfevents.*")):
        raise ReportError(f"{output} has events already, and TensorBoard would mix them with new ones: give another")
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ReportError("TensorBoard is an extra that is not installed: pip install 'heedful[tensorboard]'") from None
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{output} cannot be the folder of the events: {error.strerror}") from None
    with SummaryWriter(str(output)) as writer:
        for kind, lines, keys in (("train", metrics.train, TRAIN), ("validation", metrics.validation, VALIDATION)):
            for line in lines:
                for name, value in _numbers(kind, line, keys):
                    writer.add_scalar(name, value, line.step)
        for line in metrics.validation:
            for place, sample in enumerate(line.samples):
                writer.add_text(f"samples/{place + 1}", _sample_text(sample), line.step)
    return output


def _numbers(kind: str, line: TrainLine | ValidationLine, keys: tuple[str, ...]) -> list[tuple[str, float]]:
    named = [(f"{kind}/{key}", number(line, key)) for key in keys]
    if isinstance(line, TrainLine):
        named += [(f"{kind}_wall/{key}", number(line.wall, key)) for key in WALL]
    return [(name, value) for name, value in named if math.isfinite(value)]


def _sample_text(sample: Sample) -> str:
    """Indented, so that no character of a sentence is read as Markdown."""
    return "\n".join(f"    {key}: {getattr(sample, key)}" for key in ("source", "reference", "output"))
