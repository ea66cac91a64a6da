"""What a training step takes, by arithmetic alone, and what devices give, by their datasheets. Needs no torch.

A multiplication and its addition are two operations. Only matrix products are counted: everything else (norms,
softmax, dropout, Adam) is below 1 % of them. The backward pass takes two products for each one of the forward pass, so
a step is three times the forward pass.

Attention is counted as Equation 1 is printed: all scores of a sentence, also those that causality throws away (a kernel
that skips them does up to half of the decoder's share less). Restricted attention counts the scores within reach, on
both sides of each position. Padding is not counted: it is work that a batch wastes, not work that the model needs.

Of a device its datasheet's rate for dense bfloat16 products with float32 sums is known, and its memory. Datasheets
often print twice the rate, with sparsity; a Transformer's matrices have none. Where a card has no bfloat16 its float16
rate stands, and where it has no tensor cores its float32 rate. A laptop's chip of the same name is another, slower one,
and not known here.
"""

from __future__ import annotations

import math
import re

import numpy as np

from heedful.config import ModelConfig
from heedful.data.corpus import Lengths

_BACKWARD = 2
"""Products of the backward pass for each of the forward pass: one for the input's gradient, one for the matrix's."""
SCORES_AT_ONCE_ON_CUDA = 1 << 27
"""Scores of the loss that are held at a time there: enough to keep a GPU busy."""
WORKING_MEMORIES_OF_GRAPHS = 2
"""What capturing CUDA graphs takes: the graphs' own stays theirs while the next shape is warmed up beside it."""
_TERA = 1e12
MATMUL_SHARE = 0.8
"""What large matrix products reach of a datasheet's rate: 787 of 989 TFLOP/s were measured on an H200."""

# TFLOP/s and GB. The first name that is found wins, so a variant stands before the plain name. Each is matched as
# whole words in the name that torch reports ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X").
_DEVICES: tuple[tuple[str, float, int], ...] = (
    # NVIDIA Blackwell: HGX B200, 4,500 with sparsity; GB200's GPU runs at more power, 5,000 with sparsity.
    ("GB200", 2500, 186),
    ("B200", 2250, 180),
    # NVIDIA H100 datasheet: SXM 1,979, PCIe 1,513, NVL 1,671 with sparsity. H200 (SXM) 1,979, H200 NVL 1,671.
    ("H200 NVL", 835, 141),
    ("GH200", 989, 144),
    ("H200", 989, 141),
    ("H100 NVL", 835, 94),
    ("H100 PCIe", 756, 80),
    ("H100", 989, 80),
    ("H800", 989, 80),
    ("H20", 148, 96),
    # NVIDIA A100, A30, A40, A10 datasheets.
    ("A100", 312, 80),
    ("A800", 312, 80),
    ("A30", 165, 24),
    ("A40", 149.7, 48),
    ("A10", 125, 24),
    # NVIDIA L40S, L40, L4 datasheets: 733, 362 and 242 with sparsity.
    ("L40S", 362, 48),
    ("L40", 181, 48),
    ("L4", 121, 24),
    # NVIDIA Ada and Ampere GeForce whitepapers, the rows with float32 accumulation, dense.
    ("RTX 6000 Ada", 364, 48),
    ("RTX 4090", 165, 24),
    ("RTX 4080", 97.4, 16),
    ("RTX 3090", 71, 24),
    ("RTX A6000", 154.8, 48),
    # NVIDIA V100 and T4 datasheets: float16, neither has bfloat16.
    ("V100", 125, 32),
    ("T4", 65, 16),
    # The paper's own figures for what these sustain in float32 (section 6.1, footnote 5).
    ("P100", 9.5, 16),
    ("M40", 6.0, 24),
    ("K80", 2.8, 12),
    ("K40", 3.7, 12),
    # AMD Instinct data sheets, peak bfloat16 matrix without sparsity.
    ("MI325X", 1307, 256),
    ("MI300X", 1307, 192),
    ("MI250X", 383, 128),
    ("MI250", 362, 128),
)

ACCELERATORS: tuple[str, ...] = tuple(name for name, _, _ in _DEVICES)
"""The names that are known."""


def attention_scores(lengths: Lengths, *, neighbourhood: int = 0) -> tuple[float, float, float]:
    """Pairs of a query and a key, in one head of one layer: of the encoder, the decoder, and across.

    >>> sentences = Lengths(np.array([3, 4]), np.array([2, 2]))
    >>> attention_scores(sentences)
    (25.0, 8.0, 14.0)

    With a neighbourhood of 2 each position meets itself and its two neighbours, less those beyond the edges:

    >>> attention_scores(sentences, neighbourhood=2)[0]
    17.0
    """
    source, target = lengths.source.astype(np.float64), lengths.target.astype(np.float64)
    within = [float(_within(side, neighbourhood).sum()) for side in (source, target)]
    return within[0], within[1], float((source * target).sum())


def batch_flops(model: ModelConfig, *, vocab_size: int, lengths: Lengths) -> float:
    """Operations of forward and backward for sentences of these lengths."""
    source_tokens, target_tokens = lengths.totals
    in_encoder, in_decoder, across = attention_scores(lengths, neighbourhood=model.neighbourhood)
    d, heads, d_k, d_v = model.d_model, model.num_heads, model.key_size, model.value_size
    query = d * heads * d_k
    key_and_value = d * heads * (d_k + d_v)
    output = heads * d_v * d
    feed_forward = 2 * d * model.d_ff
    encoder_token = model.encoder_layers * (query + key_and_value + output + feed_forward)
    decoder_token = model.decoder_layers * (2 * (query + output) + key_and_value + feed_forward)
    memory_token = model.decoder_layers * key_and_value
    score = heads * (d_k + d_v)
    attention = score * (model.encoder_layers * in_encoder + model.decoder_layers * (in_decoder + across))
    forward = (encoder_token + memory_token) * source_tokens + (decoder_token + d * vocab_size) * target_tokens
    return 2.0 * (1 + _BACKWARD) * (forward + attention)


def paper_flops(*, gpus: int = 8, hours: float = 12.0, tflops: float = 9.5) -> float:
    """Table 2's accounting: the GPUs, times how long they were taken, times what one of them can sustain.

    >>> f"{paper_flops():.1e}", f"{paper_flops(hours=3.5 * 24):.1e}"  # the base and the big model on 8 P100
    ('3.3e+18', '2.3e+19')
    """
    return gpus * hours * 3600 * tflops * 1e12


def _within(lengths: np.ndarray, neighbourhood: int) -> np.ndarray:
    """Pairs of positions of one sentence that are at most half the neighbourhood apart; all for 0."""
    if not neighbourhood:
        return lengths**2
    reach = np.minimum(neighbourhood // 2, lengths)
    return lengths * (2 * reach + 1) - reach * (reach + 1)


def peak_flops(device_name: str) -> float | None:
    """Operations a second that the device can do at most; None for a device that is not known.

    >>> peak_flops("NVIDIA H200"), peak_flops("nvidia h100 pcie"), peak_flops("Some CPU")
    (989000000000000.0, 756000000000000.0, None)
    """
    known = _known(device_name)
    return known[0] * _TERA if known else None


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
