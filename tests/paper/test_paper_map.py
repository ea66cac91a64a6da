"""PAPER.md names only what exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from heedful.presets import ALL, BY_NAME

ROOT = Path(__file__).parent.parent.parent
MAP, _, _ = (ROOT / "PAPER.md").read_text(encoding="utf-8").partition("## Where the paper is silent")
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in (ROOT / "PAPER.md")
    .read_text(encoding="utf-8")
    .partition("## Where the paper is silent")[0]
    .splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| section"))
]


def test_the_map_has_rows() -> None:
    assert len(ROWS) > 15
    assert all(len(row) == 5 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_each_row_names_a_file_a_test_and_presets_that_exist(row: list[str]) -> None:
    _, _, file, test, presets = row
    assert (ROOT / file.strip("`")).is_file()
    test_file, _, test_name = test.strip("`").partition("::")
    tree = ast.parse((ROOT / test_file).read_text(encoding="utf-8"))
    assert test_name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for preset in re.findall(r"`([^`]+)`", presets):
        assert preset in BY_NAME


def test_every_preset_of_the_paper_is_in_the_map() -> None:
    named = {preset for row in ROWS for preset in re.findall(r"`([^`]+)`", row[4])}
    assert named == {preset.name for preset in ALL if preset.source != "ours"}


def test_every_file_of_the_model_is_in_the_map() -> None:
    named = {Path(row[2].strip("`")).name for row in ROWS}
    rooms = {path.name for path in (ROOT / "src" / "heedful" / "model").glob("*.py")}
    # Those without a section: how Equation 1 and its neighbours are computed fastest, and where parameters begin.
    fast = {"attention_kernels.py", "cuda_sublayers.py", "triton_kernels.py", "devices.py"}
    assert rooms - named == {"__init__.py", "initialization.py", *fast}
