"""Several processes as one: the only room that knows `torch.distributed`.

Started by ``torchrun``, each process takes its share of every step's micro-batches; gradients are summed once a step.
The process group is gloo between CPU processes and NCCL between GPUs. Without ``torchrun`` there is one process and
nothing here does anything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

_TIMEOUT = timedelta(minutes=30)
"""A rank that waits longer for the others gives up, so that a lost one is noticed."""


@dataclass(frozen=True)
class World:
    """Which of how many processes this is."""

    rank: int = 0
    size: int = 1
    restarts: int = 0
    """How often ``torchrun`` has restarted the workers."""

    @property
    def is_first(self) -> bool:
        """The first process writes; the others only compute."""
        return self.rank == 0


def join(device: torch.device) -> World:
    """Find the other processes ``torchrun`` has started, if it has."""
    restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return World(restarts=restarts)
    store, rank, size = next(rendezvous("env://", timeout=_TIMEOUT))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        # The launcher's store outlives a crash, and with it the addresses of the dead: a new worker that read one
        # before it was overwritten would wait for nobody. Only on one machine do all workers count the same restarts;
        # on several, TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 gives each attempt its own store (docs/several-machines.md).
        store = PrefixStore(f"attempt-{restarts}", store)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_TIMEOUT)
    # A machine counts its own restarts only; if any was restarted, all were.
    most = torch.tensor(restarts, device=device)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return World(rank, size, restarts=int(most))


def leave(world: World) -> None:
    """Part from the other processes."""
    if world.size > 1 and dist.is_initialized():
        dist.destroy_process_group()


class GradientLine:
    """Every parameter's gradient in one line of memory, with a few sums at its end that travel along.

    One call clears ``whole``, one sums it over the processes, one measures the gradients; and their places never
    change, which a captured CUDA graph relies on.
    """

    def __init__(self, model: nn.Module, *, sums: int) -> None:
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        total = sum(parameter.numel() for parameter in parameters)
        self.whole = torch.zeros(total + sums, device=parameters[0].device, dtype=parameters[0].dtype)
        self.gradients, self.sums = self.whole[:total], self.whole[total:]
        self._places: list[Tensor] = []
        begin = 0
        for parameter in parameters:
            parameter.grad = self.whole[begin : begin + parameter.numel()].view_as(parameter)
            self._places.append(parameter.grad)
            begin += parameter.numel()

    def add(self, gradients: Sequence[Tensor]) -> None:
        """Add gradients, in the order of the parameters."""
        torch._foreach_add_(self._places, list(gradients))  # pyright: ignore[reportPrivateImportUsage]


def sum_over_processes(values: Tensor, world: World) -> Tensor:
    """Replace values by their sum over all processes; every process must call it."""
    if world.size > 1:
        dist.all_reduce(values)
    return values


def agree(world: World, device: torch.device, **flags: bool) -> dict[str, bool]:
    """Each flag as the first process sees it, or raised by any process for names that begin with ``any_``.

    Every process must call it, and waits for the others.
    """
    if world.size == 1:
        return flags
    seen = {name: flag and (world.is_first or name.startswith("any_")) for name, flag in flags.items()}
    values = torch.tensor([float(flag) for flag in seen.values()], device=device)
    dist.all_reduce(values, op=dist.ReduceOp.MAX)
    return {name: value > 0 for name, value in zip(flags, values.tolist(), strict=True)}


def barrier(world: World) -> None:
    """Wait for everybody."""
    if world.size > 1:
        dist.barrier()
