"""Two functions of the paper as this run has them: the learning rate (Equation 3), positional encodings (3.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heedful.model.positional_encoding import positional_encoding
from heedful.report.chart import Chart, Series, chart_figure
from heedful.report.heat_map import position_map
from heedful.report.markup import Section, paragraph, text
from heedful.report.run_scores import RunScores
from heedful.runs.record import RunRecord
from heedful.training.optimizer import learning_rate

POSITIONS = 64
SAMPLES = 240
"""Steps at which the schedule is drawn."""


def schedule_section(record: RunRecord) -> Section:
    """Equation 3 over the whole run, with the steps that are done."""
    training, d_model = record.config.training, record.config.model.d_model
    done = record.run.step or 0
    last = max(training.steps, done)

    def rate(step: int) -> float:
        return learning_rate(
            step, d_model=d_model, warmup_steps=training.warmup_steps, scale=training.learning_rate_scale
        )

    marks = {1, last, *(step for step in (training.warmup_steps, done) if 1 <= step <= last)}
    steps = sorted({max(1, round(last * place / SAMPLES)) for place in range(SAMPLES + 1)} | marks)
    series = [Series("to come", [(step, rate(step)) for step in steps if step >= done], "plan")]
    if done:
        series.insert(0, Series("done", [(step, rate(step)) for step in steps if step <= done]))
        series.append(Series(f"step {done:,}", [(done, rate(done))], "mark", line=False, read=False))
    if done >= last:
        series = [one for one in series if one.kind != "plan"]
    warmup = [training.warmup_steps] if training.warmup_steps <= last else []
    chart = Chart("Equation 3", "learning rate", series, from_zero=True, x_end=last, verticals=warmup)
    scale = "" if training.learning_rate_scale == 1 else f"{training.learning_rate_scale:g} · "
    formula = (
        f"lrate = {scale}{d_model}^−0.5 · min(step^−0.5, step · {training.warmup_steps:,}^−1.5): it rises for "
        f"{training.warmup_steps:,} steps to {rate(training.warmup_steps):.3g}, then falls with the square root of the "
        "step. The line across is the end of the rise."
    )
    return Section("Learning-rate schedule", f'<div class="charts">{chart_figure(chart)}</div>' + paragraph(formula))


def positions_section(record: RunRecord, scores: RunScores | None) -> Section:
    """The vectors that tell the model where a word stands."""
    model = record.config.model
    if model.positions == "learned":
        return Section("Positional encodings", _learned(scores.learned_positions if scores else {}))
    table = positional_encoding(POSITIONS, model.d_model).numpy()
    about = (
        f"Section 3.5: sines at even and cosines at odd dimensions, with wavelengths from 2π to 10000 · 2π; the first "
        f"{POSITIONS} positions × {model.d_model} dimensions. Nothing of it is learned."
    )
    return Section("Positional encodings", f'<div class="scroll">{position_map(table)}</div>' + paragraph(about))


def _learned(tables: Mapping[str, np.ndarray]) -> str:
    """Table 3 row (E)."""
    about = paragraph("Table 3 row (E): a vector for each position is learned, for each side its own.")
    if not tables:
        return about + paragraph("They are not shown, since the model was not loaded.", kind="note")
    return about + "".join(
        f'<h3>{text(side)}</h3><div class="scroll">{position_map(table)}</div>' for side, table in tables.items()
    )
