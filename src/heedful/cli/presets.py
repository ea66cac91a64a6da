"""``heedful presets``, ``config`` and ``completion``: what can be set, and by which key."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts.completion.detect import ShellDetectionError, detect_shell

from heedful.cli.main import COMMANDS, app_of
from heedful.cli.options import AsJson, Configured, Flag, whole_number
from heedful.cli.terminal import console, plain_table, print_result, print_text
from heedful.config import to_toml
from heedful.errors import HeedfulError
from heedful.presets import ALL, parameter_count, preset, resolve


def presets(
    *names: str, vocab_size: Annotated[int | None, whole_number(1, 1_000_000_000)] = None, as_json: AsJson = False
) -> None:
    """List the ready-made configurations with their exact sizes.

    --json prints each preset's complete configuration too.

    Args:
        names: Only these presets; all when none is named.
        vocab_size: Count the parameters for this many subwords instead of each preset's own vocabulary.

    Examples:
        heedful presets
        heedful presets base big --vocab-size 32000 --json
    """
    rows: list[dict[str, Any]] = []
    for item in [preset(name) for name in names] or ALL:
        made = item.make()
        size = vocab_size or made.data.vocab_size
        row = {"name": item.name, "source": item.source, "about": item.about, "vocab_size": size}
        row["parameters"] = parameter_count(made.model, vocab_size=size)
        rows.append(row | {"paper_parameters_millions": item.paper_parameters, "config": made})
    print_result(rows, as_json=as_json, show=_print)


def _print(rows: list[dict[str, Any]]) -> None:
    numbers = ("vocabulary", "parameters", "paper")
    table = plain_table("preset", "from", *numbers, "what it is", right=numbers)
    for row in rows:
        paper = f"{row['paper_parameters_millions']} M" if row["paper_parameters_millions"] else "–"
        sizes = f"{row['vocab_size']:,}", f"{row['parameters']:,}"
        table.add_row(row["name"], row["source"], *sizes, paper, row["about"])
    console().print(table)
    console().print(
        "\nparameters: exact, for the stated vocabulary. paper: as printed there; no single vocabulary gives every"
        " figure it prints.\n`heedful config --preset NAME` shows every setting.",
        style="dim",
    )


def config(*, chosen: Configured = Configured(), as_json: AsJson = False) -> None:  # noqa: B008
    """Show the complete configuration that a command would use, and check it.

    Values come from the preset, then the file, then --set; the last one given wins.

    Examples:
        heedful config --preset big > run.toml
        heedful config --config run.toml --set training.steps=5000 --set model.dropout=0.2
    """
    resolved = resolve(name=chosen.preset, file=chosen.config, settings=chosen.set_)
    print_result(resolved, as_json=as_json, show=to_toml(resolved).removesuffix("\n"))


def completion(shell: Literal["bash", "zsh", "fish", "powershell"] | None = None, /, *, install: Flag = False) -> None:
    """Make the Tab key complete commands and options in your shell.

    Prints the script that teaches it to the shell; with --install the script is put where the shell looks for it, and
    a line that loads it is added to the shell's start-up file. `heedful --install-completion` does the same.

    Args:
        shell: The shell; when not given, the one that this command was started from.
        install: Install the script instead of printing it.

    Examples:
        heedful completion --install
        heedful completion zsh > _heedful
    """
    try:
        shell = shell or detect_shell()
    except ShellDetectionError:
        raise HeedfulError("which shell is this? Give its name: bash, zsh, fish or powershell") from None
    app = app_of(*COMMANDS)
    if install:
        print_text(f"{app.install_completion(shell=shell)} is written; open a new {shell}, and Tab completes heedful")
    else:
        print_text(app.generate_completion(shell=shell))
