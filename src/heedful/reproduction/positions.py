"""Section 3.5's guess, tested: do sinusoids extrapolate to sentences longer than any in training, and learned
positions not?

Two models that differ in nothing else learn from a corpus's shorter half: pairs of which no side is longer than L, the
median. Then both are asked for the perplexity of pairs that they have not seen, by length, up to three times L. A
position that never came in training has a learned vector all the same: the random one that it began with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from heedful.background import Report
from heedful.config import Config
from heedful.data.corpus import Corpus, Side
from heedful.errors import CorpusError
from heedful.evaluation.translation_scores import perplexity
from heedful.model.attention_kernels import padded_attention
from heedful.presets import resolve
from heedful.report.charts import Chart, Series
from heedful.reproduction.drawing import add_charts
from heedful.reproduction.records import Asked, Found, Page, Record, markdown_table
from heedful.search.scoring import forced_log_probabilities
from heedful.training.batches import prefetched
from heedful.training.setup import trainer_alone, training_device
from heedful.training.step import Trainer

WAYS = ("sinusoidal", "learned")
_BINS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
"""Ends of the classes of length, in units of L."""
_FEWEST = 20
"""Pairs; a class with fewer is not shown."""
_MOST = 300
"""Pairs of a class that are read."""


@dataclass(frozen=True)
class Extrapolated:
    """The perplexity of pairs of about one length."""

    positions: str
    longest: int
    """The most tokens that a side of these pairs has; the fewest are one more than in the class before."""
    pairs: int
    perplexity: float
    trained_to: int
    """L."""


@dataclass(frozen=True)
class Trained:
    """What both models learned from."""

    corpus: str
    pairs: int
    steps: int
    size: str = ""
    """Of the model and its batches, in words."""


class _Pairs(Corpus):
    """Some pairs of a corpus."""

    def __init__(self, whole: Corpus, pairs: np.ndarray) -> None:
        self.folder, self.manifest, self.split, self._count = whole.folder, whole.manifest, "part", len(pairs)
        self.source, self.target = (
            Side(side.id_counts[pairs], side.offsets[pairs], side.shards, side.first_ids)
            for side in (whole.source, whole.target)
        )

    def __len__(self) -> int:
        return self._count


def configuration(*, miniature: bool, steps: int | None = None) -> Config:
    """The model and the schedule of both; the fewest steps where it is to be a miniature."""
    steps = steps or (4 if miniature else 3000)
    sizes = ["model.d_model=32", "model.d_ff=64"] if miniature else []
    batch = 1024 if miniature else 4096
    schedule = [f"training.steps={steps}", f"training.warmup_steps={max(1, steps // 5)}"]
    schedule += [f"training.{side}_tokens={batch}" for side in ("source", "target")]
    return resolve(name="small", settings=[*sizes, *schedule, "model.dropout=0.1", "training.learning_rate_scale=0.5"])


def measured(asked: Asked) -> Found:
    data, config = asked.places[0], configuration(miniature=asked.miniature, steps=asked.options["steps"])
    found = extrapolated(data, config, device=training_device(asked.device), report=asked.report)
    sizes = f"{config.model.decoder_layers} layers of {config.model.d_model} (feed-forward {config.model.d_ff})"
    size = f"{sizes}, batches of {config.training.target_tokens:,} tokens"
    known = Trained(data.resolve().name, len(Corpus(data, verify=False)), config.training.steps, size)
    return {"extrapolated": found, "trained": [known]}


def page(records: Sequence[Record]) -> Page:
    text, pictures = [_ABOUT], {}
    for number, record in enumerate(records, start=1):
        found, known = record.rows("extrapolated", Extrapolated), record.rows("trained", Trained)[0]
        limit = found[0].trained_to
        trained = (
            f"{known.steps:,} steps on the pairs of {known.corpus} ({known.pairs:,} in all) of at most {limit} tokens"
        )
        text += [
            f"## {record.where}\n",
            f"Trained for {trained}{f': {known.size}' if known.size else ''}.\n",
            add_charts(pictures, {f"positions-{number}.svg": _chart(found)}),
            _table(found),
            _verdict(found),
        ]
    return Page("\n".join(text), pictures)


_ABOUT = """# Sinusoids or learned positions: what happens beyond the longest sentence of training

