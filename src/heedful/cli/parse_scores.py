"""``heedful evaluate`` and ``heedful compare`` for parses."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.cli.evaluation_display import print_comparison, print_parse_scores
from heedful.cli.model_options import ModelOptions, SearchChoices
from heedful.cli.terminal import new_text, print_result, progress, require_place
from heedful.errors import CheckpointError, ScoreError
from heedful.evaluation.counts import Counted
from heedful.evaluation.significance import LEVEL, comparisons
from heedful.evaluation.translation_scores import with_interval
from heedful.parsing.trees import Tree, read_parses, read_trees
from heedful.runs.saved import task_of
from heedful.tasks import PARSING, TRANSLATION


def is_parsing(task: str | None, models: Sequence[str]) -> bool:
    """Whether parses are to be scored: by what was asked for, or else by what the models have learned."""
    tasks: set[str] = set()
    for name in models:
        with contextlib.suppress(CheckpointError):  # who loads it says what is wrong
            tasks.add(task_of(name))
    if task is not None and tasks - {task}:
        raise ScoreError(f"--task {task}: {models[0]} was trained for {(tasks - {task}).pop()}")
    return (task or next(iter(tasks), TRANSLATION.name)) == PARSING.name


def require_no_text(source: Path | None, language: str | None) -> None:
    """Raise where an option was given that has nothing to act on."""
    for option, given in (("--source", source), ("--language", language)):
        if given is not None:
            raise ScoreError(f"{option} {given}: not for parsing; the words are those of the reference's trees")


def evaluate_parses(
    reference: Path,
    *,
    model: ModelOptions,
    hypothesis: Path | None,
    output: Path | None,
    overwrite: bool,
    search: SearchChoices,
    unconstrained: bool,
    examples: int,
    resamples: int,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Score a model, or a file of trees."""
    gold = read_trees(reference)
    if output is not None:
        require_place(output, overwrite=overwrite)
    measured: dict[str, Any] = {"search": None, "speed": None}
    if hypothesis is not None:
        outputs = read_parses(hypothesis, len(gold))
    else:
        outputs, measured = _of_model(gold, model, search, constrained=not unconstrained, quiet=quiet)
        if output is not None:
            with new_text(output) as write:
                for line in outputs:
                    write(line)
    counts = PARSING.counts(outputs, [str(tree) for tree in gold])
    named = {"task": PARSING.name, "reference": reference, "model": model.model, "hypothesis": hypothesis}
    facts = {
        **named,
        **measured,
        "sentences": len(gold),
        "scores": [with_interval(one, resamples=resamples, seed=seed) for one in counts],
        "examples": _worst(counts[0], outputs, gold, count=examples),
        "resamples": resamples,
        "seed": seed,
    }
    print_result(facts, as_json=as_json, show=print_parse_scores)


def compare_parses(
    a: Path,
    b: Path,
    reference: Path,
    *,
    files: Sequence[Path],
    running: ModelOptions,
    search: SearchChoices,
    resamples: int,
    trials: int,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Say whether one parser is better than another; ``files``: those of the two that are files."""
    gold, rows = read_trees(reference), list[list[Counted]]()
    for path in (a, b):
        if path in files:
            outputs = read_parses(path, len(gold))
        else:
            model = dataclasses.replace(running, model=str(path))
            outputs, _ = _of_model(gold, model, search, constrained=True, quiet=quiet)
        rows.append(PARSING.counts(outputs, [str(tree) for tree in gold]))
    found = comparisons(*rows, resamples=resamples, trials=trials, seed=seed)
    named = {"task": PARSING.name, "a": a, "b": b, "reference": reference, "sentences": len(gold)}
    drawn = {"level": LEVEL, "resamples": resamples, "trials": trials, "seed": seed}
    facts = {
        **named,
        "comparisons": [{**vars(row), "better": row.better()} for row in found],
        **drawn,
    }
    print_result(facts, as_json=as_json, show=print_comparison)


def _of_model(
    gold: Sequence[Tree], model: ModelOptions, search: SearchChoices, *, constrained: bool, quiet: bool
) -> tuple[list[str], dict[str, Any]]:
    """The parses of the references' words, and how fast they came."""
    parser = model.parser(constrained=constrained)
    options, outputs, began = search.options(parser), list[str](), time.perf_counter()
    with progress(unit="sentences", quiet=quiet) as report:
        for parses in parser.parses((tree.words for tree in gold), options):
            outputs.append(str(parses[0]))
            report("parsing", len(outputs), len(gold))
    seconds = time.perf_counter() - began
    speed = {"device": str(parser.device), "seconds": seconds, "sentences_per_second": len(gold) / seconds}
    return outputs, {"search": options, "speed": speed}


def _worst(f1: Counted, outputs: Sequence[str], gold: Sequence[Tree], *, count: int) -> list[dict[str, Any]]:
    scores = f1.sentence_scores
    order = sorted(range(len(gold)), key=scores.__getitem__)[:count]
    return [
        {"line": place + 1, "f1": scores[place], "reference": str(gold[place]), "output": outputs[place]}
        for place in order
    ]
