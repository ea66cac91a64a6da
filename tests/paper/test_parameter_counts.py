"""Exact sizes of every preset, counted in the built model, beside the arithmetic and the paper's own figure."""

from __future__ import annotations

import pytest
import torch

from heedful.model.transformer import Transformer
from heedful.presets import ALL, BY_NAME, Preset, parameter_count

AT_37000 = {
    "base": 63_082_496,
    "big": 214_245_376,
    "table3-b-dk16": 55_990_784,
    "table3-b-dk32": 58_354_688,
    "table3-c-n2": 33_656_832,
    "table3-c-n8": 77_795_328,
    "table3-c-d256": 26_834_944,
    "table3-c-d1024": 163_889_152,
}


def built(preset: Preset, vocab_size: int) -> int:
    with torch.device("meta"):
        model = Transformer(preset.make().model, vocab_size=vocab_size)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.name)
def test_the_model_has_as_many_parameters_as_the_arithmetic_says(preset: Preset) -> None:
    config = preset.make()
    for vocab_size in (37_000, config.data.vocab_size):
        assert built(preset, vocab_size) == parameter_count(config.model, vocab_size=vocab_size)


@pytest.mark.parametrize(("name", "expected"), AT_37000.items())
def test_parameters_at_37000_subwords(name: str, expected: int) -> None:
    assert built(BY_NAME[name], 37_000) == expected


@pytest.mark.parametrize("preset", [p for p in ALL if p.paper_parameters], ids=lambda preset: preset.name)
def test_the_papers_printed_size_is_near(preset: Preset) -> None:
    """No one vocabulary gives all the printed figures; each is within 7 % at 37,000."""
    assert preset.paper_parameters is not None
    assert built(preset, 37_000) / 1e6 == pytest.approx(preset.paper_parameters, rel=0.07)


def test_separate_vocabularies_add_one_matrix() -> None:
    model = BY_NAME["tiny"].make().model
    both = parameter_count(model, vocab_size=1000, source_vocab_size=700)
    assert both == parameter_count(model, vocab_size=1000) + 700 * model.d_model
    assert both == sum(p.numel() for p in Transformer(model, vocab_size=1000, source_vocab_size=700).parameters())
