"""The last stage: translate sentences never seen, score, align, draw. Everything it finds is in ``results.json``.

The text comes with its true word alignments, so it is also measured how well cross-attention finds which word is which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heedful.background import Report
from heedful.demo.plan import PARTS, DemoPlan
from heedful.demo.stages import Trained, tokens_of
from heedful.errors import DemoError
from heedful.evaluation import alignments
from heedful.evaluation.alignments import Gold, Word, alignment_error_rate, soft_alignment, word_weights
from heedful.evaluation.counts import bleu_counts, chrf_counts
from heedful.evaluation.translation_scores import Score, TestSet, extremes, with_interval
from heedful.files import read_json, read_small, write_file, write_json
from heedful.runs.metrics import Sample
from heedful.typed import typed

if TYPE_CHECKING:
    from heedful.text.subwords import Subwords
    from heedful.translation.translator import Translator

_EXAMPLES, _WORST = 7, 3
"""Translations that are shown: the first of the test text, and the worst."""
_REMINDER = "All of this text is generated: the scores say how well a grammar was learnt, nothing of real text."


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


@dataclass(frozen=True)
class Pictured:
    """The test sentence whose attention is drawn, and the reference."""

    source: str
    target: str
    weights: list[list[float]]
    """What each token of the target attends to in the source."""
    links: list[list[int]]
    """The true ones: a token of the source, and one of the target."""


@dataclass(frozen=True)
class DemoResults:
    """What ``results.json`` holds, field by field; docs/formats.md describes it."""

    generated: str
    seed: int
    pairs: dict[str, int]
    training: Trained
    parameters: int
    device: str
    scores: list[Score]
    exact_matches: float
    examples: list[Sample]
    worst: list[Sample]
    alignment: AlignmentScore
    pictured: Pictured


def stored_results(plan: DemoPlan, training: Trained) -> DemoResults | None:
    """What an earlier start has found, if it is whole and training has not gone on since."""
    try:
        found = typed(DemoResults, read_json(plan.results, error=DemoError))
    except (FileNotFoundError, DemoError, ValueError):
        return None
    return found if found.training == training and found.examples and plan.picture.is_file() else None


def write_results(
    plan: DemoPlan, training: Trained, *, device: str, engine: str, notice: Callable[[str], object], report: Report
) -> DemoResults:
    """Measure the trained model; returns what it wrote down."""
    from heedful.runs.saved import known_model
    from heedful.translation.translator import Translator

    translator = Translator(known_model(plan.run), device=device, engine=engine, notice=notice)
    valid, test = _aligned_text(plan, "valid"), _aligned_text(plan, "test")
    outputs: list[str] = []
    for best in translator.hypotheses(test.sources):
        outputs.append(best[0].text)
        report("translating", len(outputs), len(test.sources))
    write_file(plan.outputs, "".join(f"{line}\n" for line in outputs).encode(), error=DemoError)

    def reached(done: int) -> None:
        report("aligning", done, plan.valid + plan.test)

    alignment = alignment_score(translator, valid=valid, test=test, reached=reached)
    chrf = chrf_counts(outputs, test.targets)
    examples = [Sample(*lines) for lines in zip(test.sources, test.targets, outputs, strict=True)]
    worst = extremes(TestSet(test.targets, test.sources), outputs, chrf, count=_WORST).worst
    results = DemoResults(
        generated=_REMINDER,
        seed=plan.seed,
        pairs={"train": plan.train, "valid": plan.valid, "test": plan.test},
        training=training,
        parameters=translator.saved.description.parameters,
        device=str(translator.device),
        scores=[with_interval(bleu_counts(outputs, test.targets)), with_interval(chrf)],
        exact_matches=sum(example.output == example.reference for example in examples) / len(examples),
        examples=examples[:_EXAMPLES],
        worst=[examples[sentence.line - 1] for sentence in worst],
        alignment=alignment,
        pictured=_draw_alignment(plan, translator, test, alignment.layer),
    )
    write_json(plan.results, dataclasses.asdict(results))
    return results


def _aligned_text(plan: DemoPlan, part: str) -> AlignedText:
    try:
        files = [read_small(plan.text / f"{part}.{side}").decode().splitlines() for side in PARTS[part]]
        if len({len(lines) for lines in files}) > 1 or not files[0]:
            raise ValueError(f"its files have {', '.join(f'{len(lines):,}' for lines in files)} lines")
    except (OSError, ValueError) as problem:
        raise DemoError(f"{plan.text} has lost its {part} text: {problem}; --overwrite starts anew") from None
    sources, targets, links = files
    where = f"{plan.text / f'{part}.align'}, line "
    gold = [alignments.gold_alignment(line, where=f"{where}{number}") for number, line in enumerate(links, start=1)]
    return AlignedText(sources, targets, gold)


def _draw_alignment(plan: DemoPlan, translator: Translator, text: AlignedText, layer: int) -> Pictured:
    from heedful.report.attention_views import alignment_picture

    place = most_reordered(text)
    source, target = text.sources[place], text.targets[place]
    weights = token_weights(translator, source, target)[layer - 1]
    words = {"source": tokens_of(source), "target": tokens_of(target)}
    links = text.gold[place].sure
    write_file(plan.picture, alignment_picture(weights, **words, links=links, layer=layer), error=DemoError)
    return Pictured(source, target, weights.round(4).tolist(), [list(link) for link in sorted(links)])


def alignment_score(
    translator: Translator, *, valid: AlignedText, test: AlignedText, reached: Callable[[int], None]
) -> AlignmentScore:
    """The best layer, chosen on one text, and its error rate on another."""
    layers = range(translator.saved.config.model.decoder_layers)
    found = []
    for text in (valid, test):
        for source, target in zip(text.sources, text.targets, strict=True):
            found.append([alignments.hard_alignment(weights) for weights in token_weights(translator, source, target)])
            reached(len(found))
    chosen, rest = found[: len(valid.sources)], found[len(valid.sources) :]
    by_layer = [alignment_error_rate([links[layer] for links in chosen], valid.gold) for layer in layers]
    best = int(np.argmin(by_layer))
    return AlignmentScore(
        layer=best + 1,
        by_layer=by_layer,
        error_rate=alignment_error_rate([links[best] for links in rest], test.gold),
        diagonal=_diagonal_error(test, range(len(test.sources))),
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
    return alignments.located_words(line, tokens_of(line), subwords.spans(subwords.encode([line])[0]))


def most_reordered(text: AlignedText, *, among: int = 200, longest: int = 14) -> int:
    """The place of the sentence, among the first and not too long, that the diagonal aligns worst: one worth a look."""
    places = [place for place, source in enumerate(text.sources[:among]) if len(tokens_of(source)) <= longest]
    return max(places or [0], key=lambda place: _diagonal_error(text, [place]))


def _diagonal_error(text: AlignedText, places: Sequence[int]) -> float:
    sizes = ([len(tokens_of(side[place])) for side in (text.sources, text.targets)] for place in places)
    found = [alignments.diagonal_alignment(*pair) for pair in sizes]
    return alignment_error_rate(found, [text.gold[place] for place in places])
