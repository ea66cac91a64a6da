"""What a run writes down about the machine that it begins on."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from pathlib import Path

import torch

from heedful.training.distributed import World
from heedful.training.machine import environment, processor


def test_the_machine_is_described_by_what_it_says_itself() -> None:
    found = environment(torch.device("cpu"), World())
    assert json.loads(json.dumps(found)) == found
    assert found["python"] == platform.python_version()
    assert found["packages"]["tokenizers"] == importlib.metadata.version("tokenizers")
    assert (found["cores"], found["threads"], found["processes"]) == (os.cpu_count(), torch.get_num_threads(), 1)
    assert found["cuda"] is found["device_memory_gib"] is None
    assert found["device"].startswith("CPU")


def test_a_processor_without_a_name_is_told_by_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nmodel name\t: Some CPU @ 3 GHz\nmodel name\t: another\n")
    assert processor(file) == "Some CPU @ 3 GHz"
    file.write_text("processor : 0\n")
    assert processor(file) == processor(tmp_path / "nowhere") == (platform.processor() or platform.machine())
