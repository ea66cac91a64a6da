"""The machine and the versions that a run begins with: what somebody who wants to repeat it must know."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import torch

from heedful.training.device import device_facts
from heedful.training.distributed import World

PACKAGES = ("torch", "numpy", "tokenizers", "safetensors")
"""The packages whose version may change a run's numbers, or whether its files can be read."""


def environment(device: torch.device, world: World) -> dict[str, Any]:
    """Versions and hardware, as they are written into ``run.json``; null where the machine does not say."""
    return {
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "device": device_facts(device).name,
        "device_memory_gib": _device_memory_gib(device),
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


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    except (AttributeError, ValueError, OSError):  # not every system counts its pages
        return None


def _device_memory_gib(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    return round(torch.cuda.get_device_properties(device).total_memory / 2**30, 1)
