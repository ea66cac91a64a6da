"""What the demo says of itself, in the terminal and on its page alike."""

from __future__ import annotations

import shlex
from typing import Any

from heedful.demo.plan import MINUTES, Tour
from heedful.runs.names import default_model

Command = tuple[str, str]
"""What a command does, and the command."""


def score_text(score: dict[str, Any]) -> tuple[str, str]:
    """A score and its interval as they are printed."""
    return f"{score['value']:.1f}", f"{score['interval']['low']:.1f} – {score['interval']['high']:.1f}"


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def after_training(facts: dict[str, Any]) -> list[str]:
    """What must be known about the training: nothing where it has taken all its steps."""
    training = facts["training"]
    if training["step"] >= training["steps"]:
        return []
    return [
        f"Training was cut short at step {training['step']:,} of {training['steps']:,}: the time was over. The scores "
        f"are those of a model that had not learnt all it can; the same command with more --minutes (on two idle cores "
        f"{MINUTES:g} are enough) goes on from there."
    ]


def next_commands(tour: Tour, *, program: str, sentence: str) -> list[Command]:
    """Things to try, with the paths of this demo."""
    run = shlex.quote(str(tour.run))
    page = shlex.quote(str(tour.folder / "attention.html"))
    said = shlex.quote(sentence)
    yours = (
        f"{program} prepare --source train.en --target train.de --valid-source dev.en --valid-target dev.de "
        f"--exclude test.en --output corpus\n"
        f"{program} train corpus --preset small --output run\n"
        f'{program} translate --model run "A sentence of your own."\n'
        f"{program} evaluate --model run --source test.en --reference test.de\n"
        f'{program} attention --model run "A sentence of your own."'
    )
    real = [
        ("real English, with the model that comes with heedful", f'{program} translate "Where is the nearest station?"')
    ]
    return [
        ("translate a sentence of words that it knows", f"{program} translate --model {run} {said}"),
        ("look at every attention head", f"{program} attention --model {run} {said} --output {page}"),
        *(real if default_model() else []),
        ("your own text, two files of which line n of one translates line n of the other", yours),
    ]
