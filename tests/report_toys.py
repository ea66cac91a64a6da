"""What a page shows of a model, made up: for the tests of pages that need no model."""

from __future__ import annotations

from collections.abc import Sequence

from tests.attention_toys import toy_maps

from heedful.evaluation.translation_scores import TestSet, system_report
from heedful.report.run_scores import TITLES, Example, RunScores, ScoredText
from heedful.search.attention_maps import AttentionMaps
from heedful.search.options import SearchOptions


def toy_scores(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> RunScores:
    """The scores of these translations; each example attends to as many subwords as its words."""
    text = ScoredText(TestSet(references, sources), "made-up <text>", "de")
    report = system_report(text.test, outputs, language="de", examples=1, resamples=20)
    examples = [_example(kind, getattr(report.examples, kind)[0]) for kind in TITLES]
    return RunScores(
        text=text,
        weights="no weights",
        search=SearchOptions(),
        report=report,
        outputs=list(outputs),
        perplexity={"per_subword": 7.5, "per_word": None},
        speed={"device": "cpu", "sentences_per_second": 2.0, "target_tokens_per_second": 9.0},
        layer=2,
        examples=[*examples, Example("worst", examples[0].sentence, [], [], None, "it is too long")],
    )


def _example(kind: str, sentence: object) -> Example:
    source, output = (str(getattr(sentence, name)).split(" ") for name in ("source", "output"))
    maps: AttentionMaps = toy_maps(source, output)
    return Example(kind, sentence, maps.source, maps.target, maps.cross[1].mean(0))  # pyright: ignore[reportArgumentType]
