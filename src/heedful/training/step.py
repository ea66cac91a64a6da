"""One training step: gradients of every micro-batch, summed over processes, and one update of Adam.

The loss of a micro-batch is a sum, divided by the target tokens of the whole global batch; so neither the number of
micro-batches nor that of processes changes the gradient. Dropout is a function of (seed, step, micro-batch). Nothing
in a step waits for the device: a loss or gradient that is not finite is found there, the update is skipped there, and
the flag is read when it arrives.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from heedful.config import Config
from heedful.errors import TrainingError
from heedful.model.masks import Packed
from heedful.model.transformer import Transformer
from heedful.symbols import PAD
from heedful.training.batches import Piece, StepBatch
from heedful.training.distributed import SummedGradients, World
from heedful.training.optimizer import adam, guarded_step, learning_rate
from heedful.training.output_loss import losses_and_gradient, output_losses


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
    if wanted == "bfloat16" and device.type != "cuda":
        raise TrainingError(
            f'training.precision = "bfloat16" on {device.type}: it needs CUDA (such products kill the process '
            'on some CPUs); take "auto" or "float32"'
        )
    return Precision(device, half=wanted == "bfloat16" or (wanted == "auto" and device.type == "cuda"))


class Trainer:
    """A model, its optimiser, and how a step is computed with them."""

    def __init__(self, model: Transformer, config: Config, *, precision: Precision, world: World) -> None:
        self.model, self.config, self.precision, self.world = model, config, precision, world
        self.optimizer = adam(model, config.training)
        self._gradients = SummedGradients(model, world, extra=2)
        self._slice_losses: Callable[..., tuple[Tensor, Tensor, Tensor]] = losses_and_gradient

    def compile(self) -> None:
        """Compile the layers and the loss, each kind once; what is saved stays the plain module's."""
        for layer in [*self.model.encoder.layers, *self.model.decoder.layers]:
            layer.compile(dynamic=None)
        self._slice_losses = torch.compile(losses_and_gradient, dynamic=True)

    def step(self, batch: StepBatch) -> Tensor:
        """Compute one step; returns (loss sum, negative log-likelihood sum, gradient norm, skipped) on the device."""
        sums = self._accumulate(batch)
        norm = gradient_norm(self.model)
        skip = (~(torch.isfinite(norm) & torch.isfinite(sums).all())).float()
        training = self.config.training
        rate = learning_rate(
            batch.step,
            d_model=self.config.model.d_model,
            warmup_steps=training.warmup_steps,
            scale=training.learning_rate_scale,
        )
        guarded_step(self.optimizer, rate=rate, skip=skip)
        return torch.cat([sums, norm[None], skip[None]])

    def rehearse(self, batch: StepBatch) -> None:
        """Everything a step does, in all the memory it takes, with an update that is skipped."""
        try:
            self._accumulate(batch)
            guarded_step(self.optimizer, rate=0.0, skip=torch.ones((), device=self.precision.device))
        finally:
            self._gradients.clear()

    def _accumulate(self, batch: StepBatch) -> Tensor:
        """Leave the batch's gradient in the parameters; returns its two loss sums."""
        self.model.train()
        self._gradients.clear()
        sums = torch.zeros(2, device=self.precision.device)
        for piece in batch.pieces:
            torch.manual_seed(noise_seed(self.config.training.seed, batch.step, piece.index))
            smoothed, plain = self.losses(piece)
            (smoothed / batch.target_tokens).backward()
            sums += torch.stack([smoothed.detach(), plain])
        sums = self._gradients.sum(sums)
        for parameter in self.model.parameters():  # a process that had no piece
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return sums

    def losses(self, piece: Piece) -> tuple[Tensor, Tensor]:
        """The smoothed and the plain loss of a micro-batch, as sums."""
        with self.precision.autocast():
            memory = self.model.encode(piece.source, piece.source_layout)
            hidden = self.model.decode(piece.target_input, memory, piece.target_layout, piece.source_layout)
        vectors, targets = hidden.flatten(0, -2), piece.target_output.flatten()
        if not isinstance(piece.target_layout, Packed) and hidden.device.type == "cpu":
            real = targets != PAD  # a CPU does not wait for itself, and the vocabulary is the dearest product
            vectors, targets = vectors[real], targets[real]
        return output_losses(
            vectors,
            self.model.embedding.weight,
            targets,
            label_smoothing=self.config.training.label_smoothing,
            dtype=self.precision.dtype if self.precision.half else vectors.dtype,
            slice_losses=self._slice_losses,
        )


def gradient_norm(model: nn.Module) -> Tensor:
    """The length of the gradient over all parameters."""
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return nn.utils.get_total_norm(gradients)


def noise_seed(seed: int, step: int, piece: int) -> int:
    """The seed of one micro-batch's dropout: unrelated for any two of (seed, step, piece)."""
    digest = hashlib.blake2b(repr(("dropout", seed, step, piece)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
