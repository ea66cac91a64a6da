"""Table 4: F1 of our parsers, beside every row of the paper's; and how F1 grows with the size of the treebank.

Each parser is searched twice: among the trees over the words, and freely, which shows how much it has learned of what a
tree is. The parses of another parser, such as a PCFG, can stand beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heedful.background import Report
from heedful.errors import HeedfulError, ScoreError
from heedful.evaluation.translation_scores import Score, TestSet, with_interval
from heedful.files import read_json
from heedful.parsing.bracket_scores import trees_as_text
from heedful.parsing.trees import read_parses, read_trees
from heedful.report.charts import Chart, Series
from heedful.reproduction.drawing import add_charts
from heedful.reproduction.paper_tables import TABLE_4
from heedful.reproduction.records import Asked, Found, Page, Record, markdown_table, run_name
from heedful.runs.record import RunRecord, run_record, validation_trees
from heedful.runs.saved import read_model
from heedful.tasks import PARSING
from heedful.translation.parser import Parser
from heedful.typed import typed

_FEW = 12
"""Sentences of a miniature."""
_SCORES = ("precision", "recall", "complete match", "tagging", "F1, ≤ 40", "complete match, ≤ 40", "well-formed")


@dataclass(frozen=True)
class Parsed:
    """What a parser made of a test set."""

    name: str
    kind: str
    """Transformer, or what another parser is called."""
    trained_on: str
    trees: int | None
    """Those of the treebank that it was trained on, where this is known."""
    scored_on: str
    sentences: int
    scores: list[Score]
    parameters: int | None = None
    steps: int | None = None
    unconstrained: list[Score] = field(default_factory=list)
    miniature: bool = False


def measured(asked: Asked) -> Found:
    """Score each run, on the reference's words or else on its own validation trees, and the other parser's trees."""
    reference, baseline = asked.options["reference"], asked.options["baseline"]
    if baseline is not None and reference is None:
        raise ScoreError(f"--baseline {baseline}: give the --reference that these are parses of")
    most = _FEW if asked.miniature else None
    gold = trees_as_text(read_trees(reference)) if reference else None
    other = _of_others(baseline, gold.references, most) if baseline and gold else []

    def systems() -> Iterator[Parsed]:
        sizes: list[int | None] = []
        for place in asked.places:
            yield (one := _ours(place, gold, reference, most, device=asked.device, report=asked.report))
            sizes.append(one.trees)
        if baseline and reference and gold:
            # Beside one run it is that run's baseline, of the same trees.
            trained = ("the same trees", sizes[0]) if len(sizes) == 1 else ("–", None)
            count = len(gold.references[: None if baseline.suffix == ".json" else most])
            name = baseline.stem
            yield Parsed(name, name, *trained, reference.name, count, other, miniature=asked.miniature)

    return {"systems": systems()}


def _ours(
    place: Path, given: TestSet | None, reference: Path | None, most: int | None, *, device: str, report: Report
) -> Parsed:
    saved = read_model(place)
    record = run_record(saved.run, samples=0)
    test, scores = given or _validation(record), dict[bool, list[Score]]()
    sentences, gold = (test.sources or [])[:most], test.references[:most]
    for constrained in (True, False):
        # Read again: a search makes a model's weights what it needs.
        parser = Parser(read_model(place), device=device, constrained=constrained)
        scores[constrained] = _scores(parser.measured(sentences, report=report)[0], gold)
    trained_on, trees = _trained_on(record)
    return Parsed(
        name=run_name(place),
        kind="Transformer",
        trained_on=trained_on,
        trees=trees,
        scored_on=reference.name if reference else "its own validation trees",
        sentences=len(gold),
        scores=scores[True],
        parameters=saved.description.parameters,
        steps=saved.step,
        unconstrained=scores[False],
        miniature=most is not None,
    )


def _scores(outputs: Sequence[str], gold: Sequence[str]) -> list[Score]:
    return [with_interval(one) for one in PARSING.counts(outputs, gold)]


def _of_others(path: Path, gold: Sequence[str], most: int | None) -> list[Score]:
    """The scores of parses that are there, or that `heedful evaluate --json` has written down."""
    if path.suffix != ".json":
        return _scores(read_parses(path, len(gold))[:most], gold[:most])
    try:
        value: dict[str, Any] = typed(dict[str, Any], read_json(path, error=ScoreError))
        if value.get("task") != PARSING.name or value.get("sentences") != len(gold):
            raise ValueError(f"it has no scores of {len(gold):,} parses")
        return typed(list[Score], value.get("scores"), where="scores")
    except (ValueError, FileNotFoundError) as error:
        raise ScoreError(f"{path}: {error}; give trees, or what `heedful evaluate --json` says of them") from None


def _validation(record: RunRecord) -> TestSet:
    try:
        return validation_trees(record)
    except HeedfulError as error:
        raise ScoreError(f"{record.folder}, validation trees: {error}; give --reference to score it on") from None


def _trained_on(record: RunRecord) -> tuple[str, int | None]:
    """The texts, and the trees of those whose weight is not below 1: what is made of a treebank has a lower one."""
    if record.corpus is None:
        return "trees that are not here", None
    texts = record.corpus.manifest.corpora
    names = (Path(one.paths[0]).name if one.paths else one.name for one in texts)
    often = (f", × {one.weight:.2g}" if one.weight != 1 else "" for one in texts)
    told = (f"{name} ({one.kept:,} trees{times})" for one, name, times in zip(texts, names, often, strict=True))
    return ", ".join(told), sum(one.kept for one in texts if one.weight >= 1) or None


def page(records: Sequence[Record]) -> Page:
    """The paper's rows, ours, and a curve where there are treebanks of several sizes."""
    systems: list[Parsed] = []
    for one in (one for record in records for one in record.rows("systems", Parsed)):
        if one not in systems:  # a baseline stands beside each run that it was given for
            systems.append(one)
    signatures = {score.signature for one in systems for score in one.scores[:1]}
    text = [
        "# Table 4: English constituency parsing\n",
        "## The paper's\n",
        "Section 23 of the Wall Street Journal's trees (WSJ), after training on its other sections, some 40,000 "
        "sentences; semi-supervised: 17 M sentences more.\n",
        markdown_table(["parser", "training", "F1"], [[*vars(row).values()] for row in TABLE_4], right=["F1"]),
        "## Ours\n",
        "**Not comparable with the figures above**: ours were trained and scored on the trees that each row names, and "
        "F1 on another treebank, of other texts, labels and rules, says nothing of F1 on this one.\n",
        _table(systems),
        f"By EVALB's rules (`{'`, `'.join(sorted(signatures))}`). ≤ 40: sentences of at most forty words. "
        "Unconstrained: what the model says by itself, where a search would otherwise look among trees alone.\n",
    ]
    if any(one.miniature for one in systems):
        text.insert(1, f"**A MINIATURE, of {_FEW} sentences at most: its numbers say nothing.**\n")
    pictures: dict[str, str] = {}
    if chart := _chart(systems):
        text += ["## How many trees it takes\n", add_charts(pictures, {"table4-trees.svg": chart})]
    return Page("\n".join(text), pictures)


