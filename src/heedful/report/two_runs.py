"""Two runs beside each other in one page: what each came to, where they differ, and whether that may be luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class ScoredRun:
    """One of the two; without scores where none could be made."""

    record: RunRecord
    scores: RunScores | None


def two_runs_sections(a: ScoredRun, b: ScoredRun, *, why_not: str = "") -> tuple[list[Section], list[Comparison]]:
    """What can be said of both, and the scores by which they are compared; both have translated the same text."""
    names = [f"{letter}: {run.record.folder.absolute().name}" for letter, run in (("A", a), ("B", b))]
    found: list[Comparison] = []
    shown, told = [], {}
    if a.scores is not None and b.scores is not None:
        test, outputs = a.scores.text.test, (a.scores.outputs, b.scores.outputs)
        told = {"about": a.scores.text.about, "sentences": a.scores.report.sentences}
        if a.record.description.task == PARSING.name:
            found = comparisons(*(PARSING.counts(own, test.references) for own in outputs))
        else:
            counts_a, counts_b = (system_counts(own, test.references) for own in outputs)
            found = comparisons(counts_a.scores, counts_b.scores)
            leading = leads(test, counts_a, counts_b, count=_EXAMPLES)
            groups = {f"Where {names[0]} leads": leading.a, f"Where {names[1]} leads": leading.b}
            shown = [section("Translations", "two_translations.html", names=names, groups=groups)]
    sections = [
        _overview_section(names, (a, b), found),
        *shown,
        section("Training", "charts.html", charts=_charts(names, (a, b))),
        section("Scores", "two_scores.html", names=names, compared=found, why_not=why_not, **told),
        _settings_section(names, a.record, b.record),
    ]
    return [without_folders(one, a.record, b.record) for one in sections], found


def _overview_section(names: Sequence[str], runs: Sequence[ScoredRun], found: Sequence[Comparison]) -> Section:
    numbers = {name: headline(run.record, run.scores) for name, run in zip(names, runs, strict=True)}
    problems = [f"{name}: {problem}" for name, run in zip(names, runs, strict=True) for problem in run.record.problems]
    verdict = ""
    if found:
        first, better = found[0], found[0].better()
        told = f"{abs(first.difference):.1f} {first.name} (p = {first.randomisation_p_value:.4f})"
        verdict = f"The difference of {told} may be luck: neither is shown to be better."
        if better:
            verdict = f"{names['AB'.index(better)]} is better, by {told}."
    return section("Both runs", "two_overview.html", runs=numbers, problems=problems, verdict=verdict)


def _charts(names: Sequence[str], runs: Sequence[ScoredRun]) -> list[Figure]:
    metrics = {name: run.record.metrics for name, run in zip(names, runs, strict=True)}
    return [figure for chart in compared_charts(metrics) if (figure := line_figure(chart))]


def _settings_section(names: Sequence[str], a: RunRecord, b: RunRecord) -> Section:
    """The settings that differ, and the sizes that follow from the data."""
    sizes = ("parameters", "vocab_size", "preset")
    of_a, of_b = (
        {path: toml_value(value) for path, value in record.config.settings.items()}
        | {name: getattr(record.description, name) for name in sizes}
        for record in (a, b)
    )
    rows = [(name, value, of_b[name]) for name, value in of_a.items() if value != of_b[name]]
    return section("Settings that differ", "two_settings.html", names=names, settings=rows)
