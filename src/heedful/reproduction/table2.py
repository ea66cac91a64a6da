"""Table 2: BLEU and training cost of our runs, beside every row of the paper's.

Cost is counted twice. As in the paper: the GPUs, times how long they were taken, times what one of them sustains in
large products; this is what was paid for. And in true operations: the products that the model's sentences needed,
forward and backward; this is what was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.background import Report
from heedful.data.corpus import Corpus
from heedful.errors import HeedfulError, MissingExtraError, ScoreError
from heedful.evaluation.counts import bleu_counts, language_of, paper_bleu_counts
from heedful.evaluation.translation_scores import TestSet, with_interval
from heedful.reproduction.paper_tables import TABLE_2
from heedful.reproduction.records import Asked, Found, Page, Record, markdown_table, run_name
from heedful.runs.lists import languages
from heedful.runs.record import RunRecord, run_record, validation_text
from heedful.text.reading import aligned_lines
from heedful.training.flops import MATMUL_SHARE, batch_flops, paper_flops, peak_flops
from heedful.translation.translator import Translator


@dataclass(frozen=True)
class Cost:
    """What a run's training took; None for what its folder does not tell."""

    device: str | None
    minutes: float | None
    paper_flops: float | None
    true_flops: float | None


@dataclass(frozen=True)
class Ours:
    """A run of ours."""

    name: str
    trained_on: str
    scored_on: str
    sentences: int
    parameters: int
    steps: int
    bleu: float
    low: float
    high: float
    bleu_signature: str
    paper_bleu: float | None
    cost: Cost


def measured(asked: Asked) -> Found:
    """Score each run, on the test text or else on its own validation text, and count what its training took."""
    source, reference = asked.options["source"], asked.options["reference"]
    test = (source, reference) if source else None
    runs = ((place, Translator.load(place, device=asked.device)) for place in asked.places)
    return {"systems": (_ours(place, translator, test=test, report=asked.report) for place, translator in runs)}


def _ours(place: Path, translator: Translator, *, test: tuple[Path, Path] | None, report: Report) -> Ours:
    saved = translator.saved
    record = run_record(saved.run, samples=0)
    text, scored_on = _test_set(record, test)
    assert text.sources is not None, "what is to be translated is known"
    outputs, _ = translator.measured(text.sources, report=report)
    score = with_interval(bleu_counts(outputs, text.references))
    assert score.interval is not None, "it was just drawn"
    spoken = languages(saved.description)
    language = (language_of(test[1]) if test else None) or (spoken.target if spoken else None)
    try:
        paper_bleu = paper_bleu_counts(outputs, text.references, language=language).value
    except (MissingExtraError, ScoreError):
        paper_bleu = None
    return Ours(
        name=run_name(place),
        trained_on=_trained_on(record),
        scored_on=scored_on,
        sentences=len(outputs),
        parameters=saved.description.parameters,
        steps=saved.step,
        bleu=score.value,
        low=score.interval.low,
        high=score.interval.high,
        bleu_signature=score.signature,
        paper_bleu=paper_bleu,
        cost=training_cost(record),
    )


def _test_set(record: RunRecord, test: tuple[Path, Path] | None) -> tuple[TestSet, str]:
    if test is not None:
        source, reference = test
        lines = aligned_lines(reference, source)
        return TestSet(lines[reference], lines[source]), reference.name
    try:
        return validation_text(record), "its own validation text"
    except HeedfulError as error:
        raise ScoreError(f"{record.folder}: {error}; give --source and --reference to score it on") from None


def _trained_on(record: RunRecord) -> str:
    if record.corpus is None:
        return "text that is not here" if not record.description.bundle else "what its card says"
    return f"{record.corpus.folder.name}, {record.corpus.manifest.splits['train'].pairs:,} pairs"


def training_cost(record: RunRecord) -> Cost:
    """Device, minutes, and both counts of a run's training."""
    told, minutes = record.environment.get("device"), record.run.minutes
    device = told if isinstance(told, str) else None
    peak = peak_flops(device) if device else None
    paid = true = None
    if peak is not None and minutes:
        gpus = int(record.environment.get("processes") or 1)
        paid = paper_flops(gpus=gpus, hours=minutes / 60, tflops=peak * MATMUL_SHARE / 1e12)
    tokens = sum(line.target_tokens for line in record.metrics.train)
    if record.corpus is not None and tokens:
        lengths = Corpus(record.corpus.folder, verify=False).lengths
        an_epoch = batch_flops(record.config.model, vocab_size=record.description.vocab_size, lengths=lengths)
        true = an_epoch * tokens / lengths.totals[1]
    return Cost(device, minutes or None, paid, true)


def page(records: Sequence[Record]) -> Page:
    ours = [one for record in records for one in record.rows("systems", Ours)]
    paper = [[one.name, *map(_number, (one.de, one.fr)), *map(_flops, (one.de_flops, one.fr_flops))] for one in TABLE_2]
    own = []
    for one in ours:
        about = [f"**{one.name}**", one.trained_on, f"{one.scored_on} ({one.sentences:,})"]
        scores = [f"{one.bleu:.1f} [{one.low:.1f}, {one.high:.1f}]", _number(one.paper_bleu)]
        cost = [one.cost.device or "–", _number(one.cost.minutes)]
        cost += [_flops(one.cost.paper_flops), _flops(one.cost.true_flops)]
        own.append([*about, *scores, f"{one.parameters / 1e6:.1f}", f"{one.steps:,}", *cost])
    papers = ("system", "BLEU en-de", "BLEU en-fr", "FLOPs en-de", "FLOPs en-fr")
    columns = ("model", "trained on", "scored on (sentences)", "BLEU [95 %]", "paper-style BLEU", "M parameters")
    columns += ("steps", "device", "minutes", "FLOPs as the paper counts", "true FLOPs")
    signature = f" BLEU is sacreBLEU's (`{ours[0].bleu_signature}`)." if ours else ""
    text = [
        "# Table 2: BLEU and training cost\n",
        "## The paper's\n",
        "newstest2014 after training on WMT14: 4.5 M pairs of English and German, 36 M of English and French.\n",
        markdown_table(papers, paper, right=papers[1:]),
        "## Ours\n",
        "**Not comparable with the scores above**: ours were trained on other and less text, as each row says."
        f"{signature} The paper's BLEU is of tokenised text with compounds split, and reads 0.7 to 1 higher on the "
        "same output.\n",
        markdown_table(columns, own, right=columns[5:7]),
        "As the paper counts: devices, times the time they were taken, times what one sustains, which is here "
        f"{MATMUL_SHARE:.0%} of the datasheet's rate. True: matrix products of forward and backward pass, without "
        "padding.\n",
    ]
    return Page("\n".join(text), {})


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _flops(value: float | None) -> str:
    if value is None:
        return "–"
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits} · 10^{int(exponent)}"
