"""The one thread that owns torch: sentences of all jobs are decoded side by side, those of the job that is due first.

A job is what one request asks for. Its text is taken apart and put together in a thread of its own; what a model must
compute for it is given to this thread, which decodes it step by step, or in batches has its workers do it. Whoever has
gone is forgotten at the next turn. A fault fails the jobs that were being decoded, of a batch those in it, and nobody
else; the third within a minute ends the service, since something is broken for good.
"""

from __future__ import annotations

import bisect
import math
import threading
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from heedful.errors import BusyError, GoneError, ServeError, is_out_of_memory
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.serve.engines import Arrival, Batch, Decoder, Job, Results, Shareable, Slots, Workers
from heedful.serve.metrics import Metrics

_SECONDS_BETWEEN_LOOKS = 0.1
"""At least, between two looks at the hypotheses of a job that wants to see them grow."""
_FAULTS, _WITHIN_SECONDS = 3, 60.0
_KEPT_FREE = 8
"""One in so many slots, or of a batch, is kept from a job that has all others: who comes next does not wait for it."""
_PATIENCE = 10
"""A job is due after so many times the seconds it takes alone: little goes before much, and nobody waits for ever."""
_OF_WAITING, _OF_BATCH = 4, 8
"""The last free worker takes this part of what waits, or of the largest batch: another may soon take the rest."""
_MEMORY = 0.99
"""How much what was finished counts beside what is finished after it, where speed is measured."""
_LONGEST_WAIT = 60
"""Seconds that somebody is asked to wait at most before the next try."""


@dataclass(eq=False)
class _Call:
    """Something to be computed between two turns."""

    job: Job
    work: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None


