"""examples/tour.ipynb runs from its first cell to its last, and what it says of itself is so."""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"
SECONDS = 120


def printed(notebook: nbformat.NotebookNode) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output.text for output in outputs if output.output_type == "stream")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        cell.pop("outputs", None)
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("tour"))}}
    began = time.monotonic()
    NotebookClient(notebook, timeout=SECONDS, resources=folder).execute()
    assert time.monotonic() - began < SECONDS, "a tour that takes longer is not taken"
    return notebook


def test_the_tour_runs_from_top_to_bottom_and_its_models_do_what_it_says(executed: nbformat.NotebookNode) -> None:
    said = printed(executed)
    assert "the same by hand True" in said
    assert "63,082,496 parameters" in said
    for word in ("paper", "decoder", "heedful"):
        assert f"{word} → {word[::-1]}\n" in said
    assert "→ Wo ist der nächste Bahnhof?" in said


def test_the_tour_draws_its_seven_pictures(executed: nbformat.NotebookNode) -> None:
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 7


def test_the_stored_pictures_are_small_and_what_is_stored_is_what_it_says() -> None:
    assert NOTEBOOK.stat().st_size < 250_000
    assert "heedful → lufdeeh" in printed(nbformat.read(NOTEBOOK, as_version=4))
