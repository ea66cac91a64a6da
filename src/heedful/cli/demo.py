"""``heedful demo``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from heedful.cli.model_options import EngineName
from heedful.cli.options import AsJson, Device, Flag, Quiet, Seed, number, whole_number
from heedful.cli.terminal import console, plain_table, print_json, print_text, progress, say, visible
from heedful.config import Rule
from heedful.demo.plan import MINUTES, DemoPlan, start_demo

if TYPE_CHECKING:
    from heedful.demo.results import DemoResults
    from heedful.demo.stages import Trained

_MOST_THREADS = 4
"""The model is small: more threads would only wait for each other."""


def demo(
    *,
    output: Path = Path("demo"),
    minutes: Annotated[float, number(Rule("", above=0, at_most=100_000))] = MINUTES,
    seed: Seed = 1,
    device: Device = "auto",
    engine: EngineName = "torch",
    threads: Annotated[int | None, whole_number(1, 4096)] = None,
    overwrite: Flag = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """See everything work in minutes: prepare text, train, translate what was never seen, explain.

    The text comes with heedful, so nothing is downloaded. A program has written it: what the model learns is a small
    grammar of English and German.
    Stop it whenever you like: the same command goes on where it was.

    Args:
        output: The folder for all of it.
        minutes: How long it may take; with less there is less text, and training may be cut short.
        seed: Another number gives another model of the same sentences: other first weights, other batches.
        engine: What translates in the end: torch; ctranslate2, on a CPU in int8 and faster; or auto, ctranslate2 where
            it is installed.
        threads: CPU threads; all cores, but at most 4, when not given.
        overwrite: Start anew in a folder that holds a demo.

    Examples:
        heedful demo
        heedful demo --output demo2 --minutes 10 --seed 2 --json
    """
    began = time.monotonic()
    plan = start_demo(output, seed=seed, minutes=minutes, overwrite=overwrite)
    try:
        results = _results(plan, began=began, device=device, engine=engine, threads=threads, quiet=quiet)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here", quiet=quiet)
        raise
    from heedful.demo.page import next_commands, write_demo_page

    commands = next_commands(plan, program=_program(), sentence=results.examples[0].source)
    write_demo_page(plan, results, commands=commands)
    if as_json:
        print_json({"report": plan.page, "model": plan.run, **vars(results)})
    else:
        _print(results)
        print_text(f"{plan.page} shows all of it ({time.monotonic() - began:.0f} s). What to try next:\n")
        for what, words in commands:
            print_text(f"# {what}\n{words}\n")


def _results(
    plan: DemoPlan, *, began: float, device: str, engine: str, threads: int | None, quiet: bool
) -> DemoResults:
    """Every stage that is not done yet; returns what the last one found."""
    from heedful.demo.results import stored_results, write_results
    from heedful.demo.stages import prepare_text, trained, write_text

    with progress(unit="pairs", quiet=quiet) as report:
        if not write_text(plan, report=report):
            say(f"the generated text is there already: {plan.text}", quiet=quiet)
        if not prepare_text(plan, report=report):
            say(f"it has been prepared already: {plan.corpus}", quiet=quiet)
    training = trained(plan)
    if training is not None:
        say(f"the model has been trained already: {plan.run}", quiet=quiet)
        if (results := stored_results(plan, training)) is not None:
            say(f"it has been scored already: {plan.results}", quiet=quiet)
            return results
    import torch

    torch.set_num_threads(threads or min(_MOST_THREADS, torch.get_num_threads()))
    if training is None:
        training = _train(plan, began=began, device=device, quiet=quiet)
    with progress(unit="sentences", quiet=quiet) as report:
        return write_results(plan, training, device=device, engine=engine, notice=say, report=report)


def _train(plan: DemoPlan, *, began: float, device: str, quiet: bool) -> Trained:
    from heedful.cli.training_display import DemoDisplay
    from heedful.demo.stages import set_training_minutes, train_model

    plan = set_training_minutes(plan, seconds=time.monotonic() - began)
    with DemoDisplay(quiet=quiet) as display:
        training = train_model(plan, device=device, report=display)
    if training.state == "interrupted":
        raise KeyboardInterrupt
    return training


def _program() -> str:
    """How the user has called this program, so that what is printed can be typed."""
    called = Path(sys.argv[0])
    if called.name != "heedful":
        return "heedful"
    below = os.path.relpath(called)
    return str(called) if below.startswith("..") or called.parent == Path() else below


def _print(results: DemoResults) -> None:
    from heedful.demo.page import after_training, percent, score_text

    out = console()
    out.print(f"\n{results.generated}\n", soft_wrap=True)
    for example in results.examples[:4]:
        verdict = "" if example.output == example.reference else f"\n    (reference: {example.reference})"
        # A model that has hardly learnt anything repeats itself.
        output = visible(example.output, most=200) or "(nothing)"
        out.print(f"{example.source}\n  → {output}{verdict}", soft_wrap=True)
    table = plain_table(f"on {results.pairs['test']:,} unseen sentences", "value", "", right=("value",))
    for score in results.scores:
        value, interval = score_text(score)
        table.add_row(score.name, value, f"95 %: {interval}   {score.signature}")
    table.add_row("exactly the reference", percent(results.exact_matches), "")
    found = results.alignment
    beside = f"layer {found.layer} of cross-attention; the diagonal: {found.diagonal:.3f}"
    table.add_row("alignment error rate", f"{found.error_rate:.3f}", beside)
    out.print("", table, "")
    for note in after_training(results.training):
        out.print(f"note: {note}\n", soft_wrap=True)
