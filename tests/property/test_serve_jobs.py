"""Many at once: whatever comes and goes beside a text, its answer is that of the text alone, and nothing stays."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.trained_toys import train_toy

import heedful
from heedful.errors import BusyError, GoneError, SearchError, ServeError
from heedful.runs.descriptions import Languages
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence

service_module = pytest.importorskip("heedful.serve.service", reason="heedful[serve] is not installed")
from heedful.serve.engine_thread import EngineThread  # noqa: E402
from heedful.serve.engines import Arrival, Job  # noqa: E402
from heedful.serve.metrics import Metrics  # noqa: E402
from heedful.serve.shared_search import Shared, StaticBatches  # noqa: E402
from heedful.serve.texts import Wanted, translations  # noqa: E402


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"), steps=40)


@pytest.fixture(scope="module")
def translator(run: Path) -> heedful.Translator:
    return heedful.load(run, device="cpu", precision="float64", batch_size=5)


words = st.sampled_from(
    ["ba be bi", "da do", "fa ga ka la ma na", "ra. Sa.", "ta <b>te</b> ti", "", "ba\nbe bo", "{0} du da"]
)
requests = st.builds(
    lambda texts, n_best, max_length, format_, split, as_is, wait, leave: (
        Wanted(tuple(texts), n_best=n_best, max_length=max_length, format=format_, split=split, as_is=as_is),
        wait,
        leave,
    ),
    st.lists(words, max_size=4),
    st.integers(1, 3),
    st.sampled_from([0, 0, 3]),
    st.sampled_from(["text", "html"]),
    st.sampled_from([None, "lines", "never"]),
    st.booleans(),
    st.floats(0, 0.05),
    st.one_of(st.none(), st.floats(0, 0.03)),
)


class InBatches:
    """Torch, with a model of its own, in the place of CTranslate2; every third length it leaves to the engine."""

    batch_size, threads = 5, 2

    def __init__(self, translator: heedful.Translator) -> None:
        self._search = translator.on_torch.search

    def takes(self, sentence: Sentence, options: SearchOptions) -> bool:
        return len(sentence.source) < 12

    def found(self, sentences: Sequence[Sentence], options: SearchOptions, *, size: int) -> Iterator:
        for sentence, hypotheses in self._search.search(sentences, options):
            yield sentence, hypotheses[: sentence.n_best] if len(sentence.source) % 3 else None


@pytest.fixture(scope="module")
def in_batches(run: Path) -> InBatches:
    return InBatches(heedful.load(run, device="cpu", precision="float64", batch_size=5))


@pytest.mark.parametrize("workers", [0, 1, 2])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(requests, min_size=1, max_size=8))
def test_every_answer_is_that_of_the_text_alone(
    translator: heedful.Translator, in_batches: InBatches, workers: int, asked: list
) -> None:
    """With 0 workers all is decoded step by step."""
    options = replace(translator.options, max_extra_length=10)
    model = service_module.ServedModel("toy", translator, Languages("en", "de"), options)
    if workers:
        vars(model)["shared"] = Shared(translator.on_torch.search, StaticBatches(in_batches))  # type: ignore[arg-type]
    service = service_module.Service([model], queue_tokens=10**9, most_characters=10**6, workers=workers or None)
    assert service.workers == max(1, workers)

    async def one(wanted: Wanted, wait: float, leave: float | None):
        await asyncio.sleep(wait)
        leaves = asyncio.Event().wait if leave is None else lambda: asyncio.sleep(leave)
        try:
            return await service.run(model, lambda own: translations(own, wanted, options), gone=leaves)
        except GoneError:
            assert leave is not None
            return None

    async def all_of_them():
        found = await asyncio.gather(*(one(*request) for request in asked))
        for _ in range(500):
            if service.thread.idle:
                break
            await asyncio.sleep(0.01)
        return found

    try:
        answers = asyncio.run(all_of_them())
        assert service.thread.idle
        assert service.jobs == 0
    finally:
        service.close()
    for (wanted, _, leave), answer in zip(asked, answers, strict=True):
        if answer is not None:
            alone = translations(
                translator.sharing(translator.on_torch.search, notice=str, check=None), wanted, options
            )
            assert [[one.text for one in own] for own in answer] == [[one.text for one in own] for own in alone]
            for own, expected in zip(answer, alone, strict=True):
                assert [one.score for one in own] == pytest.approx([one.score for one in expected], abs=1e-9)
        else:
            assert leave is not None


class GatedBatches:
    """An engine that translates a batch when it is let; a sentence with the number 13 breaks it."""

    slots, most_tokens, inside = 32, 400, ()

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = threading.Semaphore(0)

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> GatedBatches:
        return self

    def forget_engines(self) -> None:
        """There are none."""

    def room(self, waiting: int) -> int:
        return min(waiting, self.slots)

    def turn(self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()) -> list:
        self.batches.append([sentence.number for sentence in new])
        if any(sentence.number == 13 for sentence in new):
            raise RuntimeError("it is broken")
        self.gate.acquire()
        return [(sentence, [Hypothesis(sentence.source, 0.0, 0.0, sentence.source)]) for sentence in new]

    def live(self, sentences: Collection[Sentence]) -> dict:
        return {}


@pytest.mark.parametrize(("seconds", "second"), [(0.01, [2, 3, 1]), (0.0, [1, 2, 3])])
def test_who_asks_for_little_goes_first_but_not_for_ever(seconds: float, second: list[int]) -> None:
    """Job 1 has 600 subwords, 2 and 3 have a few; where no time was to be lost all are due in the order they came."""
    thread, engine = EngineThread(Metrics(), most_tokens=10**6), GatedBatches()
    with ThreadPoolExecutor(4) as pool:
        for number, count in ((0, 1), (1, 60), (2, 1), (3, 2)):
            thread._recent = [1.0, seconds]
            sentences, before = [Sentence(number, np.arange(9)) for _ in range(count)], thread.tokens
            pool.submit(list, thread.decode(Job(), engine, SearchOptions(), sentences, SearchOptions()))  # type: ignore[arg-type]
            while thread.tokens == before or not engine.batches:
                time.sleep(0.001)
        engine.gate.release(100)
    thread.stop()
    assert engine.batches[0] == [0]
    assert list(dict.fromkeys(engine.batches[1])) == second
    assert 10 <= engine.batches[1].count(1) <= 14, "a batch is never all of one job's while others wait"
    assert sum(map(len, engine.batches)) == 64


class Asked:
    """Jobs of several people and what comes of them, with so many workers."""

    def __init__(self, workers: int, *, most_tokens: int = 10**6) -> None:
        self.metrics = Metrics()
        self.thread = EngineThread(self.metrics, most_tokens=most_tokens, workers=workers)
        self.pool = ThreadPoolExecutor(9)

    def ask(self, engine: GatedBatches, *numbers: int, job: Job | None = None) -> Future[list]:
        sentences = [Sentence(number, np.arange(9)) for number in numbers]
        found = self.thread.decode(job or Job(), engine, SearchOptions(), sentences, SearchOptions())  # type: ignore[arg-type]
        return self.pool.submit(list, found)

    def close(self, *engines: GatedBatches) -> None:
        for engine in engines:
            engine.gate.release(100)
        self.thread.stop()
        self.pool.shutdown()


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.002)


def test_as_many_batches_as_workers_and_a_model_that_is_due_goes_first() -> None:
    asked, one, other = Asked(2), GatedBatches(), GatedBatches()
    first, second = asked.ask(one, 1), None
    until("the first is begun", lambda: one.batches == [[1]])
    second = asked.ask(one, 2)
    until("so is the second, beside it", lambda: one.batches == [[1], [2]])
    assert asked.thread.running == 2
    due = Job(due=0.0)
    waiting = [asked.ask(one, 3)]
    until("it waits", lambda: asked.thread.tokens == 30)
    waiting.append(asked.ask(other, 4, job=due))
    until("it waits", lambda: asked.thread.tokens == 40)
    assert (len(one.batches), len(other.batches)) == (2, 0), "there is no third worker"
    one.gate.release()
    until("the other model has its turn", lambda: other.batches == [[4]])
    assert one.batches == [[1], [2]]
    one.gate.release(2)
    other.gate.release()
    assert [len(future.result(10)) for future in (first, second, *waiting)] == [1, 1, 1, 1]
    until("nothing is left", lambda: asked.thread.idle)
    asked.close()


def test_workers_that_are_free_share_what_waits_and_the_last_one_leaves_some_of_much() -> None:
    asked, engine = Asked(2), GatedBatches()
    asked.ask(engine, *range(100, 108))
    until("both have half of it", lambda: sorted(engine.batches) == [[*range(100, 104)], [*range(104, 108)]])
    asked.ask(engine, *range(20, 44))
    until("they wait", lambda: asked.thread.tokens == 320)
    engine.gate.release()
    until("one of them is free", lambda: len(engine.batches) == 3)
    assert engine.batches[2] == [*range(20, 26)], "a quarter"
    engine.gate.release(100)
    until("nothing is left", lambda: asked.thread.idle)
    assert sorted(number for batch in engine.batches[3:] for number in batch) == [*range(26, 44)]
    asked.close()


def test_a_fault_in_one_worker_fails_its_batch_alone_and_both_go_on() -> None:
    asked, engine = Asked(2), GatedBatches()
    good = asked.ask(engine, 1)
    until("it is begun", lambda: engine.batches == [[1]])
    bad = asked.ask(engine, 13)
    with pytest.raises(ServeError, match="RuntimeError"):
        bad.result(10)
    assert (asked.metrics.faults._value.get(), asked.thread.broken) == (1, False)
    assert not good.done()
    later = [asked.ask(engine, 2)]
    until("the worker that failed takes the next", lambda: engine.batches[-1] == [2])
    engine.gate.release(2)
    assert [len(future.result(10)) for future in (good, *later)] == [1, 1]
    until("nothing is left", lambda: asked.thread.idle)
    for _ in range(2):
        with pytest.raises(ServeError, match="RuntimeError"):
            asked.ask(engine, 13).result(10)
    until("the third within a minute ends it", lambda: asked.thread.broken)
    asked.close()


def test_a_job_in_two_batches_fails_with_one_and_leaves_nothing() -> None:
    asked, engine = Asked(2), GatedBatches()
    both = asked.ask(engine, *range(100, 108), 13, *range(108, 111))  # 60 subwords and 50, and some wait
    until("both workers are at it", lambda: len(engine.batches) == 2)
    with pytest.raises(ServeError, match="RuntimeError"):
        both.result(10)
    engine.gate.release(1)
    until("nothing is left", lambda: asked.thread.idle)
    assert asked.thread.tokens == 0
    asked.close()


def test_who_leaves_while_a_worker_is_busy_is_forgotten_and_the_rest_is_answered() -> None:
    asked, engine, leaving = Asked(2), GatedBatches(), Job()
    gone, stays = asked.ask(engine, *range(100, 180), job=leaving), None
    until("both workers are at it", lambda: len(engine.batches) == 2)
    stays = asked.ask(engine, 1)
    until("it has come", lambda: asked.thread.tokens == 810)
    asked.thread.cancel(leaving)
    with pytest.raises(GoneError):
        gone.result(10)
    until("only what is being translated is still there", lambda: asked.thread.tokens == 10 * (28 + 13 + 1))
    engine.gate.release(3)
    assert len(stays.result(10)) == 1
    until("nothing is left", lambda: asked.thread.idle)
    assert asked.metrics.cancelled._value.get() == 80
    assert engine.batches[2:] == [[1]]
    asked.close()


def test_what_waits_and_what_workers_have_is_what_fills_the_queue() -> None:
    asked, engine = Asked(2, most_tokens=30), GatedBatches()
    taken = []
    for number in (1, 2, 3):
        taken.append(asked.ask(engine, number))
        until("it has come", lambda: asked.thread.tokens == 10 * len(taken))
        until("or is begun", lambda: len(engine.batches) == min(2, len(taken)))
    with pytest.raises(BusyError, match="try again later"):
        asked.ask(engine, 4).result(10)
    engine.gate.release()
    until("one is answered", lambda: asked.thread.tokens == 20)
    taken.append(asked.ask(engine, 5))
    engine.gate.release(9)
    assert [len(future.result(10)) for future in taken] == [1, 1, 1, 1]
    asked.close()


def test_stopped_it_refuses_what_workers_have_and_waits_for_their_threads() -> None:
    asked, engine = Asked(2), GatedBatches()
    futures = [asked.ask(engine, 1)]
    until("it is begun", lambda: engine.batches == [[1]])
    futures.append(asked.ask(engine, 2))
    until("so is this", lambda: len(engine.batches) == 2)
    futures.append(asked.ask(engine, 3))
    until("it waits", lambda: asked.thread.tokens == 30)
    stopping = asked.pool.submit(asked.thread.stop)
    for future in futures:
        with pytest.raises(ServeError, match="stopping"):
            future.result(10)
    assert not stopping.done()
    engine.gate.release(2)
    stopping.result(10)
    assert not any(worker.is_alive() for worker in asked.thread._workers._threads)
    asked.close()


class InSteps:
    """An engine that takes steps: a sentence is finished with the first, and one with the number 13 breaks it."""

    slots, most_tokens = 8, None

    def __init__(self) -> None:
        self.inside: list[Sentence] = []

    def room(self, waiting: int) -> int:
        return min(waiting, self.slots - len(self.inside))

    def turn(self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()) -> list:
        if any(sentence.number == 13 for sentence in new):
            raise RuntimeError("it is broken")
        return [(sentence, [Hypothesis(sentence.source, 0.0, 0.0, sentence.source)]) for sentence in new]

    def live(self, sentences: Collection[Sentence]) -> dict:
        return {}


class OfTwoClasses:
    """A model with an engine for each length of source, as on CUDA."""

    def __init__(self) -> None:
        self.engines: dict[int, InSteps] = {}

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> InSteps:
        return self.engines.setdefault(len(sentence.source), InSteps())

    def forget_engines(self) -> None:
        self.engines = {}


def test_where_one_engine_of_a_model_fails_the_others_jobs_go_on() -> None:
    thread, search, job, other = EngineThread(Metrics(), most_tokens=10**6), OfTwoClasses(), Job(), Job()
    options = SearchOptions()
    with thread._news:  # both come at once
        for own, number, length in ((job, 13, 4), (other, 1, 9)):
            thread.submit(Arrival(own, search, options, [Sentence(number, np.arange(length))]))  # type: ignore[arg-type]
    assert isinstance(job.results.get(timeout=10), ServeError)
    answer = other.results.get(timeout=10)
    assert isinstance(answer, list)
    assert answer[0][0].number == 1
    until("nothing is left", lambda: thread.idle)
    assert not thread.broken
    thread.stop()


class OnBrokenGpu(OfTwoClasses):
    """A model whose first engine fails, and after it the GPU; ``left``: of the engines before, when one is made."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error, self.made, self.left = error, weakref.WeakSet[InSteps](), list[int]()
        self.failed = False

    def forget_engines(self) -> None:
        super().forget_engines()
        self.failed = True

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> InSteps:
        if self.failed:
            self.left.append(len(self.made))
            if self.error:
                raise self.error
        engine = super().shared_engine(sentence, options)
        self.made.add(engine)
        return engine