class EngineThread(Decoder):
    """Decodes for everybody. ``most_tokens``: subwords of sources that may wait, beyond which new jobs are refused.
    ``workers``: batches that are translated at the same time."""

    def __init__(self, metrics: Metrics, *, most_tokens: int, workers: int = 1) -> None:
        self._metrics, self._most_tokens = metrics, most_tokens
        self._news = threading.Condition()
        self._arrivals: list[Arrival] = []
        self._calls: deque[_Call] = deque()
        self._lanes: dict[Slots, tuple[Shareable, SearchOptions, list[Job]]] = {}
        self._owners: dict[Sentence, Job] = {}
        self._lookers: set[Job] = set()
        self._tokens, self._recent = 0, [1.0, 0.01]  # subwords and seconds, the last ones counted most
        self._stopped = self._some_ended = False
        self._workers = Workers(workers, news=self._wake)
        self._faults: deque[float] = deque(maxlen=_FAULTS)
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._thread.start()

    # What jobs ask for, each in its own thread

    def call(self, job: Job, work: Callable[[], Any]) -> Any:
        call = _Call(job, work)
        with self._news:
            self._require_alive(job)
            self._calls.append(call)
            self._news.notify()
        call.done.wait()
        if call.error is not None:
            raise call.error
        return call.result

    def cancel(self, job: Job) -> None:
        with self._news:
            job.end(GoneError("nobody waits for this any more"))
            self._lookers.discard(job)
            if job.sentences:  # of most that end nothing is left
                self._some_ended = True
                self._news.notify()

    def _wake(self) -> None:
        with self._news:
            self._news.notify()

    def submit(self, arrival: Arrival) -> None:
        tokens = sum(len(sentence.source) + 1 for sentence in arrival.sentences)
        with self._news:
            self._require_alive(arrival.job)
            if arrival.job.due == math.inf and self._tokens and self._tokens + tokens > self._most_tokens:
                self._metrics.refused()
                raise BusyError(
                    "too much is being translated already: try again later", retry_after=self.seconds_to_wait
                )
            if arrival.job.due == math.inf:
                arrival.job.due = time.monotonic() + _PATIENCE * tokens * self._seconds_of_token
            self._tokens += tokens
            self._owners |= dict.fromkeys(arrival.sentences, arrival.job)
            arrival.job.sentences += len(arrival.sentences)
            if arrival.job.on_live is not None:
                self._lookers.add(arrival.job)
            self._arrivals.append(arrival)
            self._news.notify()

    def _require_alive(self, job: Job) -> None:
        if job.ended is not None:
            raise job.ended
        if self._stopped:
            raise ServeError("the server is stopping", status=503)

    # How much there is to do

    @property
    def tokens(self) -> int:
        """Subwords of the sources that wait or are being decoded."""
        return self._tokens

    @property
    def running(self) -> int:
        return sum(len(engine.inside) for engine in list(self._lanes)) + len(self._workers.sentences)

    @property
    def idle(self) -> bool:
        return not (self._arrivals or self._calls or self._owners or self._tokens or self.running)

    @property
    def seconds_to_wait(self) -> int:
        return int(min(max(self._tokens * self._seconds_of_token, 1), _LONGEST_WAIT))

    @property
    def _seconds_of_token(self) -> float:
        tokens, seconds = self._recent
        return seconds / max(tokens, 1e-9)

    def stop(self) -> None:
        with self._news:
            self._stopped = True
            self._news.notify()
        self._thread.join(timeout=10)
        self._workers.stop()

    # The thread itself

    def _work(self) -> None:
        try:
            self._take_turns()
        except Exception as error:  # a mistake of ours: nobody may wait for ever, and whoever runs it must know
            with self._news:
                self._stopped = self.broken = True
            failed = ServeError(f"the engine failed ({type(error).__name__})")
            failed.__cause__ = error
            self._fail(failed, self._calls)

    def _take_turns(self) -> None:
        looked = time.monotonic()
        while True:
            with self._news:
                idle = not self._owners
                self._news.wait_for(self._is_something_to_do)
                arrivals, self._arrivals = self._arrivals, []
                calls, self._calls = self._calls, deque()
                some_ended, self._some_ended = self._some_ended, False
            if self._stopped:
                self._fail(ServeError("the server is stopping", status=503), calls)
                return
            for call in calls:
                self._run(call)
            looked = time.monotonic() if idle else looked
            for arrival in arrivals:
                self._take_in(arrival)
            finished = sum([self._end(batch) for batch in self._workers.taken_back()])
            if some_ended or self._some_ended:
                self._forget_ended()
            self._begin_batches()
            # No name for the list, which would keep engines that have failed.
            for_steps = (engine for engine in [*self._lanes] if engine.most_tokens is None)
            finished += sum(self._turn(engine, some_ended=some_ended) for engine in for_steps)
            if finished:
                now = time.monotonic()
                news, looked = (finished, now - looked), now
                self._recent = [_MEMORY * old + new for old, new in zip(self._recent, news, strict=True)]

    def _is_something_to_do(self) -> bool:
        news = self._stopped or self._arrivals or self._calls or self._some_ended or self._workers.finished
        return bool(news) or any(
            (self._workers.free > 0 and jobs) if engine.most_tokens else (jobs or engine.inside)
            for engine, (*_, jobs) in self._lanes.items()
        )

    def _run(self, call: _Call) -> None:
        try:
            if call.job.ended is None:
                call.result = call.work()
            call.error = call.job.ended
        except Exception as error:  # it is raised again in the job's own thread
            call.error = error
        call.done.set()

    def _take_in(self, arrival: Arrival) -> None:
        """Put new sentences into the lanes of their engines."""
        job = arrival.job
        try:
            for sentence in arrival.sentences:
                engine = arrival.search.shared_engine(sentence, arrival.options)
                *_, jobs = self._lanes.setdefault(engine, (arrival.search, arrival.options, []))
                if not job.waiting.get(engine):  # otherwise it is there
                    bisect.insort(jobs, job, key=lambda one: one.due)
                job.waiting.setdefault(engine, deque()).append(sentence)
        except Exception as error:  # of this job alone: too long a source, no memory for it
            job.end(error)
            self._some_ended = True
            if isinstance(error, RuntimeError) and "CUDA" in str(error) and not is_out_of_memory(error):
                self._count_fault()  # after some errors a GPU does nothing any more, for nobody

    def _forget_ended(self) -> None:
        """Leave nothing of the jobs that are finished, given up or failed; those that are decoded go in their turn."""
        with self._news:  # or somebody submits meanwhile, and there are suddenly more of them
            ended = [one for one, job in self._owners.items() if job.ended is not None]
        inside = set(self._workers.sentences).union(*(engine.inside for engine in self._lanes)) if ended else set()
        for sentence in ended:
            if sentence not in inside:
                self._drop(sentence)
        for _, _, jobs in self._lanes.values():
            for job in [job for job in jobs if job.ended is not None]:
                jobs.remove(job)

    def _drop(self, sentence: Sentence) -> None:
        self._metrics.cancelled.inc()
        self._settle(sentence)

    def _settle(self, sentence: Sentence) -> Job:
        with self._news:
            self._tokens -= len(sentence.source) + 1
            job = self._owners.pop(sentence)
            job.sentences -= 1
            return job

    def _turn(self, engine: Slots, *, some_ended: bool) -> int:
        """One turn of an engine; the subwords of the sources that were finished. ``some_ended``: some jobs have."""
        if engine not in self._lanes:  # another of its model has failed in this turn
            return 0
        search, _, jobs = self._lanes[engine]
        inside = engine.inside
        dropped = {one for one in inside if self._owners[one].ended is not None} if some_ended else set[Sentence]()
        new = self._next(engine, jobs, inside) if jobs else []
        if not new and not inside:
            return 0
        inside = [*inside, *new]
        try:
            finished = engine.turn(new, dropped=dropped)
        except Exception as error:
            self._report_fault(error, search, inside)
            return 0
        for sentence in dropped:
            self._drop(sentence)
        tokens = self._give(finished)
        if self._lookers:
            self._show(engine)
        return tokens

    def _give(self, finished: Results) -> int:
        """Let jobs have what was found for them; the subwords of the sources."""
        given: defaultdict[Job, Results] = defaultdict(list)
        for sentence, hypotheses in finished:
            if self._owners[sentence].ended is not None:
                self._drop(sentence)
                continue
            job = self._settle(sentence)
            given[job].append((sentence, hypotheses))
            if job.on_live is not None and hypotheses:
                job.on_live({sentence: ([], hypotheses)})
        for job, results in given.items():
            job.results.put(results)
        generated = [own[0] for results in given.values() for _, own in results if own]
        self._metrics.generated.inc(sum(len(one.ids) + 1 for one in generated))
        return sum(len(sentence.source) + 1 for sentence, _ in finished)

    def _begin_batches(self) -> None:
        """Give every free worker a batch, of the model whose job is due first; they share what waits."""
        while self._workers.free:
            lanes = [(jobs[0].due, engine) for engine, (*_, jobs) in self._lanes.items() if engine.most_tokens and jobs]
            if not lanes:
                return
            _, engine = min(lanes, key=lambda lane: lane[0])
            search, _, jobs = self._lanes[engine]
            self._workers.begin(Batch(search, engine, self._next(engine, jobs, engine.inside)))

    def _end(self, batch: Batch) -> int:
        """Take back what has come of a batch; the subwords of the sources."""
        assert batch.outcome is not None, "it is finished"
        if isinstance(batch.outcome, Exception):
            self._report_fault(batch.outcome, batch.search, batch.sentences)
            return 0
        return self._give(batch.outcome)

    def _next(self, engine: Slots, jobs: list[Job], inside: Sequence[Sentence]) -> list[Sentence]:
        """The sentences that go in now; jobs of which none is left waiting are taken from the list."""
        held = Counter(self._owners[one] for one in inside)
        most = engine.slots - engine.slots // _KEPT_FREE
        ready = 0
        for job in jobs:
            ready += min(len(job.waiting[engine]), max(0, most - held[job]))
            if ready >= engine.slots:
                break
        room, share, alone = engine.room(ready), math.inf, math.inf
        if engine.most_tokens:
            waits = self._tokens - sum(batch.tokens for batch in self._workers.batches)
            last = max(waits / _OF_WAITING, engine.most_tokens / _OF_BATCH)
            share = min(waits / self._workers.free if self._workers.free > 1 else last, engine.most_tokens)
            alone = share * (1 - 1 / _KEPT_FREE) if len(jobs) > 1 else share
        new, tokens, seen = list[Sentence](), 0, 0
        for job in jobs if room else ():
            if len(new) == room:
                break
            seen += 1
            waiting = job.waiting[engine]
            while waiting and len(new) < room and held[job] < most:
                with_it = tokens + len(waiting[0].source) + 1
                if new and with_it > (alone if held[job] == len(new) else share):
                    break
                new.append(waiting.popleft())
                tokens, held[job] = with_it, held[job] + 1
        jobs[:seen] = [job for job in jobs[:seen] if job.waiting[engine]]
        return new

    def _show(self, engine: Slots) -> None:
        """Let those see their hypotheses who want to, ten times a second at most."""
        now, wanted = time.monotonic(), {}
        for sentence in engine.inside:
            job = self._owners[sentence]
            if job.on_live is not None and job.ended is None and now - job.looked >= _SECONDS_BETWEEN_LOOKS:
                wanted.setdefault(job, []).append(sentence)
        for job, sentences in wanted.items():
            job.looked = now
            assert job.on_live is not None, "it was asked"
            job.on_live(engine.live(sentences))

    def _report_fault(self, error: Exception, search: Shareable, inside: Sequence[Sentence]) -> None:
        """Fail the jobs that were decoded with this model, and let the others come again, to new engines.

        They come when nothing holds the old ones, whose memory may be needed: neither the frames in which it happened
        nor this one.
        """
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # but this thread's own
        traceback.clear_frames(error.__traceback__)
        failed = ServeError(f"the engine failed ({type(error).__name__}) while this was translated")
        failed.__cause__ = error
        engines = [engine for engine, (own, *_) in self._lanes.items() if own is search]
        for sentence in {*inside, *(one for engine in engines for one in engine.inside)}:
            self._owners[sentence].end(failed)
            self._drop(sentence)
        search.forget_engines()
        again: list[Arrival] = []
        for engine in engines:
            _, options, jobs = self._lanes.pop(engine)
            waiting = [(job, job.waiting.pop(engine)) for job in jobs]
            again += [Arrival(job, search, options, own) for job, own in waiting if job.ended is None]
        with self._news:
            self._arrivals[:0] = again
        self._some_ended = True
        self._count_fault()

    def _count_fault(self) -> None:
        """Too many in a short time end the service."""
        self._metrics.faults.inc()
        self._faults.append(time.monotonic())
        if len(self._faults) == _FAULTS and self._faults[-1] - self._faults[0] < _WITHIN_SECONDS:
            with self._news:
                self._stopped = self.broken = True

    def _fail(self, why: BaseException, calls: Sequence[_Call]) -> None:
        for call in calls:
            call.error = why
            call.done.set()
        with self._news:
            jobs = set(self._owners.values())
        for job in jobs:
            job.end(why)
        for search, *_ in self._lanes.values():
            search.forget_engines()  # they hold sentences that nobody waits for
