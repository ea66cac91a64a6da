"""Every way to compute attention gives the same numbers and gradients as an explicit loop, in float64."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from heedful.config import ModelConfig
from heedful.model.attention_kernels import equation_1, equation_1_choice, fused, restricted
from heedful.model.masks import AttentionPattern, Packed, Padded, causal_mask
from heedful.model.multi_head_attention import MultiHeadAttention
from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention

torch.manual_seed(0)


def attention_by_loop(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
    """Equation 1 for one head, one query and one key at a time, with Python's own arithmetic."""
    rows = []
    for i in range(q.size(0)):
        scores = [
            sum(q[i, c].item() * k[j, c].item() for c in range(q.size(1))) / math.sqrt(q.size(1))
            for j in range(k.size(0))
        ]
        exponentials = [math.exp(s) if allowed[i, j] else 0.0 for j, s in enumerate(scores)]
        total = sum(exponentials)
        weights = [e / total if total else 0.0 for e in exponentials]
        rows.append([sum(w * v[j, c].item() for j, w in enumerate(weights)) for c in range(v.size(1))])
    return torch.tensor(rows, dtype=torch.float64)


def random_heads(*shape: int, d_k: int = 3, d_v: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (torch.randn(*shape, size, dtype=torch.float64) for size in (d_k, d_k, d_v))
    return q.requires_grad_(), k.requires_grad_(), v.requires_grad_()


def gradients(output: Tensor, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    direction = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).reshape(output.shape)
    return list(torch.autograd.grad((output * direction).sum(), inputs))


@pytest.mark.parametrize("masked", [False, True])
def test_equation_1_is_what_an_explicit_loop_computes(masked: bool) -> None:
    q, k, v = random_heads(2, 2, 4)
    allowed = torch.rand(2, 2, 4, 4) < 0.6 if masked else torch.ones(2, 2, 4, 4, dtype=torch.bool)
    output, weights = scaled_dot_product_attention(q, k, v, allowed if masked else None)
    for b in range(2):
        for h in range(2):
            expected = attention_by_loop(q[b, h], k[b, h], v[b, h], allowed[b, h])
            torch.testing.assert_close(output[b, h].detach(), expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(weights @ v, output, rtol=0, atol=1e-14)


def test_gradients_of_equation_1_are_those_of_finite_differences() -> None:
    inputs = random_heads(2, 3)
    mask = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0]])
    assert torch.autograd.gradcheck(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0], inputs)


