"""What every toolkit is asked when it trains: padded batches of random words, and one step for each.

This module runs under every toolkit's own Python and packages: the standard library and torch alone, and torch only
once a toolkit has been built.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rivals.engine import END, FIRST_WORD, PAD, START, Sizes

if TYPE_CHECKING:
    from torch import Tensor, nn

POSITIONS = 256
LABEL_SMOOTHING = 0.1


@dataclass(frozen=True)
class Batch:
    """Rows filled with PAD; a target row is START, the words, END."""

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_tokens: int
    """Words and END; padding does not count."""


@dataclass(frozen=True)
class Learner:
    """A toolkit with a model that it trains."""

    parameters: int
    versions: dict[str, str]
    prepared: Callable[[Batch], Any]
    """A batch in the form that its step takes; made before the clock runs."""
    step: Callable[[Any], Tensor]
    """Forward, backward, update; the loss a target token, on the device."""


def padded_batch(lengths: list[list[int]], *, sizes: Sizes, device: str, seed: int) -> Batch:
    """Pairs with so many tokens on each side, END included."""
    import torch

    draw = random.Random(seed)

    def rows(counts: list[int], first: list[int]) -> Tensor:
        made = [[*first, *(draw.randrange(FIRST_WORD, sizes.vocab_size) for _ in range(n - 1)), END] for n in counts]
        width = max(map(len, made))
        return torch.tensor([row + [PAD] * (width - len(row)) for row in made], device=device)

    sources, targets = ([pair[side] for pair in lengths] for side in (0, 1))
    return Batch(rows(sources, []), torch.tensor(sources, device=device), rows(targets, [START]), sum(targets))


def trainable(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def plain_words(sizes: Sizes, specials: list[str]) -> dict[str, int]:
    """A vocabulary for those that ask for one: words without meaning, after symbols in the order of our control ids."""
    return {word: number for number, word in enumerate([*specials, *map(str, range(sizes.vocab_size - len(specials)))])}


def forward_of(model: nn.Module, *, compiled: bool) -> Callable[..., Any]:
    """The model to call: as it is, or compiled for every shape at once, as Eole's own setting does."""
    import torch

    torch._dynamo.config.cache_size_limit = 16
    return torch.compile(model, dynamic=True) if compiled else model


def usual_step(
    model: nn.Module, loss: Callable[[Any], Tensor], *, device: str, half: bool, cache: bool = True
) -> Callable[[Any], Tensor]:
    """The loop everybody writes: bfloat16 by autocast, backward, torch's fused Adam. No norm is computed or clipped."""
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    model.train()

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=cache):
            value = loss(batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def smoothed_loss(scores: Tensor, wanted: Tensor) -> Tensor:
    """Cross-entropy a target token, by torch's own label smoothing."""
    from torch.nn import functional as F

    return F.cross_entropy(
        scores.flatten(0, 1).float(), wanted.flatten(), ignore_index=PAD, label_smoothing=LABEL_SMOOTHING
    )


class Training:
    """A learner and its batches, and the answers that a worker gives about them."""

    def __init__(self, learner: Learner, *, sizes: Sizes, device: str) -> None:
        self._learner, self._sizes, self._device = learner, sizes, device
        self._batches: list[tuple[Any, int]] = []

    def take(self, lengths: list[list[list[int]]]) -> dict[str, Any]:
        """Make the batches of these lengths."""
        made = [
            padded_batch(pairs, sizes=self._sizes, device=self._device, seed=number)
            for number, pairs in enumerate(lengths)
        ]
        self._batches = [(self._learner.prepared(batch), batch.target_tokens) for batch in made]
        return {"target_tokens": [batch.target_tokens for batch in made]}

    def train(self, numbers: list[int], *, seconds: float) -> dict[str, Any]:
        """Train on these batches, again and again until so much time is over; what it took."""
        import torch

        on_cuda = self._device != "cpu"
        if on_cuda:
            torch.cuda.synchronize()
        steps = tokens = 0
        loss = torch.zeros(())
        wall, cpu = time.perf_counter(), time.process_time()
        while not steps or time.perf_counter() - wall < seconds:
            for number in numbers:
                batch, count = self._batches[number]
                loss = self._learner.step(batch)
                steps, tokens = steps + 1, tokens + count
        value = float(loss)  # waits for the device
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        memory = torch.cuda.max_memory_reserved() / 2**30 if on_cuda else 0.0
        return {"wall": wall, "cpu": cpu, "steps": steps, "tokens": tokens, "loss": value, "memory_gib": memory}
