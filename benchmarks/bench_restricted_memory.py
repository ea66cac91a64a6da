"""Peak memory of restricted self-attention (section 4) beside full attention, for growing lengths.

    python benchmarks/bench_restricted_memory.py [--lengths 1024 2048 …] [--neighbourhood 64] [--backward]

Each figure is a process of its own: the growth of its peak resident memory over what it held before, so that neither
an allocator's cache nor the run before can flatter the next (Linux only). Rivals: Equation 1 as printed with the same
neighbourhood as a mask, and PyTorch's fused kernel with that mask.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

LENGTHS = [1024, 2048, 4096, 8192, 16384, 32768]
FULL_LIMIT = 8192
"""Full attention is not tried beyond this: 32,768² scores of 8 heads are 34 GB."""

CHILD = """
import json, resource, sys
import torch
from functools import partial
from heedful.config import ModelConfig
from heedful.model.attention_kernels import equation_1_choice, fused, restricted
kernel, n, r, backward = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "True"
torch.set_num_threads(1)
def near(n):
    i = torch.arange(n)
    return (i[:, None] - i[None, :]).abs() <= r // 2
attend = {
    "restricted": partial(restricted, neighbourhood=r),
    "equation 1": equation_1_choice(ModelConfig(neighbourhood=r)).self_attend,
    "fused": lambda q, k, v, _: fused(q, k, v, near(q.size(1))),
}[kernel]
def once(n):
    q, k, v = (torch.randn(1, n, 8, 64, requires_grad=backward) for _ in range(3))
    output = attend(q, k, v, None)[0]
    if backward:
        output.sum().backward()
once(64)  # load what loads on first use
# What is resident now, not the peak so far: importing needs more for a moment than it keeps.
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
once(n)
# Not getrusage's peak: that begins with the size of whoever started this process.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(json.dumps(int(peak.split()[1]) / 2**10 - before))
"""


def peak_megabytes(kernel: str, length: int, *, neighbourhood: int, backward: bool) -> float:
    """Growth of the peak resident memory of a process that computes attention once."""
    command = [sys.executable, "-c", CHILD, kernel, str(length), str(neighbourhood), str(backward)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--neighbourhood", type=int, default=64)
    parser.add_argument("--backward", action="store_true", help="gradients too")
    arguments = parser.parse_args()
    kernels = ["restricted", "equation 1", "fused"]
    what = "forward and backward" if arguments.backward else "forward"
    print(f"peak memory in MB, {what}, 8 heads of 64, float32, r = {arguments.neighbourhood}\n")
    print("| length | " + " | ".join(kernels) + " | restricted, bytes a token |")
    print("|---:" * (len(kernels) + 2) + "|")
    for length in arguments.lengths:
        cells, per_token = [], 0.0
        for kernel in kernels:
            if kernel != "restricted" and length > FULL_LIMIT:
                cells.append("–")
                continue
            megabytes = peak_megabytes(
                kernel, length, neighbourhood=arguments.neighbourhood, backward=arguments.backward
            )
            cells.append(f"{megabytes:,.0f}")
            per_token = megabytes * 2**20 / length if kernel == "restricted" else per_token
        print(f"| {length:,} | " + " | ".join(cells) + f" | {per_token:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
