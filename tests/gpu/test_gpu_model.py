"""The model on CUDA: packed batches in half precision are as near to float64 as padded ones; every preset trains."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

from heedful.config import ModelConfig
from heedful.model.attention_kernels import choose_attention, padded_attention
from heedful.model.masks import Packed
from heedful.model.transformer import Transformer
from heedful.presets import ALL, Preset
from heedful.training.label_smoothing import label_smoothed_loss

BAR = 1.5
"""How much larger packed's error may be than padded's."""
Batch = tuple[Tensor, Tensor, Tensor]
VARIANTS = {
    "base": {},
    "row A, 4 heads": {"num_heads": 4},
    "row A, 32 heads": {"num_heads": 32},
    "row B, keys of 16": {"d_k": 16},
    "row E, learned": {"positions": "learned"},
    "restricted, r = 16": {"neighbourhood": 16},
}


def random_batch(lengths: Tensor, *, vocab_size: int, seed: int) -> Batch:
    """Padded source, target input and target output of the given lengths."""
    generator = torch.Generator().manual_seed(seed)

    def side(n: Tensor) -> Tensor:
        ids = torch.randint(3, vocab_size, (len(n), int(n.max())), generator=generator)
        return (ids * (torch.arange(int(n.max()))[None] < n[:, None])).cuda()

    return side(lengths), side(lengths.flip(0)), side(lengths.flip(0))


def packed(ids: Tensor) -> tuple[Tensor, Packed]:
    lengths = (ids != 0).sum(1)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).int()
    flat = ids[ids != 0]
    return flat, Packed(offsets, tokens=flat.numel(), max_length=ids.size(1))


def loss_and_logits(model: Transformer, batch: Batch, *, layout: str) -> tuple[Tensor, Tensor]:
    """The mean loss, and the logits of the real target words in the order of the packed layout."""
    source, target, output = batch
    if layout == "padded":
        logits = model(source, target)[output != 0]
    else:
        (source, source_layout), (target, target_layout) = packed(source), packed(target)
        logits = model(source, target, source_layout=source_layout, target_layout=target_layout)
    loss, count = label_smoothed_loss(logits, output[output != 0])
    return loss / count, logits


def relative_error(got: list[Tensor], expected: list[Tensor]) -> float:
    difference = sum(float((g.double() - e).square().sum()) for g, e in zip(got, expected, strict=True))
    return (difference / sum(float(e.square().sum()) for e in expected)) ** 0.5


def errors(config: ModelConfig, *, vocab_size: int, seed: int) -> list[tuple[float, float]]:
    """(output error, gradient error) of padded bf16, then of packed bf16."""
    torch.manual_seed(seed)
    batch = random_batch(torch.randint(1, 60, (40,)), vocab_size=vocab_size, seed=seed)
    reference = Transformer(config, vocab_size=vocab_size).cuda().double()
    names = [name for name, _ in reference.named_parameters()]
    loss, expected = loss_and_logits(reference, batch, layout="padded")
    expected_gradients = list(torch.autograd.grad(loss, [reference.get_parameter(n) for n in names]))
    results = []
    for layout in ("padded", "packed"):
        choice = choose_attention(config, device="cuda") if layout == "packed" else padded_attention(config)
        model = Transformer(config, vocab_size=vocab_size, attention=choice).cuda()
        model.load_state_dict({name: value.float() for name, value in reference.state_dict().items()})
        with torch.autocast("cuda", torch.bfloat16):
            loss, logits = loss_and_logits(model, batch, layout=layout)
        got = list(torch.autograd.grad(loss, [model.get_parameter(n) for n in names]))
        results.append(
            (relative_error([logits.detach()], [expected.detach()]), relative_error(got, expected_gradients))
        )
    return results


@pytest.mark.parametrize("variant", VARIANTS)
def test_packed_half_precision_is_as_near_to_float64_as_padded(variant: str) -> None:
    config = dataclasses.replace(ModelConfig(dropout=0.0), **VARIANTS[variant])
    rows = [errors(config, vocab_size=8000, seed=seed) for seed in range(3)]
    for part in range(2):
        padded_error, packed_error = (sum(row[layout][part] for row in rows) for layout in range(2))
        assert packed_error <= BAR * padded_error


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.name)
def test_every_preset_trains_in_the_layout_chosen_for_it(preset: Preset) -> None:
    config = preset.make()
    choice = choose_attention(config.model, device="cuda")
    torch.manual_seed(1)
    model = Transformer(config.model, vocab_size=2000, attention=choice).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    batch = random_batch(torch.tensor([30, 4, 17, 9, 25, 12, 28, 6] * 16), vocab_size=2000, seed=1)
    found: list[float] = []
    for _ in range(5):
        with torch.autocast("cuda", torch.bfloat16):
            loss, _ = loss_and_logits(model, batch, layout=choice.layout)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    assert found[-1] < found[0]  # and so a number
