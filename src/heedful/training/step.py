"""One training step: gradients of every micro-batch, summed over processes, and one update of Adam.

The loss of a micro-batch is a sum, divided by the target tokens of the whole global batch; so neither the number of
micro-batches nor that of processes changes the gradient. Dropout is a function of (seed, step, micro-batch). Nothing
in a step waits for the device: a loss or gradient that is not finite is found there, the update is skipped there, and
the flag is read when it arrives.

On CUDA a step's thousand kernels are launched by a few calls, for Python could not launch even the base model's one by
one as fast as they are computed. A graph is captured for each shape of a micro-batch when it first comes, after the
shape has been run twice so that everything is compiled and allocated; from then on a step copies its ids into the
graph's own buffers and replays it. Dropout is drawn from the generator's seed at each replay, so it stays a function of
(seed, step, micro-batch). Whether the largest step fits into the GPU's memory is tried before it (`fine_enough`).
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from heedful.config import Config
from heedful.errors import TrainingError
from heedful.model.devices import WARM_UP, Captures, computes_in_half
from heedful.model.masks import Packed
from heedful.model.transformer import Transformer
from heedful.symbols import PAD
from heedful.training.batches import Batches, MicroBatch, StepBatch, packed_micro_batch
from heedful.training.distributed import GradientLine, World, agree, sum_over_processes
from heedful.training.events import Reporter, Warned
from heedful.training.flops import WORKING_MEMORIES_OF_GRAPHS
from heedful.training.label_smoothing import output_losses
from heedful.training.optimizer import Adam, guarded_step, scheduled_rate, trained_parameters

_MOST_MICRO_BATCHES = 1024
"""Micro-batches beyond which there is no point in trying."""
_TOO_LARGE = "does not fit into memory"


@dataclass(frozen=True)
class Precision:
    """How numbers are held while a step is computed; parameters are always float32."""

    device: torch.device
    half: bool

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.half else torch.float32

    def autocast(self) -> contextlib.AbstractContextManager[None]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)  # pyright: ignore


def precision_for(config: Config, device: torch.device) -> Precision:
    """bfloat16 where asked for or, by default, on CUDA."""
    wanted = config.training.precision
    half = computes_in_half(wanted, device, error=TrainingError, setting="training.precision")
    return Precision(device, half)


class Trainer:
    """A model, its optimiser, and how a step is computed with them."""

    def __init__(self, model: Transformer, config: Config, *, precision: Precision, world: World) -> None:
        self.model, self.precision, self.world = model, precision, world
        self._training, self._d_model = config.training, config.model.d_model
        self.last_step = config.training.steps
        """At which a rate that falls in a straight line ends: earlier, where the clock will end the run."""
        self.optimizer = Adam.of(model, config.training)
        self._line = GradientLine(model, sums=2)
        single = torch.float32 if precision.device.type == "cuda" else torch.float64
        self._rate = torch.zeros((), device=precision.device, dtype=single)
        self._numbers = torch.zeros(4, device=precision.device)
        self._add: Callable[[MicroBatch, int], None] = self._add_gradient
        self._finish: Callable[[], None] = self._update

    @property
    def captures(self) -> bool:
        """Whether `accelerate` can serve this run, and it is wanted: captured graphs need CUDA and packed batches."""
        on_cuda = self.precision.device.type == "cuda"
        return self._training.compile and on_cuda and self.model.attention.layout == "packed"

    def accelerate(self) -> None:
        """On CUDA with packed batches: capture what a step does, since no host launches its kernels fast enough."""
        self._add = _GraphedMicroBatches(self._add_gradient, line=self._line.whole)
        self._finish = _GraphedUpdate(self._update)

    def step(self, batch: StepBatch) -> Tensor:
        """Compute one step; returns (loss sum, negative log-likelihood sum, gradient norm, skipped) on the device."""
        self._accumulate(batch)
        sum_over_processes(self._line.whole, self.world)
        self._rate.fill_(self.rate(batch.step))
        self._finish()
        return self._numbers.clone()

    def rate(self, step: int) -> float:
        return scheduled_rate(step, d_model=self._d_model, training=self._training, last=self.last_step)

    def rehearse(self, batch: StepBatch) -> None:
        """Everything a step does, in all the memory it takes, with an update that is skipped.

        The processes do not wait for each other: one that runs out of memory would leave the others waiting.
        """
        try:
            self._accumulate(batch)
            guarded_step(self.optimizer, rate=self._rate, skip=torch.ones((), device=self.precision.device))
        finally:
            self._line.whole.zero_()

    def _accumulate(self, batch: StepBatch) -> None:
        """Leave this process's share of the batch's gradient and of its two loss sums in the line."""
        self.model.train(not self._training.only)
        self._line.whole.zero_()
        for micro in batch.micro_batches:
            torch.manual_seed(noise_seed(self._training.seed, batch.step, micro.index))
            self._add(micro, batch.target_tokens)

    def _add_gradient(self, micro: MicroBatch, target_tokens: int | Tensor) -> None:
        """Add a micro-batch's share of the gradient, and its losses to the sums."""
        smoothed, plain = self.losses(micro)
        share = smoothed / target_tokens
        if share.is_cuda:  # one addition for all parameters instead of one for each
            self._line.add(torch.autograd.grad(share, list(trained_parameters(self.model).values())))
        else:
            share.backward()
        self._line.sums.add_(torch.stack([smoothed.detach(), plain]))

    def _update(self) -> None:
        """Adam, unless something is not finite; the step's numbers."""
        norm = torch.linalg.vector_norm(self._line.gradients)
        skip = (~(torch.isfinite(norm) & torch.isfinite(self._line.sums).all())).float()
        # On a GPU the rate's place, not its value: a captured graph reads it anew at each replay.
        guarded_step(self.optimizer, rate=self._rate if self._rate.is_cuda else float(self._rate), skip=skip)
        self._numbers.copy_(torch.cat([self._line.sums, norm[None], skip[None]]))

    def losses(self, micro: MicroBatch) -> tuple[Tensor, Tensor]:
        """The smoothed and the plain loss of a micro-batch, as sums; of draft heads the mean of theirs."""
        drafts = self.model.draft if self._training.only else None
        with self.precision.autocast(), torch.set_grad_enabled(torch.is_grad_enabled() and drafts is None):
            memory = self.model.encode(micro.source, micro.source_layout)
            hidden = self.model.decode(micro.target_input, memory, micro.target_layout, micro.source_layout)
        embedding, weight = self.model.embedding, self.model.embedding.weight
        if drafts is None:
            return self._output_losses(hidden, micro.target_output, weight)
        with self.precision.autocast():
            lessons = drafts.lessons(hidden, micro.target_output, embedding)
        sums = [self._output_losses(*lesson, weight[drafts.words]) for lesson in lessons]
        smoothed, plain = (torch.stack(own).mean() for own in zip(*sums, strict=True))
        return smoothed, plain

    def _output_losses(self, hidden: Tensor, words: Tensor, weight_VD: Tensor) -> tuple[Tensor, Tensor]:
        vectors, targets = hidden.flatten(0, -2), words.flatten()
        if hidden.dim() > 2 and hidden.device.type == "cpu":
            real = targets != PAD  # a CPU does not wait for itself, and the map to the vocabulary is expensive
            vectors, targets = vectors[real], targets[real]
        smoothing, half = self._training.label_smoothing, self.precision.half
        dtype = self.precision.dtype if half else vectors.dtype
        return output_losses(vectors, weight_VD, targets, label_smoothing=smoothing, dtype=dtype)


