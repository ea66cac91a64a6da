"""What the watcher of a run wants to know of the machine: its name, its peak, the memory in use."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass

import torch

from heedful.training.hardware import peak_flops


@dataclass(frozen=True)
class DeviceFacts:
    """One process's device."""

    device: torch.device
    name: str
    peak: float | None
    """Operations a second at most, where the device is known."""

    def memory_gib(self) -> float:
        """The most memory taken so far: from the GPU, what torch keeps for later included, or by this process."""
        if self.device.type == "cuda":
            return round(torch.cuda.max_memory_reserved(self.device) / 2**30, 2)
        unit = 1 if sys.platform == "darwin" else 1024
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 2)


def device_facts(device: torch.device) -> DeviceFacts:
    """What is known of a device."""
    if device.type != "cuda":
        threads = torch.get_num_threads()
        return DeviceFacts(device, f"CPU, {threads} thread{'s' if threads > 1 else ''}", None)
    name = torch.cuda.get_device_name(device)
    return DeviceFacts(device, name, peak_flops(name))
