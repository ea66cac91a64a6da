"""What every test shares: one thread, a fixed hypothesis profile, and where corpora outside the repository are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

# Torch computes unless a test says otherwise: where CTranslate2 is installed `heedful translate` would take that.
os.environ["HEEDFUL_ENGINE"] = "torch"

# A worker on each core and one thread in each: more threads than cores make torch many times slower.
torch.set_num_threads(1)

settings.register_profile(
    "heedful", deadline=None, max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("heedful")

ROOT = Path(__file__).parent.parent
_FIRST = ("test_tutorial.py", "test_resume.py", "test_tour_notebook.py", "test_wheel.py")
"""The longest begin first, so that no worker is left with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in _FIRST)


def pytest_runtest_teardown() -> None:
    torch.set_num_threads(1)  # whatever a test has asked for: sums of several threads have other last bits


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder of Multi30k, beside the repository; whoever needs it is skipped where it is not."""
    folder = ROOT.parent / "shared" / "data" / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"Multi30k is not at {folder}")
    return folder
