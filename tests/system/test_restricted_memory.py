"""Restricted self-attention needs memory linear in the length (section 4)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="the measurement reads /proc")
def test_memory_grows_with_the_length_and_not_with_its_square(root: Path) -> None:
    spec = importlib.util.spec_from_file_location("bench", root / "benchmarks" / "bench_restricted_memory.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    shorter, longer = (
        bench.peak_megabytes("restricted", length, neighbourhood=64, backward=True) for length in (4096, 16384)
    )
    # Four times the length: 4 if linear, 16 if quadratic; the scores of 8 heads alone would be 9 GB.
    assert 3 < longer / shorter < 5
    assert longer < 750
