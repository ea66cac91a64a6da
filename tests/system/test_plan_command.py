"""`heedful plan` as a user meets it: right numbers, and every problem at once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.commands import heedful

from heedful.data.batching import Schedule
from heedful.data.corpus import Corpus
from heedful.errors import PlanError
from heedful.model.transformer import Transformer
from heedful.planning import checks, probe
from heedful.planning.plan import make_plan
from heedful.presets import resolve
from heedful.training import label_smoothing
from heedful.training.batches import StepBatch
from heedful.training.flops import batch_flops
from heedful.training.step import Trainer

BUDGETS = ("training.source_tokens=300", "training.target_tokens=320")
TINY = ("--preset", "tiny", "--set", BUDGETS[0], "--set", BUDGETS[1])
WORDS = ("red", "old", "small", "quick", "house", "tree", "dog", "garden", "book", "ship", "number", "river")


def prepared(place: Path, *, validation: bool = True, long_validation: bool = False, weight: str = "") -> Path:
    rng = np.random.default_rng(1)
    for name, count in (("train", 400), ("more", 150), ("dev", 30)):
        rows = [(rng.choice(WORDS, rng.integers(2, 12)).tolist(), number) for number in range(count)]
        text = {"en": [f"{' '.join(words)} {name}{n}" for words, n in rows]}
        text["de"] = [f"{n}{name} {' '.join(reversed(words))} ." for words, n in rows]
        if name == "dev" and long_validation:
            text = {side: [" ".join(WORDS * 40), *lines] for side, lines in text.items()}
            text["de"][0] += " ."
        for side, lines in text.items():
            (place / f"{name}.{side}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    files = ["--source", place / "train.en", "--target", place / "train.de"]
    if weight:
        files += ["--source", f"{place / 'more.en'}{weight}", "--target", place / "more.de"]
    if validation:
        files += ["--valid-source", place / "dev.en", "--valid-target", place / "dev.de"]
    assert heedful("prepare", *files, "--vocab-size", "400", "--output", place / "data", "--quiet") == 0
    return place / "data"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("plan"))


def planned(data: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert heedful("plan", data, *TINY, *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_numbers_are_those_of_the_model_and_of_an_epochs_batches(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(data, capsys, "--accelerator", "NVIDIA H200")
    config = resolve(name="tiny").model
    model = Transformer(config, vocab_size=plan["vocabulary"]["target"])
    assert plan["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    corpus = Corpus(data)
    lengths = corpus.lengths
    schedule = Schedule(lengths, source_budget=300, target_budget=320, seed=1, weights=corpus.weights)
    batches = [schedule.batch(step) for step in range(schedule.steps_per_epoch)]
    vocab_size = plan["vocabulary"]["target"]
    flops = [batch_flops(config, vocab_size=vocab_size, lengths=lengths.of(batch)) for batch in batches]
    assert plan["steps_per_epoch"] == len(batches)
    assert plan["epochs"] == pytest.approx(1200 / len(batches))
    assert plan["target_tokens"] == pytest.approx(np.mean([lengths.target[batch].sum() for batch in batches]))
    assert plan["source_tokens"] == pytest.approx(np.mean([lengths.source[batch].sum() for batch in batches]))
    assert plan["step_flops"] == pytest.approx(np.mean(flops))
    assert plan["flops"] == pytest.approx(1200 * np.mean(flops))


def test_weights_count_as_often_as_pairs_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = prepared(tmp_path, weight="@2.5")
    plan = planned(folder, capsys, "--accelerator", "H200")
    corpus = Corpus(folder)
    schedule = Schedule(corpus.lengths, source_budget=300, target_budget=320, seed=1, weights=corpus.weights)
    steps = range(20 * schedule.steps_per_epoch)
    tokens = [corpus.lengths.target[schedule.batch(step)].sum() for step in steps]
    assert plan["target_tokens"] == pytest.approx(np.mean(tokens), rel=0.01)


def test_time_memory_and_the_papers_cost_follow_from_the_accelerator(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = planned(data, capsys, "--accelerator", "A100")
    assert one["step_seconds"] == pytest.approx(one["step_flops"] / one["speed"]["flops_per_second"])
    assert one["paper_flops"] == pytest.approx(one["seconds"] * 312e12)
    assert one["memory"]["total"] == sum(size for part, size in one["memory"].items() if part != "total")
    eight = planned(data, capsys, "--accelerator", "A100", "--gpus", "8", "--set", "training.micro_batches=8")
    assert eight["processes"] == 8
    assert eight["seconds"] == pytest.approx(one["seconds"] / 8)
    assert eight["at_least"]
    assert eight["memory"]["activations"] < one["memory"]["activations"]


def test_the_page_says_what_is_assumed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heedful("plan", data, "--preset", "base", "--accelerator", "H200") == 0
    out = capsys.readouterr().out
    assert "an assumption, not a measurement: 25% of what large matrix products reach" in out
    assert "an estimate by arithmetic" in out
    assert "data.vocab_size = 37000 is not used" in out
    assert "in the paper's way" in out
    assert "nothing that is known would stop this run" in out


def test_a_probe_runs_real_batches_here_and_says_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(data, capsys)
    assert "a probe here" in plan["speed"]["about"]
    assert plan["speed"]["flops_per_second"] > 0
    assert plan["seconds"] == pytest.approx(1200 * plan["step_flops"] / plan["speed"]["flops_per_second"])
    if not torch.cuda.is_available():
        assert plan["memory"]["working_copy"] == 0


def test_a_probe_on_a_cpu_takes_no_more_than_its_share_of_a_batch(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, device, corpus = resolve(name="tiny"), torch.device("cpu"), Corpus(data)
    vocab_size = corpus.manifest.vocabularies.target.size
    rehearsed: list[StepBatch] = []
    monkeypatch.setattr(Trainer, "rehearse", lambda _, batch: rehearsed.append(batch))
    monkeypatch.setattr(probe, "CPU_FLOPS", 5e8)
    probe.probed_speed(data, config, device=device)
    for batch in rehearsed:
        assert 0 < batch_flops(config.model, vocab_size=vocab_size, lengths=corpus.lengths.of(batch.pairs)) <= 5e8
    monkeypatch.setattr(probe, "CPU_FLOPS", 1.0)
    rehearsed.clear()
    probe.probed_speed(data, config, device=device)
    assert {len(batch.pairs) for batch in rehearsed} == {1}, "one pair at least"


def test_the_probe_runs_the_step_of_training_and_holds_no_scores_of_a_whole_batch(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own step held tokens × vocabulary in float32, and so refused on a GPU what training runs."""
    rehearsed: list[StepBatch] = []
    largest = 0

    def rehearse(self: Trainer, batch: StepBatch) -> None:
        rehearsed.append(batch)
        real(self, batch)

    def losses(scores: torch.Tensor, *arguments: object) -> object:
        nonlocal largest
        largest = max(largest, scores.numel())
        return of_slice(scores, *arguments)  # pyright: ignore

    real, of_slice = Trainer.rehearse, label_smoothing.losses_and_gradient
    monkeypatch.setattr(Trainer, "rehearse", rehearse)
    monkeypatch.setattr(label_smoothing, "losses_and_gradient", losses)
    monkeypatch.setitem(label_smoothing.SCORES_AT_ONCE, "cpu", 400 * 128)
    probe.probed_speed(data, resolve(name="tiny", settings=BUDGETS), device=torch.device("cpu"))
    assert 400 * max(batch.target_tokens for batch in rehearsed) > 1.5 * 400 * 128, "else the test cannot tell"
    assert 0 < largest <= 400 * 128


