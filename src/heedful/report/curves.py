"""How a run went: its metrics over its steps, as charts of a page, as ``curves.png``, and as TensorBoard's events."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from heedful.errors import CheckpointError, ReportError
from heedful.files import write_file
from heedful.report.charts import FEW_POINTS, HEIGHT, WIDTH, Chart, Point, Series, add_lines, line_figure, new_figure
from heedful.report.pages import Section, section
from heedful.report.pictures import png
from heedful.runs.descriptions import read_run
from heedful.runs.metrics import Metrics, TrainLine, ValidationLine, measured, read_metrics

_CURVES = "curves.png"
_SHOWN_VALIDATIONS = 8
"""Validations whose translations are shown, spread evenly over the run."""
_SMOOTHED = "What training minimises: label smoothing is part of it, of both."
_NOT_SMOOTHED = "Of the likelihood alone, without label smoothing, of both."
_TITLE, _CAPTION = 30.0, 24.0
"""Room above all charts of the picture, and above each of them."""


def training_section(metrics: Metrics) -> Section:
    """The charts of everything that was measured, and what was said of the same sentence at each validation."""
    return section(
        "Training",
        "training.html",
        charts=list(filter(None, map(line_figure, metric_charts(metrics)))),
        said=_said(metrics.validation),
    )


def metric_charts(metrics: Metrics) -> list[Chart]:
    """Loss, perplexity, BLEU where it was measured or else memory, learning rate, gradient norm, speed."""

    def alone(title: str, label: str, key: str, **options: Any) -> Chart:
        return Chart(title, label, [Series("", _points(metrics.train, key))], **options)

    skipped = [line.step for line in metrics.train if line.skipped > 0]
    across = "Lines across: steps without a finite loss and gradient, which were skipped." if skipped else ""
    losses, perplexities = _both(metrics, "loss", "smoothed_loss"), _both(metrics, "perplexity", "perplexity")
    norm = "norm, mean of the steps between, logarithmic"
    charts = [
        Chart("Loss", "loss a target token (nats)", losses, top=_after_the_fall(losses[0].points), note=_SMOOTHED),
        Chart("Perplexity", "perplexity a subword, logarithmic", perplexities, logarithmic=True, note=_NOT_SMOOTHED),
        _bleu_or_memory(metrics),
        alone("Learning rate", "learning rate", "learning_rate", from_zero=True),
        alone("Gradient norm", norm, "gradient_norm", logarithmic=True, verticals=skipped, note=across),
        alone("Speed", "target tokens a second", "wall.tokens_per_second", from_zero=True),
    ]
    return [replace(chart, x_end=_last_step(metrics)) for chart in charts]


def compared_charts(runs: Mapping[str, Metrics]) -> list[Chart]:
    """The same figures of two runs in one chart each; those that were measured."""

    def both(title: str, label: str, part: str, key: str, **options: Any) -> Chart:
        kinds = zip(runs.items(), ("train", "validation"), strict=True)
        lines = [Series(name, _points(getattr(metrics, part), key), kind) for (name, metrics), kind in kinds]
        return Chart(title, label, lines, **options)

    loss, seconds = "loss a target token (nats)", "target tokens a second"
    return [
        both("Validation loss", loss, "validation", "loss", note="Without label smoothing and dropout."),
        both("Validation BLEU", "BLEU (greedy search)", "validation", "bleu", from_zero=True),
        both("Training loss", loss, "train", "negative_log_likelihood", note="Without label smoothing, with dropout."),
        both("Learning rate", "learning rate", "train", "learning_rate", from_zero=True),
        both("Gradient norm", "norm, logarithmic", "train", "gradient_norm", logarithmic=True),
        both("Speed", seconds, "train", "wall.tokens_per_second", from_zero=True),
    ]


def write_curves(run_folder: Path) -> Path:
    """Draw the metrics of a run into its folder; returns the picture."""
    metrics = _sound_metrics(run_folder)
    try:
        preset = read_run(run_folder).preset
    except CheckpointError:  # there are curves to draw, whatever is wrong with it
        preset = None
    title = f"{run_folder.absolute().name}{f' ({preset})' if preset else ''}, {_last_step(metrics):,} steps"
    figure = new_figure(2 * WIDTH, _TITLE + 3 * (_CAPTION + HEIGHT))
    figure.text(0.01, 0.99, title, fontsize=16, fontweight="bold", va="top")
    place = 0
    for chart in metric_charts(metrics):
        left, top = place % 2 * WIDTH, _TITLE + place // 2 * (_CAPTION + HEIGHT) + _CAPTION
        if axes := add_lines(figure, chart, left=left, top=top):
            axes.text(-0.13, 1.2, chart.title, transform=axes.transAxes, fontweight="bold")
            if any(one.name for one in chart.series):
                axes.legend(frameon=False, fontsize=9)
            place += 1
    return write_file(run_folder / _CURVES, png(figure), error=ReportError)


def write_events(run_folder: Path, *, output: Path) -> Path:
    """Write every number and sample of the metrics as TensorBoard's events into a folder that has none yet."""
    metrics = _sound_metrics(run_folder)
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
        for line in (*metrics.train, *metrics.validation):
            for group, numbers in ((line.kind, line), (f"{line.kind}_wall", line.wall)):
                for key, value in vars(numbers).items():
                    if isinstance(value, int | float) and math.isfinite(value) and key != "step":
                        writer.add_scalar(f"{group}/{key}", value, line.step)
        for line in metrics.validation:
            for place, sample in enumerate(line.samples, start=1):
                # Indented, so that no character of a sentence is read as Markdown.
                text = "\n".join(f"    {key}: {getattr(sample, key)}" for key in ("source", "reference", "output"))
                writer.add_text(f"samples/{place}", text, line.step)
    return output


