"""What accelerators can do at most: their datasheets' rates for dense bfloat16 products with float32 sums.

Datasheets often print twice as much, with sparsity; a Transformer's matrices have none. Where a card has no bfloat16
its float16 rate stands, and where it has no tensor cores its float32 rate. A laptop's chip of the same name is another,
slower one, and not known here.
"""

from __future__ import annotations

import math
import re

from heedful.config import ModelConfig

TERA = 1e12
MATMUL_SHARE = 0.8
"""What large matrix products reach of a datasheet's rate: 787 of 989 TFLOP/s were measured on an H200."""

# The first name that is found wins, so a variant stands before the plain name. Each is matched as whole words in the
# name that torch reports ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X").
_PEAKS: tuple[tuple[str, float], ...] = (
    # NVIDIA Blackwell: HGX B200, 4,500 with sparsity; GB200's GPU runs at more power, 5,000 with sparsity.
    ("GB200", 2500 * TERA),
    ("B200", 2250 * TERA),
    # NVIDIA H100 datasheet: SXM 1,979, PCIe 1,513, NVL 1,671 with sparsity. H200 (SXM) 1,979, H200 NVL 1,671.
    ("H200 NVL", 835 * TERA),
    ("GH200", 989 * TERA),
    ("H200", 989 * TERA),
    ("H100 NVL", 835 * TERA),
    ("H100 PCIe", 756 * TERA),
    ("H100", 989 * TERA),
    ("H800", 989 * TERA),
    ("H20", 148 * TERA),
    # NVIDIA A100, A30, A40, A10 datasheets.
    ("A100", 312 * TERA),
    ("A800", 312 * TERA),
    ("A30", 165 * TERA),
    ("A40", 149.7 * TERA),
    ("A10", 125 * TERA),
    # NVIDIA L40S, L40, L4 datasheets: 733, 362 and 242 with sparsity.
    ("L40S", 362 * TERA),
    ("L40", 181 * TERA),
    ("L4", 121 * TERA),
    # NVIDIA Ada and Ampere GeForce whitepapers, the rows with float32 accumulation, dense.
    ("RTX 6000 Ada", 364 * TERA),
    ("RTX 4090", 165 * TERA),
    ("RTX 4080", 97.4 * TERA),
    ("RTX 3090", 71 * TERA),
    ("RTX A6000", 154.8 * TERA),
    # NVIDIA V100 and T4 datasheets: float16, neither has bfloat16.
    ("V100", 125 * TERA),
    ("T4", 65 * TERA),
    # The paper's own figures for what these sustain in float32 (section 6.1, footnote 5).
    ("P100", 9.5 * TERA),
    ("M40", 6.0 * TERA),
    ("K80", 2.8 * TERA),
    ("K40", 3.7 * TERA),
    # AMD Instinct data sheets, peak bfloat16 matrix without sparsity.
    ("MI325X", 1307 * TERA),
    ("MI300X", 1307 * TERA),
    ("MI250X", 383 * TERA),
    ("MI250", 362 * TERA),
)

ACCELERATORS: tuple[str, ...] = tuple(name for name, _ in _PEAKS)
"""The names that are known."""


def peak_flops(device_name: str) -> float | None:
    """Operations a second that the device can do at most; None for a device that is not known.

    >>> peak_flops("NVIDIA H200"), peak_flops("nvidia h100 pcie"), peak_flops("Some CPU")
    (989000000000000.0, 756000000000000.0, None)
    """
    words = _words(device_name)
    if "laptop" in words:
        return None
    return next((peak for name, peak in _PEAKS if f" {_words(name)} " in f" {words} "), None)


def expected_share(model: ModelConfig) -> float:
    """The share of what large products reach that training reaches: an assumption, drawn through two measurements.

    On an H200 the base model reached 25 % and the big one 45 %. Between them every size doubled; so each doubling of
    the width, √(d_model · d_ff), is taken to bring a factor of 1.8, up to 60 %.

    >>> expected_share(ModelConfig()), round(expected_share(ModelConfig(d_model=1024, d_ff=4096, num_heads=16)), 3)
    (0.25, 0.45)
    """
    doublings = math.log2(math.sqrt(model.d_model * model.d_ff) / 1024)
    return min(0.6, 0.25 * (0.45 / 0.25) ** doublings)


def _words(name: str) -> str:
    """Lower case, with one space between words: "A100-SXM4-80GB" becomes "a100 sxm4 80gb"."""
    return " ".join(re.findall(r"[a-z0-9]+", name.lower()))
