"""One step: micro-batches do not change it, dropout is a function of its place, what is not finite is skipped."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.training_toys import write_toy

from heedful.config import Config
from heedful.data.corpus import Corpus
from heedful.errors import TrainingError
from heedful.presets import resolve
from heedful.training.batches import Batches, prefetched
from heedful.training.distributed import World
from heedful.training.label_smoothing import label_smoothed_loss
from heedful.training.setup import built_model
from heedful.training.step import Precision, Trainer, noise_seed, precision_for

CPU = torch.device("cpu")
SETTINGS = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=2"),
    *("training.source_tokens=256", "training.target_tokens=256", "training.warmup_steps=10"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus(write_toy(tmp_path_factory.mktemp("toy"), task="reverse", pairs=400))


def trainer_and_batches(corpus: Corpus, *changes: str, dtype: torch.dtype = torch.float32) -> tuple[Trainer, Batches]:
    config: Config = resolve(name="tiny", settings=[*SETTINGS, *changes])
    precision = Precision(CPU, half=False)
    trainer = Trainer(built_model(config, corpus, precision).to(dtype), config, precision=precision, world=World())
    return trainer, Batches(corpus, config.training, layout="padded", device=CPU, world=World())


def step_gradients(trainer: Trainer, batches: Batches, step: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    numbers = trainer.step(batches.step(step))
    return {name: p.grad.clone() for name, p in trainer.model.named_parameters() if p.grad is not None}, numbers


def test_one_and_seven_micro_batches_give_the_same_gradient(corpus: Corpus) -> None:
    results = []
    for count in (1, 7):
        trainer, batches = trainer_and_batches(
            corpus, "model.dropout=0.0", f"training.micro_batches={count}", dtype=torch.float64
        )
        assert len(batches.step(3).micro_batches) == count
        results.append(step_gradients(trainer, batches, 3))
    (one, one_numbers), (seven, seven_numbers) = results
    for name in one:
        torch.testing.assert_close(one[name], seven[name], rtol=0, atol=1e-12)
    torch.testing.assert_close(one_numbers, seven_numbers, rtol=1e-5, atol=0)


def test_the_gradient_is_that_of_the_mean_loss_over_all_target_words(corpus: Corpus) -> None:
    trainer, batches = trainer_and_batches(corpus, "model.dropout=0.0", dtype=torch.float64)
    micro = batches.step(2).micro_batches[0]
    loss, count = label_smoothed_loss(trainer.model(micro.source, micro.target_input), micro.target_output)
    names, parameters = zip(*trainer.model.named_parameters(), strict=True)
    expected = dict(zip(names, torch.autograd.grad(loss / count, parameters), strict=True))
    got, numbers = step_gradients(trainer, batches, 2)
    for name in names:
        torch.testing.assert_close(got[name], expected[name], rtol=0, atol=1e-12)
    assert numbers[0].item() == pytest.approx(loss.item(), rel=1e-6)
    norm = sum(float(g.square().sum()) for g in expected.values()) ** 0.5
    assert numbers[2].item() == pytest.approx(norm, rel=1e-6)


def test_dropout_is_a_function_of_seed_step_and_micro_batch(corpus: Corpus) -> None:
    def numbers(*changes: str, step: int = 5, noise: int = 0) -> list[float]:
        trainer, batches = trainer_and_batches(corpus, "model.dropout=0.3", *changes)
        torch.manual_seed(noise)  # whatever happened before
        return trainer.step(batches.step(step)).tolist()

    assert numbers(noise=1) == numbers(noise=2)
    assert numbers()[0] != numbers("model.dropout=0.0")[0]
    seeds = {noise_seed(seed, step, micro) for seed in range(4) for step in range(50) for micro in range(8)}
    assert len(seeds) == 4 * 50 * 8


def test_a_step_without_a_finite_gradient_changes_nothing(corpus: Corpus) -> None:
    trainer, batches = trainer_and_batches(corpus)
    trainer.step(batches.step(1))
    broken = trainer.model.decoder.layers[0].feed_forward.w_1.bias  # pyright: ignore
    kept = broken[0].clone()  # pyright: ignore
    with torch.no_grad():
        broken[0] = torch.nan  # pyright: ignore
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    numbers = trainer.step(batches.step(2))
    assert numbers[3].item() == 1
    for name, value in trainer.model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0, equal_nan=True)
    with torch.no_grad():
        broken[0] = kept  # pyright: ignore
    assert trainer.step(batches.step(3))[3].item() == 0


def test_batches_from_the_background_are_the_batches(corpus: Corpus) -> None:
    _, batches = trainer_and_batches(corpus, "training.micro_batches=2")
    for step, batch in enumerate(prefetched(batches, first=4, last=9), start=4):
        direct = batches.step(step)
        np.testing.assert_array_equal(batch.pairs, direct.pairs)
        assert all(
            torch.equal(a.source, b.source) for a, b in zip(batch.micro_batches, direct.micro_batches, strict=True)
        )


def test_an_error_in_the_background_reaches_the_loop(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    _, batches = trainer_and_batches(corpus)
    monkeypatch.setattr(batches.schedule.__class__, "batch", lambda *_: (_ for _ in ()).throw(OSError("disk gone")))
    with pytest.raises(OSError, match="disk gone"):
        list(prefetched(batches, first=1, last=3))


def test_half_precision_on_a_cpu_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"training\.precision = bfloat16 needs CUDA"):
        precision_for(resolve(settings=["training.precision=bfloat16"]), CPU)


def test_processes_share_the_micro_batches_of_one_global_batch(corpus: Corpus) -> None:
    training = resolve(name="tiny", settings=[*SETTINGS, "training.micro_batches=5"]).training
    _, batches = trainer_and_batches(corpus, "training.micro_batches=5")
    whole = {micro.index: micro for micro in batches.step(7).micro_batches}
    seen: dict[int, torch.Tensor] = {}
    for rank in range(2):
        world = World(rank=rank, size=2)
        part = Batches(corpus, training, layout="padded", device=CPU, world=world).step(7)
        assert part.target_tokens == batches.step(7).target_tokens
        seen |= {micro.index: micro.source for micro in part.micro_batches}
    assert set(seen) == set(whole)
    assert all(torch.equal(seen[index], whole[index].source) for index in whole)


def test_residual_scale_shrinks_what_sub_layers_end_with_and_nothing_else(corpus: Corpus) -> None:
    whole, shrunk = (
        trainer_and_batches(corpus, f"training.residual_scale={scale}")[0].model.state_dict() for scale in (1.0, 0.25)
    )
    ends = [name for name in whole if name.endswith(("w_o.weight", "w_2.weight"))]
    assert len(ends) == 2 + 2 * 3, "two in an encoder layer, three in a decoder layer"
    for name, matrix in whole.items():
        assert torch.equal(shrunk[name], matrix * 0.25 if name in ends else matrix)
