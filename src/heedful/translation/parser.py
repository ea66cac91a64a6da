"""Sentences to trees: a model that was trained for parsing, or several together, and a search (section 6.3)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from heedful.background import Report, no_report
from heedful.errors import SearchError
from heedful.parsing.trees import Tree, tree_of
from heedful.runs.saved import SavedModel, read_model
from heedful.search.attention_maps import AttentionMaps, attention_maps
from heedful.search.ensemble import require_alike
from heedful.search.on_torch import put_on_torch
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence
from heedful.search.tree_shape import TreeShape
from heedful.tasks import PARSING
from heedful.text.cleaning import clean_line

_BATCHES_AT_ONCE = 16
"""Batches that are read, sorted by length and parsed before their output appears."""


@dataclass(frozen=True)
class Parse:
    """What a model says of a sentence."""

    tree: Tree | None
    """None where its symbols make no tree over the words, which only a search without constraints finds."""
    symbols: tuple[str, ...]
    log_probability: float
    score: float

    def __str__(self) -> str:
        """The tree in brackets, or the symbols that are none."""
        return str(self.tree) if self.tree else " ".join(self.symbols)


class Parser:
    """A trained model, or several together, that parse sentences of words.

    >>> parser = Parser.load("run")  # doctest: +SKIP
    >>> print(next(parser.parses(["A dog barks .".split()]))[0])  # doctest: +SKIP
    (ROOT (S (NP (DT A) (NN dog)) (VP (VBZ barks)) (. .)))
    """

    def __init__(
        self,
        saved: SavedModel,
        *others: SavedModel,
        constrained: bool = True,
        **running: Any,
    ) -> None:
        """``constrained``: every output is a tree over exactly the words; otherwise it is whatever the model says.
        ``running``: device, precision, batch size and threads, as `put_on_torch` takes them.
        """
        for own in (saved, *others):
            if own.description.task != PARSING.name:
                raise SearchError(f"{own.run} was trained for {own.description.task}, not for parsing")
        require_alike((saved, *others))
        self.saved, self.constrained = saved, constrained
        found = put_on_torch(saved, *others, **running, constrained=constrained)
        self.device, self.batch_size, self._search = found.device, found.batch_size, found.search

    @classmethod
    def load(cls, *models: Path | str, device: str = "auto", precision: str = "auto", batch_size: int = 0) -> Parser:
        """A trained model, or several of one corpus that parse together, as `Translator.load` takes them."""
        return cls(*map(read_model, models), device=device, precision=precision, batch_size=batch_size)

    @property
    def options(self) -> SearchOptions:
        """How this model is meant to be searched: what its run was configured with."""
        return SearchOptions.of(self.saved.config.search)

    def parses(
        self, sentences: Iterable[Sequence[str]], options: SearchOptions | None = None, *, first: int = 0
    ) -> Iterator[list[Parse]]:
        """The n best parses of each sentence, in their order; none of a sentence without words.

        ``first``: the number of the first sentence, on which samples depend.
        """
        options, sentences = options or self.options, iter(sentences)
        if options.forbidden or options.glossary:
            raise SearchError("forbidden texts and a glossary are for translations: a tree has no text of its own")
        while block := list(itertools.islice(sentences, _BATCHES_AT_ONCE * self.batch_size)):
            asked = [self._asked(first + place, words, options) for place, words in enumerate(block) if words]
            found: dict[int, list[Parse]] = {}
            for sentence, hypotheses in self._search.search(asked, options):
                if not hypotheses:
                    raise SearchError(
                        f"the scores of {self.saved.weights_from} are not numbers: its training broke down"
                    )
                words = block[sentence.number - first]
                found[sentence.number] = [self._parse(one, words) for one in hypotheses]
            yield from (found.get(first + place, []) for place in range(len(block)))
            first += len(block)

    def measured(
        self, sentences: Sequence[str], *, options: SearchOptions | None = None, report: Report = no_report
    ) -> tuple[list[str], dict[str, str | float]]:
        """The best parse of each sentence, of words between spaces, as text; and how fast they came, and where."""
        outputs, began = list[str](), time.perf_counter()
        stage = "parsing" if self.constrained else "parsing, unconstrained"
        for parses in self.parses((words.split(" ") for words in sentences), options):
            outputs.append(str(parses[0]))
            report(stage, len(outputs), len(sentences))
        seconds = time.perf_counter() - began
        return outputs, {"device": str(self.device), "seconds": seconds, "sentences_per_second": len(outputs) / seconds}

    def attention(self, words: Sequence[str], options: SearchOptions | None = None) -> AttentionMaps:
        """Every attention weight of a sentence and its best parse."""
        asked = self._asked(0, words, options or self.options)
        ((_, found),) = self._search.search([asked], options or self.options)
        best, vocabularies = found[0], (self.saved.source_subwords, self.saved.target_vocabulary)
        texts = " ".join(words), str(self._parse(best, words))
        maps = attention_maps(self._search.read, texts, (asked.source, best.ids), vocabularies)
        return replace(maps, log_probability=best.log_probability, score=best.score)

    def _asked(self, number: int, words: Sequence[str], options: SearchOptions) -> Sentence:
        (ids,) = self.saved.source_subwords.encode([clean_line(" ".join(words))])
        if self.constrained and options.limit(len(ids)) < TreeShape.fewest(len(words)):
            raise SearchError(
                f"a tree over {len(words):,} words has at least {TreeShape.fewest(len(words)):,} symbols, and "
                f"{options.limit(len(ids)):,} are allowed: raise max_length or max_extra_length"
            )
        return Sentence(number, ids, begins=TreeShape.begin(len(words)) if self.constrained else 0)

    def _parse(self, hypothesis: Hypothesis, words: Sequence[str]) -> Parse:
        symbols = self.saved.target_vocabulary.pieces(np.asarray(hypothesis.ids))
        try:
            tree = tree_of(symbols, words)
        except ValueError:
            tree = None
        return Parse(tree, tuple(symbols), hypothesis.log_probability, hypothesis.score)
