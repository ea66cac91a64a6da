"""What training shows of itself on a terminal of any width, in a file, and when it is over."""

from __future__ import annotations

import errno
import math
import os
import signal
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from heedful.cli import training_display
from heedful.cli.training_display import DemoDisplay, TrainingDisplay
from heedful.config import TrainingConfig
from heedful.runs.metrics import Sample, TrainLine, ValidationLine, Wall
from heedful.training import events

WALL = Wall(seconds=60.0, tokens_per_second=123_456.0, peak_share=0.41, memory_gib=12.5)
LONG = TrainingConfig(steps=100_000, minutes=600, patience=5, validation_steps=1000)
FACTS = {"model": "m", "device": "d"}


def line_of(step: int, *, loss: float = 7.5, tokens: int = 1000, wall: Wall = WALL) -> TrainLine:
    return TrainLine(step, loss, loss, math.exp(loss), 1e-4, 3.17, target_tokens=tokens, wall=wall)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as the display sees it."""
    now = [1000.0]
    monkeypatch.setattr(training_display.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Console:
    width = getattr(request, "param", 80)
    made = Console(force_terminal=True, width=width, no_color=True)
    monkeypatch.setattr(training_display, "console", lambda **_: made)
    monkeypatch.setattr(training_display, "REFRESH", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    return made


def bar_of(display: TrainingDisplay, terminal: Console) -> str:
    assert display._live is not None
    (line,) = terminal.render_lines(display._live.renderable)
    return "".join(segment.text for segment in line)


@pytest.mark.parametrize("terminal", [40, 80, 200], indirect=True)
@pytest.mark.parametrize(("shows", "told"), [(TrainingDisplay, "step 2/100,000"), (DemoDisplay, "2/100,000 steps")])
def test_progress_is_one_line_and_the_time_left_is_in_it(
    shows: type[TrainingDisplay], told: str, terminal: Console, clock: list[float]
) -> None:
    with terminal.capture(), shows(quiet=False) as display:
        display(events.Started(FACTS, 0, LONG))
        for step in (1, 2):
            display(events.Stepped(line_of(step), is_written=False))
            clock[0] += 1
        shown = bar_of(display, terminal)
    assert told in shown
    assert " left" in shown
    assert len(shown.rstrip()) <= terminal.width
    assert terminal.width == 40 or shown.index(told) > 8  # there is room for a bar


def test_where_the_clock_decides_how_many_steps_there_are_no_number_is_promised(terminal: Console) -> None:
    fitted = TrainingConfig(steps=4500, minutes=15, decay="linear", validation_steps=300)
    with terminal.capture(), TrainingDisplay(quiet=False) as display:
        display(events.Started(FACTS, 0, fitted))
        display(events.Stepped(line_of(7), is_written=False))
        shown = bar_of(display, terminal)
    assert "step 7 " in shown
    assert "4,500" not in shown


def test_a_wide_terminal_shows_more_figures_than_a_narrow_one() -> None:
    display = TrainingDisplay(quiet=False)
    narrow, wide = (display._figures(line_of(7), width=width) for width in (40, 200))
    assert wide.startswith(narrow)
    for figure in ("loss 7.500", "ppl 1,808", "123,456 tok/s", "41% of peak", "lr 1.0e-04", "12.5 GiB", "grad 3.17"):
        assert figure in wide


def test_the_loss_of_the_bar_is_the_mean_since_the_line_before_not_one_batchs(terminal: Console) -> None:
    with terminal.capture(), TrainingDisplay(quiet=False) as display:
        display(events.Stepped(line_of(50, loss=3.0, tokens=3000), is_written=True))
        display(events.Stepped(line_of(51, loss=7.0, tokens=1000), is_written=False))
        shown = bar_of(display, terminal)
    assert "loss 4.000" in shown  # (3 · 3000 + 7 · 1000) / 4000
    assert f"ppl {math.exp(4):.2f}" in shown


@pytest.mark.parametrize(
    ("ends", "without_best", "expected"),
    [
        ({"steps": 1000}, 0, "13.3 minutes left"),  # 800 steps of a second
        ({"steps": 1000, "minutes": 11.0}, 0, "10.0 minutes left"),  # a minute of 11 is over
        ({"steps": 1000, "minutes": 600.0}, 0, "13.3 minutes left"),
        ({"steps": 1000, "patience": 3, "validation_steps": 150}, 0, "13.3 minutes left"),
        ({"steps": 1000, "patience": 3, "validation_steps": 150}, 2, "100 seconds left unless better"),  # at 300
    ],
)
def test_the_time_left_is_that_to_the_nearest_end(
    ends: dict[str, float], without_best: int, expected: str, clock: list[float]
) -> None:
    display = TrainingDisplay(quiet=False)
    display(events.Started(FACTS, 0, TrainingConfig(**ends), without_best))  # pyright: ignore[reportArgumentType]
    display(events.Stepped(line_of(100), is_written=False))
    clock[0] += 100
    # 90 seconds and more are minutes; the test of patience ends within them
    assert display._time_left(line_of(200)).replace("1.7 minutes", "100 seconds") == expected


@pytest.mark.parametrize(
    ("device", "step_seconds", "told"),
    [("CPU, 2 threads", 9, True), ("CPU, 2 threads", 0.1, False), ("H200", 9, False)],
)
def test_somebody_who_would_wait_for_days_is_told_once_what_to_do(
    device: str, step_seconds: float, told: bool, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    display = TrainingDisplay(quiet=False)
    display(events.Started({"model": "m", "device": device}, 0, TrainingConfig(steps=100_000)))
    for step in range(1, 20):
        clock[0] += step_seconds
        display(events.Stepped(line_of(step), is_written=False))
    assert capsys.readouterr().err.count("--minutes 60 without a preset") == told


def test_without_a_terminal_every_line_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingDisplay(quiet=False) as display:
        display(events.Started(FACTS, 50, LONG))
        display(events.Stepped(line_of(99_999), is_written=True))
        display(events.Stepped(line_of(100_000), is_written=True))
        display(events.Validated(ValidationLine(100, 9.3456, 9.9, 11_450.5, 136_340.5), is_best=False))
        display(events.Validated(ValidationLine(100_000, 2.9134, 3.1, 18.424, 52.31), is_best=False))
        display(events.Validated(ValidationLine(100_000, 2.9, 3, 18.1, 52.0, bleu=31.25), is_best=True))
        display(events.Saved(100_000))
        display(events.Ended("finished", "all 100,000 steps are done", 100_000, [98_000, 100_000], Path("run"), 12.0))
    lines = capsys.readouterr().err.splitlines()
    assert "ends after 100,000 steps or 600 minutes or 5 validations without a better one" in lines
    assert "step 100,000: validation loss 2.913, ppl 18.42 (52.31 a word), no better: 2 of 5" in lines
    assert not [line for line in lines if len(line) > 80]
    assert "step 100,000: checkpoint saved" in lines


def test_a_file_hears_of_slow_steps_once_a_minute(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    display = TrainingDisplay(quiet=False)
    display(events.Started(FACTS, 0, LONG))
    for step in range(1, 10):
        clock[0] += 25
        display(events.Stepped(line_of(step), is_written=False))
    shown = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in shown if line.startswith("step")] == [f"{step}/100,000" for step in (3, 6, 9)]


def test_checkpoints_are_told_of_once_a_minute_at_most(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    display = TrainingDisplay(quiet=False)
    for step in range(1, 8):
        clock[0] += 25
        display(events.Saved(step))
    assert capsys.readouterr().err.splitlines() == [f"step {step}: checkpoint saved" for step in (1, 4, 7)]


LONG_SAMPLE = events.Validated(ValidationLine(1, samples=(Sample("a " * 100, "b " * 100, "c"),)), is_best=True)


def test_a_sample_is_cut_on_a_terminal(terminal: Console) -> None:
    with terminal.capture() as shown, TrainingDisplay(quiet=False) as display:
        display(LONG_SAMPLE)
        assert display._live is not None
    assert max(map(len, Text.from_ansi(shown.get()).plain.splitlines())) <= terminal.width


def test_a_sample_is_whole_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    TrainingDisplay(quiet=False)(LONG_SAMPLE)
    assert "b " * 100 in capsys.readouterr().err


def test_when_it_is_over_the_next_commands_name_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    TrainingDisplay(quiet=False)(events.Ended("finished", "all steps are done", 9, [], Path("my runs/a"), 1.0))
    shown = capsys.readouterr().err
    for command in ("translate --model 'my runs/a'", "evaluate --model 'my runs/a' --source", "report 'my runs/a'"):
        assert f"heedful {command}" in shown


def test_after_ctrl_c_the_command_that_goes_on_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    display = TrainingDisplay(quiet=False, again="heedful train corpus --output run --resume")
    display(events.Ended("interrupted", "stopped by a signal", 9, [], Path("run"), 1.0))
    assert "to go on:\n  heedful train corpus --output run --resume\n" in capsys.readouterr().err
    assert display.interrupted


def test_a_terminal_that_is_closed_stops_a_run_as_ctrl_c_does() -> None:
    with events.stop_signals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop.is_set()
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with events.stop_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [errno.EIO, errno.EPIPE], ids=["a closed terminal", "head"])
def test_a_run_goes_on_when_nobody_listens_any_more(
    number: int, terminal: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned: list[tuple[int, int]] = []
    monkeypatch.setattr(training_display.os, "dup2", lambda *places: turned.append(places))
    with TrainingDisplay(quiet=False) as display:

        def gone(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(terminal, "print", gone)
        display(events.Saved(7))
        display(events.Warned("nobody hears this"))
        display(events.Ended("interrupted", "stopped by a signal", 7, [], Path("run"), 1.0))
    assert display.interrupted
    assert turned, "what is left in the buffers must go somewhere"


def test_a_full_disk_is_still_an_error(terminal: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    display = TrainingDisplay(quiet=False)
    monkeypatch.setattr(terminal, "print", full)
    with pytest.raises(OSError, match="No space left"):
        display(events.Saved(7))
