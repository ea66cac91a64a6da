"""Options that several commands take, each said once: its type, how it is read, and which values it allows.

A number with bounds is an annotated type, so that a command's signature says what it takes:

    samples: Annotated[int, whole_number(0, 100_000)] = 3

What is not allowed is refused by name, and never rounded, bent or ignored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from cyclopts.help import DefaultFormatter

from heedful.config import Rule
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from cyclopts import Token
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

MOST = 2**63 - 1
"""The largest whole number that every part can hold."""
_LONGEST = 40
"""Characters of a wrong value that are shown."""
_MORE = "More"


@dataclass(frozen=True)
class Bounds:
    """What a number may be; called by cyclopts with what was given, it gives the number or says what is wrong."""

    rule: Rule
    whole: bool = True

    def __call__(self, _: Any, tokens: Sequence[Token]) -> float:
        (token,) = tokens
        found = self._number(token.value)
        if found is None or not self.rule.allows(found):
            kind = "" if found is not None else "a whole number, " if self.whole else "a number, "
            shown = token.value if len(token.value) <= _LONGEST else token.value[:_LONGEST] + "…"
            raise HeedfulError(f"{token.keyword} {shown}: must be {kind}{self.rule.allowed()}")
        return found

    def _number(self, text: str) -> float | None:
        with contextlib.suppress(ValueError):
            return int(text) if self.whole else float(text)
        with contextlib.suppress(ValueError):
            if (number := float(text)).is_integer():  # 1e6 is a whole number too
                return int(number)
        return None


def whole_number(least: int, most: int = MOST) -> Parameter:
    """An option that takes a whole number from ``least`` to ``most``."""
    return number(Rule("", at_least=least, at_most=most), whole=True)


def number(rule: Rule, *, whole: bool = False) -> Parameter:
    """An option that takes a number which the rule of a setting allows."""
    return Parameter(converter=Bounds(rule, whole=whole))


def more(of: str) -> Parameter:
    """An option that few people need: ``--help-all`` shows it, in a group of such options."""
    return Parameter(group=Group(f"{_MORE} {of}", sort_key=9))


MORE_OUTPUT = more("about the output")
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""An option that is given or not."""
Repeated = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]
"""An option that may be given several times."""
Seed = Annotated[int, whole_number(0)]
Examples = Annotated[int, whole_number(0, 10_000)]
Minutes = Annotated[float | None, number(Rule("", above=0, at_most=10**9))]
Draws = Annotated[int, whole_number(1, 1_000_000)]
"""How often chance is asked."""
Input = Annotated[Path | None, Parameter(name="--input")]
NBest = Annotated[int, whole_number(1, 1000), MORE_OUTPUT]
WithScores = Annotated[Flag, MORE_OUTPUT]

# Their help is the same wherever they are taken, and stands here; where a command has more to say, it says it after.
AsJson = Annotated[Flag, Parameter(name="--json", help="Print JSON.")]
Overwrite = Annotated[Flag, Parameter(help="Replace what is there already.")]
Quiet = Annotated[Flag, Parameter(help="Show no progress.")]
Device = Annotated[str, Parameter(help="Where to compute: auto, cpu, cuda or cuda:N.")]
Threads = Annotated[int | None, whole_number(1, 4096), Parameter(help="CPU threads; all cores when not given.")]


class ShortHelp(DefaultFormatter):
    """A command's help without its groups of options that few people need, unless the whole is asked for."""

    def __init__(self, *, whole: bool) -> None:
        super().__init__()
        self._whole = whole

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if self._whole or not str(panel.title).startswith(_MORE):
            super().__call__(console, options, panel)
        else:
            names = " ".join(name for entry in panel.entries for name in entry.names)
            console.print(f"{panel.title} (--help-all explains): {names}", style="dim")


@Parameter(name="*")
@dataclass(frozen=True)
class Configured:
    """Where the settings of a run come from; what stands below an option is its help."""

    preset: str | None = None
    """Start from this ready-made configuration (`heedful presets`); `base` when neither this nor the file names one."""
    config: Path | None = None
    """A TOML file with settings (`heedful config` prints one); `preset = "NAME"` on its first line names its preset."""
    set_: Annotated[Repeated, Parameter(name="--set")] = ()
    """One setting, as in `--set training.steps=5000`; may be repeated."""
