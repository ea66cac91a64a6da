"""What would stop a run, found before it begins. Each check returns or adds a line for each problem it finds."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.config import Config, did_you_mean
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.manifest import SIDES
from heedful.errors import ConfigError, HeedfulError
from heedful.planning.memory import GIB, MemoryEstimate
from heedful.presets import parameter_count
from heedful.runs.descriptions import RUN
from heedful.text.subwords import Subwords
from heedful.training.flops import ACCELERATORS, peak_flops

CHECKPOINT_BYTES = 12
"""Of a parameter in a checkpoint: itself and Adam's two moments, in float32."""


@contextlib.contextmanager
def noted(problems: list[str]) -> Iterator[None]:
    """An error of the block is added to the problems, and the rest goes on."""
    try:
        yield
    except ConfigError as error:
        problems += error.problems
    except HeedfulError as error:
        problems.append(str(error))


def request_problems(config: Config | None, *, accelerator: str | None, processes: int) -> Iterator[str]:
    """The accelerator must be known, and every process must get a micro-batch of each batch."""
    if accelerator and not peak_flops(accelerator):
        hint = did_you_mean(accelerator, ACCELERATORS)
        yield f"--accelerator {accelerator}: not known{hint}; known are {', '.join(ACCELERATORS)}"
    if config and config.training.micro_batches < processes:
        yield (
            f"training.micro_batches = {config.training.micro_batches}, but {processes} processes need one of each "
            f"batch: --set training.micro_batches={processes}"
        )


def opened(folder: Path, problems: list[str]) -> Corpus | None:
    """The corpus with every file checked, and its vocabularies."""
    corpus = None
    with noted(problems):
        corpus = Corpus(folder)
    for side in SIDES if corpus else ():
        stored = getattr(corpus.manifest.vocabularies, side)
        with noted(problems):
            size = Subwords.load(Path(folder) / stored.folder).vocab_size
            if size != stored.size:
                found = f"the {side} vocabulary of {folder} has {size:,} subwords, its manifest says"
                problems.append(f"{found} {stored.size:,}: prepare the corpus again")
    return corpus


def scheduled(corpus: Corpus, config: Config, problems: list[str]) -> Schedule | None:
    """The batches, if every pair fits into one and every position has its encoding."""
    training, model = config.training, config.model
    longest = corpus.lengths.longest
    if model.positions == "learned" and longest > model.max_positions:
        problems.append(
            f"model.max_positions = {model.max_positions}, but the longest side of a pair has {longest:,} tokens: "
            f"--set model.max_positions={longest}, or prepare the corpus with a smaller --max-length"
        )
    budgets = {"source_budget": training.source_tokens, "target_budget": training.target_tokens}
    with noted(problems):
        return Schedule(corpus.lengths, **budgets, seed=training.seed, weights=corpus.weights)
    return None


def validation_problems(corpus: Corpus, config: Config) -> list[str]:
    """Patience needs validation, and what is validated must fit into batches and positions."""
    training = config.training
    if training.validation_steps and "valid" in corpus.manifest.splits:
        problems: list[str] = []
        scheduled(Corpus(corpus.folder, "valid", verify=False), config, problems)
        return [f"validation text: {problem}" for problem in problems]
    if not training.patience:
        return []
    missing = "training.validation_steps = 0"
    if training.validation_steps:
        missing = f"{corpus.folder} has no validation text: prepare it with --valid-source and --valid-target"
    return [f"training.patience = {training.patience} counts validations, but {missing}"]


def disk_problems(output: Path, corpus: Corpus, config: Config) -> list[str]:
    """Room for the checkpoints that are kept, the best one, and the one being written."""
    if output.exists() and not output.is_dir():
        return [f"--output {output} is a file; give the name of a folder"]
    if output.is_dir() and any(output.iterdir()) and not (output / RUN).exists():
        return [f"--output {output} holds other files and is not a run: give another folder"]
    place = next(place for place in (output.absolute(), *output.absolute().parents) if place.exists())
    count = max(config.training.keep_last, config.training.average_last) + 2
    parameters = parameter_count(config.model, **corpus.manifest.vocabularies.sizes)
    needed, free = count * CHECKPOINT_BYTES * parameters, shutil.disk_usage(place).free
    if needed <= free:
        return []
    return [
        f"--output {output}: {count} checkpoints take {needed / 1e9:,.1f} GB and its disk has {free / 1e9:,.1f} GB "
        "left: make room, or keep fewer (training.keep_last, training.average_last)"
    ]


@dataclass(frozen=True)
class Target:
    """What would compute the run."""

    name: str
    half_precision: bool
    memory: int | None
    """Bytes for each process; None where that is not known."""
    is_rehearsed: bool = False
    """The largest step will be tried: only what no cutting makes smaller is asked of the arithmetic."""


def memory_problems(estimate: Callable[[int], MemoryEstimate], target: Target, *, micro_batches: int) -> list[str]:
    """What is needed must be there; ``estimate``: what is needed with so many micro-batches."""

    def needed(count: int) -> int:
        found = estimate(count)
        return found.kept if target.is_rehearsed else found.total

    there = target.memory
    if there is None or needed(micro_batches) <= there:
        return []
    size = needed(micro_batches) / GIB
    said = f"about {size:,.1f} GiB of memory are needed in each process, and {target.name} has {there / GIB:,.1f}"
    finer = (micro_batches * 2**doublings for doublings in range(1, 11))
    if count := next((count for count in finer if needed(count) <= there), None):
        return [f"{said}: --set training.micro_batches={count}"]
    kept = f"{estimate(micro_batches).kept / GIB:,.1f} GiB are parameters, gradients and Adam's state"
    return [f"{said} ({kept}): take a smaller model, or a machine with more"]
