"""The two tests of significance: against slow loops, against sacreBLEU's, and under a true null hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from heedful.errors import ScoreError
from heedful.evaluation.counts import Counted, bleu_counts, chrf_counts, system_counts, ter_counts
from heedful.evaluation.significance import (
    approximate_randomisation,
    bootstrap_sums,
    comparisons,
    exchanged,
    paired_bootstrap,
    times_drawn,
)

rng = np.random.default_rng(3)
WORDS = np.array(["der", "die", "Hund", "Katze", "läuft", "schläft", "im", "Haus", "Garten", "."])
REFERENCES = [" ".join(rng.choice(WORDS, size=size)) for size in rng.integers(4, 15, size=60)]


def edit_rate(sums: np.ndarray) -> np.ndarray:
    """Of [edits, words of the reference]: a score of made-up counts."""
    return 100 * sums[..., 0] / sums[..., 1]


def noisy(share: float, seed: int) -> list[str]:
    """The references with a share of other words."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(str(rng.choice(WORDS)) if rng.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


A, B = noisy(0.35, 1), noisy(0.25, 2)


def test_the_bootstrap_is_a_loop_over_resamples() -> None:
    resamples = 40
    result = paired_bootstrap(chrf_counts(A, REFERENCES), chrf_counts(B, REFERENCES), resamples=resamples, seed=5)
    drawn: dict[str, list[float]] = {"a": [], "b": []}
    for times in times_drawn(np.random.default_rng(5), resamples, len(A)).astype(int):
        places = [place for place, often in enumerate(times) for _ in range(often)]
        references = [REFERENCES[place] for place in places]
        for name, outputs in (("a", A), ("b", B)):
            drawn[name].append(CHRF().corpus_score([outputs[place] for place in places], [references]).score)
    differences = [b - a for a, b in zip(drawn["a"], drawn["b"], strict=True)]
    mean = sum(differences) / resamples
    measured = CHRF().corpus_score(B, [REFERENCES]).score - CHRF().corpus_score(A, [REFERENCES]).score
    extreme = sum(abs(difference - mean) >= abs(measured) for difference in differences)
    assert result.p_value == (extreme + 1) / (resamples + 1)
    assert result.b_wins == sum(difference > 0 for difference in differences) / resamples
    for found, values in (
        (result.interval_a, drawn["a"]),
        (result.interval_b, drawn["b"]),
        (result.interval_difference, differences),
    ):
        assert [found.low, found.high] == pytest.approx(np.percentile(values, [2.5, 97.5]), abs=1e-9)


def test_randomisation_is_a_loop_over_exchanges() -> None:
    trials = 60
    measured = abs(BLEU().corpus_score(B, [REFERENCES]).score - BLEU().corpus_score(A, [REFERENCES]).score)
    extreme = 0
    for swaps in exchanged(np.random.default_rng(6), trials, len(A)):
        first = [b if swap else a for swap, a, b in zip(swaps, A, B, strict=True)]
        second = [a if swap else b for swap, a, b in zip(swaps, A, B, strict=True)]
        scores = [BLEU().corpus_score(outputs, [REFERENCES]).score for outputs in (first, second)]
        extreme += abs(scores[0] - scores[1]) >= measured
    p_value = approximate_randomisation(bleu_counts(A, REFERENCES), bleu_counts(B, REFERENCES), trials=trials, seed=6)
    assert 0 < extreme < trials
    assert p_value == (extreme + 1) / (trials + 1)


def test_randomisation_of_few_sentences_is_that_of_all_exchanges() -> None:
    """Eight sentences can be exchanged in 256 ways, so the exact p-value can be counted out."""
    rows_a, rows_b = (np.random.default_rng(seed).integers(0, 9, (8, 1)) * [[1, 0]] + [[0, 10]] for seed in (1, 4))
    a, b = (Counted("TER", "", rows.astype(float), edit_rate, lower_is_better=True) for rows in (rows_a, rows_b))
    edits = (rows_b - rows_a)[:, 0]
    sums = [abs(sum(e if way >> i & 1 else -e for i, e in enumerate(edits))) for way in range(256)]
    exact = sum(total >= abs(edits.sum()) for total in sums) / 256
    assert 0.05 < exact < 0.95
    assert approximate_randomisation(a, b, trials=20_000) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(("count", "metric"), [(bleu_counts, BLEU), (chrf_counts, CHRF)])
