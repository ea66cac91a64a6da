"""What the model was trained on: what cleaning kept and removed, how long the sentences are, and some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heedful.data.manifest import Manifest
from heedful.report.bar_chart import bar_figure
from heedful.report.labels import labels
from heedful.report.markup import Cell, Html, Section, breakable, paragraph, sentence, table, text
from heedful.runs.metrics import Object
from heedful.runs.record import RunRecord

SIDES = ("source", "target")
LONGEST = 200
"""Characters of an example that are shown."""


def data_section(record: RunRecord) -> Section:
    """The corpus; where it is not there any more, that."""
    if record.corpus is None:
        why = "The prepared corpus is not there, or is not the one that this run was trained on."
        return Section("Data", paragraph(why, kind="warning"))
    cleaning = record.corpus.cleaning
    parts = [_corpora(record.corpus.manifest, cleaning)]
    if cleaning:
        parts += [_rules(cleaning), _vocabulary(cleaning), f'<div class="charts">{_lengths(cleaning)}</div>']
    else:
        parts.append(paragraph("The report that cleaning wrote, report.json, cannot be read.", kind="warning"))
    parts.append(_samples(record.corpus.samples))
    return Section("Data", "".join(parts))


def _corpora(manifest: Manifest, cleaning: Object) -> str:
    kinds = [("training", record) for record in manifest.corpora]
    kinds += [("validation", record) for record in manifest.validation]
    rows = [
        (
            use,
            breakable(record.name),
            f"{record.weight:g}",
            record.read,
            record.kept,
            _share(record.kept, record.read),
        )
        for use, record in kinds
    ]
    head = ("used for", "text", "weight", "pairs read", "pairs kept", "share")
    notes = "".join(paragraph(f"Note: {note}", kind="note") for note in cleaning.get("notes", []))
    return table(head, rows, numbers=(2, 3, 4, 5)) + notes


def _rules(cleaning: Object) -> str:
    """Every rule that judged, in its order, with one of the pairs that it removed."""
    rows: list[Sequence[Cell]] = []
    for name, rule in cleaning.get("rules", {}).items():
        if not rule["on"]:
            rows.append((name, "off", rule["about"], ""))
            continue
        rows.append((name, rule["removed"], rule["about"], _example(rule["samples"])))
    head = ("rule", "pairs removed", "removes a pair when", "for example")
    return "<h3>What cleaning removed</h3>" + table(head, rows, numbers=(1,))


def _example(samples: Sequence[dict[str, Any]]) -> Html:
    if not samples:
        return Html("")
    sides = (samples[0].get(side) for side in SIDES)
    return Html(" <b>|</b> ".join("–" if side is None else sentence(_cut(str(side), 80)) for side in sides))


def _vocabulary(cleaning: Object) -> str:
    vocabulary, lengths = cleaning.get("vocabulary", {}), cleaning.get("lengths", {})
    characters = cleaning.get("characters", {})
    found = [
        ("shared vocabulary" if vocabulary.get("shared") else "vocabulary, subwords", vocabulary, "size", "{:,}"),
        ("subwords in use", vocabulary, "used", "{:,}"),
        ("subwords seen fewer than ten times", vocabulary, "rare", "{:,}"),
        ("bytes a subword", vocabulary, "bytes_per_subword", "{:.2f}"),
        ("tokens, END included", lengths, "tokens", "{:,}"),
        ("mean length", lengths, "mean", "{:.1f}"),
        ("median length", lengths, "median", "{:,}"),
        ("99 % are at most", lengths, "p99", "{:,}"),
        ("longest", lengths, "longest", "{:,}"),
        ("distinct characters", characters, "distinct", "{:,}"),
        ("validation subwords seen in training", vocabulary, "validation_coverage", "{:.2%}"),
        ("validation characters never seen in training", characters, "validation_unseen", "{:,}"),
    ]
    rows = [
        (name, *(form.format(values[side][key]) for side in SIDES))
        for name, values, key, form in found
        if all(key in values.get(side, {}) for side in SIDES)
    ]
    return "<h3>Subwords and lengths</h3>" + table(("training text", *SIDES), rows, numbers=(1, 2))


def _lengths(cleaning: Object) -> str:
    """How long the sentences are, of training and of validation."""
    figures = ""
    for title, lengths in (
        ("Lengths of the training text", cleaning.get("lengths", {})),
        ("Lengths of the validation text", cleaning.get("validation", {}).get("lengths", {})),
    ):
        histograms = {side: lengths.get(side, {}).get("histogram", {}) for side in SIDES}
        groups = max(histograms.values(), key=len)
        counts = {side: [histogram.get(group, 0) for group in groups] for side, histogram in histograms.items()}
        names = [group.replace("-", "–") for group in groups]
        figures += bar_figure(title, names, counts, x="tokens of a sentence, END included", y="pairs")
    return figures


def _samples(samples: Sequence[Object]) -> str:
    """Pairs as the model sees them: cut into subwords."""
    rows = [
        (Html(f"{breakable(sample['corpus'])}, line {sample['line']:,}"), *(_subwords(sample[side]) for side in SIDES))
        for sample in samples
    ]
    note = "Subwords stand apart; a · is the space before a word."
    return "<h3>Some training pairs</h3>" + paragraph(note, kind="note") + table(("from", *SIDES), rows)


def _subwords(pieces: Sequence[str]) -> Html:
    shown = "".join(f"<i>{text(label)}</i>" for label in labels(pieces[:LONGEST]))
    return Html(f'<bdi dir="auto" class="subwords">{shown}</bdi>')


def _share(kept: int, read: int) -> str:
    return f"{kept / read:.1%}" if read else "–"


def _cut(line: str, most: int = LONGEST) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"
