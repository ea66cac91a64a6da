"""The demo's page: one HTML file with what this is, how well it went, pictures, examples, and what to try next.

What it says and the terminal says too has its words here.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from heedful.demo.plan import MINUTES, DemoPlan
from heedful.demo.results import DemoResults, Pictured
from heedful.demo.stages import Trained, tokens_of
from heedful.evaluation.translation_scores import Score
from heedful.report.attention_views import attention_map, weight_scale
from heedful.report.curves import training_section
from heedful.report.pages import Section, section, svg
from heedful.report.run_page import write_run_page
from heedful.runs.folder import default_model
from heedful.runs.metrics import read_metrics

Command = tuple[str, str]
"""What a command does, and the command."""


def write_demo_page(plan: DemoPlan, results: DemoResults, *, commands: Sequence[Command]) -> Path:
    scores = [(score.name, *score_text(score), score.signature) for score in results.scores]
    scores.append(("exactly the reference", percent(results.exact_matches), "", ""))
    shown = [(example, "") for example in results.examples]
    shown += [(example, "among the worst; ") for example in results.worst]
    alignment = {"results": results, "picture": _picture(results.pictured), "scale": weight_scale()}
    sections = [
        section("What this is", "demo_about.html", results=results, notes=after_training(results.training)),
        section("Translations", "demo_examples.html", shown=shown),
        section("Which word is which", "demo_alignment.html", **alignment),
        Section("How training went", training_section(read_metrics(plan.run)).content),
        section("Scores", "demo_scores.html", scores=scores),
        section("What to try next", "commands.html", commands=commands, note=""),
    ]
    return write_run_page("heedful demo", sections, plan.page, overwrite=True)


def _picture(pictured: Pictured) -> Markup:
    """The attention of a sentence with its true links framed."""
    links = frozenset((source, target) for source, target in pictured.links)
    sides = {"source": tokens_of(pictured.source), "target": tokens_of(pictured.target)}
    figure = attention_map(np.array(pictured.weights), **sides, links=links)
    return svg(figure, label="cross-attention and the true links", kind="map")


def score_text(score: Score) -> tuple[str, str]:
    """A score and its interval as they are printed."""
    between = score.interval
    return f"{score.value:.1f}", f"{between.low:.1f} – {between.high:.1f}" if between else ""


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def after_training(training: Trained) -> list[str]:
    """What must be known about the training: nothing where it has taken all its steps."""
    if training.step >= training.steps:
        return []
    return [
        f"Training was cut short at step {training.step:,} of {training.steps:,}: the time was over. The scores "
        f"are those of a model that had not learnt all it can; the same command with more --minutes (on two idle cores "
        f"{MINUTES:g} are enough) goes on from there."
    ]


def next_commands(plan: DemoPlan, *, program: str, sentence: str) -> list[Command]:
    """Things to try, with the paths of this demo."""
    run = shlex.quote(str(plan.run))
    page = shlex.quote(str(plan.folder / "attention.html"))
    said = shlex.quote(sentence)
    yours = (
        f"{program} prepare --source train.en --target train.de --valid-source dev.en --valid-target dev.de "
        f"--exclude test.en --output corpus\n"
        f"{program} train corpus --minutes 15 --output run\n"
        f'{program} translate --model run "A sentence of your own."\n'
        f"{program} evaluate --model run --source test.en --reference test.de\n"
        f'{program} attention --model run "A sentence of your own."'
    )
    station = f'{program} translate "Where is the nearest station?"'
    stock = [("real English, with the model that comes with heedful", station)] if default_model() else []
    return [
        ("translate a sentence of words that it knows", f"{program} translate --model {run} {said}"),
        ("look at every attention head", f"{program} attention --model {run} {said} --output {page}"),
        *stock,
        ("your own text, two files of which line n of one translates line n of the other", yours),
    ]
