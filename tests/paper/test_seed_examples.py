"""The examples of the documents this project implements, in our spelling, against numbers computed another way.

Each expectation is numpy or plain Python written from the formula, never another call of ours or of torch.nn.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    PositionalEncoding,
    PositionwiseFeedForward,
    label_smoothed_loss,
    learning_rate,
    positional_encoding,
    scaled_dot_product_attention,
)

Array = NDArray[np.float64]


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def linear(layer: nn.Linear, x: Array, rows: slice = slice(None)) -> Array:
    return x @ layer.weight[rows].detach().numpy().T + layer.bias[rows].detach().numpy()


def layer_norm(norm: nn.LayerNorm, x: Array) -> Array:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return norm.weight.detach().numpy() * (x - mean) / np.sqrt(variance + norm.eps) + norm.bias.detach().numpy()


def attend(
    module: MultiHeadAttention, q: Array, k: Array, v: Array, allowed: Array | None = None
) -> tuple[Array, Array]:
    """Multi-head attention of one sentence, one head after the other."""
    h, d_k, d_v = module.num_heads, module.d_k, module.d_v
    heads, weights = [], []
    for i in range(h):
        query = linear(module.w_qkv, q, slice(i * d_k, (i + 1) * d_k))
        key = linear(module.w_qkv, k, slice(h * d_k + i * d_k, h * d_k + (i + 1) * d_k))
        value = linear(module.w_qkv, v, slice(2 * h * d_k + i * d_v, 2 * h * d_k + (i + 1) * d_v))
        scores = query @ key.T / np.sqrt(d_k)
        weights.append(softmax(scores if allowed is None else np.where(allowed > 0, scores, -np.inf)))
        heads.append(weights[-1] @ value)
    return linear(module.w_o, np.concatenate(heads, axis=-1)), np.stack(weights)


def feed(module: PositionwiseFeedForward, x: Array) -> Array:
    return linear(module.w_2, np.maximum(0, linear(module.w_1, x)))


def close(got: Tensor, expected: Array) -> None:
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_seed_000_scaled_dot_product_attention_on_split_heads_with_a_padding_mask() -> None:
    q, k, v = (torch.randn(2, 3, n, size, dtype=torch.float64) for n, size in ((4, 5), (6, 5), (6, 7)))
    mask = torch.tensor([1, 1, 1, 1, 0, 0]).reshape(1, 1, 1, 6).repeat(2, 1, 1, 1)
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    scores = np.einsum("bhqc,bhkc->bhqk", q.numpy(), k.numpy()) / math.sqrt(5)
    scores[..., 4:] = -np.inf
    close(weights, softmax(scores))
    close(output, np.einsum("bhqk,bhkc->bhqc", softmax(scores), v.numpy()))


def test_seed_000_and_002_multi_head_attention() -> None:
    attention = MultiHeadAttention(d_model=512, num_heads=8).double()
    x = torch.randn(2, 10, 512, dtype=torch.float64)
    output, weights = attention(x, x, x)
    assert output.shape == (2, 10, 512)
    for sentence in range(2):
        expected, expected_weights = attend(attention, *[x[sentence].numpy()] * 3)
        close(output[sentence], expected)
        close(weights[sentence], expected_weights)


def test_seed_000_and_002_encoder_layer() -> None:
    layer = EncoderLayer(d_model=16, d_ff=32, num_heads=4, dropout=0.1).double().eval()
    x = torch.randn(1, 5, 16, dtype=torch.float64)
    mask = torch.tensor([1, 1, 1, 1, 0])
    y = x[0].numpy()
    y = layer_norm(layer.add_and_norm_1.norm, y + attend(layer.self_attention, y, y, y, mask.numpy()[None])[0])
    y = layer_norm(layer.add_and_norm_2.norm, y + feed(layer.feed_forward, y))
    close(layer(x, mask)[0], y)


def test_seed_002_decoder_layer() -> None:
    layer = DecoderLayer(d_model=16, num_heads=4, d_ff=32, dropout=0.1).double().eval()
    x, encoder_output = torch.randn(1, 4, 16, dtype=torch.float64), torch.randn(1, 6, 16, dtype=torch.float64)
    source_mask, target_mask = torch.tensor([1, 1, 1, 1, 1, 0]), torch.tril(torch.ones(4, 4)).int()
    y, memory = x[0].numpy(), encoder_output[0].numpy()
    y = layer_norm(layer.add_and_norm_1.norm, y + attend(layer.self_attention, y, y, y, target_mask.numpy())[0])
    crossed = attend(layer.cross_attention, y, memory, memory, source_mask.numpy()[None])[0]
    y = layer_norm(layer.add_and_norm_2.norm, y + crossed)
    y = layer_norm(layer.add_and_norm_3.norm, y + feed(layer.feed_forward, y))
    close(layer(x, encoder_output, source_mask, target_mask)[0], y)


def test_seed_002_attention_on_three_axes() -> None:
    q, k, v = (torch.randn(2, 5, 8) for _ in range(3))
    output, weights = scaled_dot_product_attention(q, k, v)
    assert output.shape == (2, 5, 8)
    assert weights.shape == (2, 5, 5)
    expected = softmax(q.double().numpy() @ k.double().numpy().transpose(0, 2, 1) / math.sqrt(8))
    np.testing.assert_allclose(weights.numpy(), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(output.numpy(), expected @ v.double().numpy(), rtol=0, atol=1e-6)


def test_seed_000_positional_encoding_module() -> None:
    encoded = PositionalEncoding(d_model=8)(torch.zeros(1, 50, 8, dtype=torch.float64))
    for position in range(50):
        for i in range(4):
            angle = position / 10000 ** (2 * i / 8)
            assert encoded[0, position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert encoded[0, position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_seed_002_positional_encoding_table() -> None:
    expected = np.zeros((100, 512))
    for position in range(100):
        for i in range(0, 512, 2):
            expected[position, i] = np.sin(position / 10000 ** (i / 512))
            expected[position, i + 1] = np.cos(position / 10000 ** (i / 512))
    np.testing.assert_allclose(positional_encoding(100, 512).numpy(), expected, rtol=0, atol=1e-7)


def test_seed_001_wavelengths_run_from_two_pi_towards_ten_thousand_times_that() -> None:
    encoding = positional_encoding(62832, 512, dtype=torch.float64)
    # The fastest sine is back after 2π positions, the slowest after almost 10000 · 2π.
    assert abs(encoding[710, 0].item()) < 1e-3  # 710 ≈ 113 · 2π
    slowest = encoding[:, 510]
    assert slowest.argmax().item() == pytest.approx(10000 ** (510 / 512) * math.pi / 2, abs=1)


def test_seed_001_scaling_keeps_the_variance_of_a_dot_product_at_one() -> None:
    d_k = 64
    q, k = torch.randn(2, 100_000, d_k)
    products = (q * k).sum(-1)
    assert products.var().item() == pytest.approx(d_k, rel=0.05)
    assert (products / math.sqrt(d_k)).var().item() == pytest.approx(1, rel=0.05)


def test_seed_001_position_i_attends_to_positions_up_to_i() -> None:
    q, k, v = (torch.randn(1, 4, 3, dtype=torch.float64) for _ in range(3))
    additive = np.array([[0.0 if j <= i else -np.inf for j in range(4)] for i in range(4)])
    expected = softmax(q[0].numpy() @ k[0].numpy().T / math.sqrt(3) + additive)
    close(scaled_dot_product_attention(q, k, v, torch.tril(torch.ones(4, 4)) > 0)[1][0], expected)


def test_seed_001_and_002_learning_rate() -> None:
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        rising, falling = step / (4000 * math.sqrt(4000)), 1 / math.sqrt(step)
        assert learning_rate(step) == pytest.approx((rising if step <= 4000 else falling) / math.sqrt(512), rel=1e-12)
    # The peak, where both branches meet, by the paper's own numbers.
    assert learning_rate(4000, d_model=512, warmup_steps=4000) == pytest.approx(1 / math.sqrt(512 * 4000), rel=1e-12)


def test_seed_002_label_smoothing() -> None:
    logits, targets = torch.randn(6, 11, dtype=torch.float64), torch.tensor([1, 2, 10, 5, 5, 3])
    log_probabilities = np.log(softmax(logits.numpy()))
    smoothed = np.full((6, 11), 0.1 / 10)
    smoothed[np.arange(6), targets.numpy()] = 0.9
    loss, count = label_smoothed_loss(logits, targets, label_smoothing=0.1)
    assert count.item() == 6
    assert loss.item() == pytest.approx(-(smoothed * log_probabilities).sum(), abs=1e-12)
    # The document's loss is the divergence from the smoothed targets: less by their entropy, which nothing can change.
    divergence = (smoothed * (np.log(smoothed) - log_probabilities)).sum() / 6
    entropy = -(smoothed[0] * np.log(smoothed[0])).sum()
    assert loss.item() / 6 - entropy == pytest.approx(divergence, abs=1e-12)


def test_seed_003_feed_forward_is_position_wise() -> None:
    module = PositionwiseFeedForward(d_model=8, d_ff=16).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    close(module(x), feed(module, x.numpy()))
    torch.testing.assert_close(module(x)[1, 2], module(x[1, 2]), rtol=0, atol=1e-14)


def test_seed_004_a_token_meets_every_token_in_one_step() -> None:
    """One layer is enough for the first position to depend on the last: the path length of Table 1 is 1."""
    attention = MultiHeadAttention(d_model=8, num_heads=2).double()
    x = torch.randn(1, 30, 8, dtype=torch.float64, requires_grad=True)
    attention(x, x, x)[0][0, 0].sum().backward()
    assert x.grad is not None
    assert (x.grad[0].abs().sum(-1) > 0).all()
