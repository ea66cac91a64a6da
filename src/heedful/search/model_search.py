"""A model, or several, and a search put together: ids of sentences to their hypotheses, on the model's device.

On CUDA sentences are decoded in classes of length with fixed shapes, each with its engine, which is kept: a sentence's
result then does not depend on what is decoded beside it. On a CPU shapes follow the sentences.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import nn

from heedful.config import ModelConfig
from heedful.errors import SearchError
from heedful.model.attention_kernels import padded_attention
from heedful.model.devices import Captures, current
from heedful.model.transformer import Transformer
from heedful.search.attention_maps import Weights
from heedful.search.cached_decoder import CachedDecoder, OutputProduct
from heedful.search.drafts import CopyDrafter, Drafter, HeadDrafter, draft_matrix
from heedful.search.engine import Engine, Hypothesis, Sentence
from heedful.search.ensemble import Ensemble
from heedful.search.options import SearchOptions
from heedful.search.required import MOST_REQUIRED, required_shape
from heedful.search.scoring import attention_weights
from heedful.search.sentence import with_freed
from heedful.search.spelling import Constraint, Spelling

SLOTS = {"cpu": 32, "cuda": 256}
"""Sentences decoded together when nobody says how many."""
_ENCODED_TOGETHER = 64
"""Sources, or an eighth of the slots if those are more: as many as are free when new ones are let in."""
_MOST_POSITIONS = 1 << 18
"""Positions of the output that are kept at most, over all slots and beams: long sentences get fewer slots."""
_REQUIRED_BEAMS = 16
"""At least, for a sentence whose output must hold given words: they share the beam by what they lack."""
_CLASSES = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Longest sources, end symbol included, of the classes on CUDA; longer ones go by multiples of the last."""


_SHARED_CLASS = 288
"""The shortest class on a CPU, where one engine serves many: only the positions in use are computed."""
Found = Iterator[tuple[Sentence, list[Hypothesis]]]


class Search(Protocol):
    """What a translator needs: `ModelSearch`, or somebody who shares one with others."""

    @property
    def most_positions(self) -> int | None: ...

    def search(self, sentences: Sequence[Sentence], options: SearchOptions) -> Found: ...

    def read(self, source: np.ndarray, target: np.ndarray) -> tuple[float, Weights]: ...


