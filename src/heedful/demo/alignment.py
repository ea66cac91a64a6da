"""How well cross-attention finds which word is which, against the alignments that the generated text comes with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heedful.demo.text import tokens_of
from heedful.evaluation.alignments import (
    Gold,
    Links,
    Word,
    alignment_error_rate,
    diagonal_alignment,
    hard_alignment,
    located_words,
    soft_alignment,
    word_weights,
)

if TYPE_CHECKING:
    from heedful.search.translator import Translator
    from heedful.text.subwords import Subwords


@dataclass(frozen=True)
class AlignedText:
    """Sentences, their translations, and which token is which."""

    sources: Sequence[str]
    targets: Sequence[str]
    gold: Sequence[Gold]


@dataclass(frozen=True)
class AlignmentScore:
    """Alignment error rates, from 0, perfect, to 1."""

    layer: int
    """The decoder layer that aligns the validation text best, from 1."""
    by_layer: list[float]
    """Of each layer, on the validation text."""
    error_rate: float
    """Of the chosen layer, on the test text."""
    diagonal: float
    """Of the alignment that reads no word, on the test text."""


def alignment_score(
    translator: Translator, *, valid: AlignedText, test: AlignedText, reached: Callable[[int], None]
) -> AlignmentScore:
    """The best layer, chosen on one text, and its error rate on another."""
    layers = range(translator.saved.config.model.decoder_layers)
    found: list[list[Links]] = []
    for text in (valid, test):
        for source, target in zip(text.sources, text.targets, strict=True):
            found.append([hard_alignment(weights) for weights in token_weights(translator, source, target)])
            reached(len(found))
    chosen, rest = found[: len(valid.sources)], found[len(valid.sources) :]
    by_layer = [alignment_error_rate([links[layer] for links in chosen], valid.gold) for layer in layers]
    best = int(np.argmin(by_layer))
    pairs = zip(test.sources, test.targets, strict=True)
    diagonal = [diagonal_alignment(len(tokens_of(source)), len(tokens_of(target))) for source, target in pairs]
    return AlignmentScore(
        layer=best + 1,
        by_layer=by_layer,
        error_rate=alignment_error_rate([links[best] for links in rest], test.gold),
        diagonal=alignment_error_rate(diagonal, test.gold),
    )


def token_weights(translator: Translator, source: str, target: str) -> list[np.ndarray]:
    """For each decoder layer ``[target tokens, source tokens]``: what the given translation's tokens attend to.

    Tokens are those that the gold alignments number: words and punctuation marks. What one attends to is what its
    subwords do, those that cover a character of it.
    """
    maps = translator.attention(source, target=target)
    sides = {
        "source": tokens_at(source, translator.saved.source_subwords),
        "target": tokens_at(target, translator.saved.target_subwords),
    }
    return [word_weights(soft_alignment(cross_HTS), **sides) for cross_HTS in maps.cross]


def tokens_at(line: str, subwords: Subwords) -> list[Word]:
    """The tokens of a generated line, each with the places of its subwords."""
    return located_words(line, tokens_of(line), subwords.spans(subwords.encode([line])[0]))


def most_reordered(text: AlignedText, *, among: int = 200, longest: int = 14) -> int:
    """The place of the sentence, among the first and not too long, that the diagonal aligns worst: one worth a look."""
    places = [place for place, source in enumerate(text.sources[:among]) if len(tokens_of(source)) <= longest]
    return max(places or [0], key=lambda place: _diagonal_error(text, place))


def _diagonal_error(text: AlignedText, place: int) -> float:
    sizes = (len(tokens_of(side[place])) for side in (text.sources, text.targets))
    return alignment_error_rate([diagonal_alignment(*sizes)], [text.gold[place]])
