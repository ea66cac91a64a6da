"""Pictures and events of a run, read back by other programs."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.commands import heedful

from heedful.errors import ReportError
from heedful.report.curves import write_curves, write_events
from heedful.runs.folder import bundled_models


def train(step: int, **changes: Any) -> dict[str, Any]:
    loss = 3 + 5 * math.exp(-step / 500)
    wall = {"seconds": 1.0, "tokens_per_second": 1000.0 + step, "peak_share": None, "memory_gib": 1.5}
    line = {"kind": "train", "step": step, "loss": loss, "negative_log_likelihood": loss - 1, "wall": wall}
    return {
        **line,
        "perplexity": math.exp(loss - 1),
        "learning_rate": 1e-4,
        "gradient_norm": 0.5,
        "skipped": 0,
    } | changes


def validation(step: int, **changes: Any) -> dict[str, Any]:
    samples = [{"source": "ein *Haus*", "reference": "a house", "output": "a mouse"}]
    line = {"kind": "validation", "step": step, "loss": 4.0, "perplexity": 20.0, "bleu": None, "samples": samples}
    return line | changes


def run_folder(place: Path, lines: list[dict[str, Any]]) -> Path:
    folder = place / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


LINES = {
    "a long run": [train(step) for step in range(10, 2010, 10)] + [validation(1000, bleu=20.0), validation(2000)],
    "one line": [train(1)],
    "validation alone": [validation(5), validation(10)],
    "no memory, no BLEU": [train(1, wall={"tokens_per_second": 3.0}), train(2, wall={"tokens_per_second": 4.0})],
    "numbers that are not finite": [
        train(1, loss=math.nan, perplexity=math.inf, gradient_norm=math.nan, skipped=1),
        train(2, loss=None, wall=None),
        train(3),
    ],
    "nothing but holes": [train(step, loss=None, perplexity=None, gradient_norm=0.0, wall={}) for step in range(1, 60)],
    "resumed, a step twice": [train(1), train(2), train(2), train(3)],
}


@pytest.mark.parametrize("name", LINES)
def test_a_picture_is_drawn_of_whatever_there_is(name: str, tmp_path: Path) -> None:
    folder = run_folder(tmp_path, LINES[name])
    picture = write_curves(folder)
    assert picture == folder / "curves.png"
    with Image.open(picture) as read:
        assert read.format == "PNG"
        assert read.width > 700  # one chart alone has no neighbour
        assert len(set(read.convert("RGB").get_flattened_data())) > 10
    assert {path.name for path in folder.iterdir()} == {"metrics.jsonl", "curves.png"}


def test_drawing_leaves_no_state_behind(tmp_path: Path) -> None:
    write_curves(run_folder(tmp_path, LINES["one line"]))
    assert "matplotlib.pyplot" not in sys.modules


def test_different_metrics_give_different_pictures_and_equal_ones_the_same(tmp_path: Path) -> None:
    pictures = []
    for number, lines in enumerate(([train(1), train(2)], [train(1), train(2)], [train(1), train(2, loss=1.0)])):
        (tmp_path / str(number)).mkdir()
        pictures.append(write_curves(run_folder(tmp_path / str(number), lines)).read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0] != pictures[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no metrics.jsonl"),
        ("", "has no metrics yet"),
        ("{}\n", "line 1: not an object with a step"),
        ('{"kind": "train", "step": 1}\noops\n', "line 2: not JSON"),
    ],
)
def test_what_cannot_be_drawn_is_named(text: str | None, message: str, tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [])
    (folder / "metrics.jsonl").unlink()
    if text is not None:
        (folder / "metrics.jsonl").write_text(text)
    with pytest.raises(ReportError, match=message):
        write_curves(folder)
    with pytest.raises(ReportError, match="there is no run folder"):
        write_curves(tmp_path / "nowhere")


def test_a_bundle_is_said_to_keep_no_metrics() -> None:
    with pytest.raises(ReportError, match="is a bundle, which keeps no metrics: give the run"):
        write_curves(bundled_models()["en-de-small"])


def test_events_hold_every_number_of_the_metrics(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="an extra: pip install 'heedful[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    lines = [train(1), train(2, loss=math.nan), validation(2, bleu=12.5)]
    folder = write_events(run_folder(tmp_path, lines), output=tmp_path / "events")
    events = EventAccumulator(str(folder))
    events.Reload()

    def scalars(tag: str) -> list[tuple[int, Any]]:
        return [(event.step, pytest.approx(event.value, rel=1e-6)) for event in events.Scalars(tag)]

    assert scalars("train/loss") == [(1, lines[0]["loss"])]
    assert scalars("train_wall/tokens_per_second") == [(1, 1001.0), (2, 1002.0)]
    assert scalars("validation/bleu") == [(2, 12.5)]
    (text,) = events.Tensors("samples/1/text_summary")
    assert b"ein *Haus*" in text.tensor_proto.string_val[0]
    with pytest.raises(ReportError, match="has events already"):
        write_events(tmp_path / "run", output=tmp_path / "events")


def test_events_in_the_place_of_a_file_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="an extra: pip install 'heedful[tensorboard]'")
    folder = run_folder(tmp_path, [train(1)])
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ReportError, match="file cannot be the folder of the events: File exists"):
        write_events(folder, output=tmp_path / "file")


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    folder = run_folder(tmp_path, [train(1)])
    with pytest.raises(ReportError, match=r"pip install 'heedful\[tensorboard\]'"):
        write_events(folder, output=tmp_path / "events")
    assert not (tmp_path / "events").exists()


def test_the_command_says_where_the_picture_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path, [train(1)])
    assert heedful("curves", folder) == 0
    assert capsys.readouterr().out == f"{folder / 'curves.png'} is drawn\n"
    assert heedful("curves", folder, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"picture": str(folder / "curves.png"), "events": None}
    assert heedful("curves", tmp_path) == 2
    assert "has no metrics.jsonl" in capsys.readouterr().err
