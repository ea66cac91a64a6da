"""Files of a run, spoiled in every way: success or a clear error, never anything else, and soon."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutations import EXAMPLES, require_clear_errors
from tests.unit.test_runs import SKIPPED_TEXT, TRAIN_TEXT, VALIDATION_TEXT

from heedful.runs.metrics import METRICS, Metrics, cut_metrics, read_metrics


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_metrics_are_read_and_cut(tmp_path: Path, examples: int) -> None:
    def read(content: bytes) -> Metrics:
        (tmp_path / METRICS).write_bytes(content)
        metrics = read_metrics(tmp_path)
        cut_metrics(tmp_path, after_step=50)
        assert not read_metrics(tmp_path).problems or metrics.problems
        return metrics

    lines = [TRAIN_TEXT, VALIDATION_TEXT, SKIPPED_TEXT, TRAIN_TEXT.replace('"step": 50', '"step": 60')]
    require_clear_errors("".join(f"{line}\n" for line in lines).encode(), read, examples=examples)
