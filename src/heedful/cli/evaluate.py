"""``heedful evaluate`` and ``heedful compare``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

from heedful.cli.evaluation_display import print_comparison, print_evaluation
from heedful.cli.model_options import EnsembleOptions, ModelOptions, RunningOptions, SearchChoices
from heedful.cli.options import AsJson, Draws, Examples, Flag, Overwrite, Quiet, Seed, more
from heedful.cli.parse_scores import compare_parses, evaluate_parses, is_parsing, require_no_text
from heedful.cli.terminal import new_text, print_result, progress, require_place
from heedful.errors import ScoreError
from heedful.evaluation.counts import language_of, require_language, system_counts
from heedful.evaluation.significance import LEVEL, RESAMPLES, SEED, TRIALS, comparisons
from heedful.evaluation.translation_scores import TestSet, leads, system_report
from heedful.runs.folder import bundled_models
from heedful.runs.lists import languages
from heedful.text.reading import aligned_lines

_MORE, _MORE_PARSES = more("about the margins of error"), more("about parses")
Task = Literal["translation", "parsing"] | None


def evaluate(
    *,
    reference: Path,
    source: Path | None = None,
    hypothesis: Path | None = None,
    output: Path | None = None,
    overwrite: Overwrite = False,
    task: Task = None,
    unconstrained: Annotated[Flag, _MORE_PARSES] = False,
    language: str | None = None,
    examples: Examples = 5,
    resamples: Annotated[Draws, _MORE] = RESAMPLES,
    resample_seed: Annotated[Seed, _MORE] = SEED,
    quiet: Quiet = False,
    as_json: AsJson = False,
    model: EnsembleOptions = EnsembleOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Score a model, or translations that you have: BLEU, chrF and TER, each with its margin of error.

    Beside them stand the paper-style BLEU (with `pip install 'heedful[moses]'`), the ratio of lengths, and the
    worst sentences (with --json the median and the best too); of a model also its perplexity and speed. Files are plain
    or compressed (.gz, .xz, .zst). A model that was trained for parsing is scored by F1 of brackets, complete matches
    and tags, on the words of the reference's trees.

    Args:
        reference: How the sentences should be translated, one a line; or trees in brackets.
        source: The text to translate; line n of the reference belongs to its line n.
        hypothesis: Score this file instead of a model's translations; --source then only serves the examples.
        output: Save the model's translations, or trees, to this file.
        task: What the reference is for, translation or parsing; when not given, what the model was trained for.
        unconstrained: Score what a parser says by itself, which may be no tree.
        language: The language of the reference, such as de, for the paper-style BLEU; by default the reference's name
            tells, or else the model's corpus.
        examples: How many of the worst sentences to show.
        resamples: How many test sets to draw from this one, at random, to see how far the scores move.
        resample_seed: Another number draws others.

    Examples:
        heedful evaluate --model run --source test.en --reference test.de --output test.out
        heedful evaluate --hypothesis test.out --source test.en --reference test.de --json
    """
    if parsing := is_parsing(task, model.names):
        require_no_text(source, language)
    elif unconstrained:
        raise ScoreError("--unconstrained: for parsing alone")
    if hypothesis is None and (source is not None or model.names):
        model = model.named()
    if bool(model.names) == (hypothesis is not None):
        given = f"{'neither was' if hypothesis is None else 'both were'} given of --model and --hypothesis"
        raise ScoreError(f"{given}: give a model to translate with, or a file to score")
    if hypothesis is None and source is None and not parsing:
        raise ScoreError("--model was given without --source: there is nothing to translate")
    if hypothesis is not None and output is not None:
        raise ScoreError("--output was given without --model: there are no new translations to save")
    if hypothesis is not None:
        if model.from_ or model.to:
            raise ScoreError("--from and --to choose a model, and --hypothesis is there already: leave them out")
        search.require_none("--hypothesis is there already, and nothing is searched for")
    search.asked()  # what cannot be honoured is said before anything is read
    drawn = {"resamples": resamples, "seed": resample_seed}
    if parsing:
        said: dict[str, Any] = {"quiet": quiet, "as_json": as_json, "examples": examples, **drawn}
        saved = {"hypothesis": hypothesis, "output": output, "overwrite": overwrite}
        evaluate_parses(reference, model=model, search=search, unconstrained=unconstrained, **saved, **said)
        return
    if language is not None:
        require_language(language)
    lines = aligned_lines(reference, source, hypothesis)
    test = TestSet(lines[reference], lines.get(source))
    if output is not None:
        require_place(output, overwrite=overwrite)
    named = {"source": source, "reference": reference, "model": model.model, "hypothesis": hypothesis}
    if hypothesis is not None:
        outputs = lines[hypothesis]
        measured: dict[str, Any] = dict.fromkeys(("search", "speed", "perplexity", "language"))
    else:
        outputs, measured = _of_model(test, model, search, perplexity=True, quiet=quiet)
        if output is not None:
            with new_text(output) as write:
                for line in outputs:
                    write(line)
    language = language or language_of(reference) or measured["language"]
    report = system_report(test, outputs, language=language, examples=examples, **drawn)
    facts = {**named, **measured, "language": language, **vars(report), **drawn}
    print_result(facts, as_json=as_json, show=print_evaluation)


