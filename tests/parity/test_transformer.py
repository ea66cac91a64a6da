"""The whole model against torch.nn.Transformer, and its two layouts against each other, in float64 with gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from heedful.config import ModelConfig
from heedful.model.attention_kernels import equation_1_choice
from heedful.model.masks import Packed
from heedful.model.transformer import Transformer
from heedful.training.label_smoothing import label_smoothed_loss

SIZES = {"d_model": 16, "d_ff": 24, "num_heads": 4, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.0}
V = 23
RENAMED = [
    ("w_qkv.weight", "in_proj_weight"),
    ("w_qkv.bias", "in_proj_bias"),
    ("w_o", "out_proj"),
    ("self_attention", "self_attn"),
    ("cross_attention", "multihead_attn"),
    ("feed_forward.w_1", "linear1"),
    ("feed_forward.w_2", "linear2"),
    ("add_and_norm_1.norm", "norm1"),
    ("add_and_norm_2.norm", "norm2"),
    ("add_and_norm_3.norm", "norm3"),
]


def torch_name(name: str) -> str:
    for ours, theirs in RENAMED:
        name = name.replace(ours, theirs)
    return name


def random_batch(source_lengths: list[int], target_lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Padded source, target input and target output."""
    generator = torch.Generator().manual_seed(7)

    def side(lengths: list[int]) -> Tensor:
        ids = torch.randint(3, V, (len(lengths), max(lengths)), generator=generator)
        return ids * (torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None])

    return side(source_lengths), side(target_lengths), side(target_lengths)


def gradients(model: Transformer, logits: Tensor, targets: Tensor) -> dict[str, Tensor]:
    loss, count = label_smoothed_loss(logits, targets)
    names, parameters = zip(*model.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss / count, parameters), strict=True))


def test_the_model_is_torchs_transformer_with_copied_weights_and_gradients() -> None:
    torch.manual_seed(0)
    ours = Transformer(vocab_size=V, **SIZES).double()  # pyright: ignore
    theirs = nn.Transformer(16, 4, 2, 3, 24, dropout=0.0, batch_first=True, norm_first=False, dtype=torch.float64)
    # The paper's stacks end with their last layer; torch adds one more normalisation after each.
    theirs.encoder.norm = theirs.decoder.norm = None
    theirs.load_state_dict(
        {torch_name(n): p for n, p in ours.state_dict().items() if n.startswith(("encoder.", "decoder."))}
    )
    source, target, output = random_batch([5, 3, 1], [2, 4, 6])
    logits = ours(source, target)

    def embedded(ids: Tensor) -> Tensor:
        position, i = torch.arange(ids.size(1), dtype=torch.float64)[:, None], torch.arange(8, dtype=torch.float64)
        angle = position / 10000 ** (2 * i / 16)
        encoding = torch.zeros(ids.size(1), 16, dtype=torch.float64)
        encoding[:, 0::2], encoding[:, 1::2] = angle.sin(), angle.cos()
        return ours.embedding.weight[ids] * 4.0 + encoding

    hidden = theirs(
        embedded(source),
        embedded(target),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
        src_key_padding_mask=source == 0,
        tgt_key_padding_mask=target == 0,
        memory_key_padding_mask=source == 0,
    )
    expected = hidden @ ours.embedding.weight.T
    real = target != 0
    torch.testing.assert_close(logits[real], expected[real], rtol=0, atol=1e-12)

    our_gradients = gradients(ours, logits, output)
    loss, count = label_smoothed_loss(expected, output)
    (loss / count).backward()
    for name, parameter in theirs.named_parameters():
        ours_name = next(n for n in our_gradients if torch_name(n) == name)
        assert parameter.grad is not None
        torch.testing.assert_close(our_gradients[ours_name], parameter.grad, rtol=0, atol=1e-12)
    assert ours.embedding.weight.grad is not None
    torch.testing.assert_close(our_gradients["embedding.weight"], ours.embedding.weight.grad, rtol=0, atol=1e-12)


def packed(ids: Tensor, *, filler: int = 0) -> tuple[Tensor, Packed]:
    """The same sentences one after the other, then ``filler`` tokens as one more sequence and two empty ones."""
    lengths = (ids != 0).sum(1).tolist()
    flat = torch.cat([row[:n] for row, n in zip(ids, lengths, strict=True)] + [torch.zeros(filler, dtype=torch.long)])
    ends = torch.tensor([*lengths, filler, 0, 0]).cumsum(0)
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), ends]).int()
    return flat, Packed(offsets, tokens=flat.numel(), max_length=max(*lengths, filler))


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"d_k": 2, "d_v": 4},
        {"num_heads": 1},
        {"positions": "learned", "max_positions": 16},
        {"neighbourhood": 2},
        {"neighbourhood": 64},
    ],
    ids=["base", "row-B", "row-A", "row-E", "restricted", "restricted-wide"],
)
@pytest.mark.parametrize("filler", [0, 3])
def test_packed_is_padded_with_gradients(variant: dict[str, object], filler: int) -> None:
    torch.manual_seed(0)
    model = Transformer(vocab_size=V, **{**SIZES, **variant}).double()  # pyright: ignore
    source, target, output = random_batch([5, 1, 3, 8], [2, 7, 4, 1])
    padded_logits = model(source, target)
    expected = gradients(model, padded_logits, output)

    model.use(equation_1_choice(model.config))
    flat_source, source_layout = packed(source, filler=filler)
    flat_target, target_layout = packed(target, filler=filler)
    flat_output, _ = packed(output, filler=filler)
    logits = model(flat_source, flat_target, source_layout=source_layout, target_layout=target_layout)
    real = flat_output.numel() - filler
    torch.testing.assert_close(logits[:real], padded_logits[target != 0], rtol=0, atol=1e-12)
    got = gradients(model, logits, flat_output)
    for name in expected:
        torch.testing.assert_close(got[name], expected[name], rtol=0, atol=1e-12)


def test_separate_vocabularies_have_separate_matrices() -> None:
    torch.manual_seed(0)
    model = Transformer(vocab_size=V, source_vocab_size=31, **SIZES).double()  # pyright: ignore
    assert model.source_embedding is not None
    assert model.source_embedding.weight.shape == (31, 16)
    source, target, _ = random_batch([3], [4])
    before = model(source, target)
    with torch.no_grad():
        model.source_embedding.weight[int(source[0, 0])] += 1.0
    assert not torch.allclose(before, model(source, target))


def test_the_shared_matrix_is_one_parameter_with_one_name() -> None:
    model = Transformer(ModelConfig(**SIZES), vocab_size=V)  # pyright: ignore
    assert [name for name in model.state_dict() if "embedding" in name] == ["embedding.weight"]
    assert sum(p.shape[0] == V for p in model.parameters()) == 1


def test_a_compiled_model_is_the_eager_one() -> None:
    torch.manual_seed(0)
    model = Transformer(vocab_size=V, **SIZES).double()  # pyright: ignore
    source, target, _ = random_batch([5, 3], [4, 6])
    expected = model(source, target)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(source, target), expected, rtol=0, atol=1e-12)
