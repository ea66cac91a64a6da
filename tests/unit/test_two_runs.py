"""Two runs in one page, and a run in progress in the browser."""

from __future__ import annotations

import json
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands import heedful
from tests.pages import Page
from tests.report_toys import toy_scores
from tests.trained_toys import train_toy

from heedful.errors import ReportError
from heedful.report.live import live_server
from heedful.report.run_page import run_page
from heedful.report.two_runs import two_runs_sections
from heedful.runs.metrics import read_metrics
from heedful.runs.record import run_record

SETTINGS = ("training.validation_steps=10", "training.samples=1", "training.log_steps=5")
SENTENCES = [
    f"the {word} sees the {word} and the {word}" for word in ("cat", "dog", "cow", "hen", "ant", "bee", "owl", "fox")
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"), steps=20, settings=SETTINGS)


@pytest.fixture
def runs(trained: Path, tmp_path: Path) -> list[Path]:
    """The second of them has another dropout, it says."""
    folders = [shutil.copytree(trained, tmp_path / name) for name in ("first", "second")]
    stored = json.loads((folders[1] / "run.json").read_text())
    stored["config"]["model"]["dropout"] = 0.25
    (folders[1] / "run.json").write_text(json.dumps(stored))
    return folders


def test_the_better_run_is_named_and_what_differs_is_shown(runs: list[Path]) -> None:
    worse = [line.replace("sees", "saw") for line in SENTENCES[:7]] + SENTENCES[7:]
    scores = [toy_scores(SENTENCES, said, SENTENCES) for said in (worse, SENTENCES)]
    sections, found = two_runs_sections([run_record(run) for run in runs], scores)
    assert [one.title for one in sections] == [
        "Both runs",
        "Translations",
        "Training",
        "Scores",
        "Settings that differ",
    ]
    assert found[0].better() == "B"
    page = Page(run_page("Runs", sections))
    assert f"B: second is better, by {found[0].difference:.1f} BLEU" in page.text
    assert "Where B: second leads" in page.text
    assert "Where A: first leads" not in page.text
    assert "<mark>saw</mark>" in sections[1].content
    rows = sections[-1].content
    assert rows.count("<tr><td>") == 1
    assert "<td>model.dropout</td><td>0.0</td><td>0.25</td>" in rows
    assert str(runs[0].parent) not in page.text


def test_each_curve_of_both_runs_stands_in_one_chart(runs: list[Path]) -> None:
    sections, found = two_runs_sections([run_record(run) for run in runs], [], why_not="nothing was asked")
    assert found == []
    page = Page(run_page("Runs", sections))
    assert "No text was translated: nothing was asked" in page.text
    charts = [json.loads(text) for text in page.texts["script"] if text.startswith("{")]
    expected = [[line.step, pytest.approx(line.loss)] for line in read_metrics(runs[0]).validation]
    assert [one["name"] for one in charts[0]["series"]] == ["A: first", "B: second"]
    assert charts[0]["series"][0]["points"] == charts[0]["series"][1]["points"] == expected


def test_two_runs_that_are_one_are_not_told_apart(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(runs[0].parent)
    assert heedful("report", "first", "second", "--greedy", "--quiet", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["report"] == "compared.html"
    assert facts["text"] == "first's validation text"
    assert [one["difference"] for one in facts["comparisons"]] == [0, 0, 0]
    assert facts["scores"] == facts["other"]["scores"]
    assert "may be luck" in Page(Path("compared.html").read_text(encoding="utf-8")).text


def test_runs_of_opposite_directions_are_not_compared_by_a_text(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, source, target in ((runs[0], "en", "de"), (runs[1], "de", "en")):
        stored = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(stored | {"languages": {"source": source, "target": target}}))
    monkeypatch.chdir(runs[0].parent)
    (runs[0].parent / "text").write_text("a\n")
    assert heedful("report", "first", "second", "--quiet") == 0
    apart = "second translates from de to en, and first from en to de"
    told = capsys.readouterr().out
    assert f"note: {apart}\n" in told
    assert "note: no scores: the runs translate in different directions\n" in told
    assert apart in Page(Path("compared.html").read_text(encoding="utf-8")).text
    assert heedful("report", "first", "second", "--source", "text", "--reference", "text", "--overwrite") == 2
    assert f"{apart}: no text compares them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["second", "--model", "first"], "two runs were given"),
        (["--port", "8000"], "--port 8000 is where --live is to be found"),
        (["second", "--live"], "--live shows one run"),
        (["--live", "--output", "page.html"], "--live shows one run"),
        (["--live", "--port", "70000"], "--port 70000: must be"),
    ],
    ids=str,
)
def test_mistakes_are_named(
    runs: list[Path],
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(runs[0].parent)
    assert heedful("report", "first", *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def address(runs: list[Path]) -> Iterator[str]:
    with live_server(runs[0]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def got(address: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
        return answer.read().decode("utf-8")


def test_a_live_page_follows_the_run_and_stops_asking_when_it_has_ended(runs: list[Path], address: str) -> None:
    assert 'http-equiv="refresh"' not in got(address)  # this run has ended
    status = json.loads((runs[0] / "status.json").read_text())
    (runs[0] / "status.json").write_text(json.dumps(status | {"state": "running", "host": "elsewhere", "step": 12}))
    page = got(address)
    assert '<meta http-equiv="refresh" content="5">' in page
    assert "12 of 20 steps; running" in page
    (runs[0] / "run.json").write_text("{")  # while it is being written
    (runs[0] / "status.json").write_text(json.dumps(status | {"step": 13}))
    assert "run.json" in Page(got(address)).text


def test_a_live_page_is_for_this_machine_alone(runs: list[Path], address: str) -> None:
    for wrong, headers in ((address, {"Host": "attacker.example"}), (f"{address}run.json", {})):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            got(wrong, **headers)
    port = int(address.rstrip("/").rpartition(":")[2])
    with pytest.raises(ReportError, match=f"--port {port} cannot be used"), live_server(runs[0], port=port):
        pass


def test_ctrl_c_ends_a_live_page_in_peace(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("http.server.HTTPServer.serve_forever", interrupted)
    assert heedful("report", runs[0], "--live") == 0
    assert "shows" in capsys.readouterr().out
    assert heedful("report", runs[0].parent, "--live") == 2
    assert "is not a run" in capsys.readouterr().err
