"""What our attention kernel is measured against, and what fp8 products would gain: one CUDA device, a minute.

    python benchmarks/kernels.py

Attention: 25,600 packed tokens, 8 heads of 64, bfloat16, sentences of the speed workload's lengths and of half of them,
as an encoder and as a decoder sees them; forward, and forward with backward. Beside ours PyTorch's packed kernel
(FlashAttention's), and FlexAttention with a mask of documents, compiled, its block mask made anew for each batch as a
training would have to, and left out of the second figure. Products: the base model's shapes in bfloat16 and by
`torch._scaled_mm`, with and without the passes that make fp8 numbers of bfloat16 ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import numpy as np
import torch
from torch import Tensor

from heedful.model.attention_kernels import interval_attention
from heedful.model.masks import Packed, packed_intervals

TOKENS, HEADS, SIZE = 25_600, 8, 64
LENGTHS = Path(__file__).parent / "speed_lengths.npy"
PRODUCTS = {"q, k, v": (512, 1536), "W^O": (512, 512), "W_1": (512, 2048), "W_2": (2048, 512), "words": (512, 32_000)}


def microseconds(work: Callable[[], object], *, repeats: int = 20) -> float:
    for _ in range(3):
        work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(repeats):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats * 1000


def packed(share: float) -> Packed:
    """Sentences of the speed workload, their lengths times ``share``, as many as fit."""
    lengths = np.maximum(2, np.round(np.load(LENGTHS)[:, 0] * share)).astype(int)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    offsets = offsets[offsets <= TOKENS]
    tensor = torch.tensor(offsets, dtype=torch.int32, device="cuda")
    return Packed(tensor, tokens=TOKENS, max_length=int(lengths.max()))


def both_ways(attend: Callable[[], Tensor], inputs: list[Tensor], d_output: Tensor) -> tuple[float, float]:
    with torch.no_grad():
        forward = microseconds(attend)
    return forward, microseconds(lambda: torch.autograd.grad(attend(), inputs, d_output))


def show(name: str, times: tuple[float, float]) -> None:
    print(f"  {name:34} {times[0]:8.0f} {times[1]:8.0f}", flush=True)


def attention(layout: Packed, *, causal: bool) -> None:
    mean = float(layout.offsets[-1]) / (len(layout.offsets) - 1)
    print(f"{'decoder' if causal else 'encoder'}, {mean:.1f} tokens a sentence: µs forward, and both ways", flush=True)
    torch.manual_seed(0)
    rows = [torch.randn(TOKENS, HEADS, SIZE, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    d_rows = torch.randn_like(rows[0])
    intervals = packed_intervals(layout, layout, causal=causal)
    show("ours", both_ways(lambda: interval_attention(rows[0], rows[1], rows[2], intervals), rows, d_rows))
    try:
        show("PyTorch's packed kernel", both_ways(lambda: _torch_packed(rows, layout, causal), rows, d_rows))
    except (ImportError, RuntimeError, TypeError) as error:
        print(f"  PyTorch's packed kernel: {str(error)[:100]}")
    _flex(rows, d_rows, layout, causal=causal)


def _torch_packed(rows: list[Tensor], layout: Packed, causal: bool) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    window = {"window_size": (-1, 0)} if causal else {}
    longest = layout.max_length
    return varlen_attn(*rows, layout.offsets, layout.offsets, longest, longest, **window)  # pyright: ignore


def _flex(rows: list[Tensor], d_rows: Tensor, layout: Packed, *, causal: bool) -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    owner = layout.sequence
    compiled, plan = torch.compile(flex_attention), torch.compile(create_block_mask)

    def may_attend(_b: Tensor, _h: Tensor, query: Tensor, key: Tensor) -> Tensor:
        same = owner[query] == owner[key]
        return same & (query >= key) if causal else same

    heads = [row.detach().transpose(0, 1)[None].requires_grad_() for row in rows]
    d_heads = d_rows.transpose(0, 1)[None]
    mask = plan(may_attend, None, None, TOKENS, TOKENS, device="cuda")
    times = both_ways(lambda: compiled(*heads, block_mask=mask), heads, d_heads)  # pyright: ignore
    planning = microseconds(lambda: plan(may_attend, None, None, TOKENS, TOKENS, device="cuda"))
    show("FlexAttention, its mask made anew", (times[0] + planning, times[1] + planning))
    show("FlexAttention, the mask left out", times)


def products() -> None:
    print(f"products of {TOKENS:,} vectors: µs in bfloat16, in fp8, in fp8 with its casts")
    for name, (inner, outer) in PRODUCTS.items():
        x = torch.randn(TOKENS, inner, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(outer, inner, device="cuda", dtype=torch.bfloat16)
        one = torch.ones((), device="cuda")
        x8, w8 = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)

        def scaled(a: Tensor, b: Tensor, scale: Tensor = one) -> Tensor:
            return torch._scaled_mm(  # pyright: ignore
                a, b.t(), scale, scale, out_dtype=torch.bfloat16, use_fast_accum=True
            )

        def with_casts(x: Tensor = x, w8: Tensor = w8) -> Tensor:
            return scaled((x * (448 / x.abs().amax())).to(torch.float8_e4m3fn), w8)

        compiled = torch.compile(with_casts)
        found = (
            microseconds(lambda x=x, w=w: x @ w.t()),
            microseconds(lambda x8=x8, w8=w8: scaled(x8, w8)),
            microseconds(compiled),
        )
        print(f"  {name:10}" + "".join(f"{value:9.0f}" for value in found), flush=True)


if __name__ == "__main__":
    for share in (1.0, 0.5):
        for causal in (False, True):
            attention(packed(share), causal=causal)
    products()