def test_new_engines_are_made_when_those_that_failed_are_gone() -> None:
    thread, search, other = EngineThread(Metrics(), most_tokens=10**6), OnBrokenGpu(), Job()
    with thread._news:
        for own, number, length in ((Job(), 13, 4), (other, 1, 9)):
            thread.submit(Arrival(own, search, SearchOptions(), [Sentence(number, np.arange(length))]))  # type: ignore[arg-type]
    assert isinstance(other.results.get(timeout=10), list)
    assert search.left == [0]
    until("nothing is left", lambda: thread.idle)
    thread.stop()


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (RuntimeError("CUDA error: an illegal memory access was encountered"), True),
        (RuntimeError("CUDA out of memory"), False),
        (SearchError("too long"), False),
        (KeyError("CUDA"), False),
    ],
)
def test_a_gpu_that_is_gone_ends_the_service_and_what_is_wrong_with_one_job_does_not(
    error: Exception, ends: bool
) -> None:
    thread, search = EngineThread(Metrics(), most_tokens=10**6), OnBrokenGpu(error)
    for number in (13, 1, 1, 1):
        job = Job()
        with thread._news:
            thread.submit(Arrival(job, search, SearchOptions(), [Sentence(number, np.arange(4))]))  # type: ignore[arg-type]
        assert isinstance(job.results.get(timeout=10), Exception)
        if thread.broken:
            break
    until("its end is seen", lambda: thread.broken == ends)
    thread.stop()
