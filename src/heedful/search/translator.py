"""Text to text: a trained model with its subwords and a search.

The only place where search and text meet. It reads no files but the model's, and prints nothing.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from heedful.background import Report
from heedful.errors import SearchError
from heedful.evaluation.alignments import (
    Links,
    aligning_layer,
    hard_alignment,
    pharaoh,
    soft_alignment,
    word_weights,
    words_of,
)
from heedful.evaluation.translation_scores import perplexity
from heedful.model.attention_kernels import padded_attention
from heedful.model.devices import chosen_device, computes_in_half
from heedful.runs.models import SavedModel, read_model
from heedful.search.attention_maps import AttentionMaps, attention_weights
from heedful.search.engine import Hypothesis, Sentence
from heedful.search.lines import Part, Scored, Translation, distinct, parts_of
from heedful.search.model_search import SLOTS, ModelSearch, forced_log_probabilities, in_half_precision
from heedful.search.options import SearchOptions
from heedful.symbols import END_LABEL
from heedful.text.cleaning import clean_line

_PRECISIONS = ("float32", "float64", "bfloat16")
BATCHES_AT_ONCE = 16
"""Batches that are read, sorted by length and translated before their output appears."""
MOST_SOURCE_TOKENS = 256
"""A longer line is translated in parts: no model has learned to translate pages."""
MOST_READ_TOKENS = 4096
"""Of a side, where a translation is given: what attention and scores take grows with the square of it."""
_MOST_SHOWN_TOKENS = 1024
"""Of a given translation whose every attention weight is shown."""
_BREAKS = {*map(chr, range(32)), "\x7f", "\x85", "\u2028", "\u2029"}


def _no_report(stage: str, done: int, total: int | None) -> None:
    pass


class Translator:
    """A trained model that translates text.

    >>> import heedful
    >>> translator = heedful.load("run")  # doctest: +SKIP
    >>> translator.translate(["A dog runs."])  # doctest: +SKIP
    ['Ein Hund rennt.']
    """

    def __init__(
        self,
        saved: SavedModel,
        *,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 0,
        notice: Callable[[str], object] = warnings.warn,
    ) -> None:
        """``notice``: called with what a user should know and that stops nothing."""
        self.saved, self._notice = saved, notice
        self.device = chosen_device(device, error=SearchError)
        self.precision = _precision(precision, self.device)
        self.batch_size = batch_size or SLOTS[self.device.type]
        half = self.precision == "bfloat16"
        model = saved.model.to(self.device, torch.float64 if self.precision == "float64" else torch.float32)
        model.use(padded_attention(saved.config.model))
        self._half = half
        self.model = in_half_precision(model) if half else model
        self._search = ModelSearch(
            self.model,
            batch_size=batch_size,
            half=half,
            graphs=self.device.type == "cuda",
            subwords=saved.target_subwords.id_bytes,
        )

    @classmethod
    def load(
        cls, model: Path | str, *, device: str = "auto", precision: str = "auto", batch_size: int = 0
    ) -> Translator:
        """A trained model, ready to translate: a run folder, one of its checkpoints, or one that comes with heedful.

        ``device``: auto, cpu, cuda or cuda:N. ``precision``: auto (bfloat16 on CUDA, else float32), bfloat16, float32
        or float64. ``batch_size``: sentences decoded together; 0 leaves it to the device.
        """
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
        if broken := _BREAKS.intersection(prefix):
            raise SearchError(f"the prefix {prefix!r:.80} holds {min(broken)!a}: a translation is one line of text")
        lines = iter(lines)
        while block := list(itertools.islice(lines, BATCHES_AT_ONCE * self.batch_size)):
            yield from self._block(block, options, prefix=prefix, first=first)
            first += len(block)

    def _block(
        self, lines: list[str], options: SearchOptions, *, prefix: str, first: int
    ) -> Iterator[list[Translation]]:
        forced = tuple(self.saved.target_subwords.encode([prefix])[0].tolist())
        parts = [self._parts(line) for line in lines]
        for number, own in enumerate(parts, start=first + 1):
            if any(part.in_sentence for part in own):
                self._notice(
                    f"line {number:,}: a sentence of more than {MOST_SOURCE_TOKENS} subwords has no full stop to cut "
                    "it at and was cut between words: its translation may be wrong there"
                )
        sentences = [
            Sentence((first + owner << 16) + place, part.ids, forced if place == 0 else ())
            for owner, own in enumerate(parts)
            for place, part in enumerate(own)
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

    def _parts(self, line: str) -> list[Part]:
        return parts_of(clean_line(line), encode=self.saved.source_subwords.encode, most=MOST_SOURCE_TOKENS)

    def _translations(self, parts: list[list[Hypothesis]], options: SearchOptions) -> list[Translation]:
        if not parts:
            return [Translation("", 0.0, 0.0, ())]
        if not all(parts) and options.forbidden:
            raise SearchError("no translation is left: whatever the model could say holds a forbidden text")
        if not all(parts):
            raise SearchError(f"the scores of {self.saved.weights_from} are not numbers: its training broke down")
        count = max(map(len, parts))
        combined = [[own[min(place, len(own) - 1)] for own in parts] for place in range(count)]
        translations = [
            Translation(
                " ".join(self._text(part.ids) for part in whole),
                sum(part.score for part in whole),
                sum(part.log_probability for part in whole),
                tuple(tuple(part.ids.tolist()) for part in whole),
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
        most = min(MOST_READ_TOKENS, self._search.most_positions or MOST_READ_TOKENS)
        first = 1
        while block := list(itertools.islice(pairs, BATCHES_AT_ONCE * self.batch_size)):
            sources = source_subwords.encode([clean_line(source) for source, _ in block])
            targets = target_subwords.encode([clean_line(target) for _, target in block])
            longest = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
            too_long = next((place for place, length in enumerate(longest) if length > most), None)
            given = list(zip(sources, targets, strict=True))[:too_long]
            for (_, ids), values in zip(
                given, forced_log_probabilities(self.model, given, half=self._half), strict=True
            ):
                pieces = tuple(target_subwords.pieces(ids))
                yield Scored(float(values.sum()), tuple(float(value) for value in values), pieces)
            if too_long is not None:
                raise SearchError(
                    f"line {first + too_long:,} has {longest[too_long]:,} subwords, its end included; at most {most:,} "
                    "can be scored: cut it, or leave it out"
                )
            first += len(block)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """What the model thinks of each target as a translation of its source."""
        if len(sources) != len(targets):
            raise SearchError(f"{len(sources)} sources and {len(targets)} targets: each source needs one")
        return list(self.scores(zip(sources, targets, strict=True)))

    def measured(
        self, lines: Sequence[str], *, options: SearchOptions | None = None, report: Report = _no_report
    ) -> tuple[list[str], dict[str, str | float]]:
        """The best translation of each line; and how fast they came, and where. Tokens are subwords and END."""
        outputs: list[str] = []
        tokens, began = 0, time.perf_counter()
        for hypotheses in self.hypotheses(lines, options):
            outputs.append(hypotheses[0].text)
            tokens += len(hypotheses[0].ids) + 1
            report("translating", len(outputs), len(lines))
        seconds = time.perf_counter() - began
        speed = {"sentences_per_second": len(outputs) / seconds, "target_tokens_per_second": tokens / seconds}
        return outputs, {"device": str(self.device), "seconds": seconds, **speed}

    def likelihood(
        self, sources: Sequence[str], references: Sequence[str], *, report: Report = _no_report
    ) -> dict[str, float | None]:
        """How probable the model finds the references, as JSON has it: null for what is not finite.

        Every sentence ends in one more subword and one more word.
        """
        total, subwords, words = 0.0, 0, sum(len(line.split()) + 1 for line in references)
        for done, scored in enumerate(self.scores(zip(sources, references, strict=True)), start=1):
            total += scored.log_probability
            subwords += scored.tokens
            report("reading the references", done, len(references))
        per = {"per_subword": perplexity(-total, subwords), "per_word": perplexity(-total, words)}
        numbers = {**per, "log_probability": total, "subwords": subwords, "words": words}
        return {name: number if math.isfinite(number) else None for name, number in numbers.items()}

    def attention(self, line: str, *, target: str | None = None, options: SearchOptions | None = None) -> AttentionMaps:
        """Every attention weight of a line and its best translation, or the one that is given."""
        parts = self._parts(line)
        if len(parts) != 1:
            raise SearchError("attention is shown for one sentence: the text is " + ("too long" if parts else "empty"))
        source_ids = parts[0].ids
        best = None
        if target is None:
            ((_, found),) = self._search.search([Sentence(0, source_ids)], options or self.options)
            if not found:
                raise SearchError("no translation was found whose attention could be shown")
            best = found[0]
            ids = best.ids
        else:
            ids = self.saved.target_subwords.encode([clean_line(target)])[0]
            self._require_shown(len(ids) + 1)
        log_probability, weights = attention_weights(self.model, source_ids, ids, half=self._half)
        source, target_subwords = self.saved.source_subwords, self.saved.target_subwords
        return AttentionMaps(
            clean_line(line),
            self._text(ids),
            [*source.pieces(source_ids), END_LABEL],
            [*target_subwords.pieces(ids), END_LABEL],
            **weights,
            log_probability=best.log_probability if best else log_probability,
            score=best.score if best else log_probability,
        )

    def _require_shown(self, length: int) -> None:
        """Raise where a given translation is too long to be shown."""
        most = min(_MOST_SHOWN_TOKENS, self._search.most_positions or _MOST_SHOWN_TOKENS)
        if length > most:
            config = self.saved.config.model
            weights = config.decoder_layers * config.num_heads * length**2 * 4
            raise SearchError(
                f"the translation has {length:,} subwords, its end included, whose weights alone take "
                f"{weights / 2**30:,.1f} GiB; at most {most:,} can be shown: give a shorter one"
            )

    def alignments(self, line: str, translations: Sequence[Translation], *, layer: int | None = None) -> list[str]:
        """For each translation of a line the source word that each of its words attends to most, in Pharaoh's format.

        ``layer``: the decoder layer that is asked, counted from 1; `aligning_layer` when not given.
        """
        layers = self.saved.config.model.decoder_layers
        layer = aligning_layer(layers) if layer is None else layer
        if not 1 <= layer <= layers:
            raise SearchError(f"layer {layer}: this model's decoder has layers 1 to {layers}")
        parts = self._parts(line)
        return [pharaoh(self._links(parts, translation, layer)) for translation in translations]

    def _links(self, parts: Sequence[Part], translation: Translation, layer: int) -> Links:
        """The links of all parts, each beginning where the words of those before it end."""
        links: set[tuple[int, int]] = set()
        source_begin = target_begin = 0
        for part, ids in zip(parts, translation.parts, strict=True):
            source_words = words_of(self.saved.source_subwords.pieces(part.ids))
            target_words = words_of(self.saved.target_subwords.pieces(ids))
            source_begin -= part.joined
            if target_words:
                _, weights = attention_weights(self.model, part.ids, np.array(ids), half=self._half)
                cross = soft_alignment(weights["cross"][layer - 1])
                found = hard_alignment(word_weights(cross, source=source_words, target=target_words))
                links |= {(source + source_begin, target + target_begin) for source, target in found}
            source_begin, target_begin = source_begin + len(source_words), target_begin + len(target_words)
        return frozenset(links)

    def forbidding(self, words: Iterable[str], options: SearchOptions | None = None) -> SearchOptions:
        """The options, with these texts forbidden: no translation holds one as a whole word, however it is spelled."""
        options = options or self.options
        return replace(options, forbidden=(*options.forbidden, *words))


load = Translator.load


def _precision(wanted: str, device: torch.device) -> str:
    if wanted not in ("auto", *_PRECISIONS):
        raise SearchError(f"precision {wanted}: must be auto, {', '.join(_PRECISIONS)}")
    if computes_in_half(wanted, device, error=SearchError, setting="precision"):
        return "bfloat16"
    return "float32" if wanted == "auto" else wanted