@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_kernel_is_equation_1_with_gradients(causal: bool) -> None:
    inputs = random_heads(3, 6, 2)
    real = torch.arange(6)[None] < torch.tensor([6, 2, 4])[:, None]
    pattern = AttentionPattern(Padded(real), Padded(real), causal=causal)
    expected, got = equation_1(*inputs, pattern)[0], fused(*inputs, pattern)[0]
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)
    for a, b in zip(gradients(got, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("r", [1, 2, 7, 8, 64, 1000])
def test_restricted_attention_is_a_masked_equation_1_in_a_padded_batch(r: int, causal: bool) -> None:
    inputs = random_heads(2, 75, 2)
    real = torch.arange(75)[None] < torch.tensor([75, 40])[:, None]
    pattern = AttentionPattern(Padded(real), Padded(real), causal=causal)
    reference = equation_1_choice(ModelConfig(neighbourhood=r)).self_attend
    expected, got = reference(*inputs, pattern)[0], restricted(*inputs, pattern, neighbourhood=r)[0]
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)
    for a, b in zip(gradients(got, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_restricted_attention_is_a_masked_loop() -> None:
    q, k, v = random_heads(1, 9, 1)
    got = restricted(q, k, v, None, neighbourhood=4)[0]
    allowed = torch.tensor([[abs(i - j) <= 2 for j in range(9)] for i in range(9)])
    torch.testing.assert_close(
        got[0, :, 0].detach(), attention_by_loop(q[0, :, 0], k[0, :, 0], v[0, :, 0], allowed), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("causal", [False, True])
def test_restricted_attention_stays_within_each_packed_sequence(causal: bool) -> None:
    lengths = [40, 1, 33, 0, 26]
    offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)
    inputs = random_heads(100, 2)
    layout = Packed(offsets, tokens=100, max_length=40)
    pattern = AttentionPattern(layout, layout, causal=causal)
    got = restricted(*inputs, pattern, neighbourhood=10)[0]
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        n = end - start
        allowed = torch.tensor([[abs(i - j) <= 5 and (j <= i or not causal) for j in range(n)] for i in range(n)])
        for h in range(2):
            q, k, v = (x[start:end, h].detach() for x in inputs)
            expected = attention_by_loop(q, k, v, allowed) if n else torch.empty(0, 5, dtype=torch.float64)
            torch.testing.assert_close(got[start:end, h].detach(), expected, rtol=0, atol=1e-13)


def copied_from_torch(
    theirs: nn.MultiheadAttention, d_model: int, num_heads: int, **kernel: object
) -> MultiHeadAttention:
    ours = MultiHeadAttention(d_model=d_model, num_heads=num_heads, **kernel).double()  # pyright: ignore
    state = theirs.state_dict()
    ours.load_state_dict(
        {
            "w_qkv.weight": state["in_proj_weight"],
            "w_qkv.bias": state["in_proj_bias"],
            "w_o.weight": state["out_proj.weight"],
            "w_o.bias": state["out_proj.bias"],
        }
    )
    return ours


@pytest.mark.parametrize("kernel", [equation_1, fused])
@pytest.mark.parametrize("case", ["self", "cross", "three"])
def test_multi_head_attention_is_torchs_with_gradients(kernel: object, case: str) -> None:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    ours = copied_from_torch(theirs, 12, 3, attend=kernel)
    q = torch.randn(2, 5, 12, dtype=torch.float64, requires_grad=True)
    k = q if case == "self" else torch.randn(2, 7, 12, dtype=torch.float64, requires_grad=True)
    v = k if case != "three" else torch.randn(2, 7, 12, dtype=torch.float64, requires_grad=True)
    filling = torch.zeros(2, k.size(1), dtype=torch.bool)
    filling[1, 3:] = True
    expected, expected_weights = theirs(q, k, v, key_padding_mask=filling, average_attn_weights=False)
    got, weights = ours(q, k, v, ~filling[:, None, None, :])
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)
    if weights is not None:
        torch.testing.assert_close(weights, expected_weights, rtol=0, atol=1e-13)
    inputs = list(dict.fromkeys([q, k, v]))
    ours_grads = gradients(got, (*inputs, ours.w_qkv.weight, ours.w_qkv.bias, ours.w_o.weight, ours.w_o.bias))
    theirs_grads = gradients(
        expected, (*inputs, theirs.in_proj_weight, theirs.in_proj_bias, theirs.out_proj.weight, theirs.out_proj.bias)
    )
    for a, b in zip(ours_grads, theirs_grads, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_free_key_and_value_sizes_are_what_the_definition_says() -> None:
    ours = MultiHeadAttention(d_model=6, num_heads=2, d_k=3, d_v=5).double()
    x = torch.randn(1, 4, 6, dtype=torch.float64)
    w_q, w_k, w_v = ours.w_qkv.weight.split(ours.rows)
    b_q, b_k, b_v = ours.w_qkv.bias.split(ours.rows)
    heads = []
    for h in range(2):
        q, k = (x[0] @ w[3 * h : 3 * h + 3].T + b[3 * h : 3 * h + 3] for w, b in ((w_q, b_q), (w_k, b_k)))
        v = x[0] @ w_v[5 * h : 5 * h + 5].T + b_v[5 * h : 5 * h + 5]
        heads.append(attention_by_loop(q, k, v, torch.ones(4, 4)))
    expected = torch.cat(heads, dim=-1) @ ours.w_o.weight.T + ours.w_o.bias
    torch.testing.assert_close(ours(x, x, x)[0][0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4), (2, 1, 4, 4), (2, 2, 4, 4)])
@pytest.mark.parametrize("kernel", [equation_1, fused])
def test_masks_of_each_documented_shape_mean_the_same(shape: tuple[int, ...], kernel: object) -> None:
    attention = MultiHeadAttention(d_model=8, num_heads=2, attend=kernel).double()  # pyright: ignore
    x = torch.randn(2, 4, 8, dtype=torch.float64)
    expected = attention(x, x, x, causal_mask(4)[None, None])[0]
    for mask in (causal_mask(4), causal_mask(4).int()):
        got = attention(x, x, x, mask.expand(shape[-2:]).expand(shape).clone())[0]
        torch.testing.assert_close(got, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kernel", [equation_1, fused, partial(restricted, neighbourhood=4)])
def test_a_fully_masked_row_gives_zeros_and_finite_gradients(kernel: object) -> None:
    inputs = random_heads(2, 4, 2)
    real = torch.tensor([[True] * 4, [False] * 4])
    pattern = AttentionPattern(Padded(real), Padded(real))
    output = kernel(*inputs, pattern)[0]  # pyright: ignore
    assert output[0].abs().sum() > 0
    torch.testing.assert_close(output[1], torch.zeros_like(output[1]), rtol=0, atol=0)
    assert all(torch.isfinite(g).all() for g in gradients(output, inputs))
