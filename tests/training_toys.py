"""Small corpora whose right answers are known, for the tests that train."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from torch import Tensor, nn

from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.text.cleaning import Rules
from heedful.text.pairs import ParallelText, two_files

WORDS = [a + b for a in "bdfgklmnprst" for b in "aeiou"][:40]
TASKS = {"copy": list, "reverse": lambda words: words[::-1], "sort": sorted}


def toy_sentences(count: int, *, seed: int, shortest: int = 2, longest: int = 9) -> list[list[str]]:
    """Sentences of random words."""
    draw = random.Random(seed)
    return [[draw.choice(WORDS) for _ in range(draw.randint(shortest, longest))] for _ in range(count)]


def write_toy(folder: Path, *, task: str, pairs: int, seed: int = 1, valid: int = 100) -> Path:
    """A prepared corpus of a task: copy, reverse or sort; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, ParallelText] = {}
    for split, count, offset in (("train", pairs, 0), ("valid", valid, 1)):
        sources = toy_sentences(count, seed=2 * seed + offset)
        paths = folder / f"{split}.source", folder / f"{split}.target"
        paths[0].write_text("".join(" ".join(words) + "\n" for words in sources))
        paths[1].write_text("".join(" ".join(TASKS[task](words)) + "\n" for words in sources))
        files[split] = two_files(*paths)
    request = Request(
        corpora=(files["train"],),
        validation=(files["valid"],),
        vocab_size=320,
        rules=Rules(keep=frozenset({"identical", "validation"}), max_length=64, max_ratio=9.0),
    )
    prepare(request, output=folder / "corpus")
    return folder / "corpus"


def torch_adam(model: nn.Module) -> torch.optim.Adam:
    """torch's own class, with the paper's settings."""
    on_cuda = next(model.parameters()).is_cuda
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True, capturable=on_cuda)


def step_of_torch(optimizer: torch.optim.Adam, *, rate: float | Tensor, skip: Tensor) -> None:
    """One update, or none, as `guarded_step` makes it."""
    optimizer.param_groups[0]["lr"] = rate
    optimizer.grad_scale, optimizer.found_inf = None, skip  # pyright: ignore[reportAttributeAccessIssue]
    optimizer.step()
