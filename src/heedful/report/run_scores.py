"""What a trained model does with text: scores, and translations with what they attended to; and their sections."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from heedful.errors import SearchError
from heedful.evaluation.alignments import aligning_layer, soft_alignment
from heedful.evaluation.counts import PAPER_BLEU, WHY_IT_DIFFERS
from heedful.evaluation.translation_scores import (
    Extremes,
    ShownSentence,
    SystemReport,
    TestSet,
    system_report,
    with_interval,
)
from heedful.report.attention_views import attention_map, links_picture, weight_scale
from heedful.report.pages import Section, section, svg
from heedful.runs.metrics import Metrics, Sample
from heedful.tasks import PARSING

if TYPE_CHECKING:
    from heedful.background import Report
    from heedful.model.transformer import Transformer
    from heedful.runs.saved import SavedModel
    from heedful.search.options import SearchOptions
    from heedful.translation.parser import Parser
    from heedful.translation.translator import Translator

TITLES = {"best": "The best", "median": "The middle", "worst": "The worst"}
POSITIONS = 64
"""Vectors of positions that are shown."""
_LONGEST_MAP = 60
"""Subwords of a side that a map shows."""


@dataclass(frozen=True)
class ScoredText:
    """A text to translate, what to call it, and its target language."""

    test: TestSet
    about: str
    language: str | None
    is_validation: bool = False
    """It is the one that the run was watched with."""


@dataclass(frozen=True)
class Example:
    """A translation to look at."""

    kind: str
    """best, median or worst."""
    sentence: ShownSentence
    source: list[str]
    """Subwords, the end symbol last; none where there is no map."""
    target: list[str]
    weights: np.ndarray | None
    """Mean cross-attention of the heads of one layer, [T, S]."""
    why: str = ""
    """Why there is no map."""


@dataclass(frozen=True)
class RunScores:
    """A run's model on a text."""

    text: ScoredText
    search: SearchOptions
    report: SystemReport
    outputs: list[str]
    speed: Mapping[str, Any]
    weights: str
    """Which weights translated."""
    layer: int
    """The decoder layer, from 1, whose attention the examples show."""
    perplexity: Mapping[str, Any] = field(default_factory=dict)
    """Empty of a parser."""
    examples: list[Example] = field(default_factory=list)
    learned_positions: Mapping[str, np.ndarray] = field(default_factory=dict)


def measured_scores(
    translator: Translator, text: ScoredText, *, options: SearchOptions, examples: int, report: Report
) -> RunScores:
    """Translate and score a text; ``examples``: how many of the best, the middling and the worst are shown."""
    test, saved = text.test, translator.saved
    sources = test.sources or []
    outputs, speed = translator.measured(sources, options=options, report=report)
    perplexity = translator.likelihood(sources, test.references, report=report)
    # Three groups that do not overlap, however few sentences there are.
    count = min(examples, max(1, len(sources) // 3))
    scored = system_report(test, outputs, language=text.language, examples=count)
    known = _known_of(saved)
    attended = _with_attention(translator, scored.examples, layer=known["layer"], report=report)
    return RunScores(text, options, scored, outputs, speed, perplexity=perplexity, examples=attended, **known)


def measured_parse_scores(parser: Parser, text: ScoredText, *, options: SearchOptions, report: Report) -> RunScores:
    """Parse the words of a test set of trees and score the parses; no examples are shown."""
    outputs, speed = parser.measured(text.test.sources or [], options=options, report=report)
    scores = [with_interval(one) for one in PARSING.counts(outputs, text.test.references)]
    found = SystemReport(len(outputs), scores, {}, [], length_ratio=None, examples=Extremes([], [], []))
    return RunScores(text, options, found, outputs, speed, **_known_of(parser.saved))


def _known_of(saved: SavedModel) -> dict[str, Any]:
    """What is told of a model, whatever it has done."""
    return {
        "weights": f"{saved.weights_from}, step {saved.step:,}",
        "layer": aligning_layer(saved.config.model.decoder_layers),
        "learned_positions": _learned_positions(saved.model),
    }


def shown_sentence(metrics: Metrics, scores: RunScores | None) -> tuple[Sample, Markup | None] | None:
    """The one translation that a page begins with, and its links: a middling one, not too long. Without scores it is
    the last that was made at a validation."""
    drawn = [one for one in scores.examples if one.weights is not None and one.sentence.output] if scores else []
    if drawn:
        # A median sentence before others, a short one before long ones.
        one = min(drawn, key=lambda one: (one.kind != "median", one.sentence.chrf < 1, len(one.source)))
        text = one.sentence
        assert one.weights is not None, "it was chosen among those that have them"
        links = links_picture(one.weights, source=one.source, target=one.target)
        return Sample(text.source or "", text.reference, text.output), links
    told = [line.samples[0] for line in metrics.validation if line.samples]
    return (told[-1], None) if told else None


def scores_section(scores: RunScores | None, *, why_not: str) -> Section:
    """The scores with their intervals and signatures; without any, why."""
    has_both = scores is not None and any(score.name == PAPER_BLEU for score in scores.report.scores)
    differs = WHY_IT_DIFFERS if has_both else ""
    return section("Scores", "scores.html", scores=scores, why_not=why_not, why_it_differs=differs)


def translations_section(scores: RunScores, *, folder: Path) -> Section:
    """The best, the middling and the worst translations by chrF; ``folder``: the run's."""
    groups: dict[str, list[tuple[Example, Markup | None]]] = {}
    shown = slice(_LONGEST_MAP)
    for one in scores.examples:
        drawn = None
        if one.weights is not None:
            figure = attention_map(one.weights[shown, shown], source=one.source[shown], target=one.target[shown])
            drawn = svg(figure, label="cross-attention: translation in rows, source in columns", kind="map")
        groups.setdefault(TITLES[one.kind], []).append((one, drawn))
    # How to see every head of such a sentence, a short one.
    short = min((one.sentence.source or "" for one in scores.examples), key=len, default="")
    more = shlex.join(["heedful", "attention", "--model", str(folder), short]) if short.strip() else ""
    values = {"layer": scores.layer, "scale": weight_scale(), "most": _LONGEST_MAP}
    return section("Translations", "translations.html", groups=groups, more=more, **values)


def _with_attention(translator: Translator, found: Extremes, *, layer: int, report: Report) -> list[Example]:
    """Each sentence with a layer's cross-attention while its output is read."""
    ordered = {"best": found.best[::-1], "median": found.median, "worst": found.worst}
    chosen = [(kind, sentence) for kind in TITLES for sentence in ordered[kind]]
    examples: list[Example] = []
    for kind, sentence in chosen:
        try:
            # Read, not searched again: the map is of the very output that is shown, whatever found it.
            maps = translator.attention(sentence.source or "", target=sentence.output)
        except SearchError as error:
            examples.append(Example(kind, sentence, [], [], None, str(error)))
        else:
            weights = soft_alignment(maps.cross[layer - 1])
            examples.append(Example(kind, sentence, maps.source, maps.target, weights))
        report("attention of", len(examples), len(chosen))
    return examples


def _learned_positions(model: Transformer) -> dict[str, np.ndarray]:
    """The first position vectors that a model has learned, by side; none of a model with sinusoids."""
    if model.config.positions != "learned":
        return {}
    sides = {"encoder": model.source_positions, "decoder": model.target_positions}
    tables = {side: positions.weight[:POSITIONS] for side, positions in sides.items()}  # pyright: ignore
    return {side: table.detach().float().cpu().numpy() for side, table in tables.items()}  # pyright: ignore
