"""What accelerators can do at most, and hold: their datasheets' rates for dense bfloat16 products with float32 sums,
and gibibytes of memory.

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
_DEVICES: tuple[tuple[str, float, int], ...] = (
    # NVIDIA Blackwell: HGX B200, 4,500 with sparsity; GB200's GPU runs at more power, 5,000 with sparsity.
    ("GB200", 2500 * TERA, 186),
    ("B200", 2250 * TERA, 180),
    # NVIDIA H100 datasheet: SXM 1,979, PCIe 1,513, NVL 1,671 with sparsity. H200 (SXM) 1,979, H200 NVL 1,671.
    ("H200 NVL", 835 * TERA, 141),
    ("GH200", 989 * TERA, 144),
    ("H200", 989 * TERA, 141),
    ("H100 NVL", 835 * TERA, 94),
    ("H100 PCIe", 756 * TERA, 80),
    ("H100", 989 * TERA, 80),
    ("H800", 989 * TERA, 80),
    ("H20", 148 * TERA, 96),
    # NVIDIA A100, A30, A40, A10 datasheets.
    ("A100", 312 * TERA, 80),
    ("A800", 312 * TERA, 80),
    ("A30", 165 * TERA, 24),
    ("A40", 149.7 * TERA, 48),
    ("A10", 125 * TERA, 24),
    # NVIDIA L40S, L40, L4 datasheets: 733, 362 and 242 with sparsity.
    ("L40S", 362 * TERA, 48),
    ("L40", 181 * TERA, 48),
    ("L4", 121 * TERA, 24),
    # NVIDIA Ada and Ampere GeForce whitepapers, the rows with float32 accumulation, dense.
    ("RTX 6000 Ada", 364 * TERA, 48),
    ("RTX 4090", 165 * TERA, 24),
    ("RTX 4080", 97.4 * TERA, 16),
    ("RTX 3090", 71 * TERA, 24),
    ("RTX A6000", 154.8 * TERA, 48),
    # NVIDIA V100 and T4 datasheets: float16, neither has bfloat16.
    ("V100", 125 * TERA, 32),
    ("T4", 65 * TERA, 16),
    # The paper's own figures for what these sustain in float32 (section 6.1, footnote 5).
    ("P100", 9.5 * TERA, 16),
    ("M40", 6.0 * TERA, 24),
    ("K80", 2.8 * TERA, 12),
    ("K40", 3.7 * TERA, 12),
    # AMD Instinct data sheets, peak bfloat16 matrix without sparsity.
    ("MI325X", 1307 * TERA, 256),
    ("MI300X", 1307 * TERA, 192),
    ("MI250X", 383 * TERA, 128),
    ("MI250", 362 * TERA, 128),
)

ACCELERATORS: tuple[str, ...] = tuple(name for name, _, _ in _DEVICES)
"""The names that are known."""


def peak_flops(device_name: str) -> float | None:
    """Operations a second that the device can do at most; None for a device that is not known.

    >>> peak_flops("NVIDIA H200"), peak_flops("nvidia h100 pcie"), peak_flops("Some CPU")
    (989000000000000.0, 756000000000000.0, None)
    """
    known = _known(device_name)
    return known[0] if known else None


def nominal_memory(device_name: str) -> int | None:
    """Bytes of memory that such a device has; where it was sold with several sizes the largest, unless the name says.

    >>> [nominal_memory(name) >> 30 for name in ("H100", "A100", "NVIDIA A100-SXM4-40GB")]
    [80, 80, 40]
    """
    known = _known(device_name)
    said = re.search(r"\b(\d+) ?gb\b", _words(device_name))
    return (int(said[1]) if said else known[1]) << 30 if known else None


def _known(device_name: str) -> tuple[float, int] | None:
    words = _words(device_name)
    if "laptop" in words:
        return None
    return next((facts for name, *facts in _DEVICES if f" {_words(name)} " in f" {words} "), None)  # pyright: ignore


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
