"""How numbers are shown: where a value stands on an axis, which values are named, and durations in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MOST_TICKS = 6


@dataclass(frozen=True)
class Scale:
    """From values between ``low`` and ``high`` to places between ``begin`` and ``end``."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a value stands; values outside stand outside."""
        value, low, high = (self._measured(number) for number in (value, self.low, self.high))
        return self.begin + (value - low) / ((high - low) or 1.0) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """The round values that are named on the axis."""
        return log_ticks(self.low, self.high) if self.logarithmic else linear_ticks(self.low, self.high)

    def _measured(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def linear_ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """At most so many round values from ``low`` to ``high``, in equal steps of 1, 2 or 5 times a power of ten.

    >>> linear_ticks(0, 23), linear_ticks(0, 0.0007, 4)
    ([0.0, 5.0, 10.0, 15.0, 20.0], [0.0, 0.0002, 0.0004, 0.0006])
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (factor * power for factor in (1, 2, 5, 10, 20, 50))
    step = next(step for step in steps if math.floor(high / step) - math.ceil(low / step) < most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Rounded to the step's own digits: 3 · 0.0002 is not 0.0006 to the last bit.
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with their doubles and fivefolds where there is room for them.

    >>> log_ticks(3, 150), log_ticks(0.5, 2e6)
    ([5.0, 10.0, 20.0, 50.0, 100.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**decade for decade in decades for factor in factors]
        found = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(found) <= MOST_TICKS + 2:
            break
    return found if len(found) >= 2 else linear_ticks(low, high)


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """The values as an axis shows them, all in one manner unless they lie far apart.

    >>> tick_texts([0.0, 0.5, 1.0]), tick_texts([0, 50_000, 100_000]), tick_texts([0, 2e-5]), tick_texts([0.1, 1e5])
    (['0', '0.5', '1'], ['0', '50k', '100k'], ['0', '2e-5'], ['0.1', '100k'])
    """
    sizes = [abs(tick) for tick in ticks if tick]
    if sizes and max(sizes) > 1e3 * min(sizes):
        return [_tick_text(tick, abs(tick)) for tick in ticks]
    return [_tick_text(tick, max(sizes, default=0.0)) for tick in ticks]


def duration_text(seconds: float) -> str:
    """A time as a person says it: seconds, minutes, hours or days, whichever reads best.

    >>> duration_text(30), duration_text(740), duration_text(12_000), duration_text(200_000)
    ('30 seconds', '12.3 minutes', '3.3 hours', '2.3 days')
    """
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _tick_text(tick: float, largest: float) -> str:
    """A value on an axis whose largest one is of this size."""
    if not tick:
        return "0"
    for size, unit, sign in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if largest >= size:
            return f"{tick / unit:g}{sign}"
    if largest < 1e-3:
        digits, _, exponent = f"{tick:.2e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{tick:,.10g}".replace("-", "−")
