"""How scores, intervals and sentences are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from heedful.cli.terminal import console, figure, plain_table, visible
from heedful.evaluation.counts import PAPER_BLEU, WHY_IT_DIFFERS
from heedful.evaluation.significance import ConfidenceInterval


def print_evaluation(facts: dict[str, Any]) -> None:
    """What ``heedful evaluate`` says to a person."""
    out = console()
    by = f", translated by {facts['model']}" if facts["model"] is not None else ""
    out.print(f"{facts['sentences']:,} sentences of {facts['reference']}{by}\n")
    numbers = ("value", "95 % interval")
    table = _with_signatures(plain_table("score", *numbers, "signature", right=numbers))
    for score in facts["scores"]:
        name = f"{score.name} (lower is better)" if score.lower_is_better else score.name
        table.add_row(name, f"{score.value:.2f}", _interval(score.interval), score.signature)
    out.print(table, "")
    for name, reason in facts["left_out"].items():
        out.print(f"{name} is left out: {reason}")
    for note in facts["notes"]:
        out.print(f"note: {note}")
    if PAPER_BLEU not in facts["left_out"]:
        out.print(f"{WHY_IT_DIFFERS}\n")
    out.print(f"length        {facts['length_ratio']:.3f} words for each word of the reference")
    if facts["perplexity"] is not None:
        found = (facts["perplexity"][name] for name in ("per_subword", "per_word"))
        per_subword, per_word = (figure(value, ",.2f", missing="infinite") for value in found)
        out.print(f"perplexity    {per_subword} a subword, {per_word} a word, of the reference")
    if facts["speed"] is not None:
        speed = facts["speed"]
        sentences, tokens = speed["sentences_per_second"], speed["target_tokens_per_second"]
        out.print(f"speed         {sentences:,.1f} sentences/s, {tokens:,.0f} target tokens/s on {speed['device']}")
    worst = facts["examples"].worst
    _print_sentences(out, f"the worst {len(worst)}", worst, ("source", "reference", "output"))


def print_parse_scores(facts: dict[str, Any]) -> None:
    """What ``heedful evaluate`` says of parses to a person."""
    out = console()
    by = f", parsed by {facts['model']}" if facts["model"] is not None else ""
    out.print(f"{facts['sentences']:,} sentences of {facts['reference']}{by}\n")
    table = plain_table("score", "value", "95 % interval", right=("value", "95 % interval"))
    for score in facts["scores"]:
        table.add_row(score.name, f"{score.value:.2f}", _interval(score.interval))
    out.print(table, "")
    out.print(f"signature     {facts['scores'][0].signature}")
    if facts["speed"] is not None:
        speed = facts["speed"]
        out.print(f"speed         {speed['sentences_per_second']:,.1f} sentences/s on {speed['device']}")
    worst = facts["examples"]
    _print_sentences(out, f"the worst {len(worst)}", worst, ("reference", "output"), by="F1")


def print_comparison(facts: dict[str, Any]) -> None:
    """What ``heedful compare`` says to a person."""
    out = console()
    for name in ("a", "b"):
        out.print(f"{name.upper()}  {facts[name]}")
    out.print(f"{facts['sentences']:,} sentences of {facts['reference']}\n")
    for table in _comparison_tables(facts["comparisons"]):
        out.print(table, "")
    lower = " TER counts errors: lower is better." if facts.get("task") is None else ""
    out.print(
        f"In brackets: 95 % intervals of {facts['resamples']:,} resamples, in which B wins so often. A p-value is how "
        f"often chance alone makes a difference as large ({facts['trials']:,} trials of randomisation); “better” is "
        f"said where the last one is below {facts['level']:g}.{lower}",
        markup=False,
    )
    for name in ("a", "b") if "examples" in facts else ():
        texts = ("source", "reference", "output_a", "output_b")
        _print_sentences(out, f"where {name.upper()} leads most", getattr(facts["examples"], name), texts)


def _comparison_tables(rows: list[dict[str, Any]]) -> list[Table]:
    """Three, since one would be wider than a terminal."""
    systems, tests = ("A", "B", "B − A"), ("B wins", "p bootstrap", "p randomisation")
    values, answers = plain_table("score", *systems, right=systems), plain_table("score", *tests, "better", right=tests)
    signatures = _with_signatures(plain_table("score", "signature"))
    for row in rows:
        bootstrap = row["bootstrap"]
        values.add_row(
            row["name"],
            f"{row['a']:.2f} [{_interval(bootstrap.interval_a)}]",
            f"{row['b']:.2f} [{_interval(bootstrap.interval_b)}]",
            f"{row['difference']:+.2f} [{_interval(bootstrap.interval_difference, '+')}]",
        )
        p_values = f"{bootstrap.p_value:.4f}", f"{row['randomisation_p_value']:.4f}"
        answers.add_row(row["name"], f"{bootstrap.b_wins:.1%}", *p_values, row["better"] or "not shown")
        signatures.add_row(row["name"], row["signature"])
    return [values, answers, signatures]


def _with_signatures(table: Table) -> Table:
    """The table, with a last column that is folded where it is too long: half a signature says nothing."""
    table.columns[-1].overflow = "fold"
    return table


def _interval(interval: ConfidenceInterval, sign: str = "") -> str:
    return f"{interval.low:{sign}.2f} … {interval.high:{sign}.2f}"


def _print_sentences(
    out: Console, title: str, sentences: Sequence[object], texts: tuple[str, ...], *, by: str = "chrF"
) -> None:
    """Sentences with their score, of one system or of A and B."""
    if sentences:
        out.print(f"\n{title} by {by}", style="bold")
    for given in sentences:
        sentence, name = given if isinstance(given, dict) else vars(given), by.lower()
        two = f"{name}_a" in sentence
        scores = f"A {{{name}_a:.1f}}, B {{{name}_b:.1f}}" if two else f"{{{name}:.1f}}"
        out.print(f"line {sentence['line']:,}, {by} {scores.format(**sentence)}", style="dim")
        for name in texts:
            if sentence[name] is not None:
                label = {"output_a": "A", "output_b": "B"}.get(name, name)
                # A translation that repeats itself can be very long.
                out.print(f"  {label:<10}{visible(sentence[name], most=400)}", soft_wrap=True)
