"""Text to text: a trained model with its subwords and a search.

The only place where search and text meet. It reads no files but the model's, and prints nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from heedful.errors import SearchError
from heedful.evaluation.alignments import (
    aligning_layer,
    hard_alignment,
    pharaoh,
    soft_alignment,
    word_weights,
    words_of,
)
from heedful.evaluation.translation_scores import perplexity
from heedful.model.attention_kernels import choose_attention
from heedful.model.devices import chosen_device, computes_in_half
from heedful.runs.models import SavedModel, read_model
from heedful.search.attention_maps import AttentionMaps, attention_maps, forced_maps
from heedful.search.engine import Sentence
from heedful.search.hypotheses import Hypothesis
from heedful.search.model_search import SLOTS, ModelSearch, forced_log_probabilities, in_half_precision
from heedful.search.options import SearchOptions
from heedful.symbols import END_LABEL
from heedful.text.cleaning import clean_line
from heedful.text.sentences import in_parts

PRECISIONS = ("float32", "float64", "bfloat16")
BATCHES_AT_ONCE = 16
"""Batches that are read, sorted by length and translated before their output appears."""
MOST_SOURCE_TOKENS = 256
"""A longer line is translated in parts: no model has learned to translate pages."""

Report = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and of how many."""


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    score: float
    """The log-probability divided by the length penalty: what translations are ranked by."""
    log_probability: float
    """Of all its subwords and the end symbol."""
    ids: tuple[int, ...]
    """Its subwords; of a line that was cut into parts, those of all parts."""


@dataclass(frozen=True)
class Scored:
    """What a model thinks of a given translation."""

    log_probability: float
    """Of all its subwords and the end symbol."""
    token_log_probabilities: tuple[float, ...]
    """Of each subword, and last of the end symbol."""
    pieces: tuple[str, ...]
    """The subwords as text; the end symbol is not among them."""

    @property
    def tokens(self) -> int:
        """Subwords, and one for the end symbol."""
        return len(self.token_log_probabilities)


@dataclass(frozen=True)
class Translated:
    """Translations, and how fast they came; tokens are subwords, END included."""

    outputs: list[str]
    tokens: int
    seconds: float
    device: str

    @property
    def speed(self) -> dict[str, str | float]:
        """Sentences and tokens in a second, and where."""
        return {
            "device": self.device,
            "seconds": self.seconds,
            "sentences_per_second": len(self.outputs) / self.seconds,
            "target_tokens_per_second": self.tokens / self.seconds,
        }


@dataclass(frozen=True)
class Likelihood:
    """How probable a model finds the references; every sentence ends in one more subword and one more word."""

    log_probability: float
    subwords: int
    words: int

    def described(self) -> dict[str, float | None]:
        """The numbers as JSON has them: null for what is not finite."""
        numbers = {
            "per_subword": perplexity(-self.log_probability, self.subwords),
            "per_word": perplexity(-self.log_probability, self.words),
            **dataclasses.asdict(self),
        }
        return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


def _no_report(stage: str, done: int, total: int | None) -> None:
    pass


def distinct(translations: Iterable[Translation]) -> list[Translation]:
    """Without those that read like one before: different subwords may spell the same text."""
    found: dict[str, Translation] = {}
    for translation in translations:
        found.setdefault(translation.text, translation)
    return list(found.values())


