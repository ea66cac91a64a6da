"""What the model was trained on: what cleaning kept and removed, how long the sentences are, and some of them."""

from __future__ import annotations

from typing import Any

from heedful.data.manifest import SIDES
from heedful.report.charts import Figure, bar_figure
from heedful.report.heat_maps import labels
from heedful.report.pages import Section, section
from heedful.runs.record import CorpusRecord

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


def data_section(corpus: CorpusRecord | None) -> Section:
    """The corpus; where it is not there any more, that."""
    if corpus is None:
        return section("Data", "data.html", corpus=None)
    cleaning = corpus.cleaning
    lengths = {
        "Lengths of the training text": cleaning.get("lengths", {}),
        "Lengths of the validation text": cleaning.get("validation", {}).get("lengths", {}),
    }
    return section(
        "Data",
        "data.html",
        corpus=corpus,
        vocabulary=_vocabulary(cleaning),
        lengths=[figure for title, found in lengths.items() if (figure := _histogram(title, found))],
        samples=[(one, [labels(one[side][:_LONGEST]) for side in SIDES]) for one in corpus.samples],
    )


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