def _of_model(
    test: TestSet, model: ModelOptions, search: SearchChoices, *, perplexity: bool, quiet: bool
) -> tuple[list[str], dict[str, Any]]:
    """The model's translations, and what is only known of a model."""
    sources = test.sources or []
    translator = model.translator()
    options = search.options(translator)
    spoken = languages(translator.saved.description)
    facts: dict[str, Any] = {"search": options, "language": spoken and spoken.target}
    with progress(unit="sentences", quiet=quiet, speed=True) as report:
        if perplexity:  # first: it may refuse a reference
            facts["perplexity"] = translator.likelihood(sources, test.references, report=report)
        outputs, speed = translator.measured(sources, options=options, report=report)
    return outputs, {**facts, "speed": speed}


def compare(
    a: Path,
    b: Path,
    /,
    *,
    reference: Path,
    source: Path | None = None,
    task: Task = None,
    examples: Examples = 3,
    resamples: Annotated[Draws, _MORE] = RESAMPLES,
    trials: Annotated[Draws, _MORE] = TRIALS,
    resample_seed: Annotated[Seed, _MORE] = SEED,
    quiet: Quiet = False,
    as_json: AsJson = False,
    running: RunningOptions = RunningOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Say whether one system is better than another, or whether the difference may be luck.

    By BLEU, chrF and TER, or for trees by F1 of brackets: intervals and p-values of paired bootstrap resampling and of
    approximate randomisation, and the sentences where two translations differ most. docs/scores.md says how to read
    them.

    Args:
        a: A file with translations, or a model: its folder, or the name of one that comes with heedful.
        b: The other one.
        reference: How the sentences should be translated, one a line; or trees in brackets.
        source: The text to translate; needed if one of the two is a model.
        task: What the reference is for, translation or parsing; when not given, what a model was trained for.
        examples: How many sentences to show where A leads most, and where B does.
        resamples: How many test sets to draw for the bootstrap.
        trials: How often to exchange outputs at random.
        resample_seed: Another number draws others.

    Examples:
        heedful compare old.out new.out --source test.en --reference test.de
        heedful compare old.out runs/base --source test.en --reference test.de --json
    """
    named = bundled_models()
    files = [path for path in (a, b) if not path.is_dir() and (path.exists() or str(path) not in named)]
    if len(files) == 2:
        search.require_none(f"{a} and {b} are files, and nothing is searched for")
    search.asked()  # what cannot be honoured is said before anything is read
    if is_parsing(task, [str(path) for path in (a, b) if path not in files]):
        require_no_text(source, None)
        drawn: dict[str, Any] = {"resamples": resamples, "trials": trials, "seed": resample_seed}
        said = {"quiet": quiet, "as_json": as_json}
        compare_parses(a, b, reference, files=files, running=running, search=search, **drawn, **said)
        return
    if len(files) < 2 and source is None:
        raise ScoreError(f"{b if a in files else a} is a model, and --source was not given to translate")
    lines = aligned_lines(reference, source, *files)
    test = TestSet(lines[reference], lines.get(source))
    for path in dict.fromkeys((a, b)):
        if path not in files:
            model = dataclasses.replace(running, model=str(path))
            lines[path], _ = _of_model(test, model, search, perplexity=False, quiet=quiet)
    counts_a, counts_b = (system_counts(lines[path], test.references) for path in (a, b))
    found = comparisons(counts_a.scores, counts_b.scores, resamples=resamples, trials=trials, seed=resample_seed)
    differing = leads(test, counts_a, counts_b, count=examples)
    named = {"a": a, "b": b, "source": source, "reference": reference, "sentences": len(test.references)}
    rows = [{**vars(row), "better": row.better()} for row in found]
    drawn = {"level": LEVEL, "resamples": resamples, "trials": trials, "seed": resample_seed}
    facts = {**named, "comparisons": rows, **drawn, "examples": differing}
    print_result(facts, as_json=as_json, show=print_comparison)
