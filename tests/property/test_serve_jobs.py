"""Many at once: whatever comes and goes beside a text, its answer is that of the text alone, and nothing stays."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.trained_toys import train_toy

import heedful
from heedful.errors import GoneError
from heedful.runs.descriptions import Languages

service_module = pytest.importorskip("heedful.serve.service", reason="heedful[serve] is not installed")
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
