"""How a run went: its metrics over its steps, as charts of a page, as ``curves.png``, and as TensorBoard's events."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from heedful.errors import CheckpointError, ReportError
from heedful.files import write_file
from heedful.report.charts import FEW_POINTS, HEIGHT, WIDTH, Chart, Figure, Series, line_figure
from heedful.report.pages import Section, section
from heedful.report.picture import Inset, Mark, Picture, Point, Stroke, Words
from heedful.runs.descriptions import read_run
from heedful.runs.metrics import Metrics, Sample, TrainLine, ValidationLine, measured, read_metrics

_CURVES = "curves.png"
_SHOWN_VALIDATIONS = 8
"""Validations whose translations are shown, spread evenly over the run."""
_CAPTION, _BETWEEN = 40, 24
"""Above a chart of the picture its title and legend, in two lines; and the room between two charts."""
_LETTER = 6.4
"""Mean width of a letter of the legend."""

_TRAIN = ("loss", "negative_log_likelihood", "perplexity", "learning_rate", "gradient_norm", "target_tokens", "skipped")
_VALIDATION = ("loss", "perplexity", "perplexity_per_word", "bleu")
_WALL = ("tokens_per_second", "peak_share", "memory_gib")
"""The figures of each kind of line that TensorBoard gets."""


def training_section(metrics: Metrics) -> Section:
    """The charts of everything that was measured, and what was said of the same sentence at each validation."""
    return section("Training", "training.html", charts=_figures(metrics), said=_said(metrics.validation))


def metric_charts(metrics: Metrics) -> list[Chart]:
    """Loss, perplexity, BLEU where it was measured or else memory, learning rate, gradient norm, speed."""
    train, validation = metrics.train, metrics.validation
    skipped = [line.step for line in train if line.skipped > 0]
    across = "Lines across: steps without a finite loss and gradient, which were skipped." if skipped else ""
    losses = _both(metrics, "loss", ("training (smoothed, with dropout)", "validation (not smoothed)"))
    perplexities = _both(metrics, "perplexity", ("training", "validation"))
    charts = [
        Chart("Loss", "loss a target token (nats)", losses, top=_after_the_fall(losses[0].points)),
        Chart("Perplexity", "perplexity a subword, logarithmic", perplexities, logarithmic=True),
        _bleu_or_memory(metrics),
        Chart("Learning rate", "learning rate", [Series("", _points(train, "learning_rate"))], from_zero=True),
        Chart(
            "Gradient norm",
            "norm, mean of the steps between, logarithmic",
            [Series("", _points(train, "gradient_norm"))],
            logarithmic=True,
            verticals=skipped,
            note=across,
        ),
        Chart("Speed", "target tokens a second", [Series("", _clock(train, "tokens_per_second"))], from_zero=True),
    ]
    last = max((line.step for line in (*train, *validation)), default=0)
    return [replace(chart, x_end=last) for chart in charts]


def write_curves(run_folder: Path) -> Path:
    """Draw the metrics of a run into its folder; returns the picture."""
    from heedful.report.raster import png

    metrics = _sound_metrics(run_folder)
    picture = _panels(_title(run_folder, metrics), _figures(metrics))
    return write_file(run_folder / _CURVES, png(picture, scale=1.5), error=ReportError)


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
        for kind, lines, keys in (("train", metrics.train, _TRAIN), ("validation", metrics.validation, _VALIDATION)):
            for line in lines:
                for name, value in _numbers(kind, line, keys):
                    writer.add_scalar(name, value, line.step)
        for line in metrics.validation:
            for place, sample in enumerate(line.samples):
                writer.add_text(f"samples/{place + 1}", _sample_text(sample), line.step)
    return output


def _sound_metrics(run_folder: Path) -> Metrics:
    """The metrics of a run; raises where a line is broken, or none has been written yet."""
    if not run_folder.is_dir():
        raise ReportError(f"there is no run folder {run_folder}")
    metrics = read_metrics(run_folder)
    if metrics.problems:
        raise ReportError("\n".join(metrics.problems))
    if not metrics.train and not metrics.validation:
        raise ReportError(f"{run_folder} has no metrics yet; the first come after training.log_steps steps")
    return metrics


def _figures(metrics: Metrics) -> list[Figure]:
    return [figure for chart in metric_charts(metrics) if (figure := line_figure(chart))]


def _points(lines: Sequence[TrainLine | ValidationLine], key: str) -> list[Point]:
    """(step, value) of each line; the last one of lines with the same step."""
    return list({line.step: (line.step, measured(line, key)) for line in lines}.values())


def _both(metrics: Metrics, key: str, names: tuple[str, str]) -> list[Series]:
    """What is measured in training and in validation, and the lowest of the latter."""
    train, validation = Series(names[0], _points(metrics.train, key)), _points(metrics.validation, key)
    return [train, Series(names[1], validation, "validation"), *_best(metrics.validation, key, min)]


def _clock(lines: Sequence[TrainLine], key: str) -> list[Point]:
    return list({line.step: (line.step, measured(line.wall, key)) for line in lines}.values())


def _bleu_or_memory(metrics: Metrics) -> Chart:
    scores = _points(metrics.validation, "bleu")
    if any(math.isfinite(score) for _, score in scores):
        series = [Series("validation", scores, "validation"), *_best(metrics.validation, "bleu", max)]
        return Chart("BLEU", "BLEU of the validation text (greedy search)", series, from_zero=True)
    return Chart("Memory", "GiB", [Series("", _clock(metrics.train, "memory_gib"))], from_zero=True)


def _best(lines: Sequence[ValidationLine], key: str, best: Callable[..., Point]) -> list[Series]:
    points = [point for point in _points(lines, key) if math.isfinite(point[1])]
    if not points:
        return []
    step, value = best(points, key=lambda point: point[1])
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
    shown = _spread(told, _SHOWN_VALIDATIONS)
    # An output that did not change from one validation to the next is told once.
    rows = [(step, sample.output) for step, sample in shown]
    rows = [rows[0], *(later for before, later in pairwise(rows) if later[1] != before[1])]
    first = shown[0][1]
    return [("source", first.source), ("reference", first.reference), *rows]


def _spread(values: list[tuple[int, Sample]], most: int) -> list[tuple[int, Sample]]:
    if len(values) <= most:
        return values
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


def _title(run_folder: Path, metrics: Metrics) -> str:
    try:
        preset = read_run(run_folder).preset
    except CheckpointError:  # there are curves to draw, whatever is wrong with it
        preset = None
    last = max(line.step for line in (*metrics.train, *metrics.validation))
    name = run_folder.absolute().name
    return f"{name}{f' ({preset})' if preset else ''}, {last:,} steps"


def _panels(title: str, figures: Sequence[Figure]) -> Picture:
    """All figures in one picture, two in a row."""
    left, top = 10.0, 44.0
    width, height = WIDTH + _BETWEEN, _CAPTION + HEIGHT + _BETWEEN
    marks: list[Mark] = [Words("headline strong", title, (left + 4, 26))]
    for place, figure in enumerate(figures):
        x, y = left + place % 2 * width, top + place // 2 * height
        marks += [*_caption(figure, x, y), Inset(figure.picture.marks, (x, y + _CAPTION))]
    return Picture(2 * width, top + math.ceil(len(figures) / 2) * height, marks, title)


def _caption(figure: Figure, left: float, top: float) -> list[Mark]:
    """Title and legend, as the page has them; in a second line what the first has no room for."""
    x, rows = 24 + 1.2 * _LETTER * len(figure.title), 0
    places: list[tuple[float, int]] = []
    for _, name in figure.keys:
        wide = 24 + _LETTER * len(name)
        if x + wide > WIDTH:
            x, rows = 4, rows + 1
        places.append((left + x, rows))
        x += wide + 10
    first = top + _CAPTION - 6 - 17 * rows
    marks: list[Mark] = [Words("strong", figure.title, (left + 4, first))]
    for (kind, name), (at, row) in zip(figure.keys, places, strict=True):
        y = first + 17 * row
        dot = Stroke(f"dots {kind}", [(at + 9, y - 4)], dots=True)
        line = Stroke(f"line {kind}", [(at, y - 4), (at + 17, y - 4)])
        marks += [dot if "points" in kind else line, Words("tick", name, (at + 22, y))]
    return marks


def _numbers(kind: str, line: TrainLine | ValidationLine, keys: tuple[str, ...]) -> list[tuple[str, float]]:
    named = [(f"{kind}/{key}", measured(line, key)) for key in keys]
    if isinstance(line, TrainLine):
        named += [(f"{kind}_wall/{key}", measured(line.wall, key)) for key in _WALL]
    return [(name, value) for name, value in named if math.isfinite(value)]


def _sample_text(sample: Sample) -> str:
    """Indented, so that no character of a sentence is read as Markdown."""
    return "\n".join(f"    {key}: {getattr(sample, key)}" for key in ("source", "reference", "output"))