def _sound_metrics(run_folder: Path) -> Metrics:
    """The metrics of a run; raises where a line is broken, or none has been written yet."""
    if not run_folder.is_dir():
        raise ReportError(f"there is no run folder {run_folder}")
    metrics = read_metrics(run_folder)
    if metrics.problems:
        with contextlib.suppress(CheckpointError):
            if read_run(run_folder).bundle:
                raise ReportError(f"{run_folder} is a bundle, which keeps no metrics: give the run that it was made of")
        raise ReportError("\n".join(metrics.problems))
    if not metrics.train and not metrics.validation:
        raise ReportError(f"{run_folder} has no metrics yet; the first come after training.log_steps steps")
    return metrics


def _last_step(metrics: Metrics) -> int:
    return max((line.step for line in (*metrics.train, *metrics.validation)), default=0)


def _points(lines: Sequence[TrainLine | ValidationLine], key: str) -> list[Point]:
    """(step, value) of each line; the last one of lines with the same step."""
    return list({line.step: (line.step, measured(line, key)) for line in lines}.values())


def _both(metrics: Metrics, of_train: str, of_validation: str) -> list[Series]:
    """What is measured in training and in validation, and the lowest of the latter."""
    train = Series("training (with dropout)", _points(metrics.train, of_train))
    validation = Series("validation (without)", _points(metrics.validation, of_validation), "validation")
    return [train, validation, *_best(validation.points, min)]


def _bleu_or_memory(metrics: Metrics) -> Chart:
    scores = _points(metrics.validation, "bleu")
    if best := _best(scores, max):
        series = [Series("validation", scores, "validation"), *best]
        return Chart("BLEU", "BLEU of the validation text (greedy search)", series, from_zero=True)
    return Chart("Memory", "GiB", [Series("", _points(metrics.train, "wall.memory_gib"))], from_zero=True)


def _best(points: Sequence[Point], best: Callable[..., Point]) -> list[Series]:
    finite = [point for point in points if math.isfinite(point[1])]
    if not finite:
        return []
    step, value = best(finite, key=lambda point: point[1])
    return [Series(f"best: {value:.4g} at step {step:,}", [(step, value)], "mark", line=False, read=False)]


def _after_the_fall(losses: Sequence[Point]) -> float | None:
    """The highest loss after a long run's first twentieth: it falls so far that nothing could be seen of the rest."""
    later = [value for _, value in losses[len(losses) // 20 :] if math.isfinite(value)]
    if len(losses) < FEW_POINTS or not later:
        return None
    return max(later) + 0.05 * (max(later) - min(later))


def _said(validation: Sequence[ValidationLine]) -> list[tuple[str | int, str]]:
    """The first validation sentence, and how it was translated at several steps."""
    told = [(line.step, line.samples[0]) for line in validation if line.samples]
    if not told:
        return []
    shown = min(len(told), _SHOWN_VALIDATIONS)
    rows = [(step, sample.output) for step, sample in (told[round(n)] for n in np.linspace(0, len(told) - 1, shown))]
    # An output that did not change from one validation to the next is told once.
    rows = [rows[0], *(later for before, later in pairwise(rows) if later[1] != before[1])]
    first = told[0][1]
    return [("source", first.source), ("reference", first.reference), *rows]
