"""The measurements behind `heedful reproduce`: each against another way to know the same."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.trained_toys import train_toy
from tests.training_toys import write_toy
from torch import nn
from torch.nn import functional as F

from heedful.data.corpus import Corpus
from heedful.errors import ReportError, SearchError
from heedful.evaluation.translation_scores import Score
from heedful.files import write_json
from heedful.presets import preset
from heedful.report.charts import Chart, Series
from heedful.reproduction import positions, table2, table4
from heedful.reproduction.complexity import (
    counted_operations,
    crossing,
    growth,
    kept_bytes,
    longest_path,
    product_chain,
)
from heedful.reproduction.conclusions import CONCLUSIONS, Comparison, t_quantile, verdicts
from heedful.reproduction.copying import CopyPlan, copying_accuracy
from heedful.reproduction.dot_product import softmax_gradient
from heedful.reproduction.drawing import chart_picture
from heedful.reproduction.figures import anaphora, differing_heads, long_distance, place_of
from heedful.reproduction.layers import HEADS, KERNEL, KINDS, NEIGHBOURHOOD
from heedful.reproduction.paper_tables import TABLE_3
from heedful.reproduction.records import FORMAT, markdown_table
from heedful.reproduction.rows import Budget, Row, TrainedOn, _require_budget, read_rows, row_config, wanted_rows
from heedful.runs.record import run_record
from heedful.training.batches import Batches
from heedful.training.distributed import World
from heedful.training.flops import batch_flops

BY_NAME = {kind.name: kind for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_operations_grow_as_table_1_says(kind) -> None:
    constants = {counted_operations(kind, n, d) / kind.operations(n, d) for n, d in ((64, 64), (128, 64), (128, 512))}
    assert len(constants) == 1


def test_attention_and_recurrence_do_the_same_number_of_operations_where_n_is_d() -> None:
    attention, recurrent = (BY_NAME[name] for name in ("self-attention", "recurrent"))
    assert counted_operations(attention, 192, 192) == counted_operations(recurrent, 192, 192)
    assert counted_operations(attention, 96, 192) < counted_operations(recurrent, 96, 192)
    assert counted_operations(attention, 384, 192) > counted_operations(recurrent, 384, 192)


@pytest.mark.parametrize("n", [5, 40])
def test_the_longest_path_is_that_of_the_windows_on_paper(n: int) -> None:
    """How far a stack of L layers sees, by arithmetic: r / 2 a layer, k − 1 a layer, k^L − 1 in all."""
    window = math.ceil((n - 1) / (KERNEL - 1))
    expected = {
        "self-attention": 1,
        "self-attention, fused": 1,
        "restricted attention": math.ceil((n - 1) / (NEIGHBOURHOOD // 2)),
        "recurrent": n,
        "convolution": window,
        "dilated convolution": next(layers for layers in range(1, n) if KERNEL**layers - 1 >= n - 1),
        "separable convolution": window,
    }
    assert {kind.name: longest_path(kind, n) for kind in KINDS} == expected


def test_only_a_recurrent_layer_waits_for_itself_at_every_position() -> None:
    chains = {kind.name: [product_chain(kind.layer(2 * HEADS, 0), n) for n in (4, 11)] for kind in KINDS}
    assert chains.pop("recurrent") == [4, 11]
    assert all(short == long <= 2 for short, long in chains.values())


def test_what_is_kept_for_the_backward_pass_is_counted_once_without_input_and_weights() -> None:
    class Twice(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.tanh()
            return y * y  # tanh keeps y, and so does the product

    assert kept_bytes(Twice(), torch.ones(3, 5, requires_grad=True)) == 3 * 5 * 4
    assert kept_bytes(nn.Linear(5, 2), torch.ones(3, 5, requires_grad=True)) == 0


def test_growth_and_crossing_are_those_of_known_lines() -> None:
    assert growth([(x, 7 * x**3) for x in (2, 4, 8)]) == pytest.approx(3)
    assert crossing([(x, x * x) for x in (1, 4, 16, 64)], [(x, 10 * x) for x in (1, 4, 16, 64)]) == pytest.approx(10)
    assert crossing([(1, 1), (2, 2)], [(1, 5), (2, 9)]) is None


def test_what_no_path_reaches_is_never_learned_and_what_one_step_reaches_is() -> None:
    plan, cpu = CopyPlan(width=64, layers=1, steps=200), torch.device("cpu")
    assert copying_accuracy(BY_NAME["self-attention"], 12, plan, device=cpu) > 0.9
    assert copying_accuracy(BY_NAME["convolution"], 2, plan, device=cpu) > 0.9
    assert copying_accuracy(BY_NAME["convolution"], 3, plan, device=cpu) < 0.3


def test_the_size_of_the_softmaxs_derivative_is_autograds() -> None:
    scores = torch.randn(7, dtype=torch.float64) * 3
    jacobian = torch.autograd.functional.jacobian(lambda x: F.softmax(x, -1), scores)
    assert softmax_gradient(scores.softmax(-1)) == pytest.approx(float(torch.linalg.matrix_norm(jacobian)))


@pytest.mark.parametrize("freedom", [1, 3, 10, 11, 25, 60])
def test_students_t_leaves_five_per_cent_outside(freedom: int) -> None:
    x = np.linspace(0, t_quantile(freedom), 200_001)
    constant = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
    assert 2 * np.trapezoid(constant * (1 + x**2 / freedom) ** (-(freedom + 1) / 2), x) == pytest.approx(0.95, abs=2e-4)


def row(name: str, loss: float, bleu: float = 20.0, seed: int = 1, **changes) -> Row:
    corpus = TrainedOn("corpus", "abc", 10, 5)
    fields = {"parameters": 1, "steps": 9, "warmup_steps": 2, "minutes": 1.0, "target_tokens": 7}
    fields |= {"bleu_signature": "s", "device": "CPU", "date": "2026-11-16", "heedful": "1", "command": "heedful x"}
    found = Row(name=name, seed=seed, budget=Budget(steps=9), corpus=corpus, loss=loss, bleu=bleu, **fields)
    return dataclasses.replace(found, **changes)


def bases() -> list[Row]:
    return [row("base", loss, bleu, seed) for seed, (loss, bleu) in enumerate([(2.00, 20.0), (2.02, 20.2)], start=1)]


def test_a_conclusion_holds_only_where_chance_cannot_have_made_the_difference() -> None:
    found = verdicts(
        Comparison([*bases(), row("table3-a-h1", 2.5), row("table3-a-h32", 2.1), row("table3-d-drop0", 1.4)])
    )
    assert found["(A) single-head attention is worse than 8 heads"][0] == "held"
    assert found["(A) with too many heads (32) quality drops too"][0] == "not decided"
    assert found["(D) dropout is very helpful"][0] == "not held"
    assert found["(B) smaller keys hurt"] == ("not decided", "not run: b-dk16, b-dk32")


def test_an_interval_is_students_with_the_variance_of_all_repeated_rows() -> None:
    rows = [*bases(), row("table3-a-h1", 2.5), row("table3-a-h1", 2.6, seed=2)]
    found = Comparison(rows).difference("table3-a-h1", "base", "loss")
    variance = ((0.01**2) * 2 + (0.05**2) * 2) / 2  # two deviations in each row, two degrees of freedom
    assert found.value == pytest.approx(0.54)
    assert found.interval is not None
    assert found.interval.high - found.value == pytest.approx(4.303 * math.sqrt(variance * (1 / 2 + 1 / 2)))


def test_without_a_repeated_row_nothing_is_decided() -> None:
    found = verdicts(Comparison([row(name, 1.0 + place) for place, name in enumerate(TABLE_3)]))
    assert {verdict for verdict, _ in found.values()} == {"not decided"}
    assert len(found) == len(CONCLUSIONS)


def write_rows(folder: Path, *rows: Row) -> Path:
    (folder / "rows").mkdir(parents=True)
    for one in rows:
        value = {"format": FORMAT, "format_version": 1, **dataclasses.asdict(one)}
        write_json(folder / "rows" / f"{one.name}-seed{one.seed}.json", value)
    return folder


def test_rows_of_several_folders_make_one_table_in_the_papers_order(tmp_path: Path) -> None:
    one, other = write_rows(tmp_path / "a", row("big", 1.0)), write_rows(tmp_path / "b", *bases())
    assert [(found.name, found.seed) for found in read_rows([one, other])] == [("base", 1), ("base", 2), ("big", 1)]


@pytest.mark.parametrize("change", [{"budget": Budget(steps=8)}, {"corpus": TrainedOn("other", "xyz", 10, 5)}])
def test_rows_of_other_budgets_or_texts_make_no_table(tmp_path: Path, change: dict) -> None:
    folder = write_rows(tmp_path, row("base", 1.0), row("big", 1.0, **change))
    with pytest.raises(ReportError, match="not one table"):
        read_rows([folder])


def test_every_row_has_its_own_sizes_and_the_budgets_schedule() -> None:
    given = {"data": Path(), "budget": Budget(steps=1000, tokens=4000), "device": "cpu"}
    assert [name for name, _ in wanted_rows((), seeds=1)].count("base") == 4
    assert wanted_rows(("a-h1", "big"), seeds=2) == [("table3-a-h1", 1), ("table3-a-h1", 2), ("big", 1), ("big", 2)]
    for name in TABLE_3:
        config = row_config(name, 3, **given)
        assert config.model == preset(name).make().model
        assert (config.training.warmup_steps, config.training.seed, config.training.average_last) == (200, 3, 1)
        # The peak of Equation 3 with the paper's warm-up, whatever the budget.
        assert config.training.learning_rate_scale * 200**-0.5 == pytest.approx(4000**-0.5)
    with pytest.raises(ReportError, match="there is no such row"):
        wanted_rows(("z",), seeds=1)


def test_the_pairs_of_one_length_are_none_that_were_trained_on(tmp_path: Path) -> None:
    data = write_toy(tmp_path, task="copy", pairs=300, valid=200)
    train, valid = Corpus(data), Corpus(data, "valid")
    limit = 6
    seen = {
        tuple(ids)
        for ids, n in zip(train.source.sentences(len(train)), train.lengths.source, strict=True)
        if n <= limit
    }
    held_out = {tuple(ids) for ids in valid.source.sentences(len(valid))}
    classes = positions._classes(train, valid, limit)
    assert max(classes) > limit >= min(classes)
    for longest, pairs in classes.items():
        assert all(max(map(len, pair)) + 1 <= longest for pair in pairs)
        assert all(tuple(source) in held_out or tuple(source) not in seen for source, _ in pairs)


def test_true_operations_are_those_of_every_batch_of_the_run(tmp_path: Path) -> None:
    record = run_record(train_toy(tmp_path, steps=12))
    corpus, config = Corpus(tmp_path / "corpus"), record.config
    batches = Batches(corpus, config.training, layout="padded", device=torch.device("cpu"), world=World())
    taken = [corpus.lengths.of(batches.step(step).pairs) for step in range(1, 13)]
    size = record.description.vocab_size
    exact = sum(batch_flops(config.model, vocab_size=size, lengths=lengths) for lengths in taken)
    assert table2.training_cost(record).true_flops == pytest.approx(exact, rel=0.03)


def parsed(
    trees: int | None, f1: float, kind: str = "Transformer", scored_on: str = "dev", steps: int | None = None
) -> table4.Parsed:
    scores = [Score("precision", 1.0, "s"), Score("F1", f1, "s")]
    return table4.Parsed("run", kind, "", trees, scored_on, 9, scores, steps=steps)


def test_a_learning_curve_has_a_line_for_each_parser_and_test_set() -> None:
    found = [parsed(40, 70.0), parsed(10, 50.0), parsed(10, 30.0, "PCFG"), parsed(40, 71.0, scored_on="test")]
    found += [parsed(40, 75.0, steps=20_000)]
    chart = table4._chart([*found, parsed(None, 99.0)])
    assert chart is not None
    assert {one.name: one.points for one in chart.series} == {
        "Transformer, dev": [(10, 50.0), (40, 70.0)],
        "PCFG, dev": [(10, 30.0)],
        "Transformer, test": [(40, 71.0)],
        "Transformer, 20,000 steps, dev": [(40, 75.0)],
    }
    assert table4._chart([parsed(10, 50.0), parsed(10, 60.0, "PCFG")]) is None  # one size is no curve


WORDS = ["The", "Law", "was", "old,", "but", "its", "end", "came."]


def test_the_rules_of_the_figures_find_the_heads_that_were_planted() -> None:
    """Even weights everywhere but in three heads: one far away, one back to the second word, and two apart."""
    weights = np.full((3, 4, 8, 8), 1 / 8)
    weights[2, :, 1] = np.eye(8)[6]  # Law → end, five words on
    weights[1, 3, 5] = np.eye(8)[1]  # its → Law
    weights[0, 1], weights[0, 2] = np.eye(8), np.roll(np.eye(8), 1, axis=1)  # itself, and the next
    (long,) = long_distance(WORDS, weights, word="law")
    assert {head.layer for head in long.heads} == {3}
    assert all(sum(map(sum, head.weights)) == pytest.approx(1) for head in long.heads)  # of the one word
    whole, alone = anaphora(WORDS, weights)
    assert [(head.layer, head.head) for head in whole.heads] == [(2, 4)]
    assert "“Law”" in whole.rule
    assert len(alone.heads) == 2
    pair = differing_heads(WORDS, weights)
    assert [(figure.heads[0].layer, figure.heads[0].head) for figure in pair] == [(1, 2), (1, 3)]
    with pytest.raises(SearchError, match="do not spell"):
        place_of(WORDS, "making")


def test_a_picture_brings_its_colours_and_can_be_read_by_those_who_cannot_see_it() -> None:
    chart = Chart("A < B", "y", [Series("one & two", [(1, 2), (10, 3)], "line-3")], "n", x_logarithmic=True)
    picture = chart_picture(chart)
    style, used = picture.partition("</style>")[0], set(re.findall(r"var\((--[\w-]+)\)", picture))
    assert "--line-3" in used
    light, dark = style.split("@media")
    assert all(f"{name}:" in light and f"{name}:" in dark for name in used)
    assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert 'role="img" aria-label="A &lt; B' in picture


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert markdown_table(["a", "b"], [["x|y", 1]], right=["b"]).splitlines()[1:] == ["| --- | ---: |", "| x\\|y | 1 |"]


def test_a_row_that_was_stopped_goes_on_with_its_own_budget_alone() -> None:
    config = row_config("big", 1, data=Path(), budget=Budget(steps=500, tokens=4000), device="cpu")
    _require_budget(Path("runs/big-seed1"), config, Budget(steps=500, tokens=4000))
    for other in (Budget(steps=600, tokens=4000), Budget(steps=500), Budget(steps=500, tokens=4000, shrink=16)):
        with pytest.raises(ReportError, match="another budget"):
            _require_budget(Path("runs/big-seed1"), config, other)
