"""The demo's page: one HTML file with what this is, how well it went, pictures, examples, and what to try next."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.report.curves import write_curves
from heedful.report.new_files import written
from heedful.report.page_files import page_file
from heedful.report.run_files import read_metrics
from heedful.tour.plan import Tour
from heedful.tour.words import Command, after_training, percent, score_text

Section = tuple[str, str]
"""A title, and HTML."""

STYLE = """
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { margin: 2rem 0 0.5rem; font-size: 1.1rem; }
table { border-collapse: collapse; } td, th { padding: 0.2rem 1rem 0.2rem 0; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: normal; } tr + tr > * { border-top: 1px solid var(--rule); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; } pre { white-space: pre-wrap; }
img { max-width: 100%; border-radius: 4px; }
.note { color: var(--soft); font-size: 0.85rem; } .wrong { color: var(--mark); }
.scroll { overflow-x: auto; }
"""


def write_demo_page(tour: Tour, facts: dict[str, Any], *, commands: Sequence[Command]) -> Path:
    """Write the page; returns its path."""
    sections = [
        ("What this is", _about(facts)),
        ("Scores", _scores(facts)),
        ("How training went", _curves(tour)),
        ("Which word is which", _alignment(facts) + _image(tour.picture, "cross-attention and the true links")),
        ("Translations", _examples(facts)),
        ("What to try next", _commands(commands)),
    ]
    return written(tour.page, demo_page(sections).encode("utf-8"), overwrite=True)


def demo_page(sections: Sequence[Section]) -> str:
    """The whole page as text."""
    body = "".join(f"<section><h2>{html.escape(title)}</h2>{content}</section>" for title, content in sections)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += '<meta name="color-scheme" content="light dark"><title>heedful demo</title>'
    style = page_file("palette.css") + STYLE
    return (
        f'<!doctype html><html lang="en"><head>{head}<style>{style}</style></head><body><h1>heedful demo</h1>'
        f"{body}</body></html>\n"
    )


def _about(facts: dict[str, Any]) -> str:
    pairs, training = facts["pairs"], facts["training"]
    return _paragraphs(
        "A Transformer that has learnt to translate English into German, from text that is generated: a program wrote "
        "every sentence from a few hundred words and the rules of both languages. The scores below say that the model "
        "has learnt this grammar, and nothing about real text.",
        f"{facts['parameters']:,} parameters, {pairs['train']:,} sentence pairs (seed {facts['seed']}), "
        f"{training['step']:,} steps in {training['minutes']:.1f} minutes on {facts['device']}. Tested on "
        f"{pairs['test']:,} other sentences; in each of them a verb and its object stand in a construction in which "
        "training never shows them together.",
        *after_training(facts),
    )


def _scores(facts: dict[str, Any]) -> str:
    rows = [(score["name"], *score_text(score), score["signature"]) for score in facts["scores"]]
    rows.append(("exactly the reference", percent(facts["exact_matches"]), "", ""))
    return _table(("score", "value", "95 % interval", "signature"), rows, numbers=(1, 2))


def _curves(tour: Tour) -> str:
    if not read_metrics(tour.run).train:
        return _paragraphs("It ended before its first figures were written down.")
    return _image(write_curves(tour.run), "loss, perplexity, learning rate, gradient norm and speed by step")


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
        + _table(("on the test sentences", "alignment error rate"), rows, numbers=(1,))
        + _paragraphs(
            f"The layer was chosen on the validation sentences ({by_layer}). The picture shows the test sentence, "
            "among the first 200, in which words change their places most.",
            f"{pictured['source']} → {pictured['target']}",
        )
    )


def _examples(facts: dict[str, Any]) -> str:
    shown = [(example, "") for example in facts["examples"]] + [
        (example, "among the worst") for example in facts["worst"]
    ]
    rows: list[str] = []
    for example, remark in shown:
        right = example["output"] == example["reference"]
        kind, verdict = ("", "as the reference") if right else ("wrong", f"reference: {example['reference']}")
        remark = f"{remark}; {verdict}" if remark else verdict
        rows.append(
            f"<tr><td>{html.escape(example['source'])}</td><td>{html.escape(example['output'])}"
            f'<div class="note {kind}">{html.escape(remark)}</div></td></tr>'
        )
    return (
        f'<div class="scroll"><table><tr><th>English</th><th>the model’s German</th></tr>{"".join(rows)}</table></div>'
    )


def _commands(commands: Sequence[Command]) -> str:
    return "".join(f"<p>{html.escape(what)}</p><pre>{html.escape(words)}</pre>" for what, words in commands)


def _paragraphs(*texts: str) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int]) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="number">{html.escape(cell)}</td>' if place in numbers else f"<td>{html.escape(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _image(path: Path, about: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{html.escape(about)}" src="data:image/png;base64,{data}">'