class _GraphedMicroBatches:
    """``add(micro, target_tokens)``, captured once for each shape."""

    def __init__(self, add: Callable[[MicroBatch, int | Tensor], None], *, line: Tensor) -> None:
        """``line`` is all that ``add`` adds to."""
        self._add, self._line = add, line
        self._captured: dict[tuple[int, ...], tuple[Callable[[], None], MicroBatch, Tensor]] = {}
        self._capture = Captures()

    def __call__(self, micro: MicroBatch, target_tokens: int) -> None:
        shape = (*(tensor.numel() for tensor in _tensors(micro)), micro.source_layout.max_length)
        if shape not in self._captured:
            self._captured[shape] = self._new(micro)
        replay, buffers, tokens = self._captured[shape]
        for mine, given in zip(_tensors(buffers), _tensors(micro), strict=True):
            mine.copy_(given)
        tokens.fill_(float(target_tokens))
        replay()

    def _new(self, micro: MicroBatch) -> tuple[Callable[[], None], MicroBatch, Tensor]:
        """Capture the shape of a micro-batch, and the buffers that the graph reads: the micro-batch, its target tokens.

        What earlier ones have added stays; so does the random seed.
        """
        seed = torch.cuda.initial_seed()
        copies = [tensor.clone() for tensor in _tensors(micro)]
        mine = packed_micro_batch(micro.index, copies, max_length=micro.source_layout.max_length)
        tokens = torch.ones((), device=micro.source.device)
        replay = self._capture(lambda: self._add(mine, tokens), keep=[self._line])
        torch.cuda.manual_seed(seed)
        return replay, mine, tokens


