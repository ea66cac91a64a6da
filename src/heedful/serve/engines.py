"""What the engine thread works with: jobs, engines that go on step by step, and workers that take a batch each."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence

if TYPE_CHECKING:
    from heedful.search.attention_maps import Weights

_SECONDS_TO_END = 10
Found = Iterator[tuple[Sentence, list[Hypothesis]]]
Results = list[tuple[Sentence, list[Hypothesis]]]
Live = dict[Sentence, tuple[list[Hypothesis], list[Hypothesis]]]
"""For each sentence the hypotheses that go on, and those that have ended."""
OnLive = Callable[[Live], object]


class Slots(Protocol):
    """What decodes: `Engine`, or something that takes in sentences and gives hypotheses as it does."""

    @property
    def slots(self) -> int: ...

    @property
    def inside(self) -> list[Sentence]: ...

    @property
    def most_tokens(self) -> int | None: ...  # of the sources of a turn, where it is a batch and a worker takes it

    def room(self, waiting: int) -> int: ...

    def turn(self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()) -> Results: ...

    def live(self, sentences: Collection[Sentence]) -> Live: ...


class Shareable(Protocol):
    """What makes engines for sentences: `ModelSearch`, or `StaticBatches`."""

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> Slots: ...

    def forget_engines(self) -> None: ...


@dataclass(eq=False)
class Job:
    """One request's work. What it waits for comes through its queue."""

    on_live: OnLive | None = None
    """Called in the engine thread with hypotheses that are not finished yet."""
    results: queue.SimpleQueue[Results | BaseException] = field(default_factory=queue.SimpleQueue)
    waiting: dict[Slots, deque[Sentence]] = field(default_factory=dict)
    due: float = math.inf
    """When it should be finished; infinity before it is admitted."""
    ended: BaseException | None = None
    """Why nothing more will come: it is finished, given up or failed."""
    looked: float = 0.0
    sentences: int = 0
    """Of it that wait or are decoded."""

    def end(self, why: BaseException) -> None:
        """Let nothing more be done for it; whoever waits for it is told."""
        if self.ended is None:
            self.ended = why
            self.results.put(why)


@runtime_checkable
class Decodes(Shareable, Protocol):
    """A model that is served: `ModelSearch`, or one in another process."""

    @property
    def most_positions(self) -> int | None: ...

    @property
    def shared_lengths(self) -> tuple[int, ...]: ...

    def search(
        self,
        sentences: Sequence[Sentence],
        options: SearchOptions,
        *,
        decode: Callable[[Sequence[Sentence], SearchOptions], Found],
    ) -> Found: ...

    def read(self, source: np.ndarray, target: np.ndarray) -> tuple[float, Weights]: ...

    def require_possible(self, sentences: Sequence[Sentence], options: SearchOptions) -> None: ...


@dataclass(frozen=True)
class Arrival:
    """What a job asks for at a time. ``options``: those that everybody has."""

    job: Job
    search: Shareable
    options: SearchOptions
    sentences: Sequence[Sentence]


class Decoder(ABC):
    """What a job asks, in its own thread: `EngineThread`, or one in another process."""

    broken = False
    """Whether it has ended by itself, after too many faults."""

    def decode(
        self, job: Job, search: Shareable, base: SearchOptions, sentences: Sequence[Sentence], options: SearchOptions
    ) -> Found:
        """The hypotheses of these sentences, as they are finished. ``base``: the options that everybody has."""
        if not sentences:
            return
        longest = [options.limit(len(one.source)) if options.max_length else None for one in sentences]
        wanted = {
            replace(one, n_best=options.n_best, limit=limit): one for one, limit in zip(sentences, longest, strict=True)
        }
        self.submit(Arrival(job, search, base, list(wanted)))
        while wanted:
            results = job.results.get()
            if isinstance(results, BaseException):
                raise results
            for sentence, hypotheses in results:
                yield wanted.pop(sentence), hypotheses

    @abstractmethod
    def submit(self, arrival: Arrival) -> None:
        """Have these sentences decoded; what is found goes into the queue of the job."""

    @abstractmethod
    def call(self, job: Job, work: Callable[[], Any]) -> Any:
        """What the work gives, done between two turns."""

    @abstractmethod
    def cancel(self, job: Job) -> None:
        """Forget a job that nobody waits for."""

    @property
    @abstractmethod
    def running(self) -> int:
        """Sentences that are being decoded."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether nothing is left to do, and nothing of what was done is left behind."""

    @property
    @abstractmethod
    def seconds_to_wait(self) -> int:
        """After which what waits now will be done, about."""

    @abstractmethod
    def stop(self) -> None:
        """End; jobs that are not finished fail."""


@contextlib.contextmanager
def job_of(thread: Decoder, on_live: OnLive | None = None) -> Iterator[Job]:
    """A job that leaves nothing behind when the block ends, however it ends."""
    job = Job(on_live)
    try:
        yield job
    finally:
        thread.cancel(job)


@dataclass(eq=False)
class Batch:
    """Sentences whose translations are all finished together."""

    search: Shareable
    engine: Slots
    sentences: Sequence[Sentence]
    outcome: Results | Exception | None = None
    """None while it is translated."""

    @property
    def tokens(self) -> int:
        return sum(len(sentence.source) + 1 for sentence in self.sentences)


class Workers:
    """Threads that translate a batch each, of whichever model. One thread gives them batches and takes them back."""

    def __init__(self, number: int, *, news: Callable[[], object]) -> None:
        """``news``: called by a worker that has finished a batch."""
        self._news = news
        self._given: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self.batches: list[Batch] = []
        """Those that were begun and not yet taken back."""
        self._threads = [threading.Thread(target=self._work, name="worker", daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    @property
    def free(self) -> int:
        """Those that have nothing to do."""
        return len(self._threads) - len(self.batches)

    @property
    def sentences(self) -> list[Sentence]:
        """Those that are being translated."""
        return [sentence for batch in list(self.batches) for sentence in batch.sentences]

    @property
    def finished(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.outcome is not None]

    def begin(self, batch: Batch) -> None:
        self.batches.append(batch)
        self._given.put(batch)

    def taken_back(self) -> list[Batch]:
        """The batches that are finished, one way or another."""
        finished = self.finished
        self.batches = [batch for batch in self.batches if batch not in finished]
        return finished

    def stop(self) -> None:
        """End the threads, each after its batch; nobody waits for one for ever."""
        for _ in self._threads:
            self._given.put(None)
        for thread in self._threads:
            thread.join(timeout=_SECONDS_TO_END)

    def _work(self) -> None:
        while (batch := self._given.get()) is not None:
            try:
                batch.outcome = batch.engine.turn(batch.sentences)
            except Exception as error:  # it fails the jobs of this batch; the worker takes the next one
                batch.outcome = error
            self._news()
