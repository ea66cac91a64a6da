"""What a trained model does with text: scores, and translations with what they attended to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.errors import SearchError
from heedful.evaluation.alignments import aligning_layer, soft_alignment
from heedful.evaluation.sentences import Extremes, ShownSentence
from heedful.evaluation.translation_scores import SystemReport

if TYPE_CHECKING:
    from heedful.model.transformer import Transformer
    from heedful.search.translator import Translator

Report = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and of how many."""
KINDS = ("best", "median", "worst")


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
    chosen = [(kind, sentence) for kind in KINDS for sentence in ordered[kind]]
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


def _example(translator: Translator, kind: str, sentence: ShownSentence, *, layer: int) -> Example:
    try:
        # Read, not searched again: the map is of the very output that is shown, whatever found it.
        maps = translator.attention(sentence.source or "", target=sentence.output)
    except SearchError as error:
        return Example(kind, sentence, [], [], None, str(error))
    return Example(kind, sentence, maps.source, maps.target, soft_alignment(maps.cross[layer - 1]))
