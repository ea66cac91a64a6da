"""Every kernel against its equation in float64, gradients included."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.model import cuda_sublayers
from heedful.model.attention_kernels import Attend, equation_1, interval, interval_attention, plain_interval_attention
from heedful.model.cuda_sublayers import _Noise
from heedful.model.masks import AttentionPattern, Intervals, Packed, packed_intervals
from heedful.model.stacks import DecoderLayer, EncoderLayer

TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.5e-2}
"""Relative errors of outputs and gradients."""
LENGTHS = st.lists(st.integers(1, 70), min_size=1, max_size=12)


def packed(lengths: list[int]) -> Packed:
    offsets = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()
    return Packed(offsets, tokens=sum(lengths), max_length=max(lengths))


def relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm().clamp(min=1e-12))


def attention_errors(
    sizes: tuple[int, int, int], intervals: Intervals, dtype: torch.dtype, *, seed: int = 0
) -> list[float]:
    """Errors of the output and of the three gradients; ``sizes``: heads, d_k, d_v."""
    torch.manual_seed(seed)
    heads, d_k, d_v = sizes
    queries, keys = len(intervals.first), len(intervals.first_query)
    exact = [
        torch.randn(count, heads, size, device="cuda", dtype=dtype).double().requires_grad_()
        for count, size in ((queries, d_k), (keys, d_k), (keys, d_v))
    ]
    given = [x.detach().to(dtype).requires_grad_() for x in exact]
    expected = plain_interval_attention(exact[0], exact[1], exact[2], intervals)
    found = interval_attention(given[0], given[1], given[2], intervals)
    d_output = torch.randn_like(expected)
    expected_gradients = torch.autograd.grad(expected, exact, d_output)
    gradients = torch.autograd.grad(found, given, d_output.to(dtype))
    both = zip((found, *gradients), (expected, *expected_gradients), strict=True)
    return [relative_error(a.detach(), b.detach()) for a, b in both]


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("sizes", [(8, 64, 64), (4, 16, 64), (2, 12, 20), (2, 128, 128), (1, 256, 256)])
@given(lengths=LENGTHS, kind=st.sampled_from(["encoder", "decoder", "source"]), reach=st.sampled_from([0, 4, 16]))
@settings(max_examples=6, deadline=None, derandomize=True)
def test_attention_is_equation_1_for_any_layout(
    dtype: torch.dtype, sizes: tuple[int, int, int], lengths: list[int], kind: str, reach: int
) -> None:
    queries = packed(lengths)
    if kind == "source":
        intervals = packed_intervals(queries, packed([1 + length % 50 for length in lengths]))
    else:
        intervals = packed_intervals(queries, queries, causal=kind == "decoder", neighbourhood=reach)
    errors = attention_errors(sizes, intervals, dtype)
    # One key alone has the weight 1 whatever its score: then there is no gradient to compare.
    if max(lengths) > 2:
        assert max(errors) < TOLERANCE[dtype]
    assert errors[0] < TOLERANCE[dtype]


def test_a_sentence_of_thousands_of_tokens_among_short_ones() -> None:
    layout = packed([5, 4000, 7, 1, 30])
    errors = attention_errors((2, 64, 64), packed_intervals(layout, layout, causal=True), torch.bfloat16)
    assert max(errors) < TOLERANCE[torch.bfloat16]


def test_more_sentences_than_other_packed_kernels_take() -> None:
    torch.manual_seed(0)
    layout = packed([2] * 70_000)
    q, k, v = (torch.randn(140_000, 2, 16, device="cuda") for _ in range(3))
    found = interval_attention(q, k, v, packed_intervals(layout, layout))
    last = packed([2] * 10)
    expected = plain_interval_attention(
        q[-20:].double(), k[-20:].double(), v[-20:].double(), packed_intervals(last, last)
    )
    assert relative_error(found[-20:], expected) < 1e-5


def test_queries_that_see_nothing_get_zeros_and_give_no_gradient() -> None:
    target = Packed(torch.tensor([0, 3, 6], dtype=torch.int32, device="cuda"), tokens=6, max_length=3)
    source = Packed(torch.tensor([0, 4, 4], dtype=torch.int32, device="cuda"), tokens=4, max_length=4)
    q, k, v = (torch.randn(count, 2, 16, device="cuda", requires_grad=True) for count in (6, 4, 4))
    output = interval_attention(q, k, v, packed_intervals(target, source))
    assert (output[3:] == 0).all()
    (d_q,) = torch.autograd.grad(output.sum(), q)
    assert (d_q[3:] == 0).all()


def test_dropout_of_attention_weights_keeps_its_share_and_has_its_own_gradient() -> None:
    """The weights that are left are recovered from the outputs of unit vectors, then everything is computed again."""
    torch.manual_seed(3)
    layout = packed([40, 24])
    intervals = packed_intervals(layout, layout)
    noise = _Noise(0.25, torch.tensor([7], device="cuda"))
    q, k, v = (torch.randn(64, 2, 64, device="cuda", requires_grad=True) for _ in range(3))

    def attend(values: Tensor) -> Tensor:
        return cuda_sublayers._Attention.apply(q, k, values, intervals, noise)

    unit = torch.eye(64, device="cuda")[:, None].expand(64, 2, 64).contiguous()
    kept = (attend(unit) > 0).permute(1, 0, 2)  # [heads, queries, keys]
    column = torch.arange(64, device="cuda")
    seen = (column >= intervals.first[:, None]) & (column < intervals.end[:, None])
    assert kept[:, seen].float().mean().item() == pytest.approx(0.75, abs=0.02)
    scores = torch.einsum("nhk,mhk->hnm", q, k) / 8
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1) * kept / 0.75
    expected = torch.einsum("hnm,mhe->nhe", weights, v)
    torch.testing.assert_close(attend(v), expected, rtol=1e-4, atol=1e-5)
    d_output = torch.randn_like(expected)
    found = torch.autograd.grad(attend(v), (q, k, v), d_output)
    torch.testing.assert_close(found, torch.autograd.grad(expected, (q, k, v), d_output), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("d_model", [16, 96, 512, 1024])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_add_and_norm_is_layer_norm_of_the_sum(dtype: torch.dtype, d_model: int, dropout: float) -> None:
    torch.manual_seed(1)
    norm = nn.LayerNorm(d_model, device="cuda")
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    x, s, d_y = (torch.randn(77, d_model, device="cuda", dtype=dtype) for _ in range(3))
    noise = _Noise(dropout, torch.tensor([5], device="cuda"))
    y, statistics = cuda_sublayers._normalised(x, s, norm.weight, norm.bias, norm.eps, noise)
    d_x, d_s, sums = cuda_sublayers._norm_gradients(d_y, x, s, norm.weight, statistics, noise)
    kept = (d_s != 0).double() if dropout else torch.ones_like(x, dtype=torch.float64)
    assert kept.mean().item() == pytest.approx(1 - dropout, abs=0.03)
    exact = [t.detach().double().requires_grad_() for t in (x, s, norm.weight, norm.bias)]
    z = exact[0] + exact[1] * kept / (1 - dropout)
    expected = F.layer_norm(z, (d_model,), exact[2], exact[3], norm.eps)
    gradients = torch.autograd.grad(expected, exact, d_y.double())
    found = (y, d_x, d_s, sums[0], sums[1], sums[2])
    for one, other in zip(found, (expected.detach(), *gradients, gradients[1].sum(0)), strict=True):
        assert relative_error(one.detach(), other) < TOLERANCE[dtype]


LAYERS: dict[str, dict[str, int]] = {
    "512": {"d_model": 512, "num_heads": 8, "d_ff": 2048},
    "d_k, d_v": {"d_model": 96, "num_heads": 4, "d_ff": 200, "d_k": 12, "d_v": 40},
}


@pytest.mark.parametrize("sizes", LAYERS)
def test_layers_by_hand_are_the_plain_ones_with_their_gradients(sizes: str) -> None:
    """Against equation 1 and PyTorch's own gradients in float64; the end of a line that belongs to nobody included."""
    torch.manual_seed(2)
    lengths = [5, 33, 2, 60, 17]
    source, target = (
        Packed(torch.tensor([0, *more], device="cuda").cumsum(0).int(), tokens=128, max_length=64)
        for more in (lengths, lengths[::-1])
    )
    patterns = [
        AttentionPattern(queries, keys, causal, packed_intervals(queries, keys, causal=causal))
        for queries, keys, causal in ((source, source, False), (target, source, False), (target, target, True))
    ]
    real = torch.arange(128, device="cuda") < sum(lengths)
    state: list[dict[str, Tensor]] = []
    x, y, d_output = (torch.randn(128, LAYERS[sizes]["d_model"], device="cuda", dtype=torch.float64) for _ in range(3))

    def results(attend: Attend, kind: torch.dtype, *, half: bool = False) -> list[Tensor]:
        encoder = EncoderLayer(**LAYERS[sizes], dropout=0.0, attend=attend)
        decoder = DecoderLayer(**LAYERS[sizes], dropout=0.0, self_attend=attend, cross_attend=attend)
        for number, layer in enumerate((encoder, decoder)):
            layer.to("cuda", kind)
            if len(state) < 2:
                state.append({name: torch.randn_like(value) * 0.1 for name, value in layer.state_dict().items()})
            layer.load_state_dict({name: value.to(kind) for name, value in state[number].items()})
        inputs = [tensor.to(kind).requires_grad_() for tensor in (x, y)]
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            stream = [tensor.bfloat16() if half else tensor for tensor in inputs]
            output = decoder(stream[1], encoder(stream[0], patterns[0]), patterns[1], patterns[2])
        wanted = [*inputs, *encoder.parameters(), *decoder.parameters()]
        gradient = (d_output * real[:, None]).to(output.dtype)
        return [output[real].detach(), *torch.autograd.grad(output, wanted, gradient)]

    exact = results(equation_1, torch.float64)
    single, by_hand = results(interval, torch.float32), results(interval, torch.float32, half=True)
    plain = results(equation_1, torch.float32, half=True)
    for expected, fine, rough, usual in zip(exact, single, by_hand, plain, strict=True):
        if expected.norm() > 1e-6:  # the keys' bias changes nothing
            assert relative_error(fine, expected) < 1e-4
            assert relative_error(rough, expected) < 1.5 * relative_error(usual, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_linear_relu_is_a_relu_of_a_linear_map(dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    linear = nn.Linear(64, 200, device="cuda", dtype=dtype)
    x = torch.randn(3, 50, 64, device="cuda", dtype=dtype)
    with torch.no_grad():
        found = cuda_sublayers.linear_relu(x, linear)
        assert relative_error(found, linear.double()(x.double()).relu()) < TOLERANCE[dtype]


@pytest.mark.parametrize("words", [100, 3001, 37_000])
def test_the_loss_by_its_kernel_is_the_plain_one(words: int) -> None:
    from heedful.training.label_smoothing import losses_and_gradient, losses_by_kernel

    torch.manual_seed(4)
    scores = torch.randn(50, words, device="cuda") * 3
    targets = torch.randint(0, words, (50,), device="cuda")
    targets[:5] = 0  # padding
    expected = losses_and_gradient(scores.double(), targets, 0.1)
    found = losses_by_kernel(scores.clone(), targets, 0.1)
    for one, other in zip(found, expected, strict=True):
        assert relative_error(one, other) < 1e-5
