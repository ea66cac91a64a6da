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
from heedful.report.markup import Cell, Html, Section, breakable, command, paragraph, sentence, table, text
from heedful.report.run_page import write_run_page
from heedful.report.sections.training import training_section
from heedful.runs.names import default_model
from heedful.runs.record import run_record

Command = tuple[str, str]
"""What a command does, and the command."""


def write_demo_page(tour: Tour, facts: dict[str, Any], *, commands: Sequence[Command]) -> Path:
    """Write the page; returns its path."""
    picture = _image(tour.picture, "cross-attention and the true links")
    sections = [
        Section("What this is", _about(facts)),
        Section("Scores", _scores(facts)),
        Section("How training went", training_section(run_record(tour.run)).content),
        Section("Which word is which", _alignment(facts) + picture),
        Section("Translations", _examples(facts)),
        Section("What to try next", "".join(paragraph(what) + command(words) for what, words in commands)),
    ]
    return write_run_page("heedful demo", sections, tour.page, overwrite=True)


def _about(facts: dict[str, Any]) -> str:
    pairs, training = facts["pairs"], facts["training"]
    return _paragraphs(
        "A Transformer that has learnt to translate English into German, from text that is generated: a program wrote "
        "every sentence from a few hundred words and the rules of both languages. The scores below say that the model "
        "has learnt this grammar, and nothing about real text.",
        f"{facts['parameters']:,} parameters (seed {facts['seed']}), {pairs['train']:,} sentence pairs, "
        f"{training['step']:,} steps in {training['minutes']:.1f} minutes on {facts['device']}. Tested on "
        f"{pairs['test']:,} other sentences; in each of them a verb and its object stand in a construction in which "
        "training never shows them together.",
        *after_training(facts),
    )


def _scores(facts: dict[str, Any]) -> str:
    rows: list[list[Cell]] = [
        [score["name"], *score_text(score), breakable(score["signature"])] for score in facts["scores"]
    ]
    rows.append(["exactly the reference", percent(facts["exact_matches"]), "", ""])
    return table(("score", "value", "95 % interval", "signature"), rows, numbers=(1, 2))


def _alignment(facts: dict[str, Any]) -> str:
    found, pictured = facts["alignment"], facts["pictured"]
    rows = [(f"cross-attention, layer {found['layer']}", f"{found['error_rate']:.3f}")]
    rows.append(("the diagonal, which reads no word", f"{found['diagonal']:.3f}"))
    by_layer = ", ".join(f"layer {layer}: {rate:.3f}" for layer, rate in enumerate(found["by_layer"], start=1))
    return (
        _paragraphs(
            "The generated text comes with its true word alignments. For each word of the reference, the word that "
            "cross-attention looks at most is compared with them."
        )
        + table(("on the test sentences", "alignment error rate"), rows, numbers=(1,))
        + _paragraphs(
            f"The layer was chosen on the validation sentences ({by_layer}). The picture shows the test sentence, "
            "among the first 200, in which words change their places most.",
            f"{pictured['source']} → {pictured['target']}",
        )
    )


def _examples(facts: dict[str, Any]) -> str:
    shown = [(example, "") for example in facts["examples"]]
    shown += [(example, "among the worst; ") for example in facts["worst"]]
    rows: list[tuple[Html, Html]] = []
    for example, remark in shown:
        right = example["output"] == example["reference"]
        kind, verdict = ("", "as the reference") if right else ("wrong", f"reference: {example['reference']}")
        output = sentence(example["output"]) if example["output"] else "(nothing)"
        output += f'<div class="note {kind}">{text(remark + verdict)}</div>'
        rows.append((Html(sentence(example["source"])), Html(output)))
    return table(("English", "the model’s German"), rows)


def _paragraphs(*texts: str) -> str:
    return "".join(map(paragraph, texts))


def _image(path: Path, about: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{text(about)}" src="data:image/png;base64,{data}">'


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
