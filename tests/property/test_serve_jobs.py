"""Many at once: whatever comes and goes beside a text, its answer is that of the text alone, and nothing stays."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.trained_toys import train_toy

import heedful
from heedful.errors import GoneError
from heedful.runs.descriptions import Languages
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence

service_module = pytest.importorskip("heedful.serve.service", reason="heedful[serve] is not installed")
from heedful.serve.engine_thread import EngineThread, Job  # noqa: E402
from heedful.serve.metrics import Metrics  # noqa: E402
from heedful.serve.texts import Wanted, translations  # noqa: E402


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> heedful.Translator:
    run: Path = train_toy(tmp_path_factory.mktemp("toy"), steps=40)
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


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(requests, min_size=1, max_size=8))
def test_every_answer_is_that_of_the_text_alone(translator: heedful.Translator, asked: list) -> None:
    options = replace(translator.options, max_extra_length=10)
    model = service_module.ServedModel("toy", translator, Languages("en", "de"), options)
    service = service_module.Service([model], queue_tokens=10**9, most_characters=10**6)

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
    """An engine that translates a batch when it is let."""

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
    assert engine.batches[1].count(1) in (28, 29), "a batch is never all of one job's while others wait"
    assert sum(map(len, engine.batches)) == 64