Section 3.5 chooses sinusoids because they may let a model extrapolate to sequences longer than those in training. Two \
models that differ in their positions alone learn from the shorter half of a corpus, and are asked for the perplexity, \
by subword, of longer and longer pairs that they have not seen. Beyond the training length, a learned position still \
has the random vector it began with.
"""


def _chart(found: Sequence[Extrapolated]) -> Chart:
    colours = dict(zip(WAYS, ("line-1", "line-4"), strict=True))
    series = [
        Series(way, [(one.longest, one.perplexity) for one in found if one.positions == way], colours[way])
        for way in WAYS
    ]
    limit = found[0].trained_to
    note = f"The line across: no side of a training pair has more than {limit} tokens."
    title, label = "Perplexity by length", "perplexity a subword, logarithmic"
    return Chart(title, label, series, "tokens at most", logarithmic=True, verticals=[limit], note=note)


def _table(found: Sequence[Extrapolated]) -> str:
    by_length = {one.longest: [other for other in found if other.longest == one.longest] for one in found}
    rows = [
        [f"≤ {longest}", own[0].pairs, *(f"{one.perplexity:.2f}" for one in own)] for longest, own in by_length.items()
    ]
    return markdown_table(["tokens", "pairs", *WAYS], rows, right=("pairs", *WAYS))


def _verdict(found: Sequence[Extrapolated]) -> str:
    limit = found[0].trained_to
    times = []
    for way in WAYS:
        own = {one.longest: one.perplexity for one in found if one.positions == way}
        times.append(own[max(own)] / own[max(longest for longest in own if longest <= limit)])
    return (
        f"From the longest sentences of training to the longest of all the perplexity grows {times[0]:.1f} times with "
        f"sinusoids, and {times[1]:.1f} times with learned positions.\n"
    )


def extrapolated(data: Path, config: Config, *, device: torch.device, report: Report) -> Iterator[Extrapolated]:
    """The perplexities of both models by length."""
    train = Corpus(data)
    if "valid" not in train.manifest.splits:
        raise CorpusError(f"{data} was prepared without validation text: give --valid-source and --valid-target there")
    limit = int(np.median(_longer_sides(train)))
    classes = _classes(train, Corpus(data, "valid", verify=False), limit)
    if not classes or min(classes) > limit or max(classes) <= limit:
        raise CorpusError(
            f"{data} has fewer than {_FEWEST} validation pairs of up to {limit} tokens, its median, or fewer than "
            f"{_FEWEST} longer pairs: there is nothing to compare"
        )
    short = _Pairs(train, np.flatnonzero(_longer_sides(train) <= limit))
    for positions in WAYS:
        model = replace(config.model, positions=positions)
        trainer = _trained(replace(config, model=model), short, device=device, report=report)
        trainer.model.eval().use(padded_attention(model))
        for longest, pairs in classes.items():
            values = forced_log_probabilities([trainer.model], pairs, half=trainer.precision.half)
            total, tokens = float(sum(one.sum() for one in values)), sum(len(one) for one in values)
            yield Extrapolated(positions, longest, len(pairs), perplexity(-total, tokens), limit)


def _longer_sides(corpus: Corpus) -> np.ndarray:
    return np.maximum(corpus.lengths.source, corpus.lengths.target)


def _classes(train: Corpus, valid: Corpus, limit: int) -> dict[int, list[tuple[np.ndarray, np.ndarray]]]:
    """Pairs that are not trained on, by the longest that a side of them may be: all validation pairs, and the long
    ones of the training text."""
    rng = np.random.default_rng(1)
    found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    below = 0
    for longest in (int(share * limit) for share in _BINS):
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        for corpus in (valid, train) if below >= limit else (valid,):
            lengths = _longer_sides(corpus)
            places = rng.permutation(np.flatnonzero((lengths > below) & (lengths <= longest)))[: _MOST - len(pairs)]
            pairs += zip(corpus.source.sentences(places), corpus.target.sentences(places), strict=True)
        if len(pairs) >= _FEWEST:
            found[longest] = pairs
        below = longest
    return found


def _trained(config: Config, corpus: Corpus, *, device: torch.device, report: Report) -> Trainer:
    trainer, batches = trainer_alone(config, corpus, device=device)
    steps = config.training.steps
    with contextlib.closing(prefetched(batches, first=1, last=steps)) as source:
        for batch in source:
            trainer.step(batch)
            report(f"training, {config.model.positions} positions", batch.step, steps)
    return trainer
