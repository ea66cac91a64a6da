"""What a page shows of a model, made up: for the tests of pages that need no model."""

from __future__ import annotations

from collections.abc import Sequence

from tests.attention_toys import toy_maps

from heedful.evaluation.sentences import TestSet
from heedful.evaluation.translation_scores import system_report
from heedful.report.run_scores import TITLES, Example, RunScores
from heedful.search.attention_maps import AttentionMaps


def toy_scores(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> RunScores:
    """The scores of these translations; each example attends to as many subwords as its words."""
    report = system_report(TestSet(references, sources), outputs, language="de", examples=1, resamples=20)
    examples = [_example(kind, getattr(report.examples, kind)[0]) for kind in TITLES]
    return RunScores(
        about="made-up <text>",
        weights="no weights",
        search={"method": "beam", "beam_size": 4, "length_penalty": 0.6},
        report=report,
        perplexity={"per_subword": 7.5, "per_word": None},
        speed={"device": "cpu", "sentences_per_second": 2.0, "target_tokens_per_second": 9.0},
        layer=2,
        examples=[*examples, Example("worst", examples[0].sentence, [], [], None, "it is too long")],
    )


def _example(kind: str, sentence: object) -> Example:
    source, output = (str(getattr(sentence, name)).split(" ") for name in ("source", "output"))
    maps: AttentionMaps = toy_maps(source, output)
    return Example(kind, sentence, maps.source, maps.target, maps.cross[1].mean(0))  # pyright: ignore[reportArgumentType]
