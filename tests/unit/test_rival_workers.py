"""The decoding benchmark runs toolkits in processes of their own: what they print or break must not touch figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SEARCH = {"beam_size": 4, "batch": 2, "forced_steps": 3}
BUILD = {"cmd": "build", "sizes": None, "folder": "anything", "device": "cpu", "half": False, "options": {"step": 1}}
TOOLKIT = """
import os
from rivals.engine import Engine, batches, in_order

def load(folder, *, device, half, step):
    def decode(sources, search):
        print("a toolkit that talks")
        os.write(1, b"and one in C++ that does too")
        if not sources:
            raise ValueError("no sources\\nand a second line")
        if sources == [[99]]:
            os._exit(7)
        found = {}
        for places in batches(sources, search.batch):
            assert len(places) <= search.batch
            found |= {place: [sum(sources[place]) + step] * search.forced_steps for place in places}
        return in_order(found)
    return Engine(123, {"toolkit": "1.0"}, decode)
"""


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process with a toolkit that prints, fails and dies on request."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from rivals.contestants import Contestant, Process  # pyright: ignore[reportMissingImports]

    (tmp_path / "talking_toolkit.py").write_text(TOOLKIT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    contestant = Contestant("Talking", "talking_toolkit", "", "talking_toolkit")
    process = Process(contestant, sys.executable, log=tmp_path / "log", threads=1)
    yield process
    process.close()
    for name in [name for name in sys.modules if name.split(".")[0] == "rivals"]:
        del sys.modules[name]


def test_answers_come_in_the_order_of_the_sources_whatever_a_toolkit_prints(toolkit: Any) -> None:
    assert toolkit.ask(**BUILD) == {"parameters": 123, "versions": {"toolkit": "1.0"}}
    answer = toolkit.ask(cmd="decode", sources=[[5], [6, 7], [8, 9, 10]], search=SEARCH, ids=True)
    assert answer["ids"] == [[6] * 3, [14] * 3, [28] * 3]
    assert answer["steps"] == [3, 3, 3]
    assert 0 <= answer["cpu"] < 60
    assert answer["wall"] > 0


def test_a_toolkit_that_fails_says_why_and_goes_on(toolkit: Any) -> None:
    from rivals.contestants import ToolkitError  # pyright: ignore[reportMissingImports]

    toolkit.ask(**BUILD)
    with pytest.raises(ToolkitError, match=r"^ValueError: no sources$"):
        toolkit.ask(cmd="decode", sources=[], search=SEARCH)
    assert toolkit.ask(cmd="decode", sources=[[5]], search=SEARCH)["steps"] == [3]


def test_a_toolkit_that_dies_is_named_with_its_status(toolkit: Any) -> None:
    from rivals.contestants import ToolkitError  # pyright: ignore[reportMissingImports]

    toolkit.ask(**BUILD)
    for _ in range(2):
        with pytest.raises(ToolkitError, match="ended with status 7"):
            toolkit.ask(cmd="decode", sources=[[99]], search=SEARCH)
