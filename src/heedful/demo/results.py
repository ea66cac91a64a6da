"""The last stage: translate sentences never seen, score, align, draw. Everything it finds is in ``results.json``.

The text comes with its true word alignments, so it is also measured how well cross-attention finds which word is which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.demo.plan import Tour
from heedful.demo.stages import Report, Trained, tokens_of
from heedful.errors import ReportError
from heedful.evaluation.alignments import (
    Gold,
    Links,
    Word,
    alignment_error_rate,
    diagonal_alignment,
    gold_alignment,
    hard_alignment,
    located_words,
    soft_alignment,
    word_weights,
)
from heedful.evaluation.counts import Counted, bleu_counts, chrf_counts
from heedful.evaluation.sentences import System, TestSet, extremes
from heedful.evaluation.translation_scores import with_interval
from heedful.files import write_file
from heedful.runs.atomic import write_json
from heedful.runs.metrics import read_object

if TYPE_CHECKING:
    from heedful.search.translator import Translator
    from heedful.text.subwords import Subwords

EXAMPLES, WORST = 7, 3
"""Translations that are shown: the first of the test text, and the worst."""


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


def stored_results(tour: Tour, training: Trained) -> dict[str, Any] | None:
    """What an earlier start has found, if training has not gone on since."""
    facts, _ = read_object(tour.results)
    if facts is None or facts.get("training") != dataclasses.asdict(training) or not tour.picture.is_file():
        return None
    return facts


def write_results(tour: Tour, training: Trained, *, device: str, report: Report) -> dict[str, Any]:
    """Measure the trained model; returns what it wrote down."""
    from heedful.search.translator import Translator

    translator = Translator.load(tour.run, device=device)
    text = {part: _aligned_text(tour, part) for part in ("valid", "test")}
    outputs = _translated(translator, text["test"], report)
    write_file(tour.outputs, "".join(f"{line}\n" for line in outputs).encode(), error=ReportError)
    total = tour.valid + tour.test
    alignment = alignment_score(translator, **text, reached=lambda done: report("aligning", done, total))
    facts = {
        "generated": "All of this text is generated: the scores say that a grammar was learnt, nothing of real text.",
        "seed": tour.seed,
        "pairs": {"train": tour.train, "valid": tour.valid, "test": tour.test},
        "training": dataclasses.asdict(training),
        "parameters": translator.saved.description["parameters"],
        "device": str(translator.device),
        **_scores(text["test"], outputs),
        "alignment": dataclasses.asdict(alignment),
        "pictured": _draw_alignment(tour, translator, text["test"], alignment.layer),
    }
    write_json(tour.results, facts)
    return facts


def _aligned_text(tour: Tour, part: str) -> AlignedText:
    where = tour.text / f"{part}.align"
    gold = [
        gold_alignment(line, where=f"{where}, line {number}")
        for number, line in enumerate(tour.lines(part, "align"), start=1)
    ]
    return AlignedText(tour.lines(part, "en"), tour.lines(part, "de"), gold)


def _translated(translator: Translator, text: AlignedText, report: Report) -> list[str]:
    outputs: list[str] = []
    for best in translator.hypotheses(text.sources):
        outputs.append(best[0].text)
        report("translating", len(outputs), len(text.sources))
    return outputs


def _scores(text: AlignedText, outputs: list[str]) -> dict[str, Any]:
    test = TestSet(text.targets, text.sources)
    counted: list[Counted] = [count(outputs, text.targets) for count in (bleu_counts, chrf_counts)]
    right = sum(output == reference for output, reference in zip(outputs, text.targets, strict=True))
    first = zip(text.sources[:EXAMPLES], text.targets, outputs, strict=False)
    worst = extremes(test, System(outputs, counted[1]), count=WORST).worst
    return {
        "scores": [dataclasses.asdict(with_interval(score)) for score in counted],
        "exact_matches": right / len(outputs),
        "examples": [dict(zip(("source", "reference", "output"), example, strict=True)) for example in first],
        "worst": [{"source": bad.source, "reference": bad.reference, "output": bad.output} for bad in worst],
    }


def _draw_alignment(tour: Tour, translator: Translator, text: AlignedText, layer: int) -> dict[str, str]:
    from heedful.report.attention_views import alignment_picture

    place = most_reordered(text)
    source, target = text.sources[place], text.targets[place]
    weights = token_weights(translator, source, target)[layer - 1]
    picture = alignment_picture(
        weights, source=tokens_of(source), target=tokens_of(target), links=text.gold[place].sure, layer=layer
    )
    write_file(tour.picture, picture, error=ReportError)
    return {"source": source, "target": target}


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
