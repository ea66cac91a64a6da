"""``heedful report``."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from heedful.cli.model_options import CheckpointOptions, SearchChoices, is_parsing, require_no_text
from heedful.cli.options import AsJson, Examples, Flag, Overwrite, Quiet, whole_number
from heedful.cli.terminal import print_result, progress
from heedful.errors import CheckpointError, CorpusError, ReportError, SearchError
from heedful.evaluation.counts import language_of, require_language
from heedful.evaluation.translation_scores import TestSet
from heedful.parsing.bracket_scores import trees_as_text
from heedful.parsing.trees import read_trees
from heedful.tasks import PARSING
from heedful.text.reading import aligned_lines

if TYPE_CHECKING:
    from heedful.report.run_scores import RunScores, ScoredText
    from heedful.runs.record import RunRecord

PAGE, COMPARED = "report.html", "compared.html"


def report(
    run: Path,
    other: Path | None = None,
    /,
    *,
    source: Path | None = None,
    reference: Path | None = None,
    output: Path | None = None,
    examples: Examples = 3,
    language: str | None = None,
    no_scores: Flag = False,
    live: Flag = False,
    port: Annotated[int | None, whole_number(1, 65_535)] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    model: CheckpointOptions = CheckpointOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Describe a run in one HTML page: how good, how long, on what; or two runs beside each other.

    It begins with four numbers and a translation; then come translations, curves, scores, data, and how to repeat it.
    The page is complete in itself and prints well. A run that is still going on can be described too, and with --live
    be watched. The scores are those of the corpus's validation text, of two runs that of the first, unless other text
    is given. --json prints where the page is, its sections and the scores.

    Args:
        run: The folder that `heedful train` made, or a model that `heedful models` lists.
        other: A second run to set beside it.
        source: Score the translations of this text instead of the validation text.
        reference: How --source should be translated; line n belongs to line n. Of a parser: trees in brackets, whose
            words are parsed, and no --source.
        output: Where to write the page. When not given: report.html in the run's folder, or here for a model that comes
            with heedful; compared.html here for two runs.
        examples: How many of the best, the middling and the worst translations to show, each with its attention;
            of a parser none is shown.
        language: The language of the reference, such as de, for the paper-style BLEU; by default the reference's name
            tells, or else the run's corpus.
        no_scores: Translate nothing, which takes most of the time.
        live: Write nothing, and show the page of a run in progress in a browser on this machine, always as it is now,
            until Ctrl-C.
        port: Where --live is to be found; a free one when not given.

    Examples:
        heedful report run --source test.en --reference test.de --output test.html --examples 5
        heedful report run-a run-b
    """
    asked = _asked(source, reference, language=language, parsing=is_parsing(None, [str(run)]))
    named = asked is not None or model.model is not None
    if no_scores and named:
        raise ReportError("--no-scores translates nothing: leave out --source, --reference and --model, or --no-scores")
    if other is not None and model.model is not None:
        raise ReportError("--model names a checkpoint of one run, and two runs were given: leave one of them out")
    if port is not None and not live:
        raise ReportError(f"--port {port} is where --live is to be found: give both")
    if live:
        if named or other is not None or output is not None:
            raise ReportError(
                "--live shows one run and translates nothing: give no second run, text, model or --output"
            )
        _serve(run, port=port or 0, as_json=as_json)
        return
    search.asked()  # what cannot be honoured is said before anything is read
    from heedful.files import require_free
    from heedful.report.run_page import run_sections, write_run_page
    from heedful.runs.folder import model_folder
    from heedful.runs.record import run_record

    records = [run_record(model_folder(one)) for one in (run, other) if one is not None]
    folder = records[0].folder
    # Nothing is written among the files of heedful itself.
    path = output or (Path(COMPARED) if other else folder / PAGE if folder == run else Path(PAGE))
    require_free(path, overwrite=overwrite, error=ReportError)
    scores, why_not = [], "--no-scores was given"
    if apart := _apart(records):
        if named:
            raise ReportError(f"{apart}: no text compares them")
        records[1] = dataclasses.replace(records[1], problems=(*records[1].problems, apart))
        why_not = "the runs translate in different directions"
    elif not no_scores:
        try:
            text = asked or _validation_text(records, language)
            shown = 0 if other else examples
            scores = [_scores(one, text, model, search, examples=shown, quiet=quiet) for one in records]
        except (CheckpointError, CorpusError, SearchError) as error:
            if named:  # where the user named a text or a model, it is an error
                raise
            why_not = str(error)
    title = " and ".join(record.folder.absolute().name for record in records)
    compared: dict[str, Any] = {}
    if other is None:
        sections = run_sections(records[0], *scores, why_not=why_not)
    else:
        from heedful.report.two_runs import two_runs_sections

        sections, found = two_runs_sections(records, scores, why_not=why_not)
        compared = {"comparisons": found, "other": _described(scores[1] if scores else None)}
    write_run_page(f"{'Runs' if other else 'Run'} {title}", sections, path, overwrite=overwrite)
    problems = [problem for record in records for problem in record.problems]
    problems += [] if scores else [f"no scores: {why_not}"]
    facts = {"report": path, "sections": [section.title for section in sections], "problems": problems}
    said = [*(f"note: {problem}" for problem in problems), f"{path} is written"]
    shown = facts | _described(scores[0] if scores else None) | compared
    print_result(shown, as_json=as_json, show="\n".join(said))


