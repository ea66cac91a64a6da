"""The last stage: translate sentences never seen, score, align, draw. Everything it finds is in ``results.json``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from heedful.demo.alignment import AlignedText, alignment_score, most_reordered, token_weights
from heedful.demo.plan import Tour
from heedful.demo.stages import Report, Trained
from heedful.demo.text import tokens_of
from heedful.evaluation.alignments import gold_alignment
from heedful.evaluation.counts import Counted, bleu_counts, chrf_counts
from heedful.evaluation.sentences import System, TestSet, extremes
from heedful.evaluation.translation_scores import with_interval
from heedful.report.new_files import written
from heedful.runs.atomic import write_json
from heedful.runs.metrics import read_object

if TYPE_CHECKING:
    from heedful.search.translator import Translator

EXAMPLES, WORST = 7, 3
"""Translations that are shown: the first of the test text, and the worst."""


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
    written(tour.outputs, "".join(f"{line}\n" for line in outputs).encode(), overwrite=True)
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
    from heedful.report.attention_picture import alignment_picture

    place = most_reordered(text)
    source, target = text.sources[place], text.targets[place]
    weights = token_weights(translator, source, target)[layer - 1]
    picture = alignment_picture(
        weights, source=tokens_of(source), target=tokens_of(target), links=text.gold[place].sure, layer=layer
    )
    written(tour.picture, picture, overwrite=True)
    return {"source": source, "target": target}
