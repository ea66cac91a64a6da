"""Error rates of sequences that are right or wrong as a whole: words as phonemes, dates as numbers, names.

Works on sequences of symbols, each of which may have several right answers. It does not know of models or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.errors import ScoreError

_Symbols = Sequence[str]


@dataclass(frozen=True)
class ErrorRates:
    """How many outputs are wrong, and how many edits their symbols need."""

    outputs: int
    wrong: int
    """Outputs that equal none of their references."""
    edits: int
    """Insertions, deletions and substitutions that turn each output into its nearest reference."""
    symbols: int
    """Symbols of those nearest references."""

    @property
    def word_error_rate(self) -> float:
        """Share of the outputs that are wrong."""
        return self.wrong / self.outputs

    @property
    def symbol_error_rate(self) -> float:
        """Edits for each symbol of the nearest references; phoneme error rate where the symbols are phonemes."""
        return self.edits / self.symbols


def error_rates(outputs: Sequence[_Symbols], references: Sequence[Sequence[_Symbols]]) -> ErrorRates:
    """Rates over all outputs; an output is right if it equals any of its references.

    >>> rates = error_rates(["T EH S".split()], [["T EH S T".split(), "T AE K S T".split()]])
    >>> rates.word_error_rate, rates.symbol_error_rate
    (1.0, 0.25)
    """
    if len(outputs) != len(references):
        raise ScoreError(f"{len(outputs):,} outputs and {len(references):,} lists of references: each needs its own")
    if not outputs:
        raise ScoreError("no outputs were given, and there is no error rate of nothing")
    wrong = edits = symbols = 0
    for place, (output, allowed) in enumerate(zip(outputs, references, strict=True), start=1):
        if not any(allowed):
            raise ScoreError(f"output {place:,} has no reference to be compared with")
        # Of several references that are as near, the first.
        distances = [(edit_distance(output, reference), len(reference)) for reference in allowed]
        distance, length = min(distances, key=lambda pair: pair[0])
        wrong, edits, symbols = wrong + (distance > 0), edits + distance, symbols + length
    return ErrorRates(len(outputs), wrong, edits, symbols)


def edit_distance(a: _Symbols, b: _Symbols) -> int:
    """The fewest insertions, deletions and substitutions that turn one sequence into the other (Levenshtein).

    >>> edit_distance("kitten", "sitting")
    3
    """
    distances = list(range(len(b) + 1))  # of nothing to the first symbols of b
    for row, symbol in enumerate(a, start=1):
        diagonal, distances[0] = distances[0], row
        for column, other in enumerate(b, start=1):
            best = min(diagonal + (symbol != other), distances[column] + 1, distances[column - 1] + 1)
            diagonal, distances[column] = distances[column], best
    return distances[-1]
