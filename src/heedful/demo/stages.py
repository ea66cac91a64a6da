"""The stages of the demo up to a trained model. Whatever stops one, the next start goes on with it.

Text and corpus are there whole or not at all; training has its checkpoints.
"""

from __future__ import annotations

import bz2
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heedful.config import Config
from heedful.data.manifest import MANIFEST
from heedful.demo.plan import Tour, remembered
from heedful.errors import DemoError
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.presets import preset
from heedful.runs.atomic import new_folder
from heedful.runs.checkpoints import scheduled_entries
from heedful.runs.entries import AVERAGED, STATE
from heedful.runs.metrics import read_object
from heedful.runs.run_folder import RUN, STATUS
from heedful.text.pairs import two_files
from heedful.training.events import Reporter

TEXT = Path(__file__).with_name("text.tsv.bz2")
"""A pair a line, tabs between its fields, written by ``python -m examples.grammar``. The held-out pairs come first and
have three: English, German, and which token is which. The pairs to train on have two."""
PRESET = "demo"
FOR_EVALUATION = 0.6
"""Minutes of the whole demo kept for translating, aligning and drawing, and for Python to start."""
LEAST_SHARE = 0.1
"""Of the minutes, what training gets even where nothing is left."""
FEWEST_TO_AVERAGE = 2

Report = Callable[[str, int, int | None], None]
"""Called now and then with what is being done, how many are done, and of how many."""


@dataclass(frozen=True)
class Trained:
    """How far training has come."""

    step: int
    steps: int
    minutes: float
    state: str
    why: str

    @property
    def is_cut_short(self) -> bool:
        """Whether time was over before the steps were."""
        return self.step < self.steps


def write_text(tour: Tour, *, report: Report) -> bool:
    """Write the sentences that there is time for; returns False where they are there already."""
    if tour.text.is_dir():
        return False
    with new_folder(tour.text) as folder:
        write_demo_text(folder, train=tour.train, valid=tour.valid, test=tour.test)
    pairs = tour.train + tour.valid + tour.test
    report("writing sentences", pairs, pairs)
    return True


def tokens_of(text: str) -> list[str]:
    """The words and punctuation marks of a line, in the order that alignments number them.

    >>> tokens_of("At two o'clock, Anna's twenty-one dogs slept.")
    ['At', 'two', "o'clock", ',', "Anna's", 'twenty-one', 'dogs', 'slept', '.']
    """
    return re.findall(r"[^\s,.?!]+|[,.?!]", text)


def write_demo_text(folder: Path, *, train: int, valid: int, test: int) -> None:
    """Write so many pairs of each part as files, one sentence a line, with alignments and a page that says what it is.

    Fewer pairs are the first of more, but that the test begins where the validation text ends.
    """
    lines = [line.split("\t") for line in bz2.decompress(TEXT.read_bytes()).decode().splitlines()]
    held_out, seen = ([line for line in lines if len(line) == fields] for fields in (3, 2))
    for what, wanted, there in (("train", train, seen), ("valid + test", valid + test, held_out)):
        if not 0 <= wanted <= len(there):
            raise DemoError(f"{what} = {wanted:,} pairs: the demo's text has 0 to {len(there):,}")
    if min(valid, test) < 0:
        raise DemoError(f"valid = {valid:,} and test = {test:,} pairs: both must be 0 or more")
    if folder.exists() and any(folder.iterdir()):
        raise DemoError(f"{folder} is not empty: give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": seen[:train], "valid": held_out[:valid], "test": held_out[valid : valid + test]}
    for part, pairs in parts.items():
        for field, side in enumerate(("en", "de") if part == "train" else ("en", "de", "align")):
            _write(folder / f"{part}.{side}", [pair[field] for pair in pairs])
    _write(folder / "README.txt", [README.format(train=train, valid=valid, test=test)])


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def prepare_text(tour: Tour, *, report: Report) -> bool:
    """Prepare the corpus; returns False where that is done already."""
    if (tour.corpus / MANIFEST).is_file():
        return False
    train, valid = (two_files(tour.text / f"{part}.en", tour.text / f"{part}.de") for part in ("train", "valid"))
    request = Request(
        corpora=(train,),
        validation=(valid,),
        exclude=(tour.text / "test.en", tour.text / "test.de"),
        vocab_size=configuration(tour).data.vocab_size,
        seed=tour.seed,
    )
    prepare(request, output=tour.corpus, progress=report)
    return True


def configuration(tour: Tour) -> Config:
    """The preset, with the demo's seed and the minutes that training has."""
    config = preset(PRESET).make()
    return replace(config, training=replace(config.training, seed=tour.seed, minutes=tour.training_minutes or 0.0))


def trained(tour: Tour) -> Trained | None:
    """What training has come to, if it is done for the minutes that were given."""
    found, _ = read_object(tour.run / STATUS)
    if found is None or found.get("state") != "finished":
        return None
    result = _of_status(found)
    if result.is_cut_short and tour.training_minutes is None:
        return None  # there is more time now
    averaged, _ = read_object(tour.run / AVERAGED / STATE)
    is_averaged = averaged is not None and averaged.get("step") == result.step
    return result if is_averaged or len(scheduled_entries(tour.run)) < FEWEST_TO_AVERAGE else None


def with_training_minutes(tour: Tour, *, seconds: float) -> Tour:
    """The demo with the time that training has: what is left after so many seconds, less what evaluation needs."""
    if tour.training_minutes is not None:
        return tour
    left = tour.minutes - seconds / 60 - FOR_EVALUATION * tour.share
    status, _ = read_object(tour.run / STATUS)
    earlier = status["minutes"] if status else 0.0
    return remembered(replace(tour, training_minutes=round(earlier + max(left, LEAST_SHARE * tour.minutes), 3)))


def train_model(tour: Tour, *, device: str, report: Reporter) -> Trained:
    """Train, or go on with training; the state says whether a signal has stopped it."""
    from heedful.search.model_search import greedy_translations
    from heedful.training.loop import train
    from heedful.training.setup import Task

    begun = (tour.run / RUN).is_file()
    if tour.run.exists() and not begun:
        shutil.rmtree(tour.run)  # stopped before it had said what it is
    task = Task(config=configuration(tour), data=tour.corpus, run=tour.run, preset=PRESET, resume=begun, device=device)
    train(task, report=report, translate=greedy_translations)
    status, problem = read_object(tour.run / STATUS)
    assert status is not None, f"training has just written it: {problem}"
    return _of_status(status)


def _of_status(status: dict[str, Any]) -> Trained:
    return Trained(*(status[name] for name in ("step", "steps", "minutes", "state", "why")))


README = """\
This text is generated. A program, heedful's demo grammar, wrote every sentence of it from a few hundred words and the
rules of English and German; nobody ever said them, and their content means nothing. A score on it says that a model has
learnt this grammar, and nothing about real text.

{train:,} pairs to train on, {valid:,} to validate, {test:,} to test. The same sizes give the same files.

Every sentence of valid.* and test.* has a verb and its object in a construction (a question, a relative clause, a
clause with because …) in which training never shows that verb with that object.

*.en and *.de: one sentence a line. *.align: which token is which, English-German, counted from 0; tokens are words, and
the marks , . ? and ! by themselves."""
