"""A task that is not there: what it takes to add one is a row of `heedful.tasks`, and nothing in training, search or
pages."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.commands import run_here
from tests.trained_toys import SMALL

from heedful.evaluation.counts import Counted
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.presets import resolve
from heedful.runs.saved import read_model
from heedful.search.model_search import greedy_translations
from heedful.search.on_torch import put_on_torch
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.tasks import TASKS, Task
from heedful.text import pairs
from heedful.text.closed_vocabulary import ClosedVocabulary
from heedful.training import setup
from heedful.training.loop import train


def exact(outputs: Sequence[str], references: Sequence[str]) -> list[Counted]:
    rows = np.array([[output == wanted, 1] for output, wanted in zip(outputs, references, strict=True)], np.float64)
    return [Counted("exact", "exact", rows, lambda sums: 100 * sums[..., 0] / sums[..., 1])]


SPELLING = Task(
    name="spelling",
    files="--tsv",
    pair_blocks=pairs.pair_blocks,
    counts=exact,
    training="--preset tiny",
    uses=("spell --model RUN",),
    target_vocabulary=ClosedVocabulary.of_lines,
)


def test_a_third_task_is_prepared_trained_searched_and_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(TASKS, SPELLING.name, SPELLING)
    rng, texts = random.Random(1), list[pairs.ParallelText]()
    for name, count in (("train", 60), ("valid", 8)):
        words = ["".join(rng.choices("abcd", k=rng.randint(2, 6))) for _ in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(f"{word}\t{' '.join(word.upper())}\n" for word in words))
        texts.append(pairs.tsv(tmp_path / f"{name}.tsv"))
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    prepare(Request(corpora=(texts[0],), validation=(texts[1],), task=SPELLING), output=corpus)
    few = ["training.steps=4", "training.checkpoint_steps=4", "training.average_last=1", "training.validation_steps=4"]
    config = resolve(name="tiny", settings=[*SMALL, *few])
    task = setup.Task(config=config, data=corpus, run=run, preset="tiny", device="cpu")
    train(task, report=lambda _: None, translate=greedy_translations)

    saved = read_model(run)
    (ids,) = saved.source_subwords.encode(["abba"])
    search = put_on_torch(saved, device="cpu", precision="auto", batch_size=0).search
    ((_, hypotheses),) = search.search([Sentence(0, ids)], SearchOptions(beam_size=3))
    assert set(saved.target_vocabulary.pieces(hypotheses[0].ids)) <= set("ABCD")  # letters, and no brackets asked for

    assert run_here(capsys, "report", run, "--output", tmp_path / "run.html")[0] == 0
    code, _, errors = run_here(capsys, "translate", "--model", run, "abba")
    assert code == 2
    assert "was trained for spelling, and writes no text: `heedful spell` takes it" in errors
