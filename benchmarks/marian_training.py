"""Train Hugging Face's Marian on a prepared corpus for some minutes and translate with it: the rival of en-de-small.

    python benchmarks/marian_training.py CORPUS --minutes 8 --output OUT --set newstest2013.en --set tatoeba-dev.en

The same text, subwords, batches and number of parameters as ours; the loop is the usual one for such a model: AdamW,
linear warm-up and inverse square root, label smoothing 0.1, dropout 0.1, bfloat16 where there is a GPU, gradients
clipped at 1, the mean of the last copies of the weights, beam search of transformers. Lengths are rounded up to
multiples of eight, and cuDNN's attention, which plans anew for each shape it has not seen, is switched off.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rivals.marian_configuration import marian_configuration
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus, Side
from heedful.symbols import END, PAD, START
from heedful.text.subwords import Subwords

COPIES = 8
"""Copies of the weights that are averaged, as many as our run averages checkpoints."""


def marian(vocab_size: int, given: argparse.Namespace) -> Any:
    from transformers import MarianMTModel

    torch.manual_seed(1)
    return MarianMTModel(
        marian_configuration(
            vocab_size=vocab_size,
            d_model=given.d_model,
            d_ff=given.d_ff,
            num_heads=given.heads,
            encoder_layers=given.encoder_layers,
            decoder_layers=given.decoder_layers,
            positions=512,
            dropout=given.dropout,
        )
    )


def padded(side: Side, pairs: np.ndarray, *, start: bool) -> Tensor:
    """Rows of ids with END, as wide as the longest rounded up to a multiple of eight."""
    flat, lengths = side.ids(pairs)
    first = int(start)
    width = -(-(int(lengths.max()) + 1 + first) // 8) * 8
    rows = np.full((len(pairs), width), PAD, np.int64)
    places = np.arange(width)
    rows[(places >= first) & (places < (first + lengths)[:, None])] = flat
    rows[np.arange(len(pairs)), first + lengths] = END
    if start:
        rows[:, 0] = START
    return torch.from_numpy(rows)


def batches(corpus: Corpus, tokens: int, device: str) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Source, target and number of target tokens of each step, made ahead by a thread."""
    schedule = Schedule(
        corpus.lengths, source_budget=tokens, target_budget=tokens, seed=1,
        weights=corpus.weights,
    )  # fmt: skip

    def made(step: int) -> tuple[Tensor, Tensor, int]:
        pairs = schedule.batch(step)
        sides = padded(corpus.source, pairs, start=False), padded(corpus.target, pairs, start=True)
        if device == "cuda":
            sides = sides[0].pin_memory(), sides[1].pin_memory()
        return *sides, int(corpus.lengths.target[pairs].sum())

    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(made, step) for step in range(8))
        for step in itertools.count(8):
            source, target, count = waiting.popleft().result()
            waiting.append(pool.submit(made, step))
            yield source.to(device, non_blocking=True), target.to(device, non_blocking=True), count


def train(model: Any, corpus: Corpus, given: argparse.Namespace, device: str) -> dict[str, Any]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    copies: list[dict[str, Tensor]] = []
    began, step, tokens = time.perf_counter(), 0, 0
    losses: list[Tensor] = []
    model.train()
    cast = torch.autocast(device, torch.bfloat16) if device == "cuda" else contextlib.nullcontext()
    for source, target, count in batches(corpus, given.tokens, device):
        if time.perf_counter() - began > 60 * given.minutes:
            break
        step += 1
        rate = given.rate * min(step / given.warmup, (given.warmup / step) ** 0.5)
        optimizer.param_groups[0]["lr"] = rate
        with cast:
            logits = model(
                input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target[:, :-1]
            ).logits
        gold = target[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1).float(), gold.flatten(), ignore_index=PAD, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        tokens += count
        losses = [*losses, loss.detach()][-100:]
        if step % given.copy_steps == 0:
            copies = [*copies, {name: value.detach().clone() for name, value in model.state_dict().items()}][-COPIES:]
        if step % 100 == 0:
            speed = tokens / (time.perf_counter() - began)
            mean = float(torch.stack(losses).mean())
            print(f"step {step:,}  loss {mean:.3f}  {speed:,.0f} target tokens/s", flush=True)
    if copies:
        mean = {
            name: torch.stack([copy[name].float() for copy in copies]).mean(0).to(value.dtype)
            for name, value in model.state_dict().items()
        }
        model.load_state_dict(mean)
    seconds = time.perf_counter() - began
    return {"steps": step, "seconds": seconds, "target_tokens_per_second": tokens / seconds, "averaged": len(copies)}


def lines_of(path: Path) -> list[str]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return [line.split("\t")[0] for line in text.split("\n")[:-1]]


@torch.inference_mode()
def translate(model: Any, subwords: Subwords, lines: list[str], device: str, *, batch: int = 128) -> list[str]:
    model.eval()
    ids = [[*row.tolist()[:400], END] for row in subwords.encode(lines)]
    order = sorted(range(len(lines)), key=lambda place: len(ids[place]))
    outputs = [""] * len(lines)
    for begin in range(0, len(order), batch):
        some = order[begin : begin + batch]
        width = max(len(ids[place]) for place in some)
        source = torch.tensor([ids[place] + [PAD] * (width - len(ids[place])) for place in some], device=device)
        found = model.generate(
            input_ids=source, attention_mask=(source != PAD).long(), num_beams=4, do_sample=False,
            max_new_tokens=min(width + 50, 500), length_penalty=1.0, early_stopping=True,
        )  # fmt: skip
        for place, row in zip(some, found[:, 1:].tolist(), strict=True):
            outputs[place] = subwords.decode(row[: row.index(END)] if END in row else row)
    return outputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--set", type=Path, action="append", default=[], help="text to translate afterwards")
    parser.add_argument("--d-model", type=int, default=384)
    parser.add_argument("--d-ff", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--encoder-layers", type=int, default=6)
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=16_384)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--warmup", type=int, default=2500)
    parser.add_argument("--copy-steps", type=int, default=500)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.matmul.allow_tf32 = True
    given.output.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(given.corpus, verify=False)
    subwords = Subwords.load(given.corpus / corpus.manifest.vocabularies.source.folder)
    model = marian(subwords.vocab_size, given).to(device)
    facts: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters() if p.requires_grad)}
    print(f"{facts['parameters']:,} parameters on {device}", flush=True)
    facts |= train(model, corpus, given, device)
    for path in given.set:
        began = time.perf_counter()
        outputs = translate(model, subwords, lines_of(path), device)
        (given.output / f"{path.name}.out").write_text("".join(f"{line}\n" for line in outputs), encoding="utf-8")
        print(f"{path.name}: {time.perf_counter() - began:.0f} s", flush=True)
    (given.output / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
