"""Training on CUDA: captured steps are the plain ones, whatever came before them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.training_toys import step_of_torch, torch_adam, toy_sentences
from torch import nn

from heedful.config import Config, TrainingConfig
from heedful.data.corpus import Corpus
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.presets import resolve
from heedful.text.cleaning import Rules
from heedful.text.pairs import two_files
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import World
from heedful.training.optimizer import Adam, guarded_step
from heedful.training.setup import built_model
from heedful.training.step import Trainer, _GraphedUpdate, precision_for

CUDA = torch.device("cuda")
SIZES = ["model.encoder_layers=2", "model.decoder_layers=2", "model.d_model=128", "model.d_ff=256", "model.num_heads=4"]


def write_corpus(folder: Path, *, pairs: int, shortest: int, longest: int, tokenizer: Path | None = None) -> Corpus:
    """A prepared corpus of sentences to be reversed, of so many words each."""
    folder.mkdir()
    sentences = toy_sentences(pairs, seed=longest, shortest=shortest, longest=longest)
    source, target = folder / "source", folder / "target"
    source.write_text("".join(" ".join(words) + "\n" for words in sentences))
    target.write_text("".join(" ".join(words[::-1]) + "\n" for words in sentences))
    rules = Rules(keep=frozenset({"identical"}), max_length=5000, max_ratio=9.0)
    size = None if tokenizer else 320
    prepare(
        Request(corpora=(two_files(source, target),), rules=rules, tokenizer=tokenizer, vocab_size=size),
        output=folder / "corpus",
    )
    return Corpus(folder / "corpus")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("short") / "x", pairs=3000, shortest=2, longest=30)


@pytest.fixture(scope="module")
def long(short: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("long") / "x"
    return write_corpus(folder, pairs=4, shortest=1500, longest=2000, tokenizer=short.folder)


def configured(*more: str) -> Config:
    return resolve(name="base", settings=[*SIZES, "training.source_tokens=4096", "training.target_tokens=4096", *more])


def batches_of(corpus: Corpus, config: Config) -> Batches:
    return Batches(corpus, config.training, layout="packed", device=CUDA, world=World())


def new_trainer(config: Config, corpus: Corpus, how: str) -> Trainer:
    """A trainer with the run's initial weights: plain or captured."""
    precision = precision_for(config, CUDA)
    trainer = Trainer(built_model(config, corpus, precision), config, precision=precision, world=World())
    if how == "captured":
        trainer.accelerate()
    return trainer


def losses(trainer: Trainer, steps: list[StepBatch]) -> list[float]:
    return [trainer.step(step).tolist()[0] / step.target_tokens for step in steps]


def overwrite_free_memory() -> None:
    """Whatever was freed is written over, so that nobody can go on reading it unseen."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    for size in (1 << power for power in range(10, 28)):
        torch.full((size // 4,), torch.nan, device=CUDA)


def test_a_long_sequence_between_short_ones_does_not_change_captured_steps(short: Corpus, long: Corpus) -> None:
    """The table of positions was replaced under the captured graphs, which went on reading freed memory."""
    config = configured("model.dropout=0.0")
    steps = [batches_of(short, config).step(number) for number in range(1, 7)]
    steps = [*steps, batches_of(long, config).step(1), *steps]
    plain = losses(new_trainer(config, short, "plain"), steps)
    trainer = new_trainer(config, short, "captured")
    captured = losses(trainer, steps[:7])
    overwrite_free_memory()
    captured += losses(trainer, steps[7:])
    assert captured == pytest.approx(plain, rel=2e-3)


def test_a_validation_with_longer_sentences_does_not_change_captured_steps(short: Corpus, long: Corpus) -> None:
    config = configured("model.dropout=0.0")
    steps = [batches_of(short, config).step(number) for number in range(1, 9)]
    held_out = batches_of(long, config).step(1).micro_batches[0]
    expected = losses(new_trainer(config, short, "captured"), steps)
    trainer = new_trainer(config, short, "captured")
    found = losses(trainer, steps[:4])
    with torch.no_grad():
        trainer.model.eval()
        trainer.losses(held_out)
    overwrite_free_memory()
    found += losses(trainer, steps[4:])
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_captured_and_plain_steps_have_the_same_losses(short: Corpus, dropout: float) -> None:
    config = configured(f"model.dropout={dropout}", f"model.attention_dropout={dropout}")
    steps = [batches_of(short, config).step(number) for number in range(1, 13)]
    found = {how: losses(new_trainer(config, short, how), steps) for how in ("plain", "captured")}
    assert found["captured"] == pytest.approx(found["plain"], rel=1e-3)
    assert found["captured"][-1] < found["captured"][0]


def test_the_captured_update_is_that_of_torchs_own_class() -> None:
    models = [nn.Sequential(nn.Linear(37, 51), nn.Linear(51, 3)).to(CUDA) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    own, other = Adam.of(models[0], TrainingConfig()), torch_adam(models[1])
    rate, skip = torch.zeros((), device=CUDA), torch.zeros((), device=CUDA)
    pairs = list(zip(models[0].parameters(), models[1].parameters(), strict=True))
    gradients = [(torch.zeros_like(parameter), torch.zeros_like(same)) for parameter, same in pairs]
    for (parameter, same), (gradient, copy) in zip(pairs, gradients, strict=True):
        parameter.grad, same.grad = gradient, copy
    update = _GraphedUpdate(lambda: guarded_step(own, rate=rate, skip=skip))
    for step in range(12):
        rate.fill_(1e-3 / (step + 1))
        skip.fill_(float(step % 5 == 3))
        for gradient, copy in gradients:
            copy.copy_(gradient.normal_())
        update()
        step_of_torch(other, rate=rate, skip=skip)
        assert all(torch.equal(parameter, same) for parameter, same in pairs), step
