"""The page of a run: its sections in their order, in one HTML file that needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heedful import __version__
from heedful.report.markup import Section, text
from heedful.report.new_files import written
from heedful.report.page_files import filled, page_file, page_style
from heedful.report.run_scores import RunScores
from heedful.report.sections.configuration import configuration_section
from heedful.report.sections.data import data_section
from heedful.report.sections.examples import examples_section
from heedful.report.sections.overview import overview_section
from heedful.report.sections.paper import positions_section, schedule_section
from heedful.report.sections.repetition import machine_section, repetition_section
from heedful.report.sections.scores import scores_section
from heedful.report.sections.training import training_section
from heedful.runs.record import RunRecord
from heedful.runs.run_folder import now


def run_sections(record: RunRecord, scores: RunScores | None = None, *, why_not: str = "") -> list[Section]:
    """Everything that can be said of a run. ``why_not``: why there are no scores, where there are none."""
    return [
        overview_section(record, scores),
        data_section(record),
        training_section(record),
        scores_section(scores, why_not=why_not),
        *([examples_section(record, scores)] if scores is not None and scores.examples else []),
        schedule_section(record),
        positions_section(record, scores),
        configuration_section(record),
        machine_section(record),
        repetition_section(record),
    ]


def run_page(title: str, sections: Sequence[Section]) -> str:
    """The whole page as text."""
    links = "".join(f'<a href="#{section.anchor}">{text(section.title)}</a>' for section in sections)
    body = "\n".join(
        f'<section aria-labelledby="{section.anchor}"><h2 id="{section.anchor}">{text(section.title)}</h2>\n'
        f"{section.content}</section>"
        for section in sections
    )
    parts = {
        "title": text(title),
        "style": page_style("report.css"),
        "links": links,
        "sections": body,
        "made": text(f"Made by heedful {__version__}, {now().replace('T', ' ').replace('+00:00', ' UTC')}."),
        "script": page_file("report.js"),
    }
    return filled(page_file("report.html"), parts)


def write_run_page(title: str, sections: Sequence[Section], path: Path, *, overwrite: bool = False) -> Path:
    """Write the page; returns its path."""
    return written(path, run_page(title, sections).encode("utf-8"), overwrite=overwrite)
