"""What must hold for any sentences whatever. In float64 where shapes change, so that rounding cannot hide a leak."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from heedful.model.attention_kernels import EQUATION_1, equation_1_choice
from heedful.model.embeddings import positional_encoding
from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention
from heedful.model.transformer import Transformer

V = 19
SIZES = {"d_model": 12, "d_ff": 20, "num_heads": 3, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.1}
torch.manual_seed(0)
MODELS = {
    "fused": Transformer(vocab_size=V, **SIZES).double().eval(),  # pyright: ignore
    "equation 1": Transformer(vocab_size=V, attention=EQUATION_1, **SIZES).double().eval(),  # pyright: ignore
    "restricted": Transformer(vocab_size=V, neighbourhood=4, **SIZES).double().eval(),  # pyright: ignore
}

sentences = st.lists(st.integers(3, V - 1), min_size=1, max_size=7)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)
models = st.sampled_from(sorted(MODELS))


def padded(rows: list[list[int]], *, extra: int = 0) -> Tensor:
    width = max(map(len, rows)) + extra
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def logits_of(model: Transformer, batch: list[tuple[list[int], list[int]]], *, extra: int = 0) -> list[Tensor]:
    """Each sentence's logits, without the filling."""
    source = padded([s for s, _ in batch], extra=extra)
    target = padded([t for _, t in batch], extra=extra)
    with torch.no_grad():
        logits = model(source, target)
    return [row[: len(t)] for row, (_, t) in zip(logits, batch, strict=True)]


@given(name=models, source=sentences, target=sentences, data=st.data())
def test_a_future_token_cannot_change_a_past_logit(
    name: str, source: list[int], target: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(target) - 1))
    changed = target[:place] + [3 + (word - 2) % (V - 3) for word in target[place:]]
    (before,), (after,) = (logits_of(MODELS[name], [(source, t)]) for t in (target, changed))
    torch.testing.assert_close(before[:place], after[:place], rtol=0, atol=0)
    assert not torch.equal(before[place:], after[place:])


@given(name=models, batch=pairs, extra=st.integers(1, 6))
def test_padding_cannot_change_anything(name: str, batch: list[tuple[list[int], list[int]]], extra: int) -> None:
    alone = [logits_of(MODELS[name], [pair])[0] for pair in batch]
    for a, b, c in zip(alone, logits_of(MODELS[name], batch), logits_of(MODELS[name], batch, extra=extra), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
        torch.testing.assert_close(a, c, rtol=0, atol=1e-12)


@given(name=models, batch=pairs, data=st.data())
def test_permuting_the_batch_permutes_the_output(
    name: str, batch: list[tuple[list[int], list[int]]], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(batch))))
    logits, permuted = logits_of(MODELS[name], batch), logits_of(MODELS[name], [batch[i] for i in order])
    for i, row in zip(order, permuted, strict=True):
        torch.testing.assert_close(row, logits[i], rtol=0, atol=1e-12)


@given(position=st.integers(0, 5000), k=st.integers(0, 5000), half=st.integers(1, 40))
def test_the_encoding_of_a_later_position_is_a_linear_function_of_an_earlier_one(
    position: int, k: int, half: int
) -> None:
    d_model = 2 * half
    encoding = positional_encoding(position + k + 1, d_model, dtype=torch.float64)
    # One rotation for each sine–cosine pair; it depends on the offset k alone.
    angle = k / 10000 ** (2 * torch.arange(half, dtype=torch.float64) / d_model)
    sine, cosine = encoding[position, 0::2], encoding[position, 1::2]
    torch.testing.assert_close(sine * angle.cos() + cosine * angle.sin(), encoding[-1, 0::2], rtol=0, atol=1e-10)
    torch.testing.assert_close(cosine * angle.cos() - sine * angle.sin(), encoding[-1, 1::2], rtol=0, atol=1e-10)


@given(
    q=st.integers(1, 6), k=st.integers(1, 6), size=st.integers(1, 8), scale=st.floats(0, 1e4), seed=st.integers(0, 999)
)
def test_attention_rows_sum_to_one_and_fully_masked_ones_to_zero(
    q: int, k: int, size: int, scale: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    queries, keys, values = (torch.randn(n, size, generator=generator, dtype=torch.float64) * scale for n in (q, k, k))
    mask = torch.rand(q, k, generator=generator) < 0.5
    output, weights = scaled_dot_product_attention(queries, keys, values, mask)
    any_allowed = mask.any(-1)
    torch.testing.assert_close(weights.sum(-1), any_allowed.double(), rtol=0, atol=1e-12)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert torch.isfinite(output).all()
    assert (output[~any_allowed] == 0).all()


@given(batch=pairs)
def test_every_kernel_gives_the_same_logits(batch: list[tuple[list[int], list[int]]]) -> None:
    for name in ("fused", "restricted"):
        model = MODELS[name]
        chosen = model.attention
        expected = logits_of(model, batch)
        got = logits_of(model.use(equation_1_choice(model.config)), batch)
        model.use(chosen)
        for a, b in zip(expected, got, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
