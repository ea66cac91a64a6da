"""What would stop a run, found before it begins. Each check returns or adds a line for each problem it finds.

The largest of them estimates the memory that one process needs on its device: kernels and allocators differ.

What stays for the whole run, with P parameters: the parameters, their gradients and Adam's two moments in float32, 16
bytes a parameter.

What one micro-batch holds between its forward and its backward pass is `activation_bytes`, and the loss, computed in
slices of at most 2^27 scores, whose gradient takes their place. Not counted: what a kernel keeps that does not fuse
attention (on a CPU, where d_k and d_v differ: all scores) or that fills heads up; and what the backward pass holds of
one layer at a time.

Captured graphs (CUDA) keep a working memory of their own, and while a shape is captured it is run beside them: two
working memories (`training.machine`, which measures what one is). By arithmetic alone one is more than activations
and loss, for the reasons above and because torch reserves more than it uses. On an H200 so much was seen beyond what
stays, for each byte of activations and loss: 2.6 (base) and 2.5 (big). The larger is taken, half of it for each working
memory.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.config import Config, ModelConfig, did_you_mean
from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.data.manifest import SIDES
from heedful.errors import ConfigError, HeedfulError
from heedful.presets import parameter_count
from heedful.runs.descriptions import RUN
from heedful.text.closed_vocabulary import load_vocabulary
from heedful.training.flops import ACCELERATORS, SCORES_AT_ONCE_ON_CUDA, WORKING_MEMORIES_OF_GRAPHS, peak_flops

_CHECKPOINT_BYTES = 12
"""Of a parameter in a checkpoint: itself and Adam's two moments, in float32."""
_RESERVED = 1.3
"""Bytes of a captured step's working memory for each byte of activations and loss; measured, see above."""
GIB = 1 << 30


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
            size = load_vocabulary(Path(folder) / stored.folder).vocab_size
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
    with noted(problems):
        return Schedule.of(corpus, training)
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
    needed, free = count * _CHECKPOINT_BYTES * parameters, shutil.disk_usage(place).free
    if needed <= free:
        return []
    return [
        f"--output {output}: {count} checkpoints take {needed / 1e9:,.1f} GB and its disk has {free / 1e9:,.1f} GB "
        "left: make room, or keep fewer (training.keep_last, training.average_last)"
    ]


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes, by what they are for."""

    parameters: int
    gradients: int
    adam: int
    working_copy: int
    """The parameters in half precision, while a step is computed."""
    activations: int
    loss: int
    capturing: int
    """The graphs' own working memory."""

    @property
    def kept(self) -> int:
        """What stays for the whole run, however fine a step is cut."""
        return self.parameters + self.gradients + self.adam + self.working_copy

    @property
    def total(self) -> int:
        return self.kept + self.activations + self.loss + self.capturing


def memory_estimate(
    model: ModelConfig,
    *,
    vocab_size: int,
    source_tokens: int,
    target_tokens: int,
    half_precision: bool,
    source_vocab_size: int | None = None,
    captured: bool = False,
) -> MemoryEstimate:
    """What one process needs for micro-batches of so many tokens, padding included; ``captured``: as CUDA graphs."""
    parameters = parameter_count(model, vocab_size=vocab_size, source_vocab_size=source_vocab_size)
    tokens = {"source_tokens": source_tokens, "target_tokens": target_tokens}
    activations = activation_bytes(model, **tokens, half_precision=half_precision)
    # A slice's scores, on CUDA their own gradient; the matrix's gradient, twice; that of the last vectors.
    scores = min(target_tokens * vocab_size, SCORES_AT_ONCE_ON_CUDA)
    loss = scores * (2 if half_precision else 4 + 4) + (2 * vocab_size + target_tokens) * 4 * model.d_model
    return MemoryEstimate(
        parameters=4 * parameters,
        gradients=4 * parameters,
        adam=8 * parameters,
        working_copy=2 * parameters if half_precision else 0,
        activations=activations,
        loss=loss,
        capturing=round((WORKING_MEMORIES_OF_GRAPHS * _RESERVED - 1) * (activations + loss)) if captured else 0,
    )


def activation_bytes(model: ModelConfig, *, source_tokens: int, target_tokens: int, half_precision: bool) -> int:
    """What the layers keep of a micro-batch for its backward pass: inputs, projections, what was attended to, sums.

    In half precision, which is CUDA's, a sub-layer keeps its input, its output before the residual sum, and two numbers
    of the norm. In full precision, mostly a CPU's, it keeps the sum that was normalised and what dropout multiplied by.
    """
    w = 2 if half_precision else 4
    d, heads = model.d_model, model.num_heads
    queries, values = heads * model.key_size, heads * model.value_size
    dropped = d * (1 if half_precision else 4) if model.dropout else 0
    after = w * d + 8 if half_precision else 4 * d + dropped
    # 4 bytes a head are the normalisers.
    self_attention = w * (d + 2 * queries + 2 * values) + 4 * heads + after
    cross_attention = w * (d + queries + values) + 4 * heads + after
    feed_forward = w * (d + model.d_ff) + after
    memory = w * (queries + values)
    source = model.encoder_layers * (self_attention + feed_forward) + model.decoder_layers * memory + dropped
    target = model.decoder_layers * (self_attention + cross_attention + feed_forward) + dropped
    last = w * d  # the stacks' outputs, which no sub-layer of their own reads
    return source_tokens * (source + last) + target_tokens * (target + last)


@dataclass(frozen=True)
class Speed:
    """How fast one process is expected to compute, and where that comes from."""

    flops_per_second: float
    capacity: float
    """What the device does at most: a datasheet's figure, or a large matrix product measured here."""
    about: str


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
