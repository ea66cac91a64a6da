"""The operations of a step, against torch's own counter, against a loop, and against figures counted elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from heedful.config import ModelConfig
from heedful.data.corpus import Lengths
from heedful.model.attention_kernels import EQUATION_1
from heedful.model.transformer import Transformer
from heedful.presets import big
from heedful.training.flops import attention_scores, batch_flops, paper_flops

SMALL = ModelConfig(d_model=256, d_ff=1024, num_heads=4, encoder_layers=3, decoder_layers=3)


def per_target_token(model: ModelConfig, *, vocab_size: int, source: int, target: int) -> float:
    lengths = Lengths(np.array([source]), np.array([target]))
    return batch_flops(model, vocab_size=vocab_size, lengths=lengths) / target


@pytest.mark.parametrize(
    "changes", [{}, {"d_k": 3, "d_v": 5}, {"encoder_layers": 1, "decoder_layers": 3}, {"positions": "learned"}], ids=str
)
def test_the_count_is_the_one_torch_makes_of_forward_and_backward(changes: dict[str, Any]) -> None:
    """Exactly: in Equation 1 as printed every product is a plain one, and the counter counts products alone.

    (PyTorch's fused kernels compute the scores once more in the backward pass, which is no work the model needs.)
    """
    sizes: dict[str, Any] = {"d_model": 16, "d_ff": 24, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 2}
    config = ModelConfig(**{**sizes, **changes})
    model = Transformer(config, vocab_size=37, attention=EQUATION_1)
    source, target = torch.randint(3, 37, (3, 7)), torch.randint(3, 37, (3, 5))
    with FlopCounterMode(display=False) as counter:
        model(source, target).sum().backward()
    ours = batch_flops(config, vocab_size=37, lengths=Lengths(np.full(3, 7), np.full(3, 5)))
    assert ours == counter.get_total_flops()


@pytest.mark.parametrize("neighbourhood", [0, 1, 2, 5, 8, 100])
def test_scores_are_those_a_loop_counts(neighbourhood: int) -> None:
    source, target = [1, 4, 9, 30], [2, 2, 11, 25]

    def near(length: int) -> int:
        reach = neighbourhood // 2 if neighbourhood else length
        return sum(abs(i - j) <= reach for i in range(length) for j in range(length))

    found = attention_scores(Lengths(np.array(source), np.array(target)), neighbourhood=neighbourhood)
    within = [sum(near(length) for length in side) for side in (source, target)]
    assert found == (*within, sum(s * t for s, t in zip(source, target, strict=True)))


@pytest.mark.parametrize(
    ("model", "vocab_size", "millions"),
    [
        (SMALL, 8_000, 45.6),
        (ModelConfig(), 32_000, 361.6),
        (ModelConfig(), 37_000, 376.9),
        (big().model, 32_000, 1242.5),
    ],
)
def test_operations_for_a_target_token(model: ModelConfig, vocab_size: int, millions: float) -> None:
    """Figures counted elsewhere on generated sentences, one token longer in the decoder; 30 and 31 stand for them.

    Attention is a hundredth of all at these lengths, so that their distribution hardly matters.
    """
    counted = per_target_token(model, vocab_size=vocab_size, source=30, target=31) / 1e6
    assert counted == pytest.approx(millions, rel=1e-3)


def test_six_operations_a_matrix_entry_and_token_where_attention_is_small() -> None:
    """The usual rule of thumb, by the matrices of the built model."""
    with torch.device("meta"):
        model = Transformer(vocab_size=37_000)
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() == 2)
    counted = per_target_token(ModelConfig(), vocab_size=37_000, source=1, target=1)
    assert counted == pytest.approx(6 * matrices, rel=1e-3)


def test_the_papers_accounting_gives_the_figures_of_table_2() -> None:
    assert f"{paper_flops(gpus=8, hours=12, tflops=9.5):.1e}" == "3.3e+18"
    assert f"{paper_flops(gpus=8, hours=3.5 * 24, tflops=9.5):.1e}" == "2.3e+19"
