"""Translations to look at, with what the model attended to."""

from __future__ import annotations

import shlex

from heedful.report.heat_map import attention_map, weight_scale
from heedful.report.markup import Html, Section, command, facts, paragraph, sentence
from heedful.report.run_scores import KINDS, Example, RunScores
from heedful.runs.record import RunRecord

TITLES = {"best": "The best", "median": "The middle", "worst": "The worst"}
BESIDE = 26
"""Source subwords up to which a map stands beside its sentence; a wider one stands below."""
LONGEST = 600
"""Characters of a sentence that are shown: a translation that repeats itself can be very long."""


def examples_section(record: RunRecord, scores: RunScores) -> Section:
    """The best, the middling and the worst translations by chrF."""
    about = (
        "Ordered by chrF, which unlike BLEU says something of a single sentence. With each: the cross-attention of "
        f"decoder layer {scores.layer}, the mean of its heads; a row is the position that produces a subword, a column "
        "what it attends to."
    )
    parts = [paragraph(about, kind="note"), f'<div class="weights"><span>weight</span>{weight_scale()}</div>']
    for kind in KINDS:
        found = [example for example in scores.examples if example.kind == kind]
        if found:
            parts.append(f"<h3>{TITLES[kind]}</h3>" + "".join(map(_article, found)))
    parts.append(_more(record, scores.examples))
    return Section("Translations", "".join(parts))


def _article(example: Example) -> str:
    one = example.sentence
    texts = {
        "source": Html(sentence(_cut(one.source or ""))),
        "reference": Html(sentence(_cut(one.reference))),
        "output": Html(f"<b>{sentence(_cut(one.output))}</b>") if one.output else "(nothing)",
        "": Html(f'<span class="soft">line {one.line:,}, chrF {one.chrf:.1f}</span>'),
    }
    if example.weights is None:
        shown = paragraph(f"No attention is shown: {example.why}.", kind="note")
    else:
        shown = attention_map(example.weights, source=example.source, target=example.target)
    wide = ' class="wide"' if len(example.source) > BESIDE else ""
    return f'<article{wide}>{facts(texts)}<div class="scroll">{shown}</div></article>'


def _more(record: RunRecord, examples: list[Example]) -> str:
    """How to see every head of such a sentence."""
    short = min((example.sentence.source or "" for example in examples), key=len, default="")
    if not short.strip():
        return ""
    words = ["heedful", "attention", "--model", str(record.folder), short]
    return paragraph("Every layer and head of a translation, as a page of its own:") + command(shlex.join(words))


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
