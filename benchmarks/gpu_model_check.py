"""What only a GPU can show of the model: the packed kernel's limits, its error, and every preset training in it.

    python benchmarks/gpu_model_check.py                 # on a CUDA machine; needs torch and numpy alone
    python benchmarks/gpu_model_check.py --device cpu    # a dry run of the script with small models

Three parts, each a table; the exit code is 1 when a bar is missed:
1. what the packed kernel takes and refuses,
2. the error of packed and of padded bf16 against a float64 reference, outputs and gradients (bar: 1.5 × padded's),
3. five training steps of every preset in the layout chosen for it (bar: finite, and the loss falls).
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import torch
from torch import Tensor

from heedful.config import ModelConfig
from heedful.model.attention_kernels import choose_attention, equation_1_choice
from heedful.model.masks import Packed
from heedful.model.transformer import Transformer
from heedful.presets import ALL
from heedful.training.label_smoothing import label_smoothed_loss
from heedful.training.optimizer import learning_rate

BAR = 1.5
Batch = tuple[Tensor, Tensor, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU (dry run)"
    print(f"{name}, torch {torch.__version__}, Python {sys.version.split()[0]}\n", flush=True)
    ok = True
    if device.type == "cuda":
        kernel_limits()
    ok &= precision(device, seeds=arguments.seeds)
    ok &= training_steps(device)
    print("all bars met" if ok else "A BAR WAS MISSED")
    sys.exit(0 if ok else 1)


def kernel_limits() -> None:
    """Part 1: each thing the packed kernel is said to refuse, tried."""
    from torch.nn.attention.varlen import varlen_attn

    print("1. the packed kernel\n")
    print(f"  parameters: {', '.join(inspect.signature(varlen_attn).parameters)}\n")
    offsets = torch.tensor([0, 3, 8], dtype=torch.int32, device="cuda")

    def attempt(d_k: int, d_v: int, dtype: torch.dtype, window: tuple[int, int] = (-1, -1)) -> str:
        q, k, v = (torch.randn(8, 2, size, device="cuda", dtype=dtype, requires_grad=True) for size in (d_k, d_k, d_v))
        try:
            output = varlen_attn(q, k, v, offsets, offsets, 5, 5, scale=0.1, window_size=window)
            assert isinstance(output, Tensor)
            output.sum().backward()
            return "works" if bool(torch.isfinite(output).all()) else "NOT FINITE"
        except (RuntimeError, ValueError) as error:
            return "refused: " + str(error).strip().splitlines()[0][:90]

    half = torch.bfloat16
    cases: dict[str, Callable[[], str]] = {
        "bf16, heads of 64": lambda: attempt(64, 64, half),
        "fp16, heads of 64": lambda: attempt(64, 64, torch.float16),
        "fp32, heads of 64": lambda: attempt(64, 64, torch.float32),
        "bf16, heads of 16": lambda: attempt(16, 16, half),
        "bf16, heads of 12": lambda: attempt(12, 12, half),
        "bf16, heads of 256": lambda: attempt(256, 256, half),
        "bf16, heads of 264": lambda: attempt(264, 264, half),
        "bf16, keys of 16, values of 64": lambda: attempt(16, 64, half),
        "bf16, causal": lambda: attempt(64, 64, half, (-1, 0)),
        "bf16, window of 2 either side": lambda: attempt(64, 64, half, (2, 2)),
    }
    for label, case in cases.items():
        print(f"  {label:<34}{case()}", flush=True)
    print()


def random_batch(lengths: Tensor, *, vocab_size: int, seed: int, device: torch.device) -> Batch:
    """Padded source, target input and target output of the given lengths."""
    generator = torch.Generator().manual_seed(seed)

    def side(n: Tensor) -> Tensor:
        ids = torch.randint(3, vocab_size, (len(n), int(n.max())), generator=generator)
        return (ids * (torch.arange(int(n.max()))[None] < n[:, None])).to(device)

    return side(lengths), side(lengths.flip(0)), side(lengths.flip(0))


def packed(ids: Tensor) -> tuple[Tensor, Packed]:
    lengths = (ids != 0).sum(1)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).int()
    flat = ids[ids != 0]
    return flat, Packed(offsets, tokens=flat.numel(), max_length=ids.size(1))


def loss_and_logits(
    model: Transformer, batch: Batch, *, layout: str, label_smoothing: float = 0.1
) -> tuple[Tensor, Tensor]:
    """The mean loss, and the logits of the real target words in the order of the packed layout."""
    source, target, output = batch
    if layout == "padded":
        logits = model(source, target)[output != 0]
    else:
        (source, source_layout), (target, target_layout) = packed(source), packed(target)
        logits = model(source, target, source_layout=source_layout, target_layout=target_layout)
    loss, count = label_smoothed_loss(logits, output[output != 0], label_smoothing=label_smoothing)
    return loss / count, logits


def relative_error(got: list[Tensor], expected: list[Tensor]) -> float:
    difference = sum(float((g.double() - e).square().sum()) for g, e in zip(got, expected, strict=True))
    return (difference / sum(float(e.square().sum()) for e in expected)) ** 0.5


def precision(device: torch.device, *, seeds: int) -> bool:
    """Part 2: how far packed and padded bf16 are from float64."""
    cuda = device.type == "cuda"
    base = (
        ModelConfig(dropout=0.0) if cuda else ModelConfig(64, 128, 4, encoder_layers=2, decoder_layers=2, dropout=0.0)
    )
    variants = {
        "base": {},
        "row A, 4 heads": {"num_heads": 4},
        "row A, 32 heads": {"num_heads": 32} if cuda else {"num_heads": 8},
        "row B, keys of 16": {"d_k": 16},
        "row E, learned": {"positions": "learned"},
        "restricted, r = 16": {"neighbourhood": 16},
    }
    vocab_size = 8000 if cuda else 200
    print("2. relative error against float64 (dropout 0): padded bf16, packed bf16, their ratio\n")
    print(f"  {'':<22}{'outputs':^30}{'gradients':^30}")
    ok = True
    for label, changes in variants.items():
        rows = [
            errors(dataclasses.replace(base, **changes), vocab_size=vocab_size, seed=seed, device=device)
            for seed in range(seeds)
        ]
        cells = ""
        for part in range(2):
            padded_error, packed_error = (sum(row[layout][part] for row in rows) / seeds for layout in range(2))
            ok &= packed_error <= BAR * padded_error
            cells += f"{padded_error:>10.2e}{packed_error:>10.2e}{packed_error / padded_error:>8.2f}  "
        print(f"  {label:<22}{cells}", flush=True)
    print()
    return ok


def errors(config: ModelConfig, *, vocab_size: int, seed: int, device: torch.device) -> list[tuple[float, float]]:
    """(output error, gradient error) of padded bf16, then of packed bf16 (on a CPU: of float32 twice)."""
    torch.manual_seed(seed)
    lengths = torch.randint(1, 60, (40 if device.type == "cuda" else 4,))
    batch = random_batch(lengths, vocab_size=vocab_size, seed=seed, device=device)
    reference = Transformer(config, vocab_size=vocab_size).to(device).double()
    names = [name for name, _ in reference.named_parameters()]
    loss, expected = loss_and_logits(reference, batch, layout="padded")
    expected_gradients = list(torch.autograd.grad(loss, [reference.get_parameter(n) for n in names]))
    results = []
    for layout in ("padded", "packed"):
        half = device.type == "cuda"
        choice = choose_attention(config, device=device, half_precision=half and layout == "packed")
        if layout == "packed" and not half:
            choice = equation_1_choice(config)
        model = Transformer(config, vocab_size=vocab_size, attention=choice).to(device)
        model.load_state_dict({name: value.float() for name, value in reference.state_dict().items()})
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            loss, logits = loss_and_logits(model, batch, layout=layout)
        got = list(torch.autograd.grad(loss, [model.get_parameter(n) for n in names]))
        results.append(
            (relative_error([logits.detach()], [expected.detach()]), relative_error(got, expected_gradients))
        )
    return results


def small_batches(vocab_size: int, device: torch.device) -> Iterator[Batch]:
    lengths = torch.tensor([30, 4, 17, 9, 25, 12, 28, 6] * (16 if device.type == "cuda" else 1))
    while True:
        yield random_batch(lengths, vocab_size=vocab_size, seed=1, device=device)


def training_steps(device: torch.device, *, steps: int = 5) -> bool:
    """Part 3: five steps of every preset on one batch, as chosen for the device, in half precision on CUDA."""
    half = device.type == "cuda"
    print(f"3. {steps} training steps of every preset (one batch, warm-up 20)\n")
    ok = True
    for preset in ALL:
        config = preset.make()
        vocab_size = config.data.vocab_size if half else 300
        model_config = config.model if half else dataclasses.replace(config.model, encoder_layers=1, decoder_layers=1)
        choice = choose_attention(model_config, device=device, half_precision=half)
        torch.manual_seed(1)
        with device:
            model = Transformer(model_config, vocab_size=vocab_size, attention=choice)
        training = config.training
        betas, epsilon = (training.adam_beta1, training.adam_beta2), training.adam_epsilon
        optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=epsilon, fused=half)
        losses, began = [], time.perf_counter()
        for step, batch in zip(range(1, steps + 1), small_batches(vocab_size, device), strict=False):
            optimizer.param_groups[0]["lr"] = learning_rate(step, d_model=model_config.d_model, warmup_steps=20)
            with torch.autocast(device.type, torch.bfloat16, enabled=half):
                loss, _ = loss_and_logits(model, batch, layout=choice.layout, label_smoothing=training.label_smoothing)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        good = all(value == value for value in losses) and losses[-1] < losses[0]
        ok &= good
        seconds = time.perf_counter() - began
        curve = " ".join(f"{value:6.3f}" for value in losses)
        print(f"  {preset.name:<20}{curve}  {seconds:5.1f} s  {choice}{'' if good else '   MISSED'}", flush=True)
        del model, optimizer
    print()
    return ok


if __name__ == "__main__":
    main()
