"""Dropout stands where section 5.4 puts it, and nowhere else."""

from __future__ import annotations

import torch
from torch import nn

from heedful.config import ModelConfig
from heedful.model.transformer import Transformer

SIZES = {"d_model": 8, "d_ff": 8, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 3}
IDS = torch.tensor([[3, 4, 5, 2]])


def calls_of_dropout(**changes: float) -> list[float]:
    """The rate of each dropout that one training step makes."""
    rates: list[float] = []
    model = Transformer(ModelConfig(**SIZES, **changes), vocab_size=9)  # pyright: ignore
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda module, *_: rates.append(float(module.p)))  # pyright: ignore
    model(IDS, IDS)
    return rates


def test_each_sublayer_output_and_each_embedding_sum_is_dropped_once() -> None:
    # two sides, 2 sub-layers in each of 2 encoder layers, 3 in each of 3 decoder layers
    assert calls_of_dropout(dropout=0.25) == [0.25] * (2 + 2 * 2 + 3 * 3)


def test_dropped_values_are_scaled_so_that_the_mean_stays() -> None:
    torch.manual_seed(0)
    model = Transformer(ModelConfig(**SIZES, dropout=0.25), vocab_size=9)  # pyright: ignore
    norm = model.encoder.layers[0].add_and_norm_1  # pyright: ignore
    dropped = norm.dropout(torch.ones(100_000, dtype=torch.float64))  # pyright: ignore
    assert set(dropped.unique().tolist()) == {0.0, 1 / 0.75}
    assert abs(dropped.mean().item() - 1) < 0.01


def test_evaluation_is_deterministic_and_training_is_not() -> None:
    torch.manual_seed(0)
    model = Transformer(ModelConfig(**SIZES, dropout=0.5), vocab_size=9)  # pyright: ignore
    assert not torch.equal(model(IDS, IDS), model(IDS, IDS))
    model.eval()
    assert torch.equal(model(IDS, IDS), model(IDS, IDS))


def test_attention_dropout_is_off_by_default_and_works_when_asked_for() -> None:
    torch.manual_seed(0)
    without = Transformer(ModelConfig(**SIZES, dropout=0.0), vocab_size=9)  # pyright: ignore
    assert torch.equal(without(IDS, IDS), without(IDS, IDS))
    with_it = Transformer(ModelConfig(**SIZES, dropout=0.0, attention_dropout=0.5), vocab_size=9)  # pyright: ignore
    assert not torch.equal(with_it(IDS, IDS), with_it(IDS, IDS))
    with_it.eval()
    assert torch.equal(with_it(IDS, IDS), with_it(IDS, IDS))
