"""The demo's page: one HTML file with what this is, how well it went, pictures, examples, and what to try next.

What it says and the terminal says too has its words here.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.demo.plan import MINUTES, Tour
from heedful.report.curves import training_section
from heedful.report.pages import Section, section
from heedful.report.run_page import write_run_page
from heedful.runs.metrics import read_metrics
from heedful.runs.names import default_model

Command = tuple[str, str]
"""What a command does, and the command."""


def write_demo_page(tour: Tour, facts: dict[str, Any], *, commands: Sequence[Command]) -> Path:
    """Write the page; returns its path."""
    training = training_section(read_metrics(tour.run))
    sections = [
        _about(facts),
        _scores(facts),
        Section("How training went", training.content),
        _alignment(facts, tour.picture),
        _examples(facts),
        section("What to try next", "commands.html", commands=commands, note=""),
    ]
    return write_run_page("heedful demo", sections, tour.page, overwrite=True)


def _about(facts: dict[str, Any]) -> Section:
    told = {name: facts[name] for name in ("parameters", "seed", "pairs", "training", "device")}
    minutes = f"{facts['training']['minutes']:.1f}"
    return section("What this is", "demo_about.html", **told, minutes=minutes, notes=after_training(facts))


def _scores(facts: dict[str, Any]) -> Section:
    rows = [(score["name"], *score_text(score), score["signature"]) for score in facts["scores"]]
    exact = ("exactly the reference", percent(facts["exact_matches"]), "", "")
    return section("Scores", "demo_scores.html", scores=[*rows, exact])


def _alignment(facts: dict[str, Any], picture: Path) -> Section:
    found = facts["alignment"]
    return section(
        "Which word is which",
        "demo_alignment.html",
        rates=[
            (f"cross-attention, layer {found['layer']}", f"{found['error_rate']:.3f}"),
            ("the diagonal, which reads no word", f"{found['diagonal']:.3f}"),
        ],
        by_layer=", ".join(f"layer {layer}: {rate:.3f}" for layer, rate in enumerate(found["by_layer"], start=1)),
        pictured=facts["pictured"],
        picture=base64.b64encode(picture.read_bytes()).decode("ascii"),
    )


def _examples(facts: dict[str, Any]) -> Section:
    shown = [(example, "") for example in facts["examples"]]
    shown += [(example, "among the worst; ") for example in facts["worst"]]
    rows: list[dict[str, Any]] = []
    for example, remark in shown:
        right = example["output"] == example["reference"]
        verdict = "as the reference" if right else f"reference: {example['reference']}"
        rows.append({**example, "right": right, "verdict": remark + verdict})
    return section("Translations", "demo_examples.html", examples=rows)


def score_text(score: dict[str, Any]) -> tuple[str, str]:
    """A score and its interval as they are printed."""
    return f"{score['value']:.1f}", f"{score['interval']['low']:.1f} – {score['interval']['high']:.1f}"


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def after_training(facts: dict[str, Any]) -> list[str]:
    """What must be known about the training: nothing where it has taken all its steps."""
    training = facts["training"]
    if training["step"] >= training["steps"]:
        return []
    return [
        f"Training was cut short at step {training['step']:,} of {training['steps']:,}: the time was over. The scores "
        f"are those of a model that had not learnt all it can; the same command with more --minutes (on two idle cores "
        f"{MINUTES:g} are enough) goes on from there."
    ]


def next_commands(tour: Tour, *, program: str, sentence: str) -> list[Command]:
    """Things to try, with the paths of this demo."""
    run = shlex.quote(str(tour.run))
    page = shlex.quote(str(tour.folder / "attention.html"))
    said = shlex.quote(sentence)
    yours = (
        f"{program} prepare --source train.en --target train.de --valid-source dev.en --valid-target dev.de "
        f"--exclude test.en --output corpus\n"
        f"{program} train corpus --preset small --output run\n"
        f'{program} translate --model run "A sentence of your own."\n'
        f"{program} evaluate --model run --source test.en --reference test.de\n"
        f'{program} attention --model run "A sentence of your own."'
    )
    real = [
        ("real English, with the model that comes with heedful", f'{program} translate "Where is the nearest station?"')
    ]
    return [
        ("translate a sentence of words that it knows", f"{program} translate --model {run} {said}"),
        ("look at every attention head", f"{program} attention --model {run} {said} --output {page}"),
        *(real if default_model() else []),
        ("your own text, two files of which line n of one translates line n of the other", yours),
    ]
