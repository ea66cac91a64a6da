"""How the run went: its metrics as charts, and what it said of the same sentences at each validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from heedful.report.chart import FEW_POINTS, Chart, Point, Series, chart_figure
from heedful.report.markup import Html, Section, paragraph, sentence, table
from heedful.runs.metrics import Metrics, Sample, TrainLine, ValidationLine, number
from heedful.runs.record import RunRecord

VALIDATIONS = 8
"""Validations whose translations are shown, spread evenly over the run."""


def training_section(record: RunRecord) -> Section:
    """The charts of everything that was measured."""
    figures = "".join(chart_figure(chart) for chart in metric_charts(record.metrics))
    if not figures:
        why = "Nothing has been measured yet; the first line of metrics comes after training.log_steps steps."
        return Section("Training", paragraph(why))
    hint = paragraph("Point at a chart, or choose it and press ← and →, to read its values.", kind="note screen")
    return Section("Training", hint + f'<div class="charts">{figures}</div>' + _said(record.metrics.validation))


def metric_charts(metrics: Metrics) -> list[Chart]:
    """Loss, perplexity, learning rate, gradient norm, speed, and BLEU where it was measured."""
    train, validation = metrics.train, metrics.validation
    speeds = [(line.step, line.wall.tokens_per_second) for line in train if line.wall.tokens_per_second >= 0]
    skipped = [line.step for line in train if line.skipped > 0]
    losses = _points(train, "loss")
    return [
        Chart(
            "Loss",
            "loss a target token (nats)",
            [
                Series("training (smoothed, with dropout)", losses),
                Series("validation (not smoothed)", _points(validation, "loss"), "validation"),
                *_best(validation, "loss", min),
            ],
            top=_after_the_fall(losses),
        ),
        Chart(
            "Perplexity",
            "perplexity a subword, logarithmic",
            [
                Series("training", _points(train, "perplexity")),
                Series("validation", _points(validation, "perplexity"), "validation"),
                *_best(validation, "perplexity", min),
            ],
            logarithmic=True,
        ),
        Chart("BLEU", "BLEU of the validation text (greedy search)", _bleu(validation), from_zero=True),
        Chart("Learning rate", "learning rate", [Series("", _points(train, "learning_rate"))], from_zero=True),
        Chart(
            "Gradient norm",
            "norm, mean of the steps between, logarithmic",
            [Series("", _points(train, "gradient_norm"))],
            logarithmic=True,
            verticals=skipped,
            note="Lines across: steps without a finite loss and gradient, which were skipped." if skipped else "",
        ),
        Chart("Speed", "target tokens a second", [Series("", speeds)], from_zero=True),
    ]


def _points(lines: Sequence[TrainLine | ValidationLine], key: str) -> list[Point]:
    """(step, value) of each line; the last one of lines with the same step."""
    return list({line.step: (line.step, number(line, key)) for line in lines}.values())


def _bleu(validation: Sequence[ValidationLine]) -> list[Series]:
    return [Series("validation", _points(validation, "bleu"), "validation"), *_best(validation, "bleu", max)]


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


def _said(validation: Sequence[ValidationLine]) -> str:
    """The first validation sentence as it was translated at several steps."""
    told = [(line.step, line.samples[0]) for line in validation if line.samples]
    if not told:
        return ""
    shown = _spread(told, VALIDATIONS)
    first = shown[0][1]
    # An output that did not change from one validation to the next is told once.
    rows = [(step, Html(sentence(sample.output))) for step, sample in shown]
    rows = [rows[0], *(later for before, later in pairwise(rows) if later[1] != before[1])]
    named = [
        ("source", Html(sentence(first.source))),
        ("reference", Html(sentence(first.reference))),
    ]
    return "<h3>The same sentence at each validation</h3>" + table(
        ("step", "translation"), [*named, *rows], numbers=(0,)
    )


def _spread(values: list[tuple[int, Sample]], most: int) -> list[tuple[int, Sample]]:
    if len(values) <= most:
        return values
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]
