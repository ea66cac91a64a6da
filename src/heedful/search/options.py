"""What a search is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heedful.config import SearchConfig
from heedful.errors import SearchError

STOPS = ("exact", "enough")
METHODS = ("beam", "sample", "greedy")


@dataclass(frozen=True)
class SearchOptions:
    """How hypotheses are found and ranked; the defaults are the paper's (section 6.1)."""

    method: str = "beam"
    """``beam``; ``greedy``, the most probable word each time; ``sample``, words drawn by their probability."""
    beam_size: int = 4
    """Hypotheses kept at each step; for samples, how many are drawn."""
    length_penalty: float = 0.6
    """α of ((5 + length) / 6)^α, by which a log-probability is divided; the length counts the end symbol."""
    max_extra_length: int = 50
    """An output has at most the input's length and so many words more."""
    max_length: int = 0
    """If not 0: an output has at most so many words, whatever the input."""
    min_length: int = 0
    """An output has at least so many words."""
    n_best: int = 1
    """Hypotheses returned for each sentence, at most."""
    stop: str = "exact"
    """``exact``: a sentence is done when nothing better can come; ``enough``: when beam_size hypotheses have ended."""
    temperature: float = 1.0
    """Samples: scores are divided by it."""
    top_k: int = 0
    """Samples: from so many most probable words; 0: all."""
    top_p: float = 1.0
    """Samples: from the fewest most probable words that have this probability together."""
    seed: int = 1
    """Samples: a sentence's are a function of this and of its number."""
    forbidden: tuple[tuple[int, ...], ...] = ()
    """Sequences of ids that no output holds."""

    def __post_init__(self) -> None:
        problems = {
            f"method = {self.method}: must be one of {', '.join(METHODS)}": self.method not in METHODS,
            f"stop = {self.stop}: must be one of {', '.join(STOPS)}": self.stop not in STOPS,
            f"beam_size = {self.beam_size}: must be at least 1": self.beam_size < 1,
            f"length_penalty = {self.length_penalty}: must be at least 0": not self.length_penalty >= 0,
            f"n_best = {self.n_best}: must be at least 1 and at most beam_size = {self.beam_size}": not (
                1 <= self.n_best <= self.beam_size
            ),
            f"min_length = {self.min_length}, max_length = {self.max_length}, max_extra_length = "
            f"{self.max_extra_length}: must be at least 0": min(self.min_length, self.max_length, self.max_extra_length)
            < 0,
            f"min_length = {self.min_length} is above max_length = {self.max_length}": 0
            < self.max_length
            < self.min_length,
            f"temperature = {self.temperature}: must be above 0": not self.temperature > 0,
            f"top_k = {self.top_k}: must be at least 0": self.top_k < 0,
            f"top_p = {self.top_p}: must be above 0 and at most 1": not 0 < self.top_p <= 1,
            "a forbidden sequence is empty": not all(self.forbidden),
        }
        if any(problems.values()):
            raise SearchError("; ".join(problem for problem, found in problems.items() if found))

    @classmethod
    def of(cls, config: SearchConfig) -> SearchOptions:
        """What a model's configuration asks for."""
        return cls(
            beam_size=config.beam_size,
            length_penalty=config.length_penalty,
            max_extra_length=config.max_extra_length,
        )

    @property
    def beams(self) -> int:
        """Rows that a sentence needs."""
        return 1 if self.method == "greedy" else self.beam_size

    def limit(self, source_length: int) -> int:
        """The most words that the output for a source of so many subwords may have."""
        return max(self.max_length or source_length + self.max_extra_length, self.min_length)

    def greedy(self) -> SearchOptions:
        """The same, with the most probable word each time."""
        return replace(self, method="greedy", beam_size=1, n_best=1)
