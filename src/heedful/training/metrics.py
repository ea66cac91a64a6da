"""What a run writes down about itself: ``metrics.jsonl``, one JSON object a line.

Everything that depends on the clock stands under ``wall``; the rest is the same for the same run, resumed or not.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heedful.evaluation.translation_scores import perplexity
from heedful.runs.metrics import METRICS
from heedful.training.batches import StepBatch

LAG = 3
"""Steps after which a step's numbers are read: by then they have arrived, and nobody waits."""


@dataclass
class Interval:
    """Sums since the last line of metrics; kept in checkpoints, so that a resumed run writes the same line."""

    loss: float = 0.0
    negative_log_likelihood: float = 0.0
    target_tokens: int = 0
    source_tokens: int = 0
    gradient_norm: float = 0.0
    steps: int = 0
    skipped: int = 0

    def add(self, result: StepResult) -> None:
        if result.skipped:
            self.skipped += 1
            return
        self.loss += result.loss_sum
        self.negative_log_likelihood += result.plain_sum
        self.target_tokens += result.target_tokens
        self.source_tokens += result.source_tokens
        self.gradient_norm += result.gradient_norm
        self.steps += 1

    def line(self, step: int, *, learning_rate: float, wall: dict[str, Any]) -> dict[str, Any]:
        tokens, steps = max(1, self.target_tokens), max(1, self.steps)
        plain = self.negative_log_likelihood / tokens
        return {
            "kind": "train",
            "step": step,
            "loss": self.loss / tokens,
            "negative_log_likelihood": plain,
            "perplexity": perplexity(self.negative_log_likelihood, tokens),
            "learning_rate": learning_rate,
            "gradient_norm": self.gradient_norm / steps,
            "target_tokens": self.target_tokens,
            "skipped": self.skipped,
            "wall": wall,
        }

    def as_state(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class StepResult:
    """One step's numbers, read back from the device."""

    step: int
    loss_sum: float
    plain_sum: float
    gradient_norm: float
    skipped: bool
    target_tokens: int
    source_tokens: int
    batch: StepBatch


class Results:
    """The results of steps on their way from the device."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[StepBatch, Tensor, torch.cuda.Event | None]] = deque()

    def add(self, batch: StepBatch, numbers: Tensor) -> None:
        """Send a step's numbers on their way."""
        if numbers.device.type != "cuda":
            self._waiting.append((batch, numbers, None))
            return
        host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
        host.copy_(numbers, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        self._waiting.append((batch, host, event))

    def arrived(self, *, all_of_them: bool = False) -> Iterator[StepResult]:
        """The results that are there: those of `LAG` steps ago and before, or, having waited, all."""
        while self._waiting:
            batch, numbers, event = self._waiting[0]
            if event is not None:
                if not all_of_them and len(self._waiting) <= LAG:
                    return
                event.synchronize()
            self._waiting.popleft()
            loss, plain, norm, skipped = numbers.tolist()
            yield StepResult(
                batch.step, loss, plain, norm, bool(skipped), batch.target_tokens, batch.source_tokens, batch
            )


def append_metrics(run: Path, line: dict[str, Any]) -> None:
    """Add one line; a process killed in the middle leaves half a line, which a resumed run cuts off."""
    with (run / METRICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