def test_both_draw_and_score_as_sacrebleus_own(count, metric, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same seed. Its randomisation counts only larger differences, ours also equal ones."""
    monkeypatch.setenv("SACREBLEU_SEED", "77")
    systems: list[tuple[str, Sequence[str]]] = [("a", A), ("b", B)]
    trials = 400
    a, b = count(A, REFERENCES), count(B, REFERENCES)
    theirs = PairedTest(systems, {"": metric()}, [REFERENCES], test_type="ar", n_samples=trials)()[1][b.name][1]
    assert isinstance(theirs, Result)
    ours = approximate_randomisation(a, b, trials=trials, seed=77)
    assert theirs.p_value is not None
    assert theirs.p_value <= ours <= theirs.p_value + 2 / trials
    assert 5 / trials < ours < 0.9
    theirs = PairedTest(systems, {"": metric()}, [REFERENCES], test_type="bs", n_samples=trials)()[1][b.name][1]
    assert isinstance(theirs, Result)
    drawn = np.sort(b.scores(bootstrap_sums(b.rows, resamples=trials, seed=77)))
    assert b.value == pytest.approx(theirs.score, abs=1e-9)
    assert drawn.mean() == pytest.approx(theirs.mean, abs=1e-4)  # theirs in float32
    assert (drawn[-1 - trials // 40] - drawn[trials // 40]) / 2 == pytest.approx(theirs.ci, abs=1e-4)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_p_values_of_equal_systems_are_uniform(test) -> None:
    """Kolmogorov's distance from the uniform distribution, with the limit of a test at one in a thousand."""
    data, tests = np.random.default_rng(8), 400
    p_values = []
    for _ in range(tests):
        length = data.integers(5, 30, size=(60, 1))
        a, b = (
            Counted("TER", "", np.hstack([data.binomial(length, 0.4), length]).astype(float), edit_rate)
            for _ in range(2)
        )
        result = test(
            a, b, seed=int(data.integers(1 << 30)), **{"resamples" if test is paired_bootstrap else "trials": 199}
        )
        p_values.append(result if isinstance(result, float) else result.p_value)
    expected = np.arange(1, tests + 1) / tests
    distance = np.abs(np.sort(p_values) - expected).max()
    assert distance < 1.95 / np.sqrt(tests) + 1 / 200  # p-values are multiples of 1/200


def test_identical_systems_have_a_p_value_of_one() -> None:
    counts = system_counts(A, REFERENCES)
    for row in comparisons(counts.scores, counts.scores, resamples=50, trials=50):
        assert (row.difference, row.bootstrap.p_value, row.randomisation_p_value) == (0, 1, 1)
        assert row.bootstrap.b_wins == 0.5
        assert row.bootstrap.interval_difference.low == row.bootstrap.interval_difference.high == 0
        assert row.better() is None


def test_a_clear_difference_is_found_from_both_sides() -> None:
    good, bad = system_counts(noisy(0.1, 3), REFERENCES), system_counts(noisy(0.6, 4), REFERENCES)
    for first, second, winner, wins in ((bad, good, "B", 1), (good, bad, "A", 0)):
        for row in comparisons(first.scores, second.scores, resamples=200, trials=200):
            assert row.better() == winner  # TER too, where lower is better
            assert row.bootstrap.b_wins == wins
            assert row.bootstrap.p_value == row.randomisation_p_value == 1 / 201
    for one, other in zip(
        comparisons(bad.scores, good.scores, trials=200), comparisons(good.scores, bad.scores, trials=200), strict=True
    ):
        assert one.difference == -other.difference
        assert one.bootstrap.interval_difference.low == pytest.approx(-other.bootstrap.interval_difference.high)


def test_the_seed_decides() -> None:
    a, b = ter_counts(A, REFERENCES), ter_counts(B, REFERENCES)
    assert paired_bootstrap(a, b, resamples=99, seed=1) == paired_bootstrap(a, b, resamples=99, seed=1)
    assert paired_bootstrap(a, b, resamples=99, seed=1) != paired_bootstrap(a, b, resamples=99, seed=2)


def test_systems_of_different_sizes_are_refused() -> None:
    with pytest.raises(ScoreError, match="60 outputs and the other 59"):
        approximate_randomisation(bleu_counts(A, REFERENCES), bleu_counts(A[1:], REFERENCES[1:]))