def _serve(run: Path, *, port: int, as_json: bool) -> None:
    """Show the page of a run until Ctrl-C."""
    from heedful.report.live import live_server
    from heedful.runs.descriptions import read_run

    read_run(run)  # what is no run is said now, and not in the browser
    with live_server(run, port=port) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print_result({"address": address}, as_json=as_json, show=f"{address} shows {run} as it is now; Ctrl-C ends it")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _asked(source: Path | None, reference: Path | None, *, language: str | None, parsing: bool) -> ScoredText | None:
    """The text, or the trees, that the user gave; None for the corpus's own."""
    from heedful.report.run_scores import ScoredText

    if parsing:
        require_no_text(source, language)
        return ScoredText(trees_as_text(read_trees(reference)), reference.name, None) if reference else None
    if language is not None:
        require_language(language)
    if source is None and reference is None:
        return None
    if source is None or reference is None:
        missing = "--source" if source is None else "--reference"
        raise ReportError(f"{missing} is missing: a text to score has both, --source and --reference")
    lines = aligned_lines(source, reference)
    test = TestSet(lines[reference], lines[source])
    return ScoredText(test, f"{source.name} and {reference.name}", language or language_of(reference))


def _model_of(run: Path, model: CheckpointOptions) -> CheckpointOptions:
    """The run's own model; --model may name another checkpoint of it."""
    if model.model is None:
        return dataclasses.replace(model, model=str(run))
    named = Path(model.model).absolute()
    if run.absolute() not in (named, *named.parents):
        raise ReportError(
            f"--model {model.model} is not of the run {run}: give one of its checkpoints, or leave it out"
        )
    return model


def _scores(
    record: RunRecord, text: ScoredText, model: CheckpointOptions, search: SearchChoices, *, examples: int, quiet: bool
) -> RunScores:
    from heedful.report.run_scores import measured_parse_scores, measured_scores
    from heedful.runs.lists import languages

    model = _model_of(record.folder, model)
    if record.description.task == PARSING.name:
        parser = model.parser()
        with progress(unit="sentences", quiet=quiet) as reached:
            return measured_parse_scores(parser, text, options=search.options(parser), report=reached)
    translator = model.translator()
    spoken, options = languages(record.description), search.options(translator)
    own = dataclasses.replace(text, language=text.language or (spoken.target if spoken else None))
    with progress(unit="sentences", quiet=quiet) as reached:
        return measured_scores(translator, own, options=options, examples=examples, report=reached)


def _apart(records: Sequence[RunRecord]) -> str:
    """That the second of two runs translates in another direction than the first; empty where none is known to."""
    from heedful.runs.lists import languages

    spoken = [one for record in records if (one := languages(record.description))]
    if len({*spoken}) < 2:
        return ""
    names = [record.folder.absolute().name for record in records]
    first, second = (f"from {one.source} to {one.target}" for one in spoken)
    return f"{names[1]} translates {second}, and {names[0]} {first}"


def _validation_text(records: Sequence[RunRecord], language: str | None) -> ScoredText:
    """That of the first run's corpus."""
    from heedful.report.run_scores import ScoredText
    from heedful.runs.record import validation_text, validation_trees

    parsing = records[0].description.task == PARSING.name
    test = validation_trees(records[0]) if parsing else validation_text(records[0])
    whose = "the corpus's" if len(records) == 1 else f"{records[0].folder.absolute().name}'s"
    what = "trees" if parsing else "text"
    return ScoredText(test, f"{whose} validation {what}", language, is_validation=True)


def _described(scores: RunScores | None) -> dict[str, Any]:
    if scores is None:
        return {"text": None, "scores": None, "perplexity": None}
    return {"text": scores.text.about, "scores": scores.report.scores, "perplexity": dict(scores.perplexity)}
