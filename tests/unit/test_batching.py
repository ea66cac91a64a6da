"""Section 5.1: who is in the batch of a step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from heedful.data import batching
from heedful.data.batching import Appearances, Schedule
from heedful.data.corpus import Lengths
from heedful.data.micro_batches import micro_batches
from heedful.errors import BatchError


def lengths(count: int, *, longest: int = 120, seed: int = 0) -> Lengths:
    """Token counts as real text has them: log-normal, the target near the source."""
    rng = np.random.default_rng(seed)
    source = np.clip(rng.lognormal(2.6, 0.6, count), 1, longest - 1).astype(np.int32) + 1
    target = np.clip(source * rng.normal(1.1, 0.25, count), 2, longest).astype(np.int32)
    return Lengths(source, target)


def schedule(count: int = 3000, *, budget: int = 512, seed: int = 1, **options) -> Schedule:
    return Schedule(lengths(count), source_budget=budget, target_budget=budget, seed=seed, **options)


def all_batches(plan: Schedule, epoch: int) -> list[np.ndarray]:
    first = epoch * plan.steps_per_epoch
    return [plan.batch(step) for step in range(first, first + plan.steps_per_epoch)]


def test_every_pair_comes_exactly_once_an_epoch() -> None:
    plan = schedule()
    for epoch in (0, 1, 7):
        assert sorted(np.concatenate(all_batches(plan, epoch)).tolist()) == list(range(3000))


def test_no_batch_is_over_either_budget_nor_empty() -> None:
    plan = Schedule(lengths(3000), source_budget=700, target_budget=300, seed=1)
    for batch in all_batches(plan, 0):
        assert len(batch)
        assert plan.lengths.source[batch].sum() <= 700
        assert plan.lengths.target[batch].sum() <= 300


def test_batches_are_cut_as_a_loop_over_pairs_would_cut_them() -> None:
    plan = schedule()
    pairs = plan.epoch(3).pairs
    cuts, source, target = [0], 0, 0
    for place, pair in enumerate(pairs):
        s, t = int(plan.lengths.source[pair]), int(plan.lengths.target[pair])
        if source + s > 512 or target + t > 512:
            cuts.append(place)
            source = target = 0
        source, target = source + s, target + t
    cuts.append(len(pairs))
    assert plan._cuts(plan.lengths.of(pairs)).tolist() == cuts


def test_small_chunks_change_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [batch.tolist() for batch in all_batches(schedule(budget=130), 2)]
    monkeypatch.setattr(batching, "_CHUNK", 64)
    assert [batch.tolist() for batch in all_batches(schedule(budget=130), 2)] == whole


def test_a_seek_gives_the_batch_that_iteration_gives() -> None:
    iterated = schedule()
    steps = 3 * iterated.steps_per_epoch
    batches = [iterated.batch(step) for step in range(steps)]
    for step in (0, 1, steps // 2, steps - 1):
        assert schedule().batch(step).tolist() == batches[step].tolist()


def test_a_seek_plans_one_epoch_only(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = []
    original = Schedule._plan
    monkeypatch.setattr(Schedule, "_plan", lambda self, epoch: planned.append(epoch) or original(self, epoch))
    plan = schedule()
    plan.batch(50 * plan.steps_per_epoch + 3)
    assert planned == [50]


def test_order_and_company_change_with_the_epoch_and_the_seed() -> None:
    plan, other = schedule(), schedule(seed=2)

    def companions(batches: list[np.ndarray]) -> set[tuple[int, int]]:
        return {pair for batch in batches for pair in itertools.combinations(sorted(batch.tolist()), 2)}

    first = companions(all_batches(plan, 0))
    for again in (all_batches(plan, 1), all_batches(other, 0)):
        assert len(first & companions(again)) < 0.7 * len(first)
        assert [batch.tolist() for batch in again] != [batch.tolist() for batch in all_batches(plan, 0)]


def test_the_longest_pairs_change_company_too() -> None:
    plan = schedule(20_000)
    longest = set(np.argsort(plan.lengths.source)[-200:].tolist())

    def companions(epoch: int) -> set[tuple[int, int]]:
        batches = (sorted(longest & set(batch.tolist())) for batch in all_batches(plan, epoch))
        return {pair for batch in batches for pair in itertools.combinations(batch, 2)}

    assert len(companions(0) & companions(1)) < 0.9 * len(companions(0))


def test_batches_come_in_random_order_not_by_length() -> None:
    plan = schedule()
    means = [plan.lengths.source[batch].mean() for batch in all_batches(plan, 0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


def test_the_batches_of_a_seed_never_change() -> None:
    """Golden numbers, printed by these same lines when the scheme was fixed: a resumed run depends on them."""
    source = 5 + np.arange(200) * 7919 % 41
    plan = Schedule(Lengths(source, source + np.arange(200) % 7), source_budget=256, target_budget=256, seed=1)
    assert plan.steps_per_epoch == 24
    assert plan.batch(plan.steps_per_epoch + 2).tolist() == [155, 162, 25, 32, 39, 114, 80]


def test_weights_say_how_often_a_pair_comes() -> None:
    weights = np.repeat([1.0, 2.0, 0.25, 1.5], 500)
    plan = schedule(2000, weights=weights)
    counts = np.zeros((40, 2000), int)
    for epoch in range(40):
        np.add.at(counts[epoch], np.concatenate(all_batches(plan, epoch)), 1)
    assert (counts[:, :500] == 1).all()
    assert (counts[:, 500:1000] == 2).all()
    assert set(np.unique(counts[:, 1000:1500])) == {0, 1}
    assert set(np.unique(counts[:, 1500:])) == {1, 2}
    assert (counts[:, 1000:1500].sum(axis=1) == 125).all()
    assert (counts[:, 1500:].sum(axis=1) == 750).all()
    # Each pair has the same chance: of 40 draws with p = 1/4 nobody should be left out or always be in.
    means = counts[:, 1000:1500].mean(axis=0)
    assert means.min() > 0
    assert means.max() < 0.7


def test_a_sampled_pair_is_never_longer_than_its_bound() -> None:
    found = lengths(1000)
    appearances = Appearances(found, weights=np.repeat([0.3, 1.7], 500))
    bounds = appearances.bounds
    everything = np.arange(len(appearances))
    for epoch in range(200):
        pairs = appearances.pairs(everything, seed=1, epoch=epoch)
        assert (found.source[pairs] <= bounds.source).all()
        assert (found.target[pairs] <= bounds.target).all()


def test_an_epoch_whose_noise_costs_batches_falls_back_to_the_noiseless_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # Noise that turns the line around: short and long sentences meet, and greedy cutting wastes room.
    monkeypatch.setattr(batching, "_stretched", lambda tokens, random: random % np.uint64(64))
    source = np.repeat([1, 60], 200).astype(np.int32)
    plan = Schedule(Lengths(source, source), source_budget=100, target_budget=100, seed=1)
    for epoch in range(3):
        batches = all_batches(plan, epoch)
        assert sorted(np.concatenate(batches).tolist()) == list(range(400))
        assert len(batches) == plan.steps_per_epoch


def test_a_pair_that_fits_no_batch_is_an_error_with_its_numbers() -> None:
    tokens = np.array([5, 90, 7])
    with pytest.raises(
        BatchError, match=r"pair 1 has 90 target tokens, but a batch holds at most 64: raise training\.tar"
    ):
        Schedule(Lengths(np.array([5, 5, 5]), tokens), source_budget=64, target_budget=64, seed=1)
    with pytest.raises(BatchError, match="there are no pairs"):
        Schedule(Lengths(tokens[:0], tokens[:0]), source_budget=64, target_budget=64, seed=1)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16])
def test_pieces_are_the_batch_and_nearly_equal(count: int) -> None:
    plan = schedule(budget=4096)
    for batch in all_batches(plan, 0):
        pieces = micro_batches(batch, count=count, lengths=plan.lengths)
        assert len(pieces) == count
        assert sorted(np.concatenate(pieces).tolist()) == sorted(batch.tolist())
        for tokens in (plan.lengths.source, plan.lengths.target):
            worst = max(abs(tokens[piece].sum() - tokens[batch].sum() / count) for piece in pieces)
            assert worst <= 2.1 * tokens[batch].max() * (count > 1)


def test_a_batch_of_fewer_pairs_than_pieces_gives_empty_pieces() -> None:
    tokens = np.array([3, 4])
    pieces = micro_batches(np.array([1, 0]), count=5, lengths=Lengths(tokens, tokens))
    assert sorted(len(piece) for piece in pieces) == [0, 0, 0, 1, 1]