class Translator:
    """A trained model that translates text.

    >>> import heedful
    >>> translator = heedful.load("run")  # doctest: +SKIP
    >>> translator.translate(["A dog runs."])  # doctest: +SKIP
    ['Ein Hund rennt.']
    """

    def __init__(
        self, saved: SavedModel, *, device: str = "auto", precision: str = "auto", batch_size: int = 0
    ) -> None:
        self.saved = saved
        self.device = chosen_device(device, error=SearchError)
        self.precision = _precision(precision, self.device)
        self.batch_size = batch_size or SLOTS[self.device.type]
        half = self.precision == "bfloat16"
        model = saved.model.to(self.device, torch.float64 if self.precision == "float64" else torch.float32)
        model.use(choose_attention(saved.config.model, device=self.device, half_precision=False))
        self._half = half
        self.model = in_half_precision(model) if half else model
        self._search = ModelSearch(self.model, batch_size=batch_size, half=half, graphs=self.device.type == "cuda")

    @classmethod
    def load(
        cls, model: Path | str, *, device: str = "auto", precision: str = "auto", batch_size: int = 0
    ) -> Translator:
        """The model of a run folder, of one of its checkpoints, or of this name."""
        return cls(read_model(model), device=device, precision=precision, batch_size=batch_size)

    @property
    def options(self) -> SearchOptions:
        """How this model is meant to be searched: what its run was configured with."""
        return SearchOptions.of(self.saved.config.search)

    def translate(self, lines: Sequence[str], *, options: SearchOptions | None = None) -> list[str]:
        """The best translation of each line; an empty line's is empty."""
        if isinstance(lines, str):
            raise SearchError("translate takes a list of lines: give [text] for one")
        return [best[0].text for best in self.hypotheses(lines, options)]

    def hypotheses(
        self, lines: Iterable[str], options: SearchOptions | None = None, *, prefix: str = "", first: int = 0
    ) -> Iterator[list[Translation]]:
        """The n best translations of each line, in the order of the lines, as soon as they are there.

        ``prefix``: what every translation begins with. ``first``: the number of the first line, on which samples
        depend.
        """
        options = options or self.options
        lines = iter(lines)
        while block := list(itertools.islice(lines, BATCHES_AT_ONCE * self.batch_size)):
            yield from self._block(block, options, prefix=prefix, first=first)
            first += len(block)

    def _block(
        self, lines: list[str], options: SearchOptions, *, prefix: str, first: int
    ) -> Iterator[list[Translation]]:
        forced = tuple(self.saved.target_subwords.encode([prefix])[0].tolist())
        parts = [self._parts(line, number) for number, line in enumerate(lines, start=first + 1)]
        sentences = [
            Sentence((first + owner << 16) + place, source, forced if place == 0 else ())
            for owner, own in enumerate(parts)
            for place, source in enumerate(own)
        ]
        found: dict[int, dict[int, list[Hypothesis]]] = {owner: {} for owner in range(len(lines))}
        ready = 0
        # Of several that are wanted, some may read the same: all that the beam holds are looked at.
        all_of_them = options.method == "beam" and options.n_best > 1
        results = self._search.search(sentences, replace(options, n_best=options.beam_size) if all_of_them else options)
        for sentence, hypotheses in itertools.chain(results, [(None, [])]):
            if sentence is not None:
                found[(sentence.number >> 16) - first][sentence.number] = hypotheses
            while ready < len(lines) and len(found[ready]) == len(parts[ready]):
                own = found.pop(ready)
                yield self._translations([own[number] for number in sorted(own)], options)
                ready += 1

    def _parts(self, line: str, number: int) -> list[np.ndarray]:
        """The ids of a line, or of its parts if it is too long; none of an empty line."""
        line = clean_line(line)
        if not line:
            return []
        encode = self.saved.source_subwords.encode
        ids = encode([line])[0]
        if len(ids) <= MOST_SOURCE_TOKENS:
            return [ids]
        parts = encode(in_parts(line, fits=lambda part: len(encode([part])[0]) <= MOST_SOURCE_TOKENS))
        longest = max(map(len, parts))
        if longest > MOST_SOURCE_TOKENS:
            raise SearchError(
                f"line {number}: a sentence of {longest} subwords, and it has no full stop to cut it at; at most "
                f"{MOST_SOURCE_TOKENS} can be translated at once: put line breaks into it"
            )
        return parts

    def _translations(self, parts: list[list[Hypothesis]], options: SearchOptions) -> list[Translation]:
        if not parts:
            return [Translation("", 0.0, 0.0, ())]
        if not all(parts):
            raise SearchError(f"the scores of {self.saved.weights_from} are not numbers: its training broke down")
        count = max(map(len, parts))
        combined = [[own[min(place, len(own) - 1)] for own in parts] for place in range(count)]
        translations = [
            Translation(
                " ".join(self._text(part.ids) for part in whole),
                sum(part.score for part in whole),
                sum(part.log_probability for part in whole),
                tuple(int(id_) for part in whole for id_ in part.ids),
            )
            for whole in combined
        ]
        return distinct(translations)[: options.n_best]

    def _text(self, ids: np.ndarray) -> str:
        """The text of ids, on one line: a line's end inside it would shift every line after it in a file."""
        return self.saved.target_subwords.decode(ids).replace("\n", " ")

    def scores(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
        """What the model thinks of each target as a translation of its source."""
        pairs = iter(pairs)
        source_subwords, target_subwords = self.saved.source_subwords, self.saved.target_subwords
        while block := list(itertools.islice(pairs, BATCHES_AT_ONCE * self.batch_size)):
            sources = source_subwords.encode([clean_line(source) for source, _ in block])
            targets = target_subwords.encode([clean_line(target) for _, target in block])
            found = forced_log_probabilities(self.model, list(zip(sources, targets, strict=True)), half=self._half)
            for ids, values in zip(targets, found, strict=True):
                pieces = tuple(target_subwords.pieces(ids))
                yield Scored(float(values.sum()), tuple(float(value) for value in values), pieces)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """What the model thinks of each target as a translation of its source."""
        if len(sources) != len(targets):
            raise SearchError(f"{len(sources)} sources and {len(targets)} targets: each source needs one")
        return list(self.scores(zip(sources, targets, strict=True)))

    def measured(
        self, lines: Sequence[str], *, options: SearchOptions | None = None, report: Report = _no_report
    ) -> Translated:
        """The best translation of each line, and how fast they came."""
        outputs: list[str] = []
        tokens, began = 0, time.perf_counter()
        for hypotheses in self.hypotheses(lines, options):
            outputs.append(hypotheses[0].text)
            tokens += len(hypotheses[0].ids) + 1
            report("translating", len(outputs), len(lines))
        return Translated(outputs, tokens, time.perf_counter() - began, str(self.device))

    def likelihood(
        self, sources: Sequence[str], references: Sequence[str], *, report: Report = _no_report
    ) -> Likelihood:
        """How probable the model finds the references, given their sources."""
        total, subwords = 0.0, 0
        pairs = zip(sources, references, strict=True)
        for done, scored in enumerate(self.scores(pairs), start=1):
            total += scored.log_probability
            subwords += scored.tokens
            report("reading the references", done, len(references))
        return Likelihood(total, subwords, sum(len(line.split()) + 1 for line in references))

    def attention(self, line: str, *, target: str | None = None, options: SearchOptions | None = None) -> AttentionMaps:
        """Every attention weight of the computation that translates a line, or that is given its translation."""
        parts = self._parts(line, 1)
        if len(parts) != 1:
            raise SearchError("attention is shown for one sentence: the text is " + ("too long" if parts else "empty"))
        if target is not None:
            ids = self.saved.target_subwords.encode([clean_line(target)])[0]
            hypothesis, weights = forced_maps(self.model, parts[0], ids, half=self._half)
        else:
            hypothesis, weights = attention_maps(self._search, parts[0], options or self.options)
        source, target_subwords = self.saved.source_subwords, self.saved.target_subwords
        return AttentionMaps(
            clean_line(line),
            self._text(hypothesis.ids),
            [*source.pieces(parts[0]), END_LABEL],
            [*target_subwords.pieces(hypothesis.ids), END_LABEL],
            **weights,
            log_probability=hypothesis.log_probability,
            score=hypothesis.score,
        )

    def alignments(self, line: str, translations: Sequence[Translation], *, layer: int | None = None) -> list[str]:
        """For each translation of a line the source word that each of its words attends to most, in Pharaoh's format.

        ``layer``: the decoder layer that is asked, counted from 1; `aligning_layer` when not given.
        """
        layers = self.saved.config.model.decoder_layers
        layer = aligning_layer(layers) if layer is None else layer
        if not 1 <= layer <= layers:
            raise SearchError(f"layer {layer}: this model's decoder has layers 1 to {layers}")
        source = self.saved.source_subwords.encode([clean_line(line)])[0]
        source_words = words_of(self.saved.source_subwords.pieces(source))
        found: list[str] = []
        for translation in translations:
            target_words = words_of(self.saved.target_subwords.pieces(translation.ids))
            if not target_words:
                found.append("")
                continue
            _, weights = forced_maps(self.model, source, np.array(translation.ids), half=self._half)
            soft = word_weights(soft_alignment(weights["cross"][layer - 1]), source=source_words, target=target_words)
            found.append(pharaoh(hard_alignment(soft)))
        return found

    def forbidding(self, words: Iterable[str], options: SearchOptions | None = None) -> SearchOptions:
        """The options, with these words forbidden: no output holds the subwords of one in a row."""
        options = options or self.options
        ids = [tuple(ids.tolist()) for ids in self.saved.target_subwords.encode([word.strip() for word in words])]
        return replace(options, forbidden=(*options.forbidden, *ids))


def load(model: Path | str, *, device: str = "auto", precision: str = "auto", batch_size: int = 0) -> Translator:
    """A trained model, ready to translate: a run folder, one of its checkpoints, or a model that comes with heedful.

    ``device``: auto, cpu, cuda or cuda:N. ``precision``: auto (bfloat16 on CUDA, else float32), bfloat16, float32 or
    float64. ``batch_size``: sentences decoded together; 0 leaves it to the device.
    """
    return Translator.load(model, device=device, precision=precision, batch_size=batch_size)


def _precision(wanted: str, device: torch.device) -> str:
    if wanted not in ("auto", *PRECISIONS):
        raise SearchError(f"precision {wanted}: must be auto, {', '.join(PRECISIONS)}")
    if computes_in_half(wanted, device, error=SearchError, setting="precision"):
        return "bfloat16"
    return "float32" if wanted == "auto" else wanted
