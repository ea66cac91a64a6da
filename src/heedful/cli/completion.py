"""``heedful completion``."""

from __future__ import annotations

from typing import Literal

from cyclopts.completion.detect import ShellDetectionError, detect_shell

from heedful.cli.main import COMMANDS, app_of
from heedful.cli.options import Flag
from heedful.cli.terminal import print_text
from heedful.errors import HeedfulError


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
