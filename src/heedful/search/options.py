"""What a search is asked for: each option with its default, help and limits, for Python and the command line."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heedful.config import Rule, SearchConfig, bad_value, setting
from heedful.errors import SearchError

_SAMPLES_ONLY = ("temperature", "top_k", "top_p", "seed")
_LONGEST = 1_000_000
_WHOLE = {"at_least": 0, "at_most": _LONGEST}


@dataclass(frozen=True)
class SearchOptions(SearchConfig):
    """How hypotheses are found and ranked; the defaults are the paper's (section 6.1)."""

    method: str = setting(
        "beam",
        "beam; greedy, the most probable subword each time; sample, subwords drawn by their probability",
        choices=("beam", "greedy", "sample"),
    )
    max_length: int = setting(0, "most subwords of a translation, whatever its input; 0: by max_extra_length", **_WHOLE)
    min_length: int = setting(0, "fewest subwords of a translation", **_WHOLE)
    n_best: int = setting(1, "outputs for each sentence, at most", at_least=1, at_most=10_000)
    stop: str = setting(
        "exact",
        "exact: search on until nothing better can come; enough: until beam_size translations have ended",
        choices=("exact", "enough"),
    )
    # Nearer to 0, scores divided by it would be infinite; 100 is as good as even.
    temperature: float = setting(
        1.0, "when sampling: below 1 nearer to the most probable, above 1 freer", at_least=0.01, at_most=100
    )
    top_k: int = setting(0, "when sampling: from the so many most probable; 0: all", at_least=0, at_most=1_000_000_000)
    top_p: float = setting(
        1.0, "when sampling: from the fewest subwords that have this probability together", above=0, at_most=1
    )
    seed: int = setting(1, "when sampling: another number gives other translations", at_least=0, at_most=2**63 - 1)
    drafts: int = setting(
        0,
        "of greedy search: subwords guessed after each one and checked at once with it, which changes no translation",
        at_least=0,
        at_most=16,
    )
    forbidden: tuple[str, ...] = ()
    """Texts that no output holds, see `heedful.search.spelling`."""
    glossary: tuple[tuple[str, str], ...] = ()
    """Terms and what must stand for them in the output of a sentence that holds them."""

    def __post_init__(self) -> None:
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        texts, glossary = values.pop("forbidden"), values.pop("glossary")
        problems = [
            f"{name} = {value}: {problem}"
            for name, value in values.items()
            if (problem := bad_value(SearchOptions, name, value))
        ]
        if not isinstance(texts, tuple) or not all(isinstance(text, str) and text.strip() for text in texts):
            problems.append(f"forbidden = {texts!r:.80}: must be a tuple of texts, none of them empty")
        elif any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            problems.append(f"forbidden = {texts!a:.80}: a lone surrogate is no character")
        if not isinstance(glossary, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in glossary):
            problems.append(f"glossary = {glossary!r:.80}: must be a tuple of pairs, each a term and its translation")
        elif glossary and self.method != "beam":
            problems.append(f"a glossary: for beam search alone, and this is {self.method} search")
        asked = {name for name, value in values.items() if value != rule_of(name)[0]}
        problems = problems or conflicts(values, asked, shown=lambda name: f"{name} = {values[name]}")
        if problems:
            raise SearchError("; ".join(problems))

    @classmethod
    def of(cls, config: SearchConfig) -> SearchOptions:
        """What a model's configuration asks for."""
        return cls(**dataclasses.asdict(config))

    @property
    def beams(self) -> int:
        """Rows that a sentence needs; greedy search has one, whatever beam_size is."""
        return 1 if self.method == "greedy" else self.beam_size

    def limit(self, source_length: int) -> int:
        """The most words that the output for a source of so many subwords may have."""
        return max(self.max_length or source_length + self.max_extra_length, self.min_length)

    def greedy(self) -> SearchOptions:
        """The same, with the most probable word each time."""
        return replace(self, method="greedy", beam_size=1, n_best=1)


@functools.cache
def rule_of(name: str) -> tuple[Any, Rule]:
    """The default of an option, and what it means and allows."""
    item = next(item for item in dataclasses.fields(SearchOptions) if item.name == name)
    return item.default, item.metadata["rule"]


def conflicts(values: Mapping[str, Any], asked: Collection[str], *, shown: Callable[[str], str]) -> list[str]:
    """What cannot be honoured beside the other options: a line for each, with the option as it is ``shown``.

    ``asked``: the names of the options that somebody asked for.
    """
    method = values["method"]
    problems = [
        f"{shown(name)}: for samples alone, and this is {method} search"
        for name in _SAMPLES_ONLY
        if name in asked and method != "sample"
    ]
    if "stop" in asked and method != "beam":
        problems.append(f"{shown('stop')}: for beam search alone, and this is {method} search")
    if "drafts" in asked and values["drafts"] and method != "greedy":
        why = "beams would have to be guessed all at once" if method == "beam" else "what is drawn cannot be guessed"
        problems.append(f"{shown('drafts')}: for greedy search alone, and this is {method} search, where {why}")
    if method == "greedy" and values["n_best"] > 1:
        problems.append(f"{shown('n_best')}: greedy search finds one output")
    elif values["n_best"] > values["beam_size"]:
        problems.append(f"{shown('n_best')}: must be at most {shown('beam_size')}")
    if 0 < values["max_length"] < values["min_length"]:
        problems.append(f"{shown('min_length')} is above {shown('max_length')}")
    return problems
