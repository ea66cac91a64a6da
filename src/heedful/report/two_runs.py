"""Two runs beside each other in one page: what each came to, where they differ, and whether that may be luck."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.config import toml_value
from heedful.evaluation.counts import system_counts
from heedful.evaluation.significance import Comparison, comparisons
from heedful.evaluation.translation_scores import leads
from heedful.report.charts import Figure, line_figure
from heedful.report.curves import compared_charts
from heedful.report.pages import Section, section
from heedful.report.run_page import headline, without_folders
from heedful.report.run_scores import RunScores
from heedful.runs.record import RunRecord
from heedful.tasks import PARSING

_EXAMPLES = 4
"""Sentences that are shown where one leads."""


def two_runs_sections(
    records: Sequence[RunRecord], scores: Sequence[RunScores], *, why_not: str = ""
) -> tuple[list[Section], list[Comparison]]:
    """What can be said of two runs, and the scores by which they are compared, if there are ``scores``: those of both,
    on the same text."""
    names = [f"{letter}: {record.folder.absolute().name}" for letter, record in zip("AB", records, strict=True)]
    found: list[Comparison] = []
    shown, told = [], {}
    if scores:
        test, outputs = scores[0].text.test, [own.outputs for own in scores]
        told = {"about": scores[0].text.about, "sentences": scores[0].report.sentences}
        if records[0].description.task == PARSING.name:
            found = comparisons(*(PARSING.counts(own, test.references) for own in outputs))
        else:
            counts_a, counts_b = (system_counts(own, test.references) for own in outputs)
            found = comparisons(counts_a.scores, counts_b.scores)
            leading = leads(test, counts_a, counts_b, count=_EXAMPLES)
            groups = {f"Where {names[0]} leads": leading.a, f"Where {names[1]} leads": leading.b}
            shown = [section("Translations", "two_translations.html", names=names, groups=groups)]
    sections = [
        _overview_section(names, records, scores, found),
        *shown,
        section("Training", "charts.html", charts=_charts(names, records)),
        section("Scores", "two_scores.html", names=names, compared=found, why_not=why_not, **told),
        _settings_section(names, records),
    ]
    return [without_folders(one, *records) for one in sections], found


def _overview_section(
    names: Sequence[str], records: Sequence[RunRecord], scores: Sequence[RunScores], found: Sequence[Comparison]
) -> Section:
    runs = zip(names, records, scores or (None, None), strict=True)
    numbers = {name: headline(record, own) for name, record, own in runs}
    problems = [f"{name}: {problem}" for name, own in zip(names, records, strict=True) for problem in own.problems]
    verdict = ""
    if found:
        first, better = found[0], found[0].better()
        told = f"{abs(first.difference):.1f} {first.name} (p = {first.randomisation_p_value:.4f})"
        verdict = f"The difference of {told} may be luck: neither is shown to be better."
        if better:
            verdict = f"{names['AB'.index(better)]} is better, by {told}."
    return section("Both runs", "two_overview.html", runs=numbers, problems=problems, verdict=verdict)


def _charts(names: Sequence[str], records: Sequence[RunRecord]) -> list[Figure]:
    metrics = {name: record.metrics for name, record in zip(names, records, strict=True)}
    return [figure for chart in compared_charts(metrics) if (figure := line_figure(chart))]


def _settings_section(names: Sequence[str], records: Sequence[RunRecord]) -> Section:
    """The settings that differ, and the sizes that follow from the data."""
    sizes = ("parameters", "vocab_size", "preset")
    of_a, of_b = (
        {path: toml_value(value) for path, value in record.config.settings.items()}
        | {name: getattr(record.description, name) for name in sizes}
        for record in records
    )
    rows = [(name, value, of_b[name]) for name, value in of_a.items() if value != of_b[name]]
    return section("Settings that differ", "two_settings.html", names=names, settings=rows)
