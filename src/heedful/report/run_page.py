"""The page of a run: its sections in their order, in one HTML file that needs nothing but a browser."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from heedful.config import SECTIONS, toml_value
from heedful.data.manifest import SIDES
from heedful.model.embeddings import positional_encoding
from heedful.report.attention_views import labels
from heedful.report.charts import Chart, Figure, Series, bar_figure, duration_text, line_figure, number_text
from heedful.report.curves import training_section
from heedful.report.drawing import add_axes, add_cells, add_scale, colour, new_figure, svg
from heedful.report.pages import Section, page, section, write_page
from heedful.report.repetition import changed_settings, machine_section, preset_name, repetition_section
from heedful.report.run_scores import POSITIONS, RunScores, examples_section, scores_section
from heedful.runs.descriptions import now
from heedful.runs.record import CorpusRecord, RunRecord
from heedful.training.optimizer import scheduled_rate

_SAMPLES = 240
"""Steps at which the schedule is drawn."""
_LONGEST = 200
"""Subwords of an example that are shown."""
_FIGURES = (
    ("vocabulary, subwords", "vocabulary", "size", "{:,}"),
    ("subwords in use", "vocabulary", "used", "{:,}"),
    ("subwords seen fewer than ten times", "vocabulary", "rare", "{:,}"),
    ("bytes a subword", "vocabulary", "bytes_per_subword", "{:.2f}"),
    ("tokens, END included", "lengths", "tokens", "{:,}"),
    ("mean length", "lengths", "mean", "{:.1f}"),
    ("median length", "lengths", "median", "{:,}"),
    ("99 % are at most", "lengths", "p99", "{:,}"),
    ("longest", "lengths", "longest", "{:,}"),
    ("distinct characters", "characters", "distinct", "{:,}"),
    ("validation subwords seen in training", "vocabulary", "validation_coverage", "{:.2%}"),
    ("validation characters never seen in training", "characters", "validation_unseen", "{:,}"),
)
"""What is told of each side: its name, where it stands in the report of cleaning, and how it is written."""


def run_sections(record: RunRecord, scores: RunScores | None = None, *, why_not: str = "") -> list[Section]:
    """Everything that can be said of a run. ``why_not``: why there are no scores, where there are none."""
    return [
        _overview_section(record, scores),
        _data_section(record.corpus),
        training_section(record.metrics),
        scores_section(scores, why_not=why_not),
        *([examples_section(scores, folder=record.folder)] if scores is not None and scores.examples else []),
        _schedule_section(record),
        _positions_section(record, scores),
        _configuration_section(record),
        machine_section(record),
        repetition_section(record),
    ]


def run_page(title: str, sections: Sequence[Section]) -> str:
    """The whole page as text."""
    values = {"title": title, "sections": sections, "made": _clear_time(now())}
    return page("report.html", style="report.css", scripts=("report.js",), **values)


def write_run_page(title: str, sections: Sequence[Section], path: Path, *, overwrite: bool = False) -> Path:
    """Write the page; returns its path."""
    return write_page(path, run_page(title, sections), overwrite=overwrite)


def _overview_section(record: RunRecord, scores: RunScores | None) -> Section:
    """What was trained, how far it is, how good, and everything that could not be read."""
    run, description, model, corpus = record.run, record.description, record.config.model, record.corpus
    sizes = (
        f"{model.encoder_layers} + {model.decoder_layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.num_heads} heads"
    )
    data, device, best = description.data.folder or "not recorded", record.environment.get("device"), run.best
    found = {
        "state": run.state + (f": {run.why}" if run.why else ""),
        "steps": run.step is not None and f"{run.step:,}" + (f" of {run.steps:,}" if run.steps is not None else ""),
        "time": run.minutes is not None and duration_text(60 * run.minutes),
        "begun": _clear_time(description.started or "not recorded"),
        "model": f"{run.model}: {sizes}" if description.preset else sizes,
        "parameters": run.parameters is not None and f"{run.parameters:,}",
        "data": f"{corpus.manifest.splits['train'].pairs:,} pairs of {corpus.folder}" if corpus else data,
        "began with": description.init and f"the weights of {description.init}",
        "on": device and str(device),
        "best validation": best and f"{best.metric} {best.value:.4g} at step {best.step:,}",
    }
    if scores is not None:
        score = scores.report.scores[0]
        found[score.name] = f"{score.value:.2f} on {scores.text.about}"
    known = {name: text for name, text in found.items() if text}
    return section("The run", "overview.html", problems=record.problems, found=known)


def _data_section(corpus: CorpusRecord | None) -> Section:
    """The corpus; where it is not there any more, that."""
    if corpus is None:
        return section("Data", "data.html", corpus=None)
    cleaning = corpus.cleaning
    figures = [
        _histogram("Lengths of the training text", cleaning.get("lengths", {})),
        _histogram("Lengths of the validation text", cleaning.get("validation", {}).get("lengths", {})),
    ]
    samples = [(one, [labels(one[side][:_LONGEST]) for side in SIDES]) for one in corpus.samples]
    shown = {"vocabulary": _vocabulary(cleaning), "lengths": [figure for figure in figures if figure]}
    return section("Data", "data.html", corpus=corpus, samples=samples, **shown)


def _schedule_section(record: RunRecord) -> Section:
    """The learning rate over the whole run, with the steps that are done."""
    training, d_model = record.config.training, record.config.model.d_model
    warmup, done = training.warmup_steps, record.run.step or 0
    last = max(training.steps, done)

    def rate(step: int) -> float:
        return scheduled_rate(step, d_model=d_model, training=training)

    marks = {1, last, *(step for step in (warmup, done) if 1 <= step <= last)}
    steps = sorted({max(1, round(last * place / _SAMPLES)) for place in range(_SAMPLES + 1)} | marks)
    over = [(step, rate(step)) for step in steps if step <= done] if done else []
    to_come = [(step, rate(step)) for step in steps if step >= done] if done < last else []
    series = [Series("done", over), Series("to come", to_come, "plan")]
    if done:
        series.append(Series(f"step {done:,}", [(done, rate(done))], "mark", line=False, read=False))
    across = [warmup] if warmup <= last else []
    name = "Learning rate" if training.decay == "linear" else "Equation 3"
    chart = Chart(name, "learning rate", series, from_zero=True, x_end=last, verticals=across)
    return section(
        "Learning-rate schedule",
        "schedule.html",
        chart=line_figure(chart),
        scale="" if training.learning_rate_scale == 1 else f"{training.learning_rate_scale:g} · ",
        d_model=d_model,
        warmup=warmup,
        highest=f"{rate(warmup):.3g}",
        linear=training.decay == "linear",
    )


def _positions_section(record: RunRecord, scores: RunScores | None) -> Section:
    """The vectors that tell the model where a word stands: section 3.5's, or Table 3 row (E)'s."""
    d_model = record.config.model.d_model
    shown: dict[str, Any] = {"positions": POSITIONS, "d_model": d_model, "learned": None}
    if record.config.model.positions == "learned":
        tables = scores.learned_positions if scores else {}
        shown["learned"] = {side: position_map(table) for side, table in tables.items()}
    else:
        shown["sinusoids"] = position_map(positional_encoding(POSITIONS, d_model).numpy())
    return section("Positional encodings", "positions.html", **shown)


def position_map(table_LD: np.ndarray) -> Markup:
    """Encodings, positions from top to bottom and dimensions from left to right, blue above zero, orange below."""
    most = float(np.abs(table_LD).max()) or 1.0
    width, height = 590.0, 256.0
    figure = new_figure(width, height)
    axes = add_axes(figure, (0, 0, width, height))
    add_cells(axes, table_LD / most)
    words = {"fontsize": 12, "color": colour("soft")}
    axes.set_ylabel("position", **words)
    axes.set_xlabel("dimension →", loc="right", **words)
    add_scale(figure, (0, height + 30, 220, 12), {-1: number_text(-most), 0: "0", 1: number_text(most)})
    return svg(figure, label="positional encodings", kind="positions")


def _configuration_section(record: RunRecord) -> Section:
    """Every setting of the run, those marked that its preset has otherwise."""
    differing = changed_settings(record)
    parts: dict[str, list[tuple[str | None, ...]]] = {name: [] for name in SECTIONS}
    for name, kind in SECTIONS.items():
        for item in dataclasses.fields(kind):
            value = toml_value(getattr(getattr(record.config, name), item.name))
            was = differing.get(f"{name}.{item.name}")
            parts[name].append((item.name, value, was, item.metadata["rule"].help))
    counted = {"preset": preset_name(record), "differing": len(differing)}
    return section("Configuration", "configuration.html", parts=parts, **counted)


def _clear_time(iso: str) -> str:
    return iso.replace("T", " ").replace("+00:00", " UTC")


def _vocabulary(cleaning: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = [
        (name, *(form.format(cleaning[part][side][key]) for side in SIDES))
        for name, part, key, form in _FIGURES
        if all(key in cleaning.get(part, {}).get(side, {}) for side in SIDES)
    ]
    shared = cleaning.get("vocabulary", {}).get("shared")
    return [("shared vocabulary", *rows[0][1:]), *rows[1:]] if shared and rows else rows


def _histogram(title: str, lengths: dict[str, Any]) -> Figure | None:
    """How long the sentences are."""
    histograms = {side: lengths.get(side, {}).get("histogram", {}) for side in SIDES}
    groups = max(histograms.values(), key=len)
    counts = {side: [histogram.get(group, 0) for group in groups] for side, histogram in histograms.items()}
    names = [group.replace("-", "–") for group in groups]
    return bar_figure(title, names, counts, x="tokens of a sentence, END included", y="pairs")
