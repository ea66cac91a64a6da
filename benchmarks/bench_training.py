"""Training speed on one CPU thread: ours, a plain torch.nn.Transformer loop, and Hugging Face Marian.

    python benchmarks/bench_training.py --output benchmarks/results/NAME.md

All three take the same batches (lengths of the speed workload), hold the same number of parameters (checked), drop
nothing out, and update with torch's fused Adam. They take turns batch by batch, first once over every batch unmeasured.
What counts is the processor time of the process: on a shared machine the clock on the wall says nothing. Marian needs
``pip install transformers``, which heedful itself does not.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from hardware import described
from rivals.marian_configuration import marian_configuration
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.config import Config
from heedful.data.batching import Schedule
from heedful.data.corpus import Lengths
from heedful.model.masks import padded_layout
from heedful.model.transformer import Transformer
from heedful.presets import resolve
from heedful.symbols import END, PAD, START
from heedful.training.batches import MicroBatch, StepBatch
from heedful.training.distributed import World
from heedful.training.step import Precision, Trainer

V = 8000
LENGTHS = Path(__file__).parent / "speed_lengths.npy"
SIZES = {"d_model": 256, "d_ff": 1024, "num_heads": 4, "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.0}
Step = Callable[[StepBatch], None]


def configuration(tokens: int) -> Config:
    budgets = [f"training.source_tokens={tokens}", f"training.target_tokens={tokens}"]
    return resolve(name="small", settings=[*(f"model.{name}={value}" for name, value in SIZES.items()), *budgets])


def random_batches(count: int, *, tokens: int) -> list[StepBatch]:
    """Batches of the speed workload's lengths, of random words."""
    pairs = np.load(LENGTHS)[:20_000].astype(np.int64)
    source, target = (pairs[:, 0], pairs[:, 1]) if pairs.ndim == 2 else (pairs, pairs)
    schedule = Schedule(Lengths(source, target), source_budget=tokens, target_budget=tokens, seed=1)
    rng = np.random.default_rng(1)

    def rows(lengths: np.ndarray) -> Tensor:
        ids = rng.integers(3, V, (len(lengths), int(lengths.max())))
        ids[np.arange(len(lengths)), lengths - 1] = END
        ids[np.arange(ids.shape[1]) >= lengths[:, None]] = PAD
        return torch.from_numpy(ids.astype(np.int32))

    found = []
    for step in range(1, count + 1):
        chosen = schedule.batch(step - 1)
        inputs, wanted = rows(source[chosen]), rows(target[chosen])
        given = wanted.roll(1, 1)
        given[given == END] = PAD  # the row's last word, or filling that was rolled to its front
        given[:, 0] = START
        micro = MicroBatch(0, inputs, given, wanted, padded_layout(inputs), padded_layout(given))
        sums = int(target[chosen].sum()), int(source[chosen].sum())
        found.append(StepBatch(step, [micro], *sums, pairs=chosen))
    return found


def ours(config: Config) -> tuple[nn.Module, Step]:
    precision = Precision(torch.device("cpu"), half=False)
    trainer = Trainer(Transformer(config.model, vocab_size=V), config, precision=precision, world=World())

    def step(batch: StepBatch) -> None:
        trainer.step(batch).tolist()

    return trainer.model, step


class PlainTransformer(nn.Module):
    """torch.nn.Transformer between one shared matrix."""

    def __init__(self) -> None:
        super().__init__()
        d = SIZES["d_model"]
        counts = SIZES["num_heads"], SIZES["encoder_layers"], SIZES["decoder_layers"], SIZES["d_ff"]
        self.stacks = nn.Transformer(d, *counts, dropout=0.0, batch_first=True)  # pyright: ignore[reportArgumentType]
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        self.embedding = nn.Embedding(V, d)  # pyright: ignore[reportArgumentType]
        nn.init.normal_(self.embedding.weight, std=d**-0.5)
        angle = torch.arange(256.0)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        self.register_buffer("encoding", torch.stack([angle.sin(), angle.cos()], -1).flatten(1))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        x, y = (self.embedding(ids) * 16.0 + self.encoding[: ids.size(1)] for ids in (source, target))  # pyright: ignore
        later = torch.ones(target.size(1), target.size(1), dtype=torch.bool).triu(1)
        masks = {"src_key_padding_mask": source == PAD, "memory_key_padding_mask": source == PAD}
        hidden = self.stacks(x, y, tgt_mask=later, tgt_key_padding_mask=target == PAD, **masks)
        return F.linear(hidden, self.embedding.weight)