class _GraphedUpdate:
    """``update()``, captured at its third call: the first makes the optimiser's state."""

    def __init__(self, update: Callable[[], None]) -> None:
        self._update = update
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        self._calls += 1
        if self._calls <= WARM_UP:
            self._update()
            return
        if self._graph is None:
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._update()
            self._graph = graph
        self._graph.replay()


def _tensors(micro: MicroBatch) -> list[Tensor]:
    assert isinstance(micro.source_layout, Packed), "graphs are captured for packed batches"
    assert isinstance(micro.target_layout, Packed), "graphs are captured for packed batches"
    offsets = [micro.source_layout.offsets, micro.target_layout.offsets]
    return [micro.source, micro.target_input, micro.target_output, *offsets]


def noise_seed(seed: int, step: int, micro: int) -> int:
    """The seed of one micro-batch's dropout: unrelated for any two of (seed, step, micro-batch)."""
    digest = hashlib.blake2b(repr(("dropout", seed, step, micro)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def fine_enough(trainer: Trainer, batches: Batches, *, automatic: bool, report: Reporter) -> int:
    """Into how many micro-batches to cut the steps so that they can be computed on the GPU.

    Where the number they are cut into does not do: an error that says which does or, if it is to be found
    automatically, that one. The first epoch's batches are looked at; others hardly differ.
    """
    now = batches.micro_batches
    if trainer.precision.device.type != "cuda" or _fits(trainer, batches):
        return now
    count = 2 * now
    while not _fits(trainer, batches.recut(count)):
        count *= 2
        if count > _MOST_MICRO_BATCHES:
            raise TrainingError(f"the largest batch {_TOO_LARGE}, with {_MOST_MICRO_BATCHES} micro-batches neither")
    advice = f"training.micro_batches = {count}"
    if not automatic:
        raise TrainingError(
            f"the largest batch {_TOO_LARGE} with training.micro_batches = {now}; {advice} is fine enough "
            "(--auto-micro-batches takes it by itself)"
        )
    report(Warned(f"the largest batch {_TOO_LARGE}; taking {advice}"))
    return count


def _fits(trainer: Trainer, batches: Batches) -> bool:
    """Whether every process can compute a step with the largest micro-batch, and capture it if it is to."""
    device = trainer.precision.device
    torch.cuda.reset_peak_memory_stats(device)
    working: int | None = None
    try:
        trainer.rehearse(_largest(batches))
        working = torch.cuda.max_memory_reserved(device) - torch.cuda.memory_allocated(device)
    except torch.OutOfMemoryError:
        pass
    gc.collect()
    torch.cuda.empty_cache()
    room = torch.cuda.mem_get_info(device)[0] / WORKING_MEMORIES_OF_GRAPHS if trainer.captures else float("inf")
    too_large = working is None or working > room
    return not agree(trainer.world, device, any_is_too_large=too_large)["any_is_too_large"]


def _largest(batches: Batches) -> StepBatch:
    """The first micro-batch of the step with the most tokens."""
    plan, lengths = batches.schedule.epoch(0), batches.corpus.lengths
    sampled = np.unique(np.linspace(0, len(plan) - 1, min(len(plan), 2000)).astype(int))
    tokens = [sum(lengths.of(plan.batch(place)).totals) for place in sampled]
    step = batches.step(int(sampled[int(np.argmax(tokens))]) + 1)
    return replace(step, micro_batches=step.micro_batches[:1])
