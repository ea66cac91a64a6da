"""``heedful report``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.model_options import ModelOptions, SearchChoices
from heedful.cli.options import AsJson, Examples, Flag, Overwrite, Quiet
from heedful.cli.terminal import print_result, progress
from heedful.errors import CheckpointError, CorpusError, ReportError, SearchError
from heedful.evaluation.counts import language_of, require_language
from heedful.evaluation.translation_scores import TestSet
from heedful.text.reading import aligned_lines

if TYPE_CHECKING:
    from heedful.report.run_scores import RunScores, ScoredText
    from heedful.runs.record import RunRecord

PAGE = "report.html"


def report(
    run: Path,
    /,
    *,
    source: Path | None = None,
    reference: Path | None = None,
    output: Path | None = None,
    examples: Examples = 3,
    language: str | None = None,
    no_scores: Flag = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    model: ModelOptions = ModelOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Describe a run in one HTML page: data, curves, scores, translations, how to repeat it.

    The page is complete in itself and prints well. A run that is still going on can be described too. The scores are
    those of the corpus's validation text unless other text is given. --json prints where the page is, its sections and
    the scores.

    Args:
        run: The folder that `heedful train` made, or a model that `heedful models` lists.
        source: Score the translations of this text instead of the validation text.
        reference: How --source should be translated; line n belongs to line n.
        output: Where to write the page; report.html in the run's folder when not given, or here for a model that comes
            with heedful.
        examples: How many of the best, the middling and the worst translations to show, each with its attention.
        language: The language of the reference, such as de, for the paper-style BLEU; by default the reference's name
            tells, or else the run's corpus.
        no_scores: Translate nothing, which takes most of the time.

    Examples:
        heedful report run
        heedful report run --source test.en --reference test.de --output test.html --examples 5
    """
    asked = _asked(source, reference, language=language)
    named = asked is not None or model.model is not None
    if no_scores and named:
        raise ReportError("--no-scores translates nothing: leave out --source, --reference and --model, or --no-scores")
    search.asked()  # what cannot be honoured is said before anything is read
    from heedful.files import require_free
    from heedful.report.run_page import run_sections, write_run_page
    from heedful.runs.folder import model_folder
    from heedful.runs.record import run_record

    given, run = run, model_folder(run)
    # Nothing is written among the files of heedful itself.
    path = output or (run / PAGE if given == run else Path(PAGE))
    record = run_record(run)
    require_free(path, overwrite=overwrite, error=ReportError)
    scores, why_not = None, "--no-scores was given"
    if not no_scores:
        try:
            text = asked or _validation_text(record, language)
            text = dataclasses.replace(text, language=text.language or _target_language(record))
            scores = _scores(text, _model_of(run, model), search, examples=examples, quiet=quiet)
        except (CheckpointError, CorpusError, SearchError) as error:
            if named:  # where the user named a text or a model, it is an error
                raise
            why_not = str(error)
    sections = run_sections(record, scores, why_not=why_not)
    write_run_page(f"Run {run.absolute().name}", sections, path, overwrite=overwrite)
    problems = [*record.problems, *([f"no scores: {why_not}"] if scores is None else [])]
    facts = {"report": path, "sections": [section.title for section in sections], "problems": problems}
    said = [*(f"note: {problem}" for problem in problems), f"{path} is written"]
    print_result(facts | _described(scores), as_json=as_json, show="\n".join(said))


def _asked(source: Path | None, reference: Path | None, *, language: str | None) -> ScoredText | None:
    """The text that the user gave; None for the validation text."""
    from heedful.report.run_scores import ScoredText

    if language is not None:
        require_language(language)
    if source is None and reference is None:
        return None
    if source is None or reference is None:
        missing = "--source" if source is None else "--reference"
        raise ReportError(f"{missing} is missing: a text to score has both, --source and --reference")
    lines = aligned_lines(source, reference)
    test = TestSet(lines[reference], lines[source])
    return ScoredText(test, f"{source} and {reference}", language or language_of(reference))


def _model_of(run: Path, model: ModelOptions) -> ModelOptions:
    """The run's own model; --model may name another checkpoint of it."""
    if model.model is None:
        return dataclasses.replace(model, model=str(run))
    named = Path(model.model).absolute()
    if run.absolute() not in (named, *named.parents):
        raise ReportError(
            f"--model {model.model} is not of the run {run}: give one of its checkpoints, or leave it out"
        )
    return model


def _scores(text: ScoredText, model: ModelOptions, search: SearchChoices, *, examples: int, quiet: bool) -> RunScores:
    from heedful.report.run_scores import measured_scores

    translator = model.translator()
    options = search.options(translator)
    with progress(unit="sentences", quiet=quiet) as reached:
        return measured_scores(translator, text, options=options, examples=examples, report=reached)


def _validation_text(record: RunRecord, language: str | None) -> ScoredText:
    """That of the run's corpus."""
    from heedful.report.run_scores import ScoredText
    from heedful.runs.record import validation_text

    test = validation_text(record)
    return ScoredText(test, "the corpus's validation text", language, is_validation=True)


def _target_language(record: RunRecord) -> str | None:
    from heedful.runs.lists import languages

    spoken = languages(record.description)
    return spoken.target if spoken else None


def _described(scores: RunScores | None) -> dict[str, Any]:
    if scores is None:
        return {"text": None, "scores": None, "perplexity": None}
    return {"text": scores.text.about, "scores": scores.report.scores, "perplexity": dict(scores.perplexity)}
