"""Draft heads: what they compute and learn, and what becomes of them in runs, bundles, exports and searches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.trained_toys import SMALL, train_toy
from torch.nn import functional as F

from heedful.errors import CheckpointError, SearchError, TrainingError
from heedful.export.ctranslate2_model import write_ctranslate2
from heedful.model.draft_heads import DraftHead, DraftHeads, heads_like
from heedful.model.transformer import Transformer
from heedful.presets import resolve
from heedful.runs.bundles import write_bundle
from heedful.runs.checkpoints import model_with_weights, read_checkpoint, write_tensors
from heedful.runs.saved import read_model
from heedful.search.model_search import ModelSearch, greedy_translations
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.symbols import END, PAD, START
from heedful.training import events
from heedful.training.loop import train
from heedful.training.setup import Task

HEADS = [*SMALL, 'training.only="draft_heads"', "training.average_last=2", "training.log_steps=10"]


def train_heads(folder: Path, init: Path, *settings: str, resume: bool = False) -> tuple[Path, list[object]]:
    told: list[object] = []
    steps = ["training.steps=40", "training.checkpoint_steps=20", *settings]
    config = resolve(name="tiny", settings=[*HEADS, *steps])
    data, own = init.parent / "corpus", None if resume else init
    task = Task(config=config, data=data, run=folder, preset="tiny", device="cpu", init=own, resume=resume)
    train(task, report=told.append, translate=greedy_translations)
    return folder, told


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"), steps=60)


@pytest.fixture(scope="module")
def with_heads(trained: Path) -> Path:
    return train_heads(trained.parent / "heads", trained)[0]


def test_a_head_is_its_equation() -> None:
    torch.manual_seed(1)
    head = DraftHead(d_model=6, words_since=2).double()
    x, one, two = torch.randn(3, 4, 6, dtype=torch.float64)
    assert torch.allclose(head(x, [one, two]), F.layer_norm(x, (6,))), "at first it adds nothing"
    torch.nn.init.normal_(head.w_2.weight)
    inner = torch.stack([torch.cat([x[n], one[n], two[n]]) @ head.w_1.weight.T for n in range(4)]) + head.w_1.bias
    expected = x + inner.clamp(min=0) @ head.w_2.weight.T + head.w_2.bias
    expected = (expected - expected.mean(1, keepdim=True)) / (expected.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    assert torch.allclose(head(x, [one, two]), expected)


def test_lessons_are_the_words_after_the_next_within_a_sentence() -> None:
    torch.manual_seed(1)
    model, words = Transformer(vocab_size=12, d_model=4, d_ff=8, num_heads=1), torch.tensor([PAD, END, 5, 7, 6])
    heads = DraftHeads(words, d_model=4)
    following = torch.tensor([[5, 6, 7, END], [9, 5, END, PAD], [END, PAD, PAD, PAD]])
    x = torch.randn(3, 4, 4)
    padded = heads.lessons(x, following, model.embedding)
    places = {word: place for place, word in enumerate(words.tolist())}
    for k, (hidden, targets) in enumerate(padded, start=1):
        for row, position in np.ndindex(3, 4):
            sentence = [word for word in following[row].tolist() if word != PAD]
            true = sentence[position + k] if position + k < len(sentence) else PAD
            assert targets[row, position] == places.get(true, PAD)
            if true != PAD:
                since = [model.embedding.embed(following[row, position + n]) for n in range(k)]
                assert torch.allclose(hidden[row, position], heads.heads[k - 1](x[row, position], since), atol=1e-6)
    real = following != PAD
    for (hidden, targets), (packed, same) in zip(
        padded, heads.lessons(x[real], following[real], model.embedding), strict=True
    ):
        assert targets[real].tolist() == same.tolist()
        assert torch.allclose(hidden[real][same != PAD], packed[same != PAD], atol=1e-6)


def test_only_the_heads_learn(trained: Path, with_heads: Path) -> None:
    before, after = read_model(trained).model.state_dict(), read_model(with_heads).model.state_dict()
    assert {name for name in after if name not in before} == {name for name in after if name.startswith("draft.")}
    for name, value in before.items():
        assert torch.equal(value, after[name]), f"{name} has changed"
    moments = read_checkpoint(with_heads / "checkpoints" / "step-00000040").optimizer
    assert all(".draft." in name for name in moments)
    lines = [json.loads(line) for line in (with_heads / "metrics.jsonl").read_text().splitlines()]
    losses = [line["negative_log_likelihood"] for line in lines if line["kind"] == "train"]
    assert losses[-1] < 0.9 * losses[0]


def test_the_words_are_those_of_greedy_search(trained: Path, with_heads: Path) -> None:
    sources = [Sentence(n, source) for n, source in enumerate(_sources())]
    options = SearchOptions(method="greedy", max_extra_length=5)
    plain, drafting = (read_model(place).model.double() for place in (trained, with_heads))
    results = [
        {s.number: (h[0].ids.tolist(), h[0].log_probability) for s, h in ModelSearch(model).search(sources, asked)}
        for model, asked in ((plain, options), (drafting, options), (drafting, replace(options, drafts=2)))
    ]
    assert results[1] == results[0], "a model with heads is the same model"
    for number, (words, value) in results[0].items():
        assert results[2][number][0] == words
        assert results[2][number][1] == pytest.approx(value, abs=1e-9)
    with pytest.raises(SearchError, match="drafts = 3: the model has 2 draft heads"):
        list(ModelSearch(drafting).search(sources, replace(options, drafts=3)))


def test_a_resumed_run_is_the_uninterrupted_one(trained: Path, with_heads: Path, tmp_path: Path) -> None:
    half, _ = train_heads(tmp_path / "half", trained, "training.steps=20")
    train_heads(half, trained, "training.steps=40", resume=True)
    whole, resumed = (read_checkpoint(run / "checkpoints" / "step-00000040") for run in (with_heads, half))
    for name, value in {**whole.model, **whole.optimizer}.items():
        assert torch.equal(value, {**resumed.model, **resumed.optimizer}[name])


def test_bundles_carry_the_heads_and_exports_leave_them_out(with_heads: Path, tmp_path: Path) -> None:
    saved = read_model(with_heads)
    own = saved.model.state_dict()
    for storage in ("float32", "bfloat16", "int8"):
        again = read_model(write_bundle(saved, tmp_path / storage, storage=storage)).model.state_dict()
        assert torch.equal(again["draft.words"], own["draft.words"])
        assert torch.allclose(again["draft.heads.1.w_1.weight"], own["draft.heads.1.w_1.weight"], atol=0.02)
    pytest.importorskip("ctranslate2")
    write_ctranslate2(saved, tmp_path / "exported", storage="int8")
    assert "raft heads" in (tmp_path / "exported" / "README.md").read_text()


def test_what_cannot_be_is_said(trained: Path, with_heads: Path, tmp_path: Path) -> None:
    config = resolve(name="tiny", settings=[*HEADS, "training.steps=2"])
    task = Task(config=config, data=trained.parent / "corpus", run=tmp_path / "run", device="cpu")
    with pytest.raises(TrainingError, match=r'training.only = "draft_heads" needs a model .* --init RUN'):
        train(task, report=lambda event: None, translate=greedy_translations)
    _, told = train_heads(tmp_path / "whole", with_heads, 'training.only=""', "training.steps=2")
    assert any(isinstance(event, events.Warned) and "draft heads" in event.text for event in told)
    assert read_model(tmp_path / "whole").model.draft is None
    again, _ = train_heads(tmp_path / "again", with_heads, "training.steps=1", "training.checkpoint_steps=1")
    old, new = (read_model(place).model.state_dict()["draft.heads.0.w_2.weight"] for place in (with_heads, again))
    assert torch.allclose(old, new, atol=0.01), "they go on from what they know"
    assert not torch.allclose(old, torch.zeros_like(old), atol=0.01)


def test_damaged_heads_are_refused(with_heads: Path) -> None:
    weights = read_model(with_heads).model.state_dict()
    assert heads_like({name: value for name, value in weights.items() if "draft" not in name}, d_model=32) is None
    description = read_model(with_heads).description
    for change in ({"draft.words": weights["draft.words"] + 10_000}, {"draft.words": weights["draft.words"][None]}):
        place = with_heads / "damaged"
        place.mkdir(exist_ok=True)
        write_tensors(place, {"model.safetensors": {**weights, **change}}, step=40, scheduled=False, state={})
        with pytest.raises(CheckpointError, match="draft"):
            model_with_weights(description, place)


def _sources() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(START + 2, 250, rng.integers(2, 9)) for _ in range(6)]
