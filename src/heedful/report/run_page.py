"""The page of a run: what it came to at a glance, then its sections, in one file that needs nothing but a browser."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from markupsafe import Markup

from heedful.config import SECTIONS, toml_value
from heedful.data.manifest import SIDES
from heedful.model.embeddings import positional_encoding
from heedful.report.attention_views import labels
from heedful.report.charts import (
    Chart,
    Figure,
    Series,
    add_axes,
    bar_figure,
    duration_text,
    line_figure,
    new_figure,
    number_text,
)
from heedful.report.curves import training_section
from heedful.report.pages import Section, colour, page, section, svg, write_page
from heedful.report.pictures import add_cells, add_scale
from heedful.report.repetition import changed_settings, machine_section, preset_name, repetition_section
from heedful.report.run_scores import POSITIONS, RunScores, scores_section, shown_sentence, translations_section
from heedful.runs.descriptions import now
from heedful.runs.lists import languages
from heedful.runs.record import CorpusRecord, RunRecord
from heedful.training.optimizer import scheduled_rate

_SAMPLES = 240
"""Steps at which the schedule is drawn."""
_MEASURES = {"bleu": "BLEU", "loss": "loss (not smoothed)"}
"""What a run can be watched by, as it is told."""
_LONGEST = 200
"""Subwords of an example that are shown."""


def run_sections(record: RunRecord, scores: RunScores | None = None, *, why_not: str = "") -> list[Section]:
    """Everything that can be said of a run. ``why_not``: why there are no scores, where there are none."""
    sections = [
        _overview_section(record, scores),
        *([translations_section(scores, folder=record.folder)] if scores is not None and scores.examples else []),
        training_section(record.metrics),
        scores_section(scores, why_not=why_not),
        _data_section(record.corpus),
        _schedule_section(record),
        _positions_section(record, scores),
        _configuration_section(record),
        machine_section(record),
        repetition_section(record),
    ]
    return [without_folders(one, record) for one in sections]


def run_page(title: str, sections: Sequence[Section], *, refresh_seconds: int = 0) -> str:
    """The whole page as text; with ``refresh_seconds`` a browser asks for it again and again."""
    values = {"title": title, "sections": sections, "made": _clear_time(now()), "refresh_seconds": refresh_seconds}
    return page("report.html", style="report.css", scripts=("report.js",), **values)


def write_run_page(title: str, sections: Sequence[Section], path: Path, *, overwrite: bool = False) -> Path:
    return write_page(path, run_page(title, sections), overwrite=overwrite)


def headline(record: RunRecord, scores: RunScores | None) -> list[tuple[str, str, str]]:
    """How good, how long, on what, how large: each a question, its answer and what belongs to it."""
    run, model, device = record.run, record.config.model, record.environment.get("device")
    long = duration_text(60 * run.minutes) if run.minutes is not None else "–"
    steps = f"{run.step or 0:,}" + (f" of {run.steps:,}" if run.steps is not None else "") + " steps"
    state = run.state + (f": {run.why}" if run.why else _time_to_go(record))
    large = f"{run.parameters / 1e6:.1f} million parameters" if run.parameters is not None else "–"
    layers = f"{model.encoder_layers} + {model.decoder_layers} layers of {model.d_model}"
    return [
        ("how good", *_how_good(record, scores)),
        ("how long", long, f"{steps}; {state}"),
        ("on what text", *_what_text(record)),
        ("how large", large, f"{layers}, on {device}" if device else layers),
    ]


def _how_good(record: RunRecord, scores: RunScores | None) -> tuple[str, str]:
    best = record.run.best
    if scores is not None:
        score = scores.report.scores[0]
        between = f"95 %: {score.interval.low:.1f} – {score.interval.high:.1f}; " if score.interval else ""
        return f"{score.value:.1f} {score.name}", f"{between}{scores.report.sentences:,} sentences: {scores.text.about}"
    if best is not None:
        return (
            f"{best.value:.4g} {_MEASURES.get(best.metric, best.metric)}",
            f"the best validation, at step {best.step:,}",
        )
    if record.metrics.train:
        last = record.metrics.train[-1]
        return f"{last.perplexity:.4g} perplexity", f"of the training text at step {last.step:,}; not validated yet"
    return "–", "nothing has been measured yet"


def _time_to_go(record: RunRecord) -> str:
    """Of a run that is going on, until the nearer of its ends."""
    run, most = record.run, record.config.training.minutes
    if run.state != "running" or not run.step or not run.steps or not run.minutes:
        return ""
    by_steps = run.minutes * (run.steps / run.step - 1)
    return f", about {duration_text(60 * min(by_steps, max(most - run.minutes, 0.0) if most else by_steps))} to go"


def _what_text(record: RunRecord) -> tuple[str, str]:
    spoken = languages(record.description)
    pair = f"{spoken.source} → {spoken.target}: " if spoken else ""
    if record.corpus is None:
        return "–", f"{pair}the prepared corpus is not there any more"
    manifest = record.corpus.manifest
    names = dict.fromkeys(PurePath(path).name for text in manifest.corpora for path in text.paths)
    return f"{manifest.splits['train'].pairs:,} pairs", pair + ", ".join(names)


def without_folders(section: Section, *records: RunRecord) -> Section:
    """The section without the folders in which things lay on the machine that trained: others may read it."""
    files = [PurePath(path) for record in records for path in _files_of(record)]
    folders = {str(path.parent) for path in files if path.is_absolute()} - {"/"}
    content = section.content
    for folder in sorted(folders, key=len, reverse=True):
        content = content.replace(Markup.escape(f"{folder}/"), Markup(""))
    return dataclasses.replace(section, content=content)


def _files_of(record: RunRecord) -> list[str]:
    """Every file and folder that the page of a run may name."""
    description, corpus = record.description, record.corpus
    named = [str(record.folder.absolute()), description.data.folder, description.init]
    named += [f"{description.command.folder}/x", *description.command.words] if description.command else []
    if corpus is not None:
        asked = corpus.manifest.configuration
        named += [path for text in (*corpus.manifest.corpora, *corpus.manifest.validation) for path in text.paths]
        named += [*asked.exclude, asked.tokenizer]
    return [path for path in named if path]


def _overview_section(record: RunRecord, scores: RunScores | None) -> Section:
    """The run at a glance: four numbers, one sentence, and everything that could not be read."""
    description, best = record.description, record.run.best
    found = {
        "preset": description.preset,
        "begun": _clear_time(description.started or "not recorded"),
        "began with": description.init and f"the weights of {description.init}",
        "best validation": best and f"{_MEASURES.get(best.metric, best.metric)} {best.value:.4g} at step {best.step:,}",
    }
    known = {name: text for name, text in found.items() if text}
    sentence = shown_sentence(record.metrics, scores)
    return section(
        "The run",
        "overview.html",
        numbers=headline(record, scores),
        sentence=sentence,
        problems=record.problems,
        found=known,
    )


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
    shown = [figure for figure in figures if figure]
    return section("Data", "data.html", corpus=corpus, samples=samples, lengths=shown)


def _schedule_section(record: RunRecord) -> Section:
    """The learning rate over the whole run, with the steps that are done."""
    training, d_model = record.config.training, record.config.model.d_model
    warmup, done = training.warmup_steps, record.run.step or 0
    last = max(record.run.steps or training.steps, done)  # the clock may end it before training.steps

    def rate(step: int) -> float:
        return scheduled_rate(step, d_model=d_model, training=training, last=last)

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
        folded=True,
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
    return section("Positional encodings", "positions.html", folded=True, **shown)


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
    differing, settings = changed_settings(record), record.config.settings
    parts: dict[str, list[tuple[str | None, ...]]] = {name: [] for name in SECTIONS}
    for name, kind in SECTIONS.items():
        for item in dataclasses.fields(kind):
            path = f"{name}.{item.name}"
            value, was = toml_value(settings[path]), differing.get(path)
            if path == "data.vocab_size":
                # What the corpus was prepared with is true, not what the configuration would have asked for.
                sizes = dict.fromkeys(getattr(record.description.vocabularies, side).size for side in SIDES)
                value, was = " and ".join(f"{size:,}" for size in sizes), None
            parts[name].append((item.name, value, was, item.metadata["rule"].help))
    counted = {"preset": preset_name(record), "differing": len(differing)}
    return section("Configuration", "configuration.html", folded=True, parts=parts, **counted)


def _clear_time(iso: str) -> str:
    return iso.replace("T", " ").replace("+00:00", " UTC")


def _histogram(title: str, lengths: dict[str, Any]) -> Figure | None:
    """How long the sentences are."""
    histograms = {side: lengths.get(side, {}).get("histogram", {}) for side in SIDES}
    groups = max(histograms.values(), key=len)
    counts = {side: [histogram.get(group, 0) for group in groups] for side, histogram in histograms.items()}
    names = [group.replace("-", "–") for group in groups]
    return bar_figure(title, names, counts, x="tokens of a sentence, END included", y="pairs")
