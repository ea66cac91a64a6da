"""What training shows of itself on a terminal of any width."""

from __future__ import annotations

import pytest
from rich.console import Console

from heedful.cli import training_display
from heedful.cli.training_display import DemoDisplay, TrainingDisplay
from heedful.config import TrainingConfig
from heedful.runs.metrics import TrainLine, Wall
from heedful.training import events

WALL = Wall(tokens_per_second=123_456.0, peak_share=0.41, memory_gib=12.5)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize(("shows", "told"), [(TrainingDisplay, "step 2/100,000"), (DemoDisplay, "2/100,000 steps")])
def test_progress_is_one_line_and_the_time_left_is_in_it(
    shows: type[TrainingDisplay], told: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = Console(force_terminal=True, width=width, no_color=True)
    monkeypatch.setattr(training_display, "console", lambda **_: narrow)
    monkeypatch.setattr(training_display, "REFRESH", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with narrow.capture() as shown, shows(quiet=False) as display:
        display(events.Started({"model": "m", "device": "d"}, 0, TrainingConfig(steps=100_000)))
        for step in (1, 2):
            line = TrainLine(step, 7.5, 7.6, 2021.42, 1e-4, 3.17, wall=WALL)
            display(events.Stepped(line, is_written=False))
        assert display._live is not None
        lines = narrow.render_lines(display._live.renderable)
    assert len(lines) == 1
    assert " left" in "".join(segment.text for segment in lines[0])
    assert told in shown.get()