class ModelSearch:
    """Finds translations with a model, or with several together (`Ensemble`), whose attention must take padded batches.

    The models must have the same vocabulary and lie on the same device.
    """

    def __init__(
        self,
        *models: Transformer,
        batch_size: int = 0,
        half: bool = False,
        graphs: bool = False,
        subwords: Sequence[bytes] = (),
        constraint: Constraint | None = None,
    ) -> None:
        """``half``: compute in bfloat16 (see `in_half_precision`); ``graphs``: capture the steps, on CUDA.

        ``subwords``: the bytes of each id of the output; without them an output need not be text. ``constraint``: what
        an output may be instead of text.
        """
        self.model, self._half, self._graphs, self._subwords = models[0], half, graphs, subwords
        self.device = self.model.embedding.weight.device
        self._models = [(model.eval(), OutputProduct(model, half=half)) for model in models]
        self._draft_DV = draft_matrix(self.model)
        self._slots = batch_size or SLOTS[self.device.type]
        self._engines: dict[tuple[int, bool, SearchOptions], Engine] = {}
        self._captures: Captures | None = None
        self._spelling: tuple[tuple[str, ...], Constraint] | None = ((), constraint) if constraint else None

    def search(
        self,
        sentences: Sequence[Sentence],
        options: SearchOptions,
        *,
        decode: Callable[[Sequence[Sentence], SearchOptions], Found] | None = None,
    ) -> Found:
        """Every sentence with its hypotheses, best first, in the order in which they are finished.

        What a sentence's output must hold is left out where no output can hold it. ``decode``: decodes them instead of
        engines that serve nobody else.
        """
        self.require_possible(sentences, options)
        yield from with_freed(decode or self._decoded, sentences, options)

    def _decoded(self, sentences: Sequence[Sentence], options: SearchOptions) -> Found:
        """The same for sentences that all have required words, or none of which has."""
        ordered = sorted(sentences, key=lambda sentence: -len(sentence.source))
        if self.device.type == "cuda":
            groups = [list(group) for _, group in itertools.groupby(ordered, key=_class)]
            engines = (self._kept_engine(_class(group[0]), options, group) for group in groups)
        else:
            groups = _similar(ordered, at_least=self._slots)
            engines = (self._engine(len(group[0].source) + 1, options, group) for group in groups)
        for group, engine in zip(groups, engines, strict=True):
            yield from engine.run(group)

    def read(self, source: np.ndarray, target: np.ndarray) -> tuple[float, Weights]:
        """The log-probability of a translation, and the weights with which the model reads it."""
        return attention_weights(self.model, source, target, half=self._half)

    def spelling(self, options: SearchOptions) -> Constraint:
        """What an output may spell; kept, since working it out takes a tenth of a second and more."""
        if self._spelling is None or self._spelling[0] != options.forbidden:
            assert self._subwords or not options.forbidden, "who forbids texts must say how ids are spelled"
            missing = self.model.embedding.weight.size(0) - len(self._subwords)
            subwords = [*self._subwords, *[b""] * missing]
            self._spelling = options.forbidden, Spelling.of(options.forbidden, subwords, device=self.device)
        return self._spelling[1]

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> Engine:
        """The engine, kept, for sentences like this one of people who know nothing of each other."""
        source_positions = _class(sentence) if self.device.type == "cuda" else max(_class(sentence), _SHARED_CLASS)
        if options.n_best != 1 or options.glossary:
            options = replace(options, n_best=1, glossary=())
        return self._kept_engine(source_positions, options, [sentence])

    @property
    def shared_lengths(self) -> tuple[int, ...]:
        """Of sources, one for each engine that most sentences need: whoever shares them can have them made before."""
        return tuple(size - 1 for size in _CLASSES if size <= 256) if self.device.type == "cuda" else (8,)

    def forget_engines(self) -> None:
        """Give up the engines that are kept, and whatever they were doing."""
        self._engines.clear()
        self._captures = None

    def _kept_engine(self, source_positions: int, options: SearchOptions, sentences: Sequence[Sentence]) -> Engine:
        if any(kept != options for _, _, kept in self._engines):
            self.forget_engines()  # their memory is needed, and so is that of their graphs
        key = (source_positions, bool(sentences[0].required), options)
        if key not in self._engines:
            self._engines[key] = self._engine(source_positions, options, sentences, kept=True)
        return self._engines[key]

    def _engine(
        self, source_positions: int, options: SearchOptions, sentences: Sequence[Sentence], *, kept: bool = False
    ) -> Engine:
        """For sentences like these; one to be kept for as many as there is room for, whatever they must hold."""
        fixed, required = self.device.type == "cuda", required_shape([sentence.required for sentence in sentences])
        if required.terms:
            assert options.method == "beam", "only beam search can look for required words"
            required = MOST_REQUIRED if kept else required
            # A penalty for length would rather have a sentence said twice than an improbable word in it.
            options = replace(options, beam_size=max(options.beam_size, _REQUIRED_BEAMS), length_penalty=0.0)
        positions = -(-(self._limit(source_positions - 1, options) + 1) // 8) * 8
        positions = min(positions, self.most_positions or positions) + options.drafts
        most = self._slots if kept else min(self._slots, len(sentences))
        slots = max(1, min(most, _MOST_POSITIONS // (positions * options.beams)))
        self._require_memory(slots, options.beams, positions, source_positions)
        if self._graphs and self._captures is None:
            with current(self.device):
                self._captures = Captures()
        decoders = [
            CachedDecoder(
                model,
                output=output,
                slots=slots,
                beams=options.beams,
                source_positions=source_positions,
                positions=positions,
                half=self._half,
                encoded_together=min(max(_ENCODED_TOGETHER, slots // 8), slots) if fixed else 0,
                captures=self._captures,
            )
            for model, output in self._models
        ]
        return Engine(
            Ensemble(decoders) if len(decoders) > 1 else decoders[0],
            options,
            slots=slots,
            positions=positions,
            spelling=self.spelling(options),
            required=required,
            drafter=self._drafter(options, decoders[0]),
            captures=self._captures,
        )

    def _drafter(self, options: SearchOptions, decoder: CachedDecoder) -> Drafter | None:
        """The model's own heads, the first's of several models, or copies of the source where it has none."""
        if not options.drafts:
            return None
        if self.model.draft is not None and self._draft_DV is not None:
            if options.drafts > (heads := len(self.model.draft.heads)):
                raise SearchError(f"drafts = {options.drafts}: the model has {heads} draft heads, so {heads} at most")
            return HeadDrafter(self.model.draft, self._draft_DV, options.drafts, decoder=decoder)
        if self.model.source_embedding is not None:
            raise SearchError(
                f"drafts = {options.drafts}: the model has no draft heads, and its output has other subwords than its "
                "input, so none can be copied"
            )
        sizes = {"slots": decoder.slots, "source_positions": decoder.source_positions}
        return CopyDrafter(options.drafts, **sizes, device=self.device)

    def _require_memory(self, slots: int, beams: int, positions: int, source_positions: int) -> None:
        """Ask before taking: on a CPU the kernel ends a process that has taken too much."""
        size, configs = 2 if self._half else self.model.embedding.weight.element_size(), self._configs
        heads = sum(one.decoder_layers * one.num_heads * (one.key_size + one.value_size) for one in configs)
        kept = (slots + 1) * heads * (positions * beams + source_positions) * size
        tables = slots * beams * positions * 8 * 4
        masks, scores = slots * beams * positions * beams * 5, slots * beams * self.model.embedding.weight.size(0) * 12
        scores += (len(configs) - 1) * scores // 3
        needed, free = kept + tables + masks + scores, _free_memory(self.device)
        if free is not None and needed > free:
            raise SearchError(
                f"{beams:,} beams of up to {positions:,} subwords need {needed / 2**30:,.1f} GiB of memory, and "
                f"{free / 2**30:,.1f} GiB are free: lower the beam size or the longest output (max_length, "
                "max_extra_length)"
            )

    def _limit(self, source_length: int, options: SearchOptions) -> int:
        """The longest output, which learned positions may cut short."""
        limit, most = options.limit(source_length), self.most_positions
        return limit if most is None else min(limit, most - 1)

    @property
    def most_positions(self) -> int | None:
        """The longest sequence, end included, that learned positions can take; None where there is no such limit."""
        return min((one.max_positions for one in self._configs if one.positions == "learned"), default=None)

    @property
    def _configs(self) -> list[ModelConfig]:
        return [model.config for model, _ in self._models]

    def require_possible(self, sentences: Sequence[Sentence], options: SearchOptions) -> None:
        """Raise where no output can be what is asked for."""
        most, spelling = self.most_positions, self.spelling(options)
        for prefix in {sentence.prefix for sentence in sentences}:
            if not spelling.allows(prefix):
                raise SearchError("the prefix holds a text that is forbidden, or U+FFFD: no output can hold that")
        # Few differ in what matters here, of a thousand sentences.
        for source, prefix, own in dict.fromkeys((len(s.source), len(s.prefix), s.limit) for s in sentences):
            length = source + 1
            if most is not None and length > most:
                raise SearchError(
                    f"a source of {length} subwords, its end included, but this model's learned positions end at {most}"
                )
            limit = min(self._limit(source, options), own or _MOST_POSITIONS)
            if prefix > limit:
                raise SearchError(f"a prefix of {prefix} subwords, but the output may have {limit} at most")


def in_half_precision(model: Transformer) -> Transformer:
    """The model with its matrices in bfloat16; norms and embeddings stay, as in training with autocast."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.to(torch.bfloat16)
    return model


@contextlib.contextmanager
def _ready_to_search(model: Transformer) -> Iterator[None]:
    """For a model in training: attention that takes padded batches, no dropout."""
    chosen, training = model.attention, model.training
    model.use(padded_attention(model.config)).eval()
    try:
        yield
    finally:
        model.use(chosen).train(training)


def greedy_translations(
    model: Transformer, sources: Sequence[np.ndarray], subwords: Sequence[bytes] = (), *, max_extra_length: int = 50
) -> list[np.ndarray]:
    """For each source (ids without control ids) its most probable words, one by one: for a model in training.

    ``subwords``: see `ModelSearch`.
    """
    options = SearchOptions(max_extra_length=max_extra_length).greedy()
    with _ready_to_search(model):
        search = ModelSearch(model, subwords=subwords)
        sentences = [Sentence(number, source) for number, source in enumerate(sources)]
        found = {s.number: hypotheses for s, hypotheses in search.search(sentences, options)}
    # A model that has broken down, whose scores are not numbers, has no hypothesis.
    return [found[number][0].ids if found[number] else np.empty(0, np.int64) for number in range(len(sources))]


def _free_memory(device: torch.device) -> int | None:
    """Bytes that can still be taken; None where nobody says."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _class(sentence: Sentence) -> int:
    return _class_of(len(sentence.source) + 1)


@functools.cache
def _class_of(length: int) -> int:
    place = bisect.bisect_left(_CLASSES, length)
    return _CLASSES[place] if place < len(_CLASSES) else -(-length // _CLASSES[-1]) * _CLASSES[-1]


def _similar(ordered: Sequence[Sentence], *, at_least: int) -> list[list[Sentence]]:
    """Runs of sentences, longest first; a new one begins where lengths have halved and all slots have work."""
    groups: list[list[Sentence]] = []
    for sentence in ordered:
        if not groups or (len(groups[-1]) >= at_least and 2 * len(sentence.source) < len(groups[-1][0].source)):
            groups.append([])
        groups[-1].append(sentence)
    return groups