def test_minutes_end_a_plan_before_its_steps(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = planned(data, capsys, "--accelerator", "K80")
    half = whole["seconds"] / 120
    plan = planned(data, capsys, "--accelerator", "K80", "--set", f"training.minutes={half}")
    assert plan["steps"] == pytest.approx(600, abs=1)
    assert any("ends it before training.steps = 1,200" in note for note in plan["notes"])


PROBLEMS = {
    "no such preset": (["--preset", "bigg"], "no preset called bigg (did you mean big?)"),
    "a wrong setting": (["--set", "model.d_modle=8"], "no setting of that name in model (did you mean d_model?)"),
    "two wrong settings": (["--set", "model.dropout=2", "--set", "training.steps=0"], "training.steps = 0"),
    "no GPUs": (["--gpus", "0"], "--gpus 0: must be at least 1"),
    "too few micro-batches": (
        ["--gpus", "8", "--nodes", "4"],
        "32 processes need one of each batch: --set train",
    ),
    "an unknown accelerator": (["--accelerator", "H1000"], "--accelerator H1000: not known (did you mean H100?)"),
    "pairs longer than a batch": (["--set", "training.source_tokens=5"], "source tokens, but a batch holds at most 5"),
    "too few positions": (
        ["--set", "model.positions=learned", "--set", "model.max_positions=4"],
        "model.max_positions = 4, but the longest side of a pair has",
    ),
    "patience without validation": (
        ["--set", "training.patience=3", "--set", "training.validation_steps=0"],
        "training.patience = 3 counts validations, but training.validation_steps = 0",
    ),
    "bfloat16 on a CPU": (["--set", "training.precision=bfloat16"], "training.precision = bfloat16 needs CUDA"),
    "more than an accelerator has": (
        ["--accelerator", "H100", "--preset", "tiny", "--set", "model.encoder_layers=100000"],
        "are needed in each process, and one H100 has 80.0",
    ),
    "more than this machine has": (
        ["--preset", "tiny", "--set", "model.encoder_layers=100000"],
        "are needed in each process, and this machine has",
    ),
    "steps too large for an accelerator": (
        ["--accelerator", "T4", *("--set", "training.source_tokens=400000", "--set", "training.target_tokens=400000")],
        "one T4 has 16.0: --set training.micro_batches=",
    ),
    "no such config": (["--config", "nowhere.toml"], "there is no file nowhere.toml"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_problem_is_named_with_exit_code_2(
    name: str, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    arguments, message = PROBLEMS[name]
    capsys.readouterr()
    assert heedful("plan", data, *arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""


def test_all_problems_come_together(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil._ntuple_diskusage(10**9, 10**9, 0)  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: full)
    settings = ["training.target_tokens=4", "model.positions=learned", "model.max_positions=2"]
    with pytest.raises(PlanError) as caught:
        make_plan(data, settings=settings, gpus=2, accelerator="Abacus", output=tmp_path / "runs" / "new")
    starts = ["--accelerator", "training.micro_batches", "model.max_positions", "pair "]
    starts += ["validation text: model.max_positions", "validation text: pair ", "--output"]
    assert [problem[: len(start)] for problem, start in zip(caught.value.problems, starts, strict=True)] == starts
    with pytest.raises(PlanError) as caught:
        make_plan(tmp_path / "nowhere", settings=["model.dropout=9"], accelerator="Abacus")
    assert len(caught.value.problems) == 3


def test_the_disk_must_hold_the_checkpoints(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = planned(data, capsys, "--accelerator", "H200")["parameters"]
    needed = 12 * parameters * (8 + 2)
    arguments = ("plan", data, *TINY, "--accelerator", "H200", "--output", tmp_path / "a" / "b")
    for free, code in ((needed, 0), (needed - 1, 2)):
        usage = shutil._ntuple_diskusage(10**15, 0, free)  # pyright: ignore[reportAttributeAccessIssue]
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert heedful(*arguments) == code
    assert not (tmp_path / "a").exists(), "a plan writes nothing"


def test_the_output_must_be_free(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("plan", data, *TINY, "--accelerator", "H200", "--output")
    (tmp_path / "file").write_text("")
    assert heedful(*arguments, tmp_path / "file") == 2
    assert "is a file" in capsys.readouterr().err
    assert heedful(*arguments, tmp_path) == 2
    assert "holds other files" in capsys.readouterr().err
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    assert heedful(*arguments, tmp_path / "run") == 0
    assert "is a run already" in capsys.readouterr().out


def test_what_counts_validations_needs_validation_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = prepared(tmp_path, validation=False)
    assert heedful("plan", folder, *TINY, "--accelerator", "H200") == 0
    assert "has no validation text: nothing will be validated" in capsys.readouterr().out
    assert heedful("plan", folder, *TINY, "--accelerator", "H200", "--set", "training.patience=2") == 2
    assert "has no validation text" in capsys.readouterr().err


def test_a_validation_pair_longer_than_a_batch_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = prepared(tmp_path, long_validation=True)
    assert heedful("plan", folder, *TINY, "--accelerator", "H200") == 2
    assert "validation text: pair 0 has" in capsys.readouterr().err
    assert heedful("plan", folder, *TINY, "--accelerator", "H200", "--set", "training.validation_steps=0") == 0


def test_a_changed_shard_and_a_lost_vocabulary_are_found(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    shard = copy / json.loads((copy / "manifest.json").read_text())["splits"]["train"]["source"]["shards"][0]["file"]
    changed = bytearray(shard.read_bytes())
    changed[0] ^= 1
    shard.write_bytes(changed)
    assert heedful("plan", copy, *TINY, "--accelerator", "H200") == 2
    assert "its contents have changed since it was prepared" in capsys.readouterr().err
    shutil.rmtree(copy)
    shutil.copytree(data, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["vocabularies"]["target"]["size"] += 1
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert heedful("plan", copy, *TINY, "--accelerator", "H200") == 2
    assert "subwords, its manifest says" in capsys.readouterr().err


def test_a_named_accelerator_needs_no_torch(data: Path) -> None:
    code = (
        "import sys\nfrom heedful.cli.main import main\n"
        f"try:\n    main(['plan', {str(data)!r}, '--preset', 'tiny', '--accelerator', 'H100'])\n"
        "except SystemExit as leaving:\n    assert not leaving.code\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
