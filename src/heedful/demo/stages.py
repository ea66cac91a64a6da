"""The stages of the demo up to a trained model. Whatever stops one, the next start goes on with it.

Text and corpus are there whole or not at all; training has its checkpoints.
"""

from __future__ import annotations

import bz2
import dataclasses
import re
from dataclasses import dataclass, replace
from pathlib import Path

from heedful.background import Report
from heedful.config import Config
from heedful.data.manifest import MANIFEST
from heedful.demo.plan import PARTS, README, TRAIN, DemoPlan, write_plan
from heedful.errors import CheckpointError, DemoError
from heedful.files import foreign_files, new_folder
from heedful.prepare.pipeline import prepare
from heedful.prepare.request import Request
from heedful.presets import preset
from heedful.runs.checkpoints import scheduled_entries
from heedful.runs.descriptions import RUN, read_state, read_status
from heedful.runs.folder import AVERAGED
from heedful.text.pairs import two_files
from heedful.training.events import Reporter
from heedful.typed import typed

TEXT = Path(__file__).with_name("text.tsv.bz2")
"""A pair a line, tabs between its fields, written by ``python -m examples.grammar``. The held-out pairs come first and
have three: English, German, and which token is which. The pairs to train on have two."""
FOR_EVALUATION = 0.6
"""Minutes of the whole demo kept for translating, aligning and drawing, and for Python to start."""
LEAST_SHARE = 0.1
"""Of the minutes, what training gets even where nothing is left."""
_PRESET = "demo"
_FEWEST_TO_AVERAGE = 2


@dataclass(frozen=True)
class Trained:
    """How far training has come."""

    step: int
    steps: int
    minutes: float
    state: str
    why: str


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
    if folder.exists() and foreign_files(folder, ours=()):
        raise DemoError(f"{folder} is not empty: give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {"train": seen[:train], "valid": held_out[:valid], "test": held_out[valid : valid + test]}
    for part, sides in PARTS.items():
        for field, side in enumerate(sides):
            side_text = "".join(f"{pair[field]}\n" for pair in chosen[part])
            (folder / f"{part}.{side}").write_text(side_text, encoding="utf-8", newline="\n")
    about = TEXT.with_name(README).read_text(encoding="utf-8").format(train=train, valid=valid, test=test)
    (folder / README).write_text(about, encoding="utf-8")


def write_text(plan: DemoPlan, *, report: Report) -> bool:
    """Write the sentences that there is time for; returns False where they are there already."""
    if plan.text.is_dir():
        return False
    with new_folder(plan.text, error=DemoError) as folder:
        write_demo_text(folder, train=plan.train, valid=plan.valid, test=plan.test)
    pairs = plan.train + plan.valid + plan.test
    report("writing sentences", pairs, pairs)
    return True


def prepare_text(plan: DemoPlan, *, report: Report) -> bool:
    """Prepare the corpus; returns False where that is done already."""
    if (plan.corpus / MANIFEST).is_file():
        return False
    train, valid = (two_files(plan.text / f"{part}.en", plan.text / f"{part}.de") for part in ("train", "valid"))
    request = Request(
        corpora=(train,),
        validation=(valid,),
        exclude=(plan.text / "test.en", plan.text / "test.de"),
        vocab_size=configuration(plan).data.vocab_size,
        seed=plan.seed,
    )
    prepare(request, output=plan.corpus, progress=report)
    return True


def configuration(plan: DemoPlan) -> Config:
    """The preset, with the demo's seed and the minutes that training has."""
    config = preset(_PRESET).make()
    return replace(config, training=replace(config.training, seed=plan.seed, minutes=plan.training_minutes or 0.0))


def trained(plan: DemoPlan) -> Trained | None:
    """What training has come to, if it is done for the minutes that were given."""
    found = _status(plan)
    if found is None or found.state != "finished":
        return None
    if found.step < found.steps and plan.training_minutes is None:
        return None  # it was cut short, and there is more time now
    try:
        is_averaged = read_state(plan.run / AVERAGED).step == found.step
    except CheckpointError:
        is_averaged = False
    return found if is_averaged or len(scheduled_entries(plan.run)) < _FEWEST_TO_AVERAGE else None


def set_training_minutes(plan: DemoPlan, *, seconds: float) -> DemoPlan:
    """Give training, once, the time that is left after so many seconds, less what evaluation needs; write it down."""
    if plan.training_minutes is not None:
        return plan
    left = plan.minutes - seconds / 60 - FOR_EVALUATION * plan.train / TRAIN
    status = _status(plan)
    earlier = status.minutes if status else 0.0
    return write_plan(replace(plan, training_minutes=round(earlier + max(left, LEAST_SHARE * plan.minutes), 3)))


def train_model(plan: DemoPlan, *, device: str, report: Reporter) -> Trained:
    """Train, or go on with training; the state says whether a signal has stopped it."""
    from heedful.search.model_search import greedy_translations
    from heedful.training.loop import train
    from heedful.training.setup import Task

    begun = (plan.run / RUN).is_file()
    task = Task(config=configuration(plan), data=plan.corpus, run=plan.run, preset=_PRESET, resume=begun, device=device)
    train(task, report=report, translate=greedy_translations)
    status = _status(plan)
    assert status is not None, "training has just written it"
    return status


def _status(plan: DemoPlan) -> Trained | None:
    """What the run says of itself; None where it does not, or cannot be understood: training goes on then."""
    try:
        return typed(Trained, dataclasses.asdict(read_status(plan.run)))
    except (CheckpointError, ValueError):
        return None
