"""``heedful evaluate`` and ``heedful compare``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from heedful.cli.evaluation_display import print_comparison, print_evaluation, print_parse_scores
from heedful.cli.model_options import (
    EnsembleOptions,
    ModelOptions,
    RunningOptions,
    SearchChoices,
    is_parsing,
    require_no_text,
)
from heedful.cli.options import AsJson, Draws, Examples, Flag, Overwrite, Quiet, Seed, more
from heedful.cli.terminal import new_text, print_result, progress, require_place
from heedful.errors import ScoreError
from heedful.evaluation.counts import language_of, require_language, system_counts
from heedful.evaluation.significance import LEVEL, RESAMPLES, SEED, TRIALS, comparisons
from heedful.evaluation.translation_scores import TestSet, leads, system_report, with_interval
from heedful.parsing.bracket_scores import trees_as_text
from heedful.parsing.trees import read_parses, read_trees
from heedful.runs.folder import bundled_models
from heedful.runs.lists import languages
from heedful.tasks import PARSING
from heedful.text.reading import aligned_lines

_MORE, _MORE_PARSES = more("about the margins of error"), more("about parses")
Task = Literal["translation", "parsing"] | None
_Outputs = dict[Path, list[str]]
_MEASURED = ("search", "speed", "perplexity", "language")
"""What is only known of a model that translates."""


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
    if language is not None:
        require_language(language)
    files = [hypothesis] if hypothesis else []
    test, outputs = _trees(reference, files) if parsing else _lines(reference, source, files)
    if output is not None:
        require_place(output, overwrite=overwrite)
    measured: dict[str, Any] = dict.fromkeys(("search", "speed") if parsing else _MEASURED)
    if hypothesis is not None:
        found = outputs[hypothesis]
    elif parsing:
        found, measured = _parses(test, model, search, constrained=not unconstrained, quiet=quiet)
    else:
        found, measured = _translations(test, model, search, perplexity=True, quiet=quiet)
    if output is not None:
        with new_text(output) as write:
            for line in found:
                write(line)
    drawn = {"resamples": resamples, "seed": resample_seed}
    named = {"reference": reference, "model": model.model, "hypothesis": hypothesis}
    if parsing:
        facts = {"task": PARSING.name, **named, **measured, **_parse_report(test, found, examples=examples, **drawn)}
        print_result(facts | drawn, as_json=as_json, show=print_parse_scores)
        return
    language = language or language_of(reference) or measured["language"]
    report = system_report(test, found, language=language, examples=examples, **drawn)
    facts = {"source": source, **named, **measured, "language": language, **vars(report), **drawn}
    print_result(facts, as_json=as_json, show=print_evaluation)


def _lines(reference: Path, source: Path | None, files: Sequence[Path]) -> tuple[TestSet, _Outputs]:
    """A test set, and the translations of it that files hold."""
    lines = aligned_lines(reference, source, *files)
    return TestSet(lines[reference], lines.get(source)), {path: lines[path] for path in files}


def _trees(reference: Path, files: Sequence[Path]) -> tuple[TestSet, _Outputs]:
    """A test set of trees, and the parses of it that files hold."""
    test = trees_as_text(read_trees(reference))
    return test, {path: read_parses(path, len(test.references)) for path in files}


def _translations(
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


def _parses(
    test: TestSet, model: ModelOptions, search: SearchChoices, *, constrained: bool = True, quiet: bool
) -> tuple[list[str], dict[str, Any]]:
    """The parses of the references' words, and how fast they came."""
    parser = model.parser(constrained=constrained)
    options = search.options(parser)
    with progress(unit="sentences", quiet=quiet) as report:
        outputs, speed = parser.measured(test.sources or [], options=options, report=report)
    return outputs, {"search": options, "speed": speed}


def _parse_report(test: TestSet, outputs: Sequence[str], *, examples: int, resamples: int, seed: int) -> dict[str, Any]:
    """The scores of parses with their intervals, and the worst of them."""
    counts = PARSING.counts(outputs, test.references)
    f1 = counts[0].sentence_scores
    worst = sorted(range(len(outputs)), key=f1.__getitem__)[:examples]
    return {
        "sentences": len(outputs),
        "scores": [with_interval(one, resamples=resamples, seed=seed) for one in counts],
        "examples": [
            {"line": at + 1, "f1": f1[at], "reference": test.references[at], "output": outputs[at]} for at in worst
        ],
    }


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
        heedful compare old.out run --source test.en --reference test.de --json
    """
    named = bundled_models()
    files = [path for path in (a, b) if not path.is_dir() and (path.exists() or str(path) not in named)]
    if len(files) == 2:
        search.require_none(f"{a} and {b} are files, and nothing is searched for")
    search.asked()  # what cannot be honoured is said before anything is read
    if parsing := is_parsing(task, [str(path) for path in (a, b) if path not in files]):
        require_no_text(source, None)
    elif len(files) < 2 and source is None:
        raise ScoreError(f"{b if a in files else a} is a model, and --source was not given to translate")
    test, outputs = _trees(reference, files) if parsing else _lines(reference, source, files)
    for path in dict.fromkeys((a, b)):
        model = dataclasses.replace(running, model=str(path))
        if path not in files and parsing:
            outputs[path], _ = _parses(test, model, search, quiet=quiet)
        elif path not in files:
            outputs[path], _ = _translations(test, model, search, perplexity=False, quiet=quiet)
    drawn: dict[str, Any] = {"resamples": resamples, "trials": trials, "seed": resample_seed}
    shown = {}
    if parsing:
        named: dict[str, Any] = {"task": PARSING.name, "a": a, "b": b}
        counts = [PARSING.counts(outputs[path], test.references) for path in (a, b)]
    else:
        named = {"a": a, "b": b, "source": source}
        both = [system_counts(outputs[path], test.references) for path in (a, b)]
        counts, shown = [one.scores for one in both], {"examples": leads(test, *both, count=examples)}
    rows = [{**vars(row), "better": row.better()} for row in comparisons(*counts, **drawn)]
    named |= {"reference": reference, "sentences": len(test.references)}
    facts = {**named, "comparisons": rows, "level": LEVEL, **drawn, **shown}
    print_result(facts, as_json=as_json, show=print_comparison)
