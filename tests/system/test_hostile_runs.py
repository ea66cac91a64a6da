"""Runs, checkpoints and models as nobody would wish to find them: refused by name, and nothing lost."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.commands import run_here, somebody
from tests.trained_toys import SMALL, train_toy
from tests.training_toys import write_toy
from torch import Tensor

from heedful.errors import HeedfulError, TrainingError
from heedful.files import sha256
from heedful.presets import resolve
from heedful.runs.bundles import write_bundle
from heedful.runs.checkpoints import write_average
from heedful.runs.descriptions import MODEL, Languages, read_state, write_state
from heedful.runs.folder import entries
from heedful.runs.saved import read_model
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
    (run / ".git" / "HEAD").write_text("mine")


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
        (_hidden, "holds .git/HEAD beside the run"),
        (_broken, "run.json is damaged, or not JSON"),
    ],
)
def test_overwrite_removes_nothing_but_a_run(
    corpus: Path, run: Path, change: Callable[[Path], object], message: str
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
    unfinished = run / "checkpoints" / ".step-00000003.writing"
    unfinished.mkdir()
    (unfinished / MODEL).write_text("ours")
    for name in ("curves.png", "report.html", "events.out.tfevents.1", ".curves.png.123.0123abcd", "run.json.writing"):
        (run / name).write_text("ours")
    (run / "events").mkdir()
    (run / "events" / "events.out.tfevents.1").write_text("ours")
    trained(corpus, run, overwrite=True)
    names = {path.name for path in run.iterdir()}
    assert names == {"run.json", "profile.json", "status.json", "metrics.jsonl", "tokenizer", "checkpoints", "averaged"}


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


# Files that somebody else wrote, or that were changed: a model of them is refused by name, and lists go on.


def change_json(path: Path, **changes: Any) -> None:
    """Other values for some fields; ``...`` removes one."""
    value = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: field for name, field in value.items() if field is not ...}))


def changed_run(**changes: Any) -> Callable[[Path], object]:
    return lambda run: change_json(run / "run.json", **changes)


def changed_config(section: str, **changes: Any) -> Callable[[Path], object]:
    def change(run: Path) -> None:
        config = json.loads((run / "run.json").read_text())["config"]
        change_json(run / "run.json", config={**config, section: {**config.get(section, {}), **changes}})

    return change


def changed_vocabularies(**changes: Any) -> Callable[[Path], object]:
    def change(run: Path) -> None:
        both = json.loads((run / "run.json").read_text())["vocabularies"]
        change_json(run / "run.json", vocabularies={side: {**known, **changes} for side, known in both.items()})

    return change


def old_state(**changes: Any) -> Callable[[Path], object]:
    """A state of version 0.1.0, without a hash of its own."""
    return lambda run: change_json(run / "averaged" / "state.json", sha256=..., **changes)


def content(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda run: (run / name).write_bytes(data)


def fifo(name: str) -> Callable[[Path], object]:
    def change(run: Path) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)

    return change


def weights(change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> Callable[[Path], object]:
    """Other weights in the average, with the hash that belongs to them."""

    def changed(run: Path) -> None:
        write_weights(run / "averaged", change(load_file(run / "averaged" / MODEL)))

    return changed


def write_weights(folder: Path, tensors: dict[str, Tensor]) -> None:
    save_file(tensors, folder / MODEL)
    trust_weights(folder)


def trust_weights(folder: Path) -> None:
    """Say that the weights which lie there are those that were written."""
    state = read_state(folder)
    write_state(folder, dataclasses.replace(state, files={**state.files, MODEL: sha256(folder / MODEL)}))


def cut_weights(run: Path) -> None:
    path = run / "averaged" / MODEL
    path.write_bytes(path.read_bytes()[:-100])
    trust_weights(run / "averaged")


def changed_subwords(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], object]:
    def changed(run: Path) -> None:
        path = run / "tokenizer" / "tokenizer.json"
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return changed


def exchange(tokenizer: dict[str, Any]) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    first, second = list(vocabulary)[10:12]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]


def catastrophe(tokenizer: dict[str, Any]) -> None:
    tokenizer["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a+)+$"


def without_hash(change: Callable[[Path], object]) -> Callable[[Path], object]:
    """As in a run so old that it has no hash of its subwords."""

    def both(run: Path) -> None:
        change(run)
        known = json.loads((run / "run.json").read_text())["vocabularies"]
        change_json(run / "run.json", vocabularies={side: _without(entry, "sha256") for side, entry in known.items()})

    return both


def _without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: field for key, field in value.items() if key != name}


def larger(tokenizer: dict[str, Any]) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    left, right = list(vocabulary)[10:12]
    vocabulary[left + right + left] = len(vocabulary)


DEEP = b"[" * 200_000 + b"]" * 200_000
NAN = float("nan")
DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "run.json nested": (content("run.json", DEEP), "run.json is damaged, or not JSON: it is nested too deeply"),
    "run.json empty": (content("run.json", b""), "run.json is damaged, or not JSON"),
    "run.json a number": (content("run.json", b"5"), "run.json holds no JSON object"),
    "run.json with many digits": (content("run.json", b'{"a": ' + b"9" * 5000 + b"}"), "run.json is damaged"),
    "run.json a pipe": (fifo("run.json"), "run.json cannot be read: it is a device or a pipe"),
    "no config": (changed_run(config=...), "run.json is damaged: config is None, not an object"),
    "config a list": (changed_run(config=[1]), "config is a list, not an object"),
    "a section a number": (changed_run(config={"model": 5}), "config.model is 5, not an object"),
    "no vocab_size": (changed_run(vocab_size=...), "run.json is damaged: it has no vocab_size"),
    "vocab_size of another": (changed_run(vocab_size=7), "the sizes of its vocabularies do not fit each other"),
    "no vocabularies": (changed_run(vocabularies=...), "it has no vocabularies"),
    "vocabularies a text": (changed_run(vocabularies="x"), "vocabularies is 'x', not an object"),
    "a folder that is a number": (changed_vocabularies(folder=5), "vocabularies.source.folder is 5, not text"),
    "a folder elsewhere": (changed_vocabularies(folder="../x"), "folder is '../x', not the name of a folder inside"),
    "an absolute folder": (changed_vocabularies(folder="/etc"), "folder is '/etc', not the name of a folder inside"),
    "no folder": (changed_vocabularies(folder=""), "folder is '', not the name of a folder inside"),
    "languages a list": (changed_run(bundle=True, languages=["[/x]"]), "languages is a list, not an object"),
    "parameters a text": (changed_run(parameters="many"), "parameters is 'many', not a whole number"),
    "bundle a number": (changed_run(bundle=1), "bundle is 1, not true or false"),
    "d_model a text": (changed_config("model", d_model="x"), "d_model is 'x', not a whole number"),
    "d_model negative": (changed_config("model", d_model=-4), "holds settings that this version cannot use"),
    "a setting from the future": (changed_config("model", experts=3), "model.experts is not known"),
    "a million layers": (changed_config("model", encoder_layers=1000), "fewer parameters than run.json has layers"),
    "another width": (changed_config("model", d_ff=65), "is of another model than the one that is asked for"),
    "state.json nested": (content("averaged/state.json", DEEP), "state.json is damaged, or not JSON"),
    "state.json a pipe": (fifo("averaged/state.json"), "state.json cannot be read: it is a device or a pipe"),
    "state.json without hashes": (old_state(files={}), "model.safetensors is damaged: its contents are not what was"),
    "state.json without files": (old_state(files=...), "state.json is damaged: it has no files"),
    "a hash that is a number": (old_state(files={MODEL: 5}), "files.model.safetensors is 5, not text"),
    "a step that is a text": (old_state(step="x"), "step is 'x', not a whole number"),
    "storage of the future": (old_state(storage="int4"), "is stored as int4; this heedful reads"),
    "storage a list": (old_state(storage=[]), "storage is a list, not text"),
    "a digit of state.json": (
        lambda run: change_json(run / "averaged" / "state.json", step=3),
        "state.json is damaged: its contents are not what was written",
    ),
    "weights cut short": (cut_weights, "model.safetensors is damaged: "),
    "weights a pipe": (fifo("averaged/model.safetensors"), "model.safetensors is missing"),
    "whole numbers": (
        weights(lambda given: {name: value.int() for name, value in given.items()}),
        "is of type torch.int32, not torch.float32",
    ),
    "not numbers": (
        weights(lambda given: {name: value * NAN for name, value in given.items()}),
        "holds weights that are not numbers: its training broke down",
    ),
    "one infinity": (
        weights(
            lambda given: {name: value.index_fill(0, torch.tensor([0]), torch.inf) for name, value in given.items()}
        ),
        "holds weights that are not numbers: its training broke down",
    ),
    "a tensor less": (
        weights(lambda given: dict(list(given.items())[1:])),
        "is of another model than the one that is asked for: 1 parameters differ",
    ),
    "subwords exchanged": (changed_subwords(exchange), "is damaged: its contents are not the subwords"),
    "subwords with dropout": (
        changed_subwords(lambda value: value["model"].update(dropout=0.5)),
        "is damaged: its contents are not the subwords that the model was trained with",
    ),
    "a regular expression without end": (
        changed_subwords(catastrophe),
        "is damaged: its contents are not the subwords",
    ),
    "no subwords": (lambda run: shutil.rmtree(run / "tokenizer"), "there are no subwords in"),
    "subwords a pipe": (fifo("tokenizer/tokenizer.json"), "cannot be read: it is a device or a pipe"),
    "more subwords than the model has": (without_hash(changed_subwords(larger)), "subwords, and the model"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_model_is_refused_by_name_and_the_lists_go_on(
    toys: Path, run: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, message = DAMAGED[case]
    change(run)
    with pytest.raises(HeedfulError) as error:
        read_model(run)
    assert message in str(error.value)
    shutil.copytree(toys / "run", run.parent / "sound")
    for command in ("models", "runs"):
        code, out, errors = run_here(capsys, command, run.parent)
        assert (code, errors) == (0, "")
        assert "sound" in out
        code, out, errors = run_here(capsys, command, run.parent, "--json")
        assert (code, errors) == (0, "")
        places = [row.get("model" if command == "models" else "folder") for row in json.loads(out)]
        assert {str(run), str(run.parent / "sound")} <= {*places}


def test_a_run_without_a_hash_of_its_subwords_still_loads(run: Path) -> None:
    without_hash(lambda run: None)(run)
    assert "sha256" not in json.loads((run / "run.json").read_text())["vocabularies"]["source"]
    change_json(run / "averaged" / "state.json", sha256=...)
    assert read_model(run).step == 4


def test_languages_in_brackets_are_text(toys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle(read_model(toys / "run"), tmp_path / "given", spoken=Languages("[/x]", "[bold]"))
    code, out, errors = run_here(capsys, "models", tmp_path)
    assert (code, errors) == (0, "")
    assert "[/x]-[bold]" in out.replace("\n", "")


def newest(run: Path) -> Path:
    return entries(run)[-1].folder


def _cut_newest(run: Path) -> None:
    folder = newest(run)
    (folder / MODEL).write_bytes((folder / MODEL).read_bytes()[:-8])
    trust_weights(folder)


SPOILED_CHECKPOINTS: dict[str, Callable[[Path], object]] = {
    "a digit of step": lambda run: change_json(newest(run) / "state.json", step=3),
    "a digit of minutes": lambda run: change_json(
        newest(run) / "state.json", state=json.loads((newest(run) / "state.json").read_text())["state"] | {"x": 1}
    ),
    "no hash": lambda run: change_json(newest(run) / "state.json", files={}, sha256=...),
    "empty": lambda run: (newest(run) / "state.json").write_bytes(b""),
    "nested": lambda run: (newest(run) / "state.json").write_bytes(DEEP),
    "old, without progress": lambda run: change_json(newest(run) / "state.json", state={}, sha256=...),
    "old, with a text for progress": lambda run: change_json(
        newest(run) / "state.json", state={"progress": "far"}, sha256=...
    ),
    "a copy under another name": lambda run: shutil.copytree(newest(run), newest(run).with_name("step-00009999")),
    "weights cut, their hash corrected": _cut_newest,
    "a file in its place": lambda run: (run / "checkpoints" / "step-00000007").write_text("x"),
}


@pytest.mark.parametrize("case", SPOILED_CHECKPOINTS)
def test_a_resume_takes_the_checkpoint_before_a_spoiled_one(corpus: Path, run: Path, toys: Path, case: str) -> None:
    shutil.rmtree(run / "averaged")
    SPOILED_CHECKPOINTS[case](run)
    (warning,) = [text for text in trained(corpus, run, resume=True) if "using the one before" in text]
    assert str(run / "checkpoints") in warning or "the checkpoint of step 4" in warning
    ends = [load_file(place / "checkpoints" / "step-00000004" / MODEL) for place in (run, toys / "run")]
    assert all(torch.equal(ends[0][name], value) for name, value in ends[1].items())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed_run(config=...), "run.json is damaged"),
        (lambda run: (run / "metrics.jsonl").unlink() or (run / "metrics.jsonl").mkdir(), "is not a file of metrics"),
        (fifo("metrics.jsonl"), "is not a file of metrics"),
    ],
    ids=["run.json without config", "metrics.jsonl a folder", "metrics.jsonl a pipe"],
)
def test_a_run_that_cannot_be_resumed_says_why(
    corpus: Path, run: Path, change: Callable[[Path], object], message: str
) -> None:
    change(run)
    with pytest.raises(HeedfulError, match=message):
        trained(corpus, run, resume=True)


def test_a_corpus_cannot_name_a_place_outside_the_run(corpus: Path, tmp_path: Path) -> None:
    hostile = Path(shutil.copytree(corpus, tmp_path / "hostile"))
    both = {side: known | {"folder": "../config"} for side, known in
            json.loads((hostile / "manifest.json").read_text())["vocabularies"].items()}  # fmt: skip
    change_json(hostile / "manifest.json", vocabularies=both)
    shutil.copytree(corpus / "tokenizer", tmp_path / "config")
    before = contents(tmp_path / "config")
    with pytest.raises(HeedfulError):
        trained(hostile, tmp_path / "run")
    assert contents(tmp_path / "config") == before
    assert not (tmp_path / "run").exists()


def test_a_bundle_gives_away_nothing_but_the_model(run: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("private")
    (run / "tokenizer" / "notes").write_text("private")
    given = write_bundle(read_model(run), tmp_path / "given")
    text = {"profile.json", "tokenizer/tokenizer.json"}
    assert set(contents(given)) == {"run.json", "averaged/state.json", "averaged/" + MODEL, *text}
    assert json.loads((given / "profile.json").read_text())["samples"] == []
    for link, target in (("tokenizer/link", "secret"), ("README.md", "secret")):
        (run / link).symlink_to(tmp_path / target)
        with pytest.raises(HeedfulError, match="is a link, and what it leads to would be given away"):
            write_bundle(read_model(run), tmp_path / "other")
        (run / link).unlink()
    shutil.move(run / "tokenizer", tmp_path / "elsewhere")
    (run / "tokenizer").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HeedfulError, match="is a link"):
        write_bundle(read_model(run), tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: dict(list(given.items())[1:]), "1 parameters differ"),
        (lambda given: {name: value[:1] for name, value in given.items()}, "parameters differ, such as"),
        (lambda given: {name: value * NAN for name, value in given.items()}, "holds weights that are not numbers"),
    ],
    ids=["a tensor less", "other shapes", "not numbers"],
)
def test_only_checkpoints_that_are_alike_and_numbers_are_averaged(
    run: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], message: str
) -> None:
    before = contents(run / "averaged")
    write_weights(newest(run), change(load_file(newest(run) / MODEL)))
    with pytest.raises(HeedfulError, match=message):
        write_average(run, last=2)
    assert contents(run / "averaged") == before


@pytest.mark.parametrize("command", ["score", "attention", "export", "average", "bundle"])
def test_no_command_uses_a_model_that_is_not_numbers(
    run: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (run / "averaged", *(entry.folder for entry in entries(run))):
        write_weights(folder, {name: value * NAN for name, value in load_file(folder / MODEL).items()})
    (tmp_path / "text").write_text("ba\n")
    arguments = {
        "score": ["--model", run, "--source", tmp_path / "text", "--target", tmp_path / "text"],
        "attention": ["ba", "--model", run, "--target", "ba", "--output", tmp_path / "page.html"],
        "export": [run, "--to", "marian", "--output", tmp_path / "engine"],
        "average": [run, "--last", "2"],
        "bundle": [run, "--output", tmp_path / "given"],
    }[command]
    before = contents(tmp_path)
    code, _, errors = run_here(capsys, command, *arguments)
    assert code == 2
    assert "holds weights that are not numbers: its training broke down" in errors.replace("\n", " ")
    assert contents(tmp_path) == before


def test_a_model_may_be_the_folder_one_is_in(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (run / "averaged", newest(run), run):
        monkeypatch.chdir(place)
        assert read_model(".").step == 4
    monkeypatch.chdir(run / "checkpoints")
    assert read_model("..").step == 4


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", ""], ids=["long", "NUL", "empty"])
def test_a_name_that_no_file_has_is_no_model(name: str) -> None:
    with pytest.raises(HeedfulError):
        read_model(name)


def test_a_folder_that_may_not_be_entered_does_not_end_the_list(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(toys / "run", f"{place}/sound")
        shutil.copytree(toys / "run", f"{place}/closed")
        for folder in (Path(place), *Path(place).rglob("*")):
            folder.chmod(0o755)
        Path(place, "closed").chmod(0)
        try:
            with somebody():
                for command in ("models", "runs"):
                    code, out, errors = run_here(capsys, command, place)
                    assert (code, errors) == (0, "")
                    assert "sound" in out
        finally:
            Path(place, "closed").chmod(0o755)
