"""What the model was trained on: what cleaning kept and removed, how long the sentences are, and some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heedful.data.manifest import Manifest
from heedful.report.charts import Figure, bar_figure
from heedful.report.heat_maps import labels
from heedful.report.pages import Section, cut, section
from heedful.runs.metrics import Object
from heedful.runs.record import CorpusRecord

SIDES = ("source", "target")
LONGEST = 200
"""Subwords of an example that are shown."""
LONGEST_REMOVED = 80
"""Characters of a pair that cleaning removed."""
FIGURES = (
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
        return section("Data", "data.html", corpora=[])
    cleaning = corpus.cleaning
    return section(
        "Data",
        "data.html",
        corpora=_corpora(corpus.manifest),
        notes=cleaning.get("notes", []),
        rules=_rules(cleaning),
        vocabulary=_vocabulary(cleaning),
        lengths=_lengths(cleaning),
        samples=[
            {
                "corpus": sample["corpus"],
                "line": sample["line"],
                "sides": [labels(sample[side][:LONGEST]) for side in SIDES],
            }
            for sample in corpus.samples
        ],
    )


def _corpora(manifest: Manifest) -> list[Object]:
    kinds = [("training", text) for text in manifest.corpora]
    kinds += [("validation", text) for text in manifest.validation]
    return [
        {
            "use": use,
            "name": text.name,
            "numbers": [f"{text.weight:g}", text.read, text.kept, f"{text.kept / text.read:.1%}" if text.read else "–"],
        }
        for use, text in kinds
    ]


def _rules(cleaning: Object) -> list[Object]:
    """Every rule that judged, in its order, with one of the pairs that it removed."""
    return [
        {
            "name": name,
            "removed": rule["removed"] if rule["on"] else "off",
            "about": rule["about"],
            "example": _example(rule["samples"] if rule["on"] else []),
        }
        for name, rule in cleaning.get("rules", {}).items()
    ]


def _example(samples: Sequence[dict[str, Any]]) -> list[str | None]:
    sides = [samples[0].get(side) for side in SIDES] if samples else []
    return [None if side is None else cut(str(side), LONGEST_REMOVED) for side in sides]


def _vocabulary(cleaning: Object) -> list[tuple[str, ...]]:
    shared = cleaning.get("vocabulary", {}).get("shared")
    size = ("shared vocabulary" if shared else "vocabulary, subwords", "vocabulary", "size", "{:,}")
    return [
        (name, *(form.format(cleaning[part][side][key]) for side in SIDES))
        for name, part, key, form in (size, *FIGURES)
        if all(key in cleaning.get(part, {}).get(side, {}) for side in SIDES)
    ]


def _lengths(cleaning: Object) -> list[Figure]:
    """How long the sentences are, of training and of validation."""
    figures: list[Figure | None] = []
    for title, lengths in (
        ("Lengths of the training text", cleaning.get("lengths", {})),
        ("Lengths of the validation text", cleaning.get("validation", {}).get("lengths", {})),
    ):
        histograms = {side: lengths.get(side, {}).get("histogram", {}) for side in SIDES}
        groups = max(histograms.values(), key=len)
        counts = {side: [histogram.get(group, 0) for group in groups] for side, histogram in histograms.items()}
        names = [group.replace("-", "–") for group in groups]
        figures.append(bar_figure(title, names, counts, x="tokens of a sentence, END included", y="pairs"))
    return [figure for figure in figures if figure]
