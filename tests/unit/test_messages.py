"""Every misuse of the blocks is a HeedfulError that says what was given and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

import heedful
from heedful import (
    DecoderLayer,
    EncoderLayer,
    HeedfulError,
    MultiHeadAttention,
    PositionalEncoding,
    PositionwiseFeedForward,
    Transformer,
    label_smoothed_loss,
    learning_rate,
    positional_encoding,
    scaled_dot_product_attention,
)
from heedful.config import ModelConfig
from heedful.model.attention_kernels import choose_attention, fused, interval, restricted
from heedful.model.embeddings import LearnedPositions
from heedful.model.masks import AttentionPattern, Packed

x = torch.zeros(2, 4, 8)
attention = MultiHeadAttention(d_model=8, num_heads=2)
model = Transformer(vocab_size=9, d_model=8, d_ff=8, num_heads=2, encoder_layers=1, decoder_layers=1)
ids = torch.ones(2, 3, dtype=torch.long)
packed = Packed(torch.tensor([0, 4], dtype=torch.int32), tokens=4, max_length=4)
pattern = AttentionPattern(packed, packed)
heads = torch.zeros(4, 2, 4)

CASES: dict[str, tuple[Callable[[], object], str]] = {
    "sizes that do not divide": (
        lambda: MultiHeadAttention(d_model=10, num_heads=3),
        "d_model=10 cannot be divided into num_heads=3 equal heads",
    ),
    "negative sizes": (lambda: MultiHeadAttention(d_model=-8, num_heads=2), "must be positive"),
    "input of the wrong size": (
        lambda: attention(x[..., :7], x, x),
        "q is [2, 4, 7], but must be [..., length, d_model=8]",
    ),
    "a key without its value": (lambda: attention(x, x, x[:, :3]), "each key needs its value"),
    "a mask of floats": (lambda: attention(x, x, x, torch.ones(4, 4)), "`mask > 0` for a mask of ones and zeros"),
    "a mask of other integers": (
        lambda: attention(x, x, x, torch.full((4, 4), 2)),
        "holds numbers other than 0 (may not) and 1 (may attend)",
    ),
    "a mask that does not fit": (
        lambda: attention(x, x, x, torch.ones(3, 4, dtype=torch.bool)),
        "the mask is [3, 4], but must broadcast to the scores, [2, 2, 4, 4]",
    ),
    "q and k of different sizes": (
        lambda: scaled_dot_product_attention(x, x[..., :4], x),
        "q has vectors of 8 and k of 4: both must be of the one size d_k",
    ),
    "k and v of different lengths": (
        lambda: scaled_dot_product_attention(x, x, x[:, :2]),
        "k has 4 positions and v 2",
    ),
    "vectors without a length": (lambda: scaled_dot_product_attention(x[0, 0], x, x), "[..., length, size]"),
    "different batches": (lambda: scaled_dot_product_attention(x, torch.zeros(3, 4, 8), x), "batch and heads differ"),
    "dropout of 1.5": (
        lambda: EncoderLayer(d_model=8, num_heads=2, d_ff=8, dropout=1.5),
        "dropout=1.5: must be at least 0",
    ),
    "attention dropout of 1": (
        lambda: DecoderLayer(d_model=8, num_heads=2, d_ff=8, attention_dropout=1.0),
        "dropout=1.0: must be at least 0 and below 1",
    ),
    "an odd d_model": (lambda: positional_encoding(3, 5), "d_model=5 is odd"),
    "an odd d_model in the module": (lambda: PositionalEncoding(d_model=5), "d_model=5 is odd"),
    "a negative length": (lambda: positional_encoding(-1, 4), "length=-1"),
    "positions of the wrong size": (lambda: PositionalEncoding(d_model=4)(x), "d_model=4"),
    "past the learned positions": (
        lambda: LearnedPositions(d_model=8, max_positions=3)(x),
        "a sequence of 4 tokens, but learned positions end at 3",
    ),
    "feed-forward of the wrong size": (lambda: PositionwiseFeedForward(d_model=4, d_ff=8)(x), "d_model=4"),
    "an unknown size": (lambda: Transformer(vocab_size=9, d_modle=8), "no size called d_modle (did you mean d_model?)"),
    "a bad configuration": (lambda: Transformer(vocab_size=9, dropout=1.5), "model.dropout = 1.5"),
    "no words": (lambda: Transformer(vocab_size=0), "vocab_size=0"),
    "ids that are not whole numbers": (lambda: model(ids.float(), ids), "must be whole-number ids"),
    "ids without a batch": (lambda: model(ids[0], ids[0]), "padded ids are [batch, length]"),
    "different numbers of sentences": (lambda: model(ids, ids[:1]), "2 source sentences and 1 target sentences"),
    "one layout alone": (lambda: model(ids[0], ids[0], source_layout=packed), "the layouts of both sides"),
    "packed ids in the fused kernel": (lambda: fused(heads, heads, heads, pattern), "takes padded batches"),
    "the packed kernel without intervals": (lambda: interval(heads, heads, heads, pattern), "a packed batch with its"),
    "a dense mask for restricted attention": (
        lambda: restricted(heads, heads, heads, torch.ones(4, 4, dtype=torch.bool), neighbourhood=2),
        "takes no mask tensor",
    ),
    "restricted attention to another sequence": (
        lambda: restricted(heads, heads[:2], heads[:2], neighbourhood=2),
        "4 queries and 2 keys",
    ),
    "logits and targets that differ": (lambda: label_smoothed_loss(x, ids), "one word for each vector"),
    "smoothing everything away": (
        lambda: label_smoothed_loss(x, ids.new_ones(2, 4), label_smoothing=1.0),
        "label_smoothing=1.0: must be at least 0 and below 1",
    ),
    "step 0": (lambda: learning_rate(0), "steps are counted from 1"),
    "no warm-up": (lambda: learning_rate(1, warmup_steps=0), "warmup_steps=0"),
}


@pytest.mark.parametrize("name", CASES)
def test_misuse_says_what_was_given_and_what_is_allowed(name: str) -> None:
    call, message = CASES[name]
    with pytest.raises(HeedfulError, match=re.escape(message)):
        call()


def test_the_choice_of_kernel_says_why() -> None:
    cases = [
        ({}, "cpu", "padded batches, fused attention (on cpu)"),
        ({}, "cuda", "packed batches, interval attention (CUDA)"),
        ({"neighbourhood": 64}, "cuda", "packed batches, interval attention (CUDA, neighbourhood 64)"),
        ({"neighbourhood": 64}, "cpu", "padded batches, restricted attention (on cpu, neighbourhood 64)"),
    ]
    for changes, device, expected in cases:
        assert str(choose_attention(ModelConfig(**changes), device=device)) == expected


def test_the_public_names_are_importable_and_listed() -> None:
    for name in heedful.__all__:
        assert getattr(heedful, name).__name__ == name
        assert name in dir(heedful)
    with pytest.raises(AttributeError, match="no attribute 'transformer_base'"):
        _ = heedful.transformer_base  # pyright: ignore
