"""A translator's search for one job among many: what it asks for is computed by the engine thread."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heedful.search.attention_maps import Weights
from heedful.search.ctranslate2_search import CTranslate2Search, refusals
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.serve.engines import Decoder, Decodes, Found, Job, Live, Results
from heedful.symbols import END
from heedful.translation.translator import Translator

_MOST_TOKENS, _MOST_SENTENCES = 900, 64
"""Of a batch: larger ones are no faster, and whoever comes meanwhile waits for its end, 0.3 seconds on one core."""


class StaticBatches:
    """CTranslate2 in the place of an engine and of what makes it: a turn is a batch, and several may go on at once.

    It gives no hypotheses of a sentence of which torch must say what it is.
    """

    def __init__(self, search: CTranslate2Search) -> None:
        self._search, self.takes, self.threads = search, search.takes, search.threads
        self.pieces = 1
        """Of a batch, each for a thread of CTranslate2: more than one where there are fewer workers than threads."""
        self._options: SearchOptions | None = None

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> StaticBatches:
        self._options = options
        return self

    def forget_engines(self) -> None:
        """There is nothing to forget: a turn is over with its batch, however it ends."""

    @property
    def slots(self) -> int:
        return max(self._search.batch_size, _MOST_SENTENCES)

    @property
    def inside(self) -> list[Sentence]:
        return []

    @property
    def most_tokens(self) -> int:
        return _MOST_TOKENS

    def room(self, waiting: int) -> int:
        return min(waiting, self.slots)

    def turn(self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()) -> Results:
        assert self._options is not None, "who gives sentences has asked for the engine"
        size = max(1, -(-len(new) // self.pieces))
        return [(sentence, found or []) for sentence, found in self._search.found(new, self._options, size=size)]

    def live(self, sentences: Collection[Sentence]) -> Live:
        return {}


@dataclass(frozen=True)
class Shared:
    """What computes for all who ask for a model."""

    torch: Decodes
    batches: StaticBatches | None
    """CTranslate2, where the model was loaded with it; torch takes what it cannot do, and shows how beams grow."""

    @classmethod
    def of(cls, translator: Translator) -> Shared:
        fast = translator.search
        if isinstance(fast, Decodes):  # torch, here or in another process
            return cls(fast, None)
        batches = StaticBatches(fast) if isinstance(fast, CTranslate2Search) and fast.can_be_had else None
        return cls(translator.on_torch.search, batches)


@dataclass(frozen=True)
class SharedSearch:
    """The search of one job."""

    thread: Decoder
    job: Job
    shared: Shared
    base: SearchOptions
    """The options that everybody has."""

    @property
    def most_positions(self) -> int | None:
        return self.shared.torch.most_positions

    def search(self, sentences: Sequence[Sentence], options: SearchOptions) -> Found:
        torch, batches = self.shared.torch, self.shared.batches

        def decode(some: Sequence[Sentence], options: SearchOptions) -> Found:
            return self.thread.decode(self.job, torch, self.base, some, options)

        settled: set[Sentence] = set()
        if batches is not None and not refusals(options):
            fast = [sentence for sentence in sentences if batches.takes(sentence, options)]
            # Who wants to see beams grow sees torch's, and has the words that everybody has.
            seen = dict(torch.search(fast, options, decode=decode)) if self.job.on_live is not None else {}
            for sentence, found in self.thread.decode(self.job, batches, self.base, fast, options):
                if hypotheses := found or seen.get(sentence):
                    settled.add(sentence)
                    yield sentence, hypotheses
        yield from torch.search([one for one in sentences if one not in settled], options, decode=decode)

    def warm_up(self) -> None:
        """Decode something with every engine that most sentences need."""
        sentences = [Sentence(0, np.full(length, END + 1)) for length in self.shared.torch.shared_lengths]
        list(self.search(sentences, replace(self.base, n_best=1, max_length=max(1, self.base.min_length))))

    def read(self, source: np.ndarray, target: np.ndarray) -> tuple[float, Weights]:
        return self.thread.call(self.job, lambda: self.shared.torch.read(source, target))
