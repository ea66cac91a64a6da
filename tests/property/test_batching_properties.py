"""For any corpus and any budget: every pair once an epoch, seeks, ranks, shapes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data.batching import Appearances, Schedule
from heedful.data.corpus import Lengths
from heedful.data.micro_batches import micro_batches, most_tokens

LENGTH = st.one_of(st.integers(1, 12), st.integers(1, 300))


@st.composite
def schedules(draw: st.DrawFn, *, weighted: bool = False) -> Schedule:
    pairs = draw(st.lists(st.tuples(LENGTH, LENGTH), min_size=1, max_size=150))
    repeats = draw(st.integers(1, 5))
    source, target = np.tile(np.array(pairs, np.int32), (repeats, 1)).T
    budgets = [int(tokens.max()) + draw(st.integers(0, 1500)) for tokens in (source, target)]
    weights = None
    if weighted:
        choices = draw(st.lists(st.sampled_from([1.0, 0.1, 0.5, 1.5, 2.0, 3.9, 1 / 3]), min_size=1, max_size=4))
        weights = np.resize(choices, len(source))
    seed = draw(st.integers(0, 2**32))
    return Schedule(Lengths(source, target), *budgets, seed=seed, weights=weights)


def batches(plan: Schedule, epoch: int) -> list[np.ndarray]:
    first = epoch * plan.steps_per_epoch
    return [plan.batch(step) for step in range(first, first + plan.steps_per_epoch)]


@settings(deadline=None, max_examples=150)
@given(plan=schedules(), epoch=st.integers(0, 10**6))
def test_every_pair_appears_exactly_once_an_epoch_within_the_budgets(plan: Schedule, epoch: int) -> None:
    found = batches(plan, epoch)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(plan.lengths.source)))
    for batch in found:
        assert 0 < plan.lengths.source[batch].sum() <= plan.source_budget
        assert 0 < plan.lengths.target[batch].sum() <= plan.target_budget


@settings(deadline=None, max_examples=150)
@given(plan=schedules(weighted=True), epoch=st.integers(0, 10**6))
def test_a_weighted_pair_appears_its_whole_number_of_times_or_once_more(plan: Schedule, epoch: int) -> None:
    assert plan.weights is not None
    found = batches(plan, epoch)
    times = np.bincount(np.concatenate(found), minlength=len(plan.lengths.source))
    whole = np.floor(plan.weights)
    assert (times >= whole).all()
    assert (times <= np.ceil(plan.weights)).all()
    for share in np.unique(plan.weights % 1):
        members = plan.weights % 1 == share
        expected = max(1, round(share * members.sum())) if share else 0
        assert (times - whole)[members].sum() == expected
    for batch in found:
        assert plan.lengths.source[batch].sum() <= plan.source_budget
        assert plan.lengths.target[batch].sum() <= plan.target_budget


@settings(deadline=None, max_examples=60)
@given(plan=schedules(weighted=True), data=st.data())
def test_the_batch_after_a_seek_is_the_batch_by_iteration(plan: Schedule, data: st.DataObject) -> None:
    steps = 3 * plan.steps_per_epoch
    by_iteration = [plan.batch(step).tolist() for step in range(steps)]
    step = data.draw(st.integers(0, steps - 1))
    fresh = Schedule(plan.lengths, plan.source_budget, plan.target_budget, plan.seed, plan.weights)
    assert fresh.batch(step).tolist() == by_iteration[step]


@settings(deadline=None, max_examples=100)
@given(plan=schedules(), step=st.integers(0, 1000), count=st.integers(1, 12), data=st.data())
def test_the_union_over_ranks_is_the_single_rank_batch_and_no_micro_batch_is_larger_than_said(
    plan: Schedule, step: int, count: int, data: st.DataObject
) -> None:
    batch = plan.batch(step)
    pieces = micro_batches(batch, count=count, lengths=plan.lengths)
    ranks = data.draw(st.integers(1, count))
    union = [pair for rank in range(ranks) for piece in pieces[rank::ranks] for pair in piece.tolist()]
    assert sorted(union) == sorted(batch.tolist())
    for side, budget in (("source", plan.source_budget), ("target", plan.target_budget)):
        most = most_tokens(budget, micro_batches=count, longest=plan.lengths.longest)
        assert all(int(getattr(plan.lengths, side)[piece].sum()) <= most for piece in pieces)


@settings(deadline=None, max_examples=100)
@given(plan=schedules(weighted=True), epoch=st.integers(0, 1000))
def test_bounds_hold_for_any_sample(plan: Schedule, epoch: int) -> None:
    appearances = Appearances(plan.lengths, weights=plan.weights)
    pairs = appearances.pairs(np.arange(len(appearances)), seed=plan.seed, epoch=epoch)
    bounds = appearances.bounds
    assert (plan.lengths.source[pairs] <= bounds.source).all()
    assert (plan.lengths.target[pairs] <= bounds.target).all()
