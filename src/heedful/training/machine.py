"""The machine that a run is on: what it is called, and what memory it has."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from heedful.config import TrainingConfig
from heedful.errors import TrainingError, is_out_of_memory
from heedful.training.distributed import World

_PACKAGES = ("torch", "numpy", "tokenizers", "safetensors")
"""The packages whose version may change a run's numbers, or whether its files can be read."""


def device_name(device: torch.device) -> str:
    """The name of a GPU, or how many threads of the CPU are used."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}"


def memory_taken(device: torch.device) -> float:
    """GiB, the most so far: from the GPU, what torch keeps for later included, or by this process."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_reserved(device) / 2**30, 2)
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 2)


def environment(device: torch.device, world: World) -> dict[str, Any]:
    """Versions and hardware, as they are written into ``run.json``; null where the machine does not say."""
    return {
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": _gib(_machine_memory()),
        "device": device_name(device),
        "device_memory_gib": _gib(device_memory(device)) if device.type == "cuda" else None,
        "threads": torch.get_num_threads(),
        "processes": world.size,
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name where the system tells it, else its kind."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _machine_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system counts its pages
        return None


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / 2**30, 1)


def device_memory(device: torch.device) -> int | None:
    """Bytes that a process may take: a GPU's, or the machine's, or less where it was given less; None if unknown."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    found = [_machine_memory()]
    with contextlib.suppress(OSError, ValueError):  # no control group, or one without a limit
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    found.append(None if soft == resource.RLIM_INFINITY else soft)
    return min((limit for limit in found if limit is not None), default=None)


@contextlib.contextmanager
def memory_told(training: TrainingConfig, *, then: str) -> Iterator[None]:
    """Where memory ends, on a GPU or off it: one error that says what was asked for, what there is, and what to do."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        asked = re.search(r"allocate ([\d.]+ ?\w+)", str(error))
        there = _gib(device_memory(torch.device("cuda" if isinstance(error, torch.OutOfMemoryError) else "cpu")))
        figures = f"{f'{asked[1]} more were asked for, ' if asked else ''}{there} GiB is all that there may be"
        raise TrainingError(
            f"out of memory ({figures}): raise training.micro_batches above {training.micro_batches} {then}"
        ) from None