def usual_step(model: nn.Module, logits: Callable[[MicroBatch], Tensor]) -> Step:
    """The loop everybody writes: cross-entropy with smoothing, backward, fused Adam, and the loss and norm read."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(batch: StepBatch) -> None:
        optimizer.zero_grad()
        for micro in batch.micro_batches:
            scores = logits(micro)
            targets = micro.target_output.long().flatten()
            loss = F.cross_entropy(
                scores.flatten(0, 1), targets, ignore_index=PAD, label_smoothing=0.1, reduction="sum"
            )
            (loss / batch.target_tokens).backward()
        nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item()
        optimizer.step()
        loss.item()  # pyright: ignore[reportPossiblyUnboundVariable]

    return step


def torch_nn() -> tuple[nn.Module, Step]:
    model = PlainTransformer()
    return model, usual_step(model, lambda micro: model(micro.source.long(), micro.target_input.long()))


def marian() -> tuple[nn.Module, Step]:
    from transformers import MarianMTModel  # pyright: ignore[reportMissingImports]

    config = marian_configuration(vocab_size=V, positions=256, **SIZES)
    config.use_cache = False
    model = MarianMTModel(config).train()

    def logits(micro: MicroBatch) -> Tensor:
        source, given = micro.source.long(), micro.target_input.long()
        masks = {"attention_mask": (source != PAD).long(), "decoder_attention_mask": (given != PAD).long()}
        return model(input_ids=source, decoder_input_ids=given, **masks).logits

    return model, usual_step(model, logits)


def cpu_seconds(step: Step, batch: StepBatch) -> float:
    began = time.process_time()
    step(batch)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 2048])
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    contestants = {"heedful": ours(configuration(max(arguments.tokens))), "torch.nn.Transformer": torch_nn()}
    packages = ["torch"]
    if importlib.util.find_spec("transformers"):
        contestants["Hugging Face Marian"] = marian()
        packages.append("transformers")
    else:
        print("transformers is not installed: without Hugging Face Marian")
    counts = {
        name: sum(p.numel() for p in model.parameters() if p.requires_grad) for name, (model, _) in contestants.items()
    }
    assert len(set(counts.values())) == 1, f"other models: {counts}"
    lines = [
        "# Training on one CPU thread",
        "",
        described(*packages),
        "",
        f"3+3 layers, 256, 1024, 4 heads, {V:,} words, {counts['heedful']:,} parameters each, float32, dropout 0, "
        f"label smoothing 0.1, fused Adam. {arguments.batches} batches, {arguments.rounds} rounds, in turns; median of "
        "the rounds, lowest and highest beside it. Target tokens per second of processor time.",
        "",
        "| tokens a batch | " + " | ".join(contestants) + " |",
        "|---:|" + "---:|" * len(contestants),
    ]
    for tokens in arguments.tokens:
        batches = random_batches(arguments.batches, tokens=tokens)
        total = sum(batch.target_tokens for batch in batches)
        rounds: dict[str, list[float]] = {name: [] for name in contestants}
        for number in range(arguments.rounds + 1):
            spent = dict.fromkeys(contestants, 0.0)
            for batch in batches:
                for name, (_, step) in contestants.items():
                    spent[name] += cpu_seconds(step, batch)
            if number:
                for name, seconds in spent.items():
                    rounds[name].append(total / seconds)
        cells = [f"{statistics.median(r):,.0f} ({min(r):,.0f}–{max(r):,.0f})" for r in rounds.values()]
        lines.append(f"| {tokens:,} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    print("\n".join(lines))
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
