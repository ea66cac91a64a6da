"""Runs, checkpoints and models as nobody would wish to find them: refused by name, and nothing lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.trained_toys import SMALL, train_toy
from tests.training_toys import write_toy

from heedful.errors import HeedfulError, TrainingError
from heedful.presets import resolve
from heedful.search.model_search import greedy_translations
from heedful.training.events import Event, Warned
from heedful.training.loop import train
from heedful.training.setup import Task

STEPS = ("training.steps=4", "training.checkpoint_steps=2", "training.average_last=2")


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, ``copy``, and a run on it, ``run``: to be copied, never changed."""
    folder = tmp_path_factory.mktemp("toys")
    train_toy(folder, steps=4, settings=["training.steps=4", "training.checkpoint_steps=2"])
    return folder


@pytest.fixture
def corpus(toys: Path) -> Path:
    return next(path.parent for path in toys.glob("*/manifest.json"))


@pytest.fixture
def run(toys: Path, tmp_path: Path) -> Path:
    """A run of one's own."""
    return Path(shutil.copytree(toys / "run", tmp_path / "run"))


def trained(corpus: Path, run: Path, *, resume: bool = False, overwrite: bool = False) -> list[str]:
    """Train the toy; returns the warnings."""
    warnings: list[str] = []

    def report(event: Event) -> None:
        if isinstance(event, Warned):
            warnings.append(event.text)

    config = resolve(name="tiny", settings=[*SMALL, *STEPS])
    task = Task(config=config, data=corpus, run=run, preset="tiny", device="cpu", resume=resume, overwrite=overwrite)
    train(task, report=report, translate=greedy_translations)
    return warnings


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _thesis(run: Path) -> None:
    (run / "thesis").write_text("years of work")


def _not_a_run(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()
    (run / "run.json").write_text("{}")


def _deep(run: Path) -> None:
    (run / "checkpoints" / "notes.txt").write_text("mine")


def _in_a_checkpoint(run: Path) -> None:
    (next((run / "checkpoints").iterdir()) / "notes.txt").write_text("mine")


def _beside_the_subwords(run: Path) -> None:
    (run / "tokenizer" / "raw.txt").write_text("mine")


def _hidden(run: Path) -> None:
    (run / ".git").mkdir()


def _broken(run: Path) -> None:
    (run / "run.json").write_bytes(b"[" * 200_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_thesis, "holds thesis beside the run"),
        (_not_a_run, "does not say that it is a heedful run"),
        (_deep, "holds checkpoints/notes.txt beside the run"),
        (_in_a_checkpoint, "notes.txt beside the run"),
        (_beside_the_subwords, "holds tokenizer/raw.txt beside the run"),
        (_hidden, "holds .git beside the run"),
        (_broken, "run.json is damaged, or not JSON"),
    ],
)
def test_overwrite_removes_nothing_but_a_run(
    corpus: Path, run: Path, change: Callable[[Path], None], message: str
) -> None:
    change(run)
    before = contents(run)
    with pytest.raises(HeedfulError) as error:
        trained(corpus, run, overwrite=True)
    assert message in str(error.value)
    assert contents(run) == before


def test_overwrite_never_removes_the_corpus(run: Path, tmp_path: Path) -> None:
    inside = write_toy(run, task="copy", pairs=40)
    before = contents(run)
    for corpus in (inside, tmp_path / "link"):
        if not corpus.exists():
            corpus.symlink_to(inside)
        with pytest.raises(TrainingError, match="holds the corpus"):
            trained(corpus, run, overwrite=True)
    assert contents(run) == before


def test_what_commands_wrote_into_a_run_goes_with_it(corpus: Path, run: Path) -> None:
    for name in ("curves.png", "report.html", "events.out.tfevents.1", ".curves.png.123.0123abcd", "run.json.writing"):
        (run / name).write_text("ours")
    (run / "events").mkdir()
    (run / "events" / "events.out.tfevents.1").write_text("ours")
    trained(corpus, run, overwrite=True)
    names = {path.name for path in run.iterdir()}
    assert names == {"run.json", "status.json", "metrics.jsonl", "tokenizer", "checkpoints", "averaged"}


def test_overwrite_and_resume_follow_a_link_and_leave_it(corpus: Path, run: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(run)
    trained(corpus, link, overwrite=True)
    trained(corpus, link, resume=True)
    assert link.is_symlink()
    assert (run / "averaged").is_dir()


@pytest.mark.parametrize("options", [{"resume": True}, {"overwrite": True}, {}], ids=str)
def test_a_start_that_was_killed_is_begun_again(corpus: Path, tmp_path: Path, options: dict[str, bool]) -> None:
    run = tmp_path / "run"
    for name in (".lock", "tokenizer/.tokenizer.json.77.0123abcd", ".run.json.writing"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("")
    (run / "tokenizer" / "tokenizer.json").write_text("half")
    trained(corpus, run, **options)
    assert (run / "tokenizer" / "tokenizer.json").read_bytes() == (corpus / "tokenizer" / "tokenizer.json").read_bytes()
    assert (run / "averaged").is_dir()


def test_checkpoints_without_their_description_are_not_thrown_away(corpus: Path, run: Path) -> None:
    (run / "run.json").unlink()
    before = contents(run)
    for options in ({"resume": True}, {"overwrite": True}):
        with pytest.raises(TrainingError, match=r"holds other files and is not a run \(no run.json in it"):
            trained(corpus, run, **options)
    assert contents(run) == before


@pytest.mark.parametrize("options", [{"resume": True}, {"overwrite": True}], ids=str)
def test_one_run_is_trained_by_one_process(corpus: Path, run: Path, options: dict[str, bool]) -> None:
    code = (
        "import time\nfrom pathlib import Path\nfrom heedful.runs.folder import locked_run\n"
        f"with locked_run(Path({str(run)!r})):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    before = contents(run)
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TrainingError, match="another process is training in"):
            trained(corpus, run, **options)
    finally:
        holder.kill()
        holder.communicate()
    assert contents(run) == before | {".lock": b""}
    trained(corpus, run, resume=True)  # a lock dies with its process
    assert not (run / ".lock").exists()


def test_the_loop_holds_the_lock(corpus: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    def report(event: Event) -> None:
        with pytest.raises(TrainingError, match="another process is training in"):
            trained(corpus, tmp_path / "run", resume=True)
        seen.append(type(event).__name__)

    config = resolve(name="tiny", settings=[*SMALL, *STEPS])
    task = Task(config=config, data=corpus, run=tmp_path / "run", device="cpu")
    train(task, report=report, translate=greedy_translations)
    assert {"Started", "Saved", "Ended"} <= {*seen}


@pytest.mark.parametrize("harm", ["folder removed", "file removed", "changed"])
def test_subwords_that_are_missing_are_copied_again_at_a_resume(corpus: Path, run: Path, harm: str) -> None:
    stored = run / "tokenizer" / "tokenizer.json"
    if harm == "changed":
        stored.write_text(json.dumps(json.loads(stored.read_text()) | {"truncation": None}))
    else:
        stored.unlink() if harm == "file removed" else shutil.rmtree(stored.parent)
    trained(corpus, run, resume=True)
    assert stored.read_bytes() == (corpus / "tokenizer" / "tokenizer.json").read_bytes()
