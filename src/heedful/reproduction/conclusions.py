"""What Table 3 says, and how sure one can be of it: differences from base with intervals, and the paper's conclusions.

One training differs from the next by chance alone. How much is seen where a row was trained with several seeds, base
above all: the variance within rows, of all rows together. A difference between two rows has a 95 % interval by
Student's t with as many degrees of freedom. A conclusion has held where the intervals of all its differences lie on
the paper's side of zero, has not held where one lies on the other side, and is else not decided at this budget.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from heedful.evaluation.significance import ConfidenceInterval
from heedful.reproduction.rows import Row

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""What Student's t exceeds in either direction in 5 % of cases, for 1 to 10 degrees of freedom."""
SAME = {"loss": 0.05, "bleu": 0.5}
"""Rows that differ by less are called nearly identical; the paper calls 0.000 nats and 0.1 BLEU so."""
_LEAST_BLEU = 2.0
"""Where base has less, it hardly translates, and BLEU decides nothing."""
Measure = Literal["loss", "bleu"]
Verdict = Literal["held", "not held", "not decided"]


@dataclass(frozen=True)
class Difference:
    """By how much a row lies above another; no interval where nothing was trained twice."""

    value: float
    interval: ConfidenceInterval | None


@dataclass(frozen=True)
class Claim:
    """One row is worse than another: of more loss, or of less BLEU."""

    worse: str
    better: str
    measure: Measure = "loss"


@dataclass(frozen=True)
class Conclusion:
    """A sentence of section 6.2, and what must be so if it is true."""

    sentence: str
    claims: tuple[Claim, ...]
    alike: bool = False
    """The rows of each claim are said to be the same."""


def _worse_than_base(*names: str) -> tuple[Claim, ...]:
    return tuple(Claim(f"table3-{name}", "base") for name in names)


CONCLUSIONS: tuple[Conclusion, ...] = (
    Conclusion("(A) single-head attention is worse than 8 heads", _worse_than_base("a-h1")),
    Conclusion("(A) with too many heads (32) quality drops too", _worse_than_base("a-h32")),
    Conclusion("(B) smaller keys hurt", _worse_than_base("b-dk16", "b-dk32")),
    Conclusion(
        "(C) bigger models are better",
        (
            *_worse_than_base("c-n2", "c-n4", "c-d256", "c-ff1024"),
            *(Claim("base", name) for name in ("table3-c-n8", "table3-c-d1024", "table3-c-ff4096", "big")),
        ),
    ),
    Conclusion("(D) dropout is very helpful", _worse_than_base("d-drop0")),
    Conclusion("(D) label smoothing costs perplexity", (Claim("base", "table3-d-smooth0"),)),
    Conclusion("(D) label smoothing gains BLEU", (Claim("table3-d-smooth0", "base", "bleu"),)),
    Conclusion(
        f"(E) learned positions are as good as sinusoids (within {SAME['loss']} nats and {SAME['bleu']} BLEU)",
        (Claim("table3-e-learned", "base"), Claim("table3-e-learned", "base", "bleu")),
        alike=True,
    ),
)


class Comparison:
    """Rows, each trained once or more often, compared with each other."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {name: list(own) for name, own in groupby(rows, key=lambda row: row.name)}

    @property
    def names(self) -> list[str]:
        """The rows that there are, in their order."""
        return list(self._rows)

    def runs(self, name: str) -> list[Row]:
        return self._rows[name]

    def mean(self, name: str, measure: Measure) -> float:
        return statistics.fmean(getattr(row, measure) for row in self._rows[name])

    def spread(self, measure: Measure) -> tuple[float, int]:
        """The standard deviation from run to run of a row, over all rows, and its degrees of freedom."""
        groups = [[getattr(row, measure) for row in own] for own in self._rows.values()]
        freedom = sum(len(group) - 1 for group in groups)
        squares = sum((value - statistics.fmean(group)) ** 2 for group in groups for value in group)
        return (math.sqrt(squares / freedom) if freedom else math.nan), freedom

    def difference(self, name: str, other: str, measure: Measure) -> Difference:
        """By how much a row lies above another."""
        value = self.mean(name, measure) - self.mean(other, measure)
        spread, freedom = self.spread(measure)
        if not freedom:
            return Difference(value, None)
        half = t_quantile(freedom) * spread * math.sqrt(sum(1 / len(self._rows[one]) for one in (name, other)))
        return Difference(value, ConfidenceInterval(value - half, value + half))

    def verdict(self, conclusion: Conclusion) -> tuple[Verdict, str]:
        """Whether a conclusion held, and the differences that say so."""
        there = [claim for claim in conclusion.claims if {claim.worse, claim.better} <= self._rows.keys()]
        found = [self._claim(claim, alike=conclusion.alike) for claim in there]
        absent = dict.fromkeys(one for claim in conclusion.claims for one in (claim.worse, claim.better))
        absent = [short_name(one) for one in absent if one not in self._rows]
        why = "; ".join([*(text for _, text in found), *([f"not run: {', '.join(absent)}"] if absent else [])])
        verdicts = {verdict for verdict, _ in found}
        if "not held" in verdicts:
            return "not held", why
        return ("held" if verdicts == {"held"} and not absent else "not decided"), why

    def _claim(self, claim: Claim, *, alike: bool) -> tuple[Verdict, str]:
        sign = 1 if claim.measure == "loss" else -1
        found = self.difference(claim.worse, claim.better, claim.measure)
        unit = "nats" if claim.measure == "loss" else "BLEU"
        text = f"{short_name(claim.worse)} − {short_name(claim.better)}: {difference_text(found)} {unit}"
        too_low = claim.measure == "bleu" and self.mean(claim.better, "bleu") < _LEAST_BLEU
        if found.interval is None or too_low:
            return "not decided", f"{text}{', of a model that hardly translates' if too_low else ''}"
        ends = sorted((sign * found.interval.low, sign * found.interval.high))
        if alike:
            same = SAME[claim.measure]
            outside = ends[0] > same or ends[1] < -same
            return ("not held" if outside else "held" if max(map(abs, ends)) < same else "not decided"), text
        return ("held" if ends[0] > 0 else "not held" if ends[1] < 0 else "not decided"), text


def short_name(row: str) -> str:
    """A row's name without the table's."""
    return row.removeprefix("table3-")


def difference_text(found: Difference) -> str:
    """With its sign, and its interval where there is one."""
    if found.interval is None:
        return f"{found.value:+.3f}"
    return f"{found.value:+.3f} [{found.interval.low:+.3f}, {found.interval.high:+.3f}]"


def t_quantile(freedom: int) -> float:
    """What Student's t exceeds in either direction in 5 % of cases.

    >>> t_quantile(3), round(t_quantile(1000), 2)
    (3.182, 1.96)
    """
    z, n = 1.959964, freedom
    series = z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)  # Cornish and Fisher's
    return _T[n - 1] if n <= len(_T) else series


def verdicts(comparison: Comparison) -> Mapping[str, tuple[Verdict, str]]:
    """Every conclusion of the paper, and whether it held."""
    return {conclusion.sentence: comparison.verdict(conclusion) for conclusion in CONCLUSIONS}
