"""What a trained model does with text: scores, and translations with what they attended to; and their sections."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.errors import SearchError
from heedful.evaluation.alignments import aligning_layer, soft_alignment
from heedful.evaluation.paper_bleu import NAME as PAPER_BLEU
from heedful.evaluation.paper_bleu import WHY_IT_DIFFERS
from heedful.evaluation.sentences import Extremes, ShownSentence
from heedful.evaluation.significance import ConfidenceInterval
from heedful.evaluation.translation_scores import SystemReport
from heedful.report.heat_maps import attention_map, weight_scale
from heedful.report.pages import Section, cut, section

if TYPE_CHECKING:
    from heedful.model.transformer import Transformer
    from heedful.search.translator import Translator

Report = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and of how many."""
TITLES = {"best": "The best", "median": "The middle", "worst": "The worst"}
BESIDE = 26
"""Source subwords up to which a map stands beside its sentence; a wider one stands below."""
LONGEST = 600
"""Characters of a sentence that are shown: a translation that repeats itself can be very long."""
LONGEST_MAP = 60
"""Subwords of a side that a map shows."""
WATCHED = (
    "This is the text that the run was watched with, so settings may have been chosen to suit it: text that nobody has "
    "looked at (--source and --reference) gives a fairer score."
)
INTERVALS = (
    "An interval is where 95 % of the scores lie when the sentences are drawn anew, with replacement: what another "
    "text of this kind might have given. It knows nothing of other seeds."
)


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

    about: str
    """What the text is, in words."""
    weights: str
    """Which weights translated."""
    search: Mapping[str, Any]
    report: SystemReport
    perplexity: Mapping[str, Any]
    speed: Mapping[str, Any]
    layer: int
    """The decoder layer, from 1, whose attention the examples show."""
    examples: list[Example]
    learned_positions: Mapping[str, np.ndarray] = field(default_factory=dict)
    is_validation: bool = False
    """The text is the one that the run was watched with."""


def examples_with_attention(translator: Translator, found: Extremes, *, report: Report) -> tuple[int, list[Example]]:
    """The layer that is shown, and each sentence with that layer's cross-attention while its output is read."""
    layer = aligning_layer(translator.saved.config.model.decoder_layers)
    ordered = {"best": found.best[::-1], "median": found.median, "worst": found.worst}
    chosen = [(kind, sentence) for kind in TITLES for sentence in ordered[kind]]
    examples: list[Example] = []
    for kind, sentence in chosen:
        examples.append(_example(translator, kind, sentence, layer=layer))
        report("attention of", len(examples), len(chosen))
    return layer, examples


def learned_positions(model: Transformer, *, most: int = 64) -> dict[str, np.ndarray]:
    """The first position vectors that a model has learned, by side; none of a model with sinusoids."""
    if model.config.positions != "learned":
        return {}
    sides = {"encoder": model.source_positions, "decoder": model.target_positions}
    return {side: table.weight[:most].detach().float().cpu().numpy() for side, table in sides.items()}  # pyright: ignore


def scores_section(scores: RunScores | None, *, why_not: str) -> Section:
    """The scores with their intervals and signatures; without any, why."""
    if scores is None:
        return section("Scores", "scores.html", scores=[], why_not=why_not)
    report = scores.report
    rows = [
        {
            "name": f"{score.name} (lower is better)" if score.lower_is_better else score.name,
            "value": f"{score.value:.2f}",
            "interval": _interval(score.interval),
            "signature": score.signature,
        }
        for score in report.scores
    ]
    left_out = [f"{name} is left out: {reason}." for name, reason in report.left_out.items()]
    how_to_read = INTERVALS if PAPER_BLEU in report.left_out else f"{INTERVALS} {WHY_IT_DIFFERS}"
    return section(
        "Scores",
        "scores.html",
        scores=rows,
        sentences=report.sentences,
        about=scores.about,
        warnings=[*left_out, *(f"Note: {note}." for note in report.notes)],
        found=_facts(scores),
        notes=[*([WATCHED] if scores.is_validation else []), how_to_read],
    )


def examples_section(scores: RunScores, *, folder: Path) -> Section:
    """The best, the middling and the worst translations by chrF; ``folder``: the run's."""
    groups = {title: [_shown(one) for one in scores.examples if one.kind == kind] for kind, title in TITLES.items()}
    # How to see every head of such a sentence, a short one.
    short = min((example.sentence.source or "" for example in scores.examples), key=len, default="")
    return section(
        "Translations",
        "examples.html",
        layer=scores.layer,
        scale=weight_scale(),
        groups={title: shown for title, shown in groups.items() if shown},
        more=shlex.join(["heedful", "attention", "--model", str(folder), short]) if short.strip() else "",
    )


def _interval(found: ConfidenceInterval | None) -> str:
    return "–" if found is None else f"{found.low:.2f} to {found.high:.2f}"


def _facts(scores: RunScores) -> dict[str, str]:
    numbers = [(scores.perplexity.get(key), name) for key, name in (("per_subword", "subword"), ("per_word", "word"))]
    known = [f"{value:,.2f} a {name}" for value, name in numbers if value is not None]
    sentences, tokens = scores.speed["sentences_per_second"], scores.speed["target_tokens_per_second"]
    return {
        "weights": scores.weights,
        "search": _search(scores.search),
        "perplexity": f"{', '.join(known) or 'not finite'}, of the references",
        "length": f"{scores.report.length_ratio:.3f} words for each word of the references",
        "speed": f"{sentences:,.1f} sentences/s, {tokens:,.0f} target tokens/s on {scores.speed['device']}",
    }


def _search(search: Mapping[str, Any]) -> str:
    if search["method"] == "greedy":
        return "greedy: the most probable subword each time"
    if search["method"] == "sample":
        return f"samples, seed {search['seed']}, temperature {search['temperature']:g}"
    return f"beam of {search['beam_size']}, length penalty α = {search['length_penalty']:g} (section 6.1)"


def _shown(example: Example) -> dict[str, Any]:
    """An example as its template shows it."""
    one, most = example.sentence, LONGEST_MAP
    source, target = example.source[:most], example.target[:most]
    shown: dict[str, Any] = {name: cut(getattr(one, name) or "", LONGEST) for name in ("source", "reference", "output")}
    shown |= {"line": one.line, "chrf": f"{one.chrf:.1f}", "wide": len(example.source) > BESIDE}
    shown |= {"map": None, "why": example.why, "cut": None}
    if example.weights is not None:
        shown["map"] = attention_map(example.weights[:most, :most], source=source, target=target)
        shown["cut"] = most if max(len(example.source), len(example.target)) > most else None
    return shown


def _example(translator: Translator, kind: str, sentence: ShownSentence, *, layer: int) -> Example:
    try:
        # Read, not searched again: the map is of the very output that is shown, whatever found it.
        maps = translator.attention(sentence.source or "", target=sentence.output)
    except SearchError as error:
        return Example(kind, sentence, [], [], None, str(error))
    return Example(kind, sentence, maps.source, maps.target, soft_alignment(maps.cross[layer - 1]))
