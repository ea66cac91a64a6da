"""Scores from counts are sacreBLEU's own, and their intervals are what a plain loop over resamples gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from heedful.errors import ScoreError
from heedful.evaluation.counts import bleu_counts, chrf_counts, system_counts, ter_counts
from heedful.evaluation.significance import times_drawn
from heedful.evaluation.translation_scores import TestSet, length_ratio, system_report, with_interval

PUBLIC = [(bleu_counts, BLEU), (chrf_counts, CHRF), (ter_counts, TER)]

SENTENCE = st.lists(st.sampled_from(["der", "Hund", "hund", "-", "rot-weiß", "läuft.", ","]), max_size=9).map(" ".join)


def noisy(lines: list[str], share: float, seed: int) -> list[str]:
    """Lines in which words are missing, doubled or exchanged."""
    rng = random.Random(seed)
    outputs = []
    for line in lines:
        words = [word for word in line.split() if rng.random() > share]
        outputs.append(" ".join(rng.choice(words) if rng.random() < share else word for word in words))
    return outputs


REFERENCES = [
    f"Ein {colour} {animal} läuft {place} und sieht {count} Häuser ."
    for colour in ("roter", "kleiner", "rot-weißer")
    for animal in ("Hund", "Mann", "Vogel")
    for place in ("durch den Park", "am Wasser entlang", "davon")
    for count in ("zwei", "keine")
]


@pytest.mark.parametrize(("count", "metric"), PUBLIC)
@given(pairs=st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6))
def test_a_score_of_summed_counts_is_sacrebleus(count, metric, pairs: list[tuple[str, str]]) -> None:
    outputs, references = [output for output, _ in pairs], [reference for _, reference in pairs]
    theirs = metric()
    expected = theirs.corpus_score(outputs, [references]).score
    ours = count(outputs, references)
    assert ours.value == pytest.approx(expected, abs=1e-9)
    assert ours.signature == str(theirs.get_signature())


@pytest.mark.parametrize(("count", "metric"), PUBLIC)
def test_so_is_the_score_of_every_sentence(count, metric) -> None:
    outputs = [*noisy(REFERENCES, 0.3, 1), "", "Hund"]
    references = [*REFERENCES, "etwas", ""]
    counted = count(outputs, references)
    theirs = metric(effective_order=False) if metric is BLEU else metric()
    expected = [theirs.corpus_score([o], [[r]]).score for o, r in zip(outputs, references, strict=True)]
    assert counted.scores(counted.rows) == pytest.approx(expected, abs=1e-9)


def test_nothing_right_is_worth_nothing_smoothed_or_not() -> None:
    outputs, references = ["a b c d e"], ["v w x y z"]
    assert bleu_counts(outputs, references).value == BLEU().corpus_score(outputs, [references]).score == 0


def test_validations_bleu_is_sacrebleus_with_its_signature() -> None:
    outputs = noisy(REFERENCES, 0.2, 2)
    metric = BLEU()
    score = bleu_counts(outputs, REFERENCES)
    assert score.value == pytest.approx(metric.corpus_score(outputs, [REFERENCES]).score, abs=1e-9)
    assert 20 < score.value < 80
    assert score.signature == str(metric.get_signature())


def test_the_ratio_of_lengths_is_sacrebleus() -> None:
    outputs = noisy(REFERENCES, 0.2, 3)
    counts = system_counts(outputs, REFERENCES)
    assert length_ratio(counts.bleu) == pytest.approx(BLEU().corpus_score(outputs, [REFERENCES]).ratio)
    assert length_ratio(bleu_counts([""], [""])) == 0


def test_an_interval_is_that_of_a_loop_over_resamples() -> None:
    outputs = noisy(REFERENCES, 0.2, 4)
    score = with_interval(bleu_counts(outputs, REFERENCES), resamples=60, seed=7)
    times = times_drawn(np.random.default_rng(7), 60, len(outputs)).astype(int)
    drawn = []
    for row in times:
        places = [place for place, often in enumerate(row) for _ in range(often)]
        assert len(places) == len(outputs)
        references = [[REFERENCES[place] for place in places]]
        drawn.append(BLEU().corpus_score([outputs[place] for place in places], references).score)
    assert score.interval is not None
    assert [score.interval.low, score.interval.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=1e-9)
    assert score.interval.low < score.value < score.interval.high


def test_every_sentence_is_drawn_equally_often() -> None:
    times = times_drawn(np.random.default_rng(1), 4000, 10)
    assert times.sum(axis=1).tolist() == [10] * 4000
    assert times.mean(axis=0) == pytest.approx(np.ones(10), abs=0.08)  # five standard errors
    assert times.var(axis=0) == pytest.approx(np.full(10, 0.9), abs=0.15)  # binomial: 10 × 1/10 × 9/10


def test_blocks_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = chrf_counts(noisy(REFERENCES, 0.2, 5), REFERENCES)
    whole = with_interval(counted, resamples=50)
    monkeypatch.setattr("heedful.evaluation.significance.BLOCK", 3 * len(REFERENCES))
    assert with_interval(counted, resamples=50) == whole


def test_tokenised_outputs_are_remarked_upon_unless_the_references_are_too() -> None:
    references = ["Ein Haus.", "Ein Hund läuft.", "Es regnet."]
    tokenised = [line.replace(".", " .") for line in references]
    assert system_report(TestSet(references), references, language="de").notes == []
    assert system_report(TestSet(tokenised), tokenised, language="de").notes == []
    (note,) = system_report(TestSet(references), tokenised, language="de").notes
    assert note.startswith("3 outputs end in a space and a full stop, and 0 references do")


@pytest.mark.parametrize(
    ("outputs", "references", "message"),
    [(["a"], ["a", "b"], "1 translations and 2 references"), ([], [], "no translations were given")],
)
def test_what_cannot_be_scored_is_refused(outputs: list[str], references: list[str], message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        bleu_counts(outputs, references)
