"""What would stop a run, found before it begins. Each check returns or adds a line for each problem it finds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.config import Config, did_you_mean
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.errors import BatchError, CorpusError, SubwordError
from heedful.planning.memory import GIB, MemoryEstimate
from heedful.runs.descriptions import RUN
from heedful.text.subwords import Subwords
from heedful.training.flops import ACCELERATORS, peak_flops

CHECKPOINT_BYTES = 12
"""Of a parameter in a checkpoint: itself and Adam's two moments, in float32."""


@dataclass(frozen=True)
class Vocabulary:
    """Subwords of each side of a prepared corpus; what it holds rules, not what a configuration says."""

    source: int
    target: int
    shared: bool

    @property
    def own_source(self) -> int | None:
        """The size of the source's own vocabulary; None where one is shared."""
        return None if self.shared else self.source


def accelerator_problems(accelerator: str | None) -> list[str]:
    if accelerator is None or peak_flops(accelerator):
        return []
    hint = did_you_mean(accelerator, ACCELERATORS)
    return [f"--accelerator {accelerator}: not known{hint}; known are {', '.join(ACCELERATORS)}"]


def process_problems(config: Config | None, *, gpus: int, nodes: int) -> list[str]:
    """Every process must get a micro-batch of each batch."""
    named = (("--gpus", gpus), ("--nodes", nodes))
    problems = [f"{name} {value}: must be at least 1" for name, value in named if value < 1]
    processes = gpus * nodes
    if not problems and config and config.training.micro_batches < processes:
        problems.append(
            f"training.micro_batches = {config.training.micro_batches}, but {processes} processes need one of each "
            f"batch: --set training.micro_batches={processes}"
        )
    return problems


def opened(folder: Path, problems: list[str]) -> tuple[Corpus | None, Vocabulary | None]:
    """The corpus with every file checked, and its vocabulary."""
    try:
        corpus = Corpus(folder)
    except CorpusError as error:
        problems.append(str(error))
        return None, None
    vocabularies = corpus.manifest.vocabularies
    before = len(problems)
    for side, stored in (("source", vocabularies.source), ("target", vocabularies.target)):
        try:
            size = Subwords.load(Path(folder) / stored.folder).vocab_size
        except SubwordError as error:
            problems.append(str(error))
            continue
        if size != stored.size:
            found = f"the {side} vocabulary of {folder} has {size:,} subwords, its manifest says"
            problems.append(f"{found} {stored.size:,}: prepare the corpus again")
    if len(problems) > before:
        return corpus, None
    return corpus, Vocabulary(vocabularies.source.size, vocabularies.target.size, vocabularies.shared)


def scheduled(corpus: Corpus, config: Config, problems: list[str]) -> Schedule | None:
    """The batches, if every pair fits into one and every position has its encoding."""
    training, model = config.training, config.model
    longest = corpus.lengths.longest
    if model.positions == "learned" and longest > model.max_positions:
        problems.append(
            f"model.max_positions = {model.max_positions}, but the longest side of a pair has {longest:,} tokens: "
            f"--set model.max_positions={longest}, or prepare the corpus with a smaller --max-length"
        )
    try:
        return Schedule(
            corpus.lengths,
            source_budget=training.source_tokens,
            target_budget=training.target_tokens,
            seed=training.seed,
            weights=corpus.weights,
        )
    except BatchError as error:
        problems.append(str(error))
        return None


def validation_problems(corpus: Corpus, config: Config) -> list[str]:
    """Patience needs validation, and what is validated must fit into batches and positions."""
    training = config.training
    if not training.validation_steps:
        counted = f"training.patience = {training.patience} counts validations"
        return [f"{counted}, but training.validation_steps = 0"] if training.patience else []
    if "valid" in corpus.manifest.splits:
        problems: list[str] = []
        scheduled(Corpus(corpus.folder, "valid", verify=False), config, problems)
        return [f"validation text: {problem}" for problem in problems]
    if not training.patience:
        return []
    return [
        f"training.patience = {training.patience} counts validations, but {corpus.folder} has no validation text: "
        "prepare it with --valid-source and --valid-target"
    ]


def disk_problems(output: Path, config: Config, *, parameters: int) -> list[str]:
    """Room for the checkpoints that are kept, the best one, and the one being written."""
    if output.exists() and not output.is_dir():
        return [f"--output {output} is a file; give the name of a folder"]
    if output.is_dir() and any(output.iterdir()) and not (output / RUN).exists():
        return [f"--output {output} holds other files and is not a run: give another folder"]
    place = output.absolute()
    while not place.exists():
        place = place.parent
    count = max(config.training.keep_last, config.training.average_last) + 2
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


def data_notes(corpus: Corpus, config: Config, vocabulary: Vocabulary, *, output: Path | None) -> Iterator[str]:
    """What does not stop a run, and is better known: of the corpus and of the folder to write to."""
    if vocabulary.target != config.data.vocab_size:
        yield f"the corpus has {vocabulary.target:,} subwords; data.vocab_size = {config.data.vocab_size} is not used"
    if config.training.validation_steps and "valid" not in corpus.manifest.splits:
        yield f"{corpus.folder} has no validation text: nothing will be validated, and no checkpoint be the best"
    if output is not None and (output / RUN).exists():
        yield f"{output} is a run already: training must be told to go on with it or to start anew"


def batch_notes(config: Config, *, schedule: Schedule, processes: int) -> Iterator[str]:
    """The same of the batches."""
    training = config.training
    if training.micro_batches % processes:
        uneven = f"training.micro_batches = {training.micro_batches} is no multiple of {processes} processes"
        yield f"{uneven}: some do more than others"
    if schedule.pairs_per_epoch / schedule.steps_per_epoch < training.micro_batches:
        yield f"a batch has fewer pairs than training.micro_batches = {training.micro_batches}: some are empty"
    if training.steps < schedule.steps_per_epoch:
        yield "the run ends before it has seen every pair once"
