"""What only a GPU can show of training: compiled and captured steps are the plain ones, and how fast they are.

    python benchmarks/gpu_training_check.py DATA [--preset base] [--set a.b=c …]     # needs a CUDA device

1. twelve steps, plain against compiled against compiled and captured, from the same weights (dropout 0: all three
   agree to bf16's rounding; with dropout: captured and compiled draw the same noise),
2. milliseconds a step, target tokens a second, and the number of graphs compiled.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import torch

from heedful.config import Config
from heedful.data.corpus import Corpus
from heedful.presets import resolve
from heedful.training.batches import Batches, StepBatch
from heedful.training.distributed import World
from heedful.training.setup import built_model
from heedful.training.step import Trainer, precision_for

DEVICE = torch.device("cuda")
STEPS = 12


def new_trainer(config: Config, corpus: Corpus, how: str) -> Trainer:
    """A trainer with the run's initial weights: plain, compiled, or captured."""
    torch._dynamo.reset()
    precision = precision_for(config, DEVICE)
    trainer = Trainer(built_model(config, corpus, precision), config, precision=precision, world=World())
    if how != "plain":
        trainer.accelerate()
    if how == "compiled":
        trainer._add, trainer._finish = trainer._add_gradient, trainer._update
    return trainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    corpus = Corpus(arguments.data)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {arguments.preset}, {arguments.data}\n")
    for dropout in ("0.0", "0.1"):
        config = resolve(name=arguments.preset, settings=[*arguments.set, f"model.dropout={dropout}"])
        batches = Batches(corpus, config.training, layout="packed", device=DEVICE, world=World())
        steps = [batches.step(number) for number in range(1, STEPS + 1)]
        curves = {}
        for how in ("plain", "compiled", "captured"):
            began = time.perf_counter()
            trainer = new_trainer(config, corpus, how)
            numbers = [trainer.step(step).tolist() for step in steps]
            tokens = [step.target_tokens for step in steps]
            curves[how] = [row[0] / count for row, count in zip(numbers, tokens, strict=True)]
            shown = " ".join(f"{loss:.5f}" for loss in curves[how][:: STEPS // 4])
            print(f"dropout {dropout} {how:<9} loss {shown} … {curves[how][-1]:.5f}", flush=True)
            if dropout == "0.1":
                speed(trainer, steps, how, time.perf_counter() - began)
        apart = max(abs(a - b) for a, b in zip(curves["compiled"], curves["captured"], strict=True))
        print(f"dropout {dropout}: captured and compiled differ by at most {apart:.2e}\n", flush=True)


def speed(trainer: Trainer, steps: list[StepBatch], how: str, start: float) -> None:
    """Print what a step takes, after everything is warm."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    began, rounds = time.perf_counter(), 4
    for _ in range(rounds):
        for step in steps:
            trainer.step(step)
    host = time.perf_counter() - began
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    count = rounds * len(steps)
    rate = rounds * sum(step.target_tokens for step in steps) / seconds
    graphs = torch._dynamo.utils.counters["stats"].get("unique_graphs", 0)
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(
        f"  {how:<9} {seconds / count * 1e3:.2f} ms a step (host {host / count * 1e3:.2f}), {rate:,.0f} tokens/s,"
        f" {peak:.1f} GiB, {graphs} graphs compiled so far, {start:.1f} s to warm up",
        flush=True,
    )


if __name__ == "__main__":
    main()
