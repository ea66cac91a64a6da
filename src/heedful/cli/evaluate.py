"""``heedful evaluate``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from heedful.cli.evaluation_display import print_evaluation
from heedful.cli.model_options import ModelOptions, SearchChoices
from heedful.cli.options import AsJson, Draws, Examples, Flag, Seed
from heedful.cli.terminal import print_json, progress
from heedful.cli.text_files import require_place, write_lines
from heedful.errors import ScoreError
from heedful.evaluation.paper_bleu import language_of, require_language
from heedful.evaluation.sentences import TestSet
from heedful.evaluation.significance import RESAMPLES, SEED
from heedful.evaluation.translation_scores import system_report
from heedful.text.reading import read_lines, require_aligned


def evaluate(
    *,
    reference: Path,
    source: Path | None = None,
    hypothesis: Path | None = None,
    output: Path | None = None,
    overwrite: Flag = False,
    language: str | None = None,
    examples: Examples = 5,
    resamples: Draws = RESAMPLES,
    resample_seed: Seed = SEED,
    quiet: Flag = False,
    as_json: AsJson = False,
    model: ModelOptions = ModelOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Score a model, or translations that are there already: BLEU, chrF, TER, each with interval and signature.

    Beside them stand the paper-style BLEU (with `pip install 'heedful[moses]'`), the ratio of lengths, and the
    worst sentences; of a model also its perplexity and speed. Files are plain or compressed (.gz, .xz, .zst).

    Args:
        reference: How the sentences should be translated, one a line.
        source: The text to translate; line n of the reference belongs to its line n.
        hypothesis: Score this file instead of a model's translations; --source then only serves the examples.
        output: Save the model's translations to this file.
        overwrite: Replace --output if it is there.
        language: Whose rules Moses' tokenizer follows in the paper-style BLEU, such as de; by default the reference's
            name tells.
        examples: How many of the worst sentences to show.
        resamples: How many test sets to draw for the intervals.
        resample_seed: What they are drawn with.
        quiet: Show no progress.
        as_json: Print JSON, with the median and the best sentences too.

    Examples:
        heedful evaluate --model run --source test.en --reference test.de --output test.out
        heedful evaluate --hypothesis test.out --source test.en --reference test.de --json
    """
    if hypothesis is None and source is not None:
        model = model.named()
    _require_sense(model.model, hypothesis, source=source, output=output)
    if hypothesis is not None:
        search.require_none("--hypothesis is there already, and nothing is searched for")
    search.asked()  # what cannot be honoured is said before anything is read
    language = language or language_of(reference)
    require_language(language)
    files = [(path, read_lines(path)) for path in (reference, source, hypothesis) if path is not None]
    require_aligned(files)
    lines = dict(files)
    test = TestSet(lines[reference], None if source is None else lines[source])
    if output is not None:
        require_place(output, overwrite=overwrite)
    named = {"source": source, "reference": reference, "model": model.model, "hypothesis": hypothesis}
    facts: dict[str, Any] = {name: None if path is None else str(path) for name, path in named.items()}
    if model.model is not None:
        outputs, measured = _of_model(test, model, search, quiet=quiet)
        if output is not None:
            write_lines(output, outputs)
    else:
        assert hypothesis is not None, "a model or a file"
        outputs, measured = lines[hypothesis], {"search": None, "speed": None, "perplexity": None}
    drawn = {"examples": examples, "resamples": resamples, "seed": resample_seed}
    report = system_report(test, outputs, language=language, **drawn)
    facts |= {**measured, **dataclasses.asdict(report), "resamples": resamples, "seed": resample_seed}
    if as_json:
        print_json(facts)
    else:
        print_evaluation(facts)


def _require_sense(model: str | None, hypothesis: Path | None, *, source: Path | None, output: Path | None) -> None:
    if (model is None) == (hypothesis is None):
        given = "neither was" if model is None else "both were"
        raise ScoreError(
            f"{given} given of --model and --hypothesis: give a model to translate with, or a file to score"
        )
    if model is not None and source is None:
        raise ScoreError("--model was given without --source: there is nothing to translate")
    if output is not None and model is None:
        raise ScoreError("--output was given without --model: there are no new translations to save")


def _of_model(
    test: TestSet, model: ModelOptions, search: SearchChoices, *, quiet: bool
) -> tuple[list[str], dict[str, Any]]:
    """The model's translations, and what is only known of a model."""
    sources = test.sources or []
    translator = model.translator()
    options = search.options(translator)
    with progress(unit="sentences", quiet=quiet) as report:
        likelihood = translator.likelihood(sources, test.references, report=report)  # first: it may refuse a reference
        found = translator.measured(sources, options=options, report=report)
    return found.outputs, {
        "search": dataclasses.asdict(options),
        "speed": found.speed,
        "perplexity": likelihood.described(),
    }
