"""Names as torch reports them, and the rates behind them."""

from __future__ import annotations

import pytest

from heedful.config import ModelConfig
from heedful.training.flops import ACCELERATORS, expected_share, peak_flops


@pytest.mark.parametrize(
    ("name", "tera"),
    [
        ("NVIDIA H200", 989),
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H100 NVL", 835),
        ("NVIDIA H20", 148),
        ("NVIDIA GH200 480GB", 989),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA A10", 125),
        ("NVIDIA L40S", 362),
        ("NVIDIA L40", 181),
        ("NVIDIA L4", 121),
        ("Tesla V100-SXM2-32GB", 125),
        ("Tesla T4", 65),
        ("NVIDIA GeForce RTX 4090", 165),
        ("nvidia geforce rtx 3090", 71),
        ("AMD Instinct MI300X", 1307),
        ("Tesla P100-PCIE-16GB", 9.5),
    ],
)
def test_the_rate_of_the_name_torch_reports(name: str, tera: float) -> None:
    assert peak_flops(name) == pytest.approx(tera * 1e12)


@pytest.mark.parametrize(
    "name", ["", "cpu", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A1000", "NVIDIA A10G", "T400"]
)
def test_what_is_not_known_has_no_rate(name: str) -> None:
    assert peak_flops(name) is None


def test_each_name_in_the_list_finds_its_own_rate_and_a_variant_stands_before_the_plain_name() -> None:
    for place, name in enumerate(ACCELERATORS):
        assert peak_flops(name) is not None
        assert not [other for other in ACCELERATORS[:place] if f" {other.lower()} " in f" {name.lower()} "]


def test_the_expected_share_goes_through_both_measurements_and_grows_with_width_alone() -> None:
    base, big = ModelConfig(), ModelConfig(d_model=1024, d_ff=4096, num_heads=16)
    assert expected_share(base) == pytest.approx(0.25)
    assert expected_share(big) == pytest.approx(0.45)
    assert expected_share(ModelConfig(encoder_layers=2, decoder_layers=2)) == expected_share(base)
    assert expected_share(ModelConfig(d_model=8192, d_ff=32768)) == 0.6
    assert 0 < expected_share(ModelConfig(d_model=64, d_ff=64)) < 0.05
