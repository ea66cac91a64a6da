"""Hypotheses as a device hands them over become results, whatever was wanted of each sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from heedful.search.engine import _hypotheses, _OnHost


@pytest.mark.parametrize("wanted", [[1, 1, 1], [0, 3, 2], [0, 0, 0], [9, 1, 9]])
def test_each_sentence_gets_its_best_and_no_other_s(wanted: list[int]) -> None:
    draw = np.random.default_rng(0)
    slots, beams, positions = 3, 2, 6
    score = np.array([[-1.0, -2.0], [-3.0, -0.5], [-0.25, -np.inf]])
    sums, length = draw.normal(size=(slots, beams)), draw.integers(1, positions, (slots, beams))
    rows = draw.integers(0, beams, (slots, beams, positions))
    ids = draw.integers(3, 90, (slots, beams, positions))
    given = _OnHost.of([torch.from_numpy(table) for table in (score, sums, length, rows, ids)])
    for slot, own in enumerate(_hypotheses(given, wanted)):
        best = [beam for beam in np.argsort(-score[slot]) if score[slot, beam] > -np.inf][: wanted[slot]]
        assert [one.score for one in own] == [score[slot, beam] for beam in best]
        assert [one.log_probability for one in own] == [sums[slot, beam] for beam in best]
        for one, beam in zip(own, best, strict=True):
            path = rows[slot, beam, : length[slot, beam] + 1]
            assert one.rows.tolist() == path.tolist()
            assert one.ids.tolist() == [ids[slot, row, place] for place, row in enumerate(path)][1:]