def _table(systems: Sequence[Parsed]) -> str:
    rows: list[list[str]] = []
    for one in systems:
        found = {score.name: score for score in one.scores}
        free = {score.name: score for score in one.unconstrained}
        about = [f"**{one.name}**", one.trained_on, f"{one.scored_on} ({one.sentences:,})"]
        spread = found["F1"].interval if "F1" in found else None
        f1 = _value(found, "F1") + (f" [{spread.low:.1f}, {spread.high:.1f}]" if spread else "")
        values = [_value(found, name) for name in _SCORES] + [_value(free, name) for name in ("F1", "well-formed")]
        sizes = [f"{one.parameters / 1e6:.1f}" if one.parameters else "–", f"{one.steps:,}" if one.steps else "–"]
        rows.append([*about, f1, *values, *sizes])
    columns = ("parser", "trained on", "scored on (sentences)", "F1 [95 %]", *_SCORES)
    columns += ("unconstrained: F1", "well-formed", "M parameters", "steps")
    return markdown_table(columns, rows, right=columns[4:])


def _value(scores: dict[str, Score], name: str) -> str:
    return f"{scores[name].value:.2f}" if name in scores else "–"


def _chart(systems: Sequence[Parsed]) -> Chart | None:
    """F1 against the trees of the treebank: a line for each kind of parser, so many steps, and each test set."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in systems:
        if one.trees:
            steps = f", {one.steps:,} steps" if one.steps else ""
            points = lines.setdefault(f"{one.kind}{steps}, {one.scored_on}", [])
            points += [(one.trees, score.value) for score in one.scores if score.name == "F1"]
    if len({place for points in lines.values() for place, _ in points}) < 2:
        return None
    series = [Series(name, sorted(lines[name]), f"line-{number}") for number, name in enumerate([*lines][:7], start=1)]
    note = "Trees of the treebank alone, without what was made of them."
    return Chart("F1 by the size of the treebank", "F1", series, "training trees", x_logarithmic=True, note=note)
