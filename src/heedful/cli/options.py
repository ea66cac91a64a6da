"""Options that several commands take, each said once: its type, how it is read, and which values it allows.

A number with bounds is an annotated type, so that a command's signature says what it takes:

    samples: Annotated[int, whole_number(0, 100_000)] = 3

What is not allowed is refused by name, and never rounded, bent or ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from cyclopts import Token

MOST = 2**63 - 1
"""The largest whole number that every part can hold."""
_LONGEST = 40
"""Characters of a wrong value that are shown."""


@dataclass(frozen=True)
class Bounds:
    """What a number may be; called by cyclopts with what was given, it gives the number or says what is wrong."""

    least: float
    most: float
    whole: bool = True
    above: bool = False
    """``least`` itself is not allowed."""
    below: bool = False
    """``most`` itself is not allowed."""

    def __call__(self, _: Any, tokens: Sequence[Token]) -> float:
        (token,) = tokens
        found = _whole(token.value) if self.whole else _number(token.value)
        if found is None or not self.allows(found):
            kind = "" if found is not None else "a whole number, " if self.whole else "a number, "
            shown = token.value if len(token.value) <= _LONGEST else token.value[:_LONGEST] + "…"
            raise HeedfulError(f"{token.keyword} {shown}: must be {kind}{self.allowed()}")
        return found

    def allows(self, number: float) -> bool:
        """Whether the number lies within; what is not a number does not."""
        from_below = self.least < number if self.above else self.least <= number
        return from_below and (number < self.most if self.below else number <= self.most)

    def allowed(self) -> str:
        """The bounds in words."""
        low, high = ("above" if self.above else "at least"), ("below" if self.below else "at most")
        return f"{low} {self.least:,}" + ("" if self.most == MOST else f" and {high} {self.most:,}")


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:  # 1e6 is a whole number too
        number = _number(text)
        return int(number) if number is not None and number.is_integer() else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def whole_number(least: int, most: int = MOST) -> Parameter:
    """An option that takes a whole number from ``least`` to ``most``."""
    return Parameter(converter=Bounds(least, most))


def number(least: float, most: float, *, above: bool = False, below: bool = False) -> Parameter:
    """An option that takes a number from ``least`` to ``most``, without the first or the last where it is said so."""
    return Parameter(converter=Bounds(least, most, whole=False, above=above, below=below))


Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""An option that is given or not."""
AsJson = Annotated[bool, Parameter(name="--json", negative=(), show_default=False)]
Repeated = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]
"""An option that may be given several times."""
Settings = Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)]
Seed = Annotated[int, whole_number(0)]
Threads = Annotated[int | None, whole_number(1, 4096)]
Examples = Annotated[int, whole_number(0, 10_000)]
Draws = Annotated[int, whole_number(1, 1_000_000)]
"""How often chance is asked."""
