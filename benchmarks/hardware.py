"""What a benchmark ran on, in one line: every result carries it."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

from heedful import __version__


def described(*packages: str) -> str:
    """Date, processor, cores, Python, and the versions of the packages that matter."""
    names = ("numpy", "tokenizers", *packages)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    python = f"Python {platform.python_version()}"
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return f"{today}, {_processor()}, {os.cpu_count()} cores; heedful {__version__}, {python}, {versions}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
