"""``heedful compare``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from heedful.cli.evaluation_display import print_comparison
from heedful.cli.model_options import RunningOptions, SearchChoices
from heedful.cli.options import AsJson, Draws, Examples, Flag, Seed
from heedful.cli.terminal import print_json, progress
from heedful.errors import ScoreError
from heedful.evaluation.counts import system_counts
from heedful.evaluation.sentences import System, TestSet, leads
from heedful.evaluation.significance import LEVEL, RESAMPLES, SEED, TRIALS, comparisons
from heedful.runs.folder import bundled_models
from heedful.text.reading import read_lines, require_aligned


def compare(
    a: Path,
    b: Path,
    /,
    *,
    reference: Path,
    source: Path | None = None,
    examples: Examples = 3,
    resamples: Draws = RESAMPLES,
    trials: Draws = TRIALS,
    resample_seed: Seed = SEED,
    quiet: Flag = False,
    as_json: AsJson = False,
    running: RunningOptions = RunningOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Say whether one system is better than another, or whether the difference may be luck.

    By BLEU, chrF and TER: intervals and p-values of paired bootstrap resampling and of approximate randomisation, and
    the sentences where the two differ most. docs/scores.md says how to read them.

    Args:
        a: A file with translations, or a model: its folder, or the name of one that comes with heedful.
        b: The other one.
        reference: How the sentences should be translated, one a line.
        source: The text to translate; needed if one of the two is a model.
        examples: How many sentences to show where A leads most, and where B does.
        resamples: How many test sets to draw for the bootstrap.
        trials: How often to exchange outputs at random.
        resample_seed: What both are drawn with.
        quiet: Show no progress.
        as_json: Print JSON.

    Examples:
        heedful compare old.out new.out --source test.en --reference test.de
        heedful compare old.out runs/base --source test.en --reference test.de --json
    """
    files = [path for path in (a, b) if not _is_model(path)]
    if len(files) == 2:
        search.require_none(f"{a} and {b} are files, and nothing is searched for")
    search.asked()  # what cannot be honoured is said before anything is read
    if len(files) < 2 and source is None:
        raise ScoreError(f"{b if a in files else a} is a model, and --source was not given to translate")
    read = [(path, read_lines(path)) for path in (reference, source, *files) if path is not None]
    require_aligned(read)
    lines = dict(read)
    test = TestSet(lines[reference], None if source is None else lines[source])
    outputs_a, outputs_b = (
        lines[path] if path in files else _translations(path, test, running, search, quiet=quiet) for path in (a, b)
    )
    counts_a, counts_b = (system_counts(outputs, test.references) for outputs in (outputs_a, outputs_b))
    found = comparisons(counts_a, counts_b, resamples=resamples, trials=trials, seed=resample_seed)
    differing = leads(test, System(outputs_a, counts_a.chrf), System(outputs_b, counts_b.chrf), count=examples)
    facts = {
        "a": str(a),
        "b": str(b),
        "source": None if source is None else str(source),
        "reference": str(reference),
        "sentences": len(test.references),
        "comparisons": [{**dataclasses.asdict(row), "better": row.better()} for row in found],
        "level": LEVEL,
        "resamples": resamples,
        "trials": trials,
        "seed": resample_seed,
        "examples": dataclasses.asdict(differing),
    }
    if as_json:
        print_json(facts)
    else:
        print_comparison(facts)


def _is_model(path: Path) -> bool:
    return path.is_dir() or (not path.exists() and str(path) in bundled_models())


def _translations(
    run: Path, test: TestSet, running: RunningOptions, search: SearchChoices, *, quiet: bool
) -> list[str]:
    translator = dataclasses.replace(running, model=str(run)).translator()
    options = search.options(translator)
    with progress(unit="sentences", quiet=quiet) as report:
        return translator.measured(test.sources or [], options=options, report=report).outputs
