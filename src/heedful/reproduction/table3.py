"""Table 3 on a page: our rows beside the paper's, their differences from base, a picture, and what held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from heedful.presets import BY_NAME
from heedful.report.charts import add_axes, new_figure
from heedful.report.pages import colour, svg_file
from heedful.reproduction.conclusions import Comparison, Measure, difference_text, short_name, verdicts
from heedful.reproduction.drawing import add_words, shown
from heedful.reproduction.paper_tables import TABLE_3
from heedful.reproduction.records import Page, Record, markdown_table, plain
from heedful.reproduction.rows import Row


@dataclass(frozen=True)
class Verdicted:
    """A conclusion of the paper, and what became of it."""

    conclusion: str
    verdict: str
    why: str


_LEFT, _LINE, _TOP, _BOTTOM = 150.0, 19.0, 62.0, 40.0
_WIDTH = 400.0


def table3_record(rows: Sequence[Row]) -> Record:
    """All rows, and what they say of the paper's conclusions."""
    found = [Verdicted(sentence, verdict, why) for sentence, (verdict, why) in verdicts(Comparison(rows)).items()]
    commands = "\n".join(dict.fromkeys(row.command for row in rows))
    devices = ", ".join(sorted({row.device for row in rows}))
    return Record("table3", devices, max(row.date for row in rows), commands, plain(rows=rows, conclusions=found))


def table3_page(rows: Sequence[Row]) -> Page:
    """The page of the rows that there are."""
    found, first = Comparison(rows), rows[0]
    corpus = first.corpus
    missing = [short_name(name) for name in TABLE_3 if name not in found.names]
    text = [
        "# Table 3: variations of the base model\n",
        f"Trained on {corpus.name} ({corpus.pairs:,} pairs), scored on its {corpus.validation_pairs:,} validation "
        "pairs. The paper's figures are of newstest2013 after 100,000 steps on WMT14 (300,000 for big), so only "
        f"differences can be compared. Each row: {first.budget.about}. {_machines(rows)}\n",
        _main_table(found),
        _AFTER.format(signature=first.bleu_signature),
        *([f"Not run yet: {', '.join(missing)}.\n"] if missing else []),
        *_noise(found),
    ]
    pictures: dict[str, str] = {}
    if "base" in found.names and len(found.names) > 1:
        pictures["table3-loss.svg"] = _picture(found, "loss")
        pictures["table3-bleu.svg"] = _picture(found, "bleu")
        text.append(shown(dict.fromkeys(pictures, "Difference of each row from base")))
    text += ["## What the paper concludes, and whether it held\n", _conclusion_table(found)]
    return Page("\n".join(text), pictures)


_AFTER = """PPL is a subword's. Δ is the difference from base: of ln PPL, in nats, and of BLEU, ours with its 95 % \
interval, then the paper's. BLEU: beam 4, length penalty 0.6, no averaging (`{signature}`).
"""


def _machines(rows: Sequence[Row]) -> str:
    devices, days = sorted({row.device for row in rows}), sorted({row.date for row in rows})
    return f"{', '.join(devices)}; {days[0]}{f' to {days[-1]}' if days[-1] != days[0] else ''}."


def _main_table(found: Comparison) -> str:
    rows = []
    for name in found.names:
        runs, printed = found.runs(name), BY_NAME[name].paper_parameters
        ppl, bleu = TABLE_3[name]
        steps = sum(run.steps for run in runs) / len(runs)
        cells = [short_name(name), BY_NAME[name].about, len(runs), f"{steps:,.0f}"]
        cells += [f"{runs[0].parameters / 1e6:.1f}", printed or "", f"{math.exp(found.mean(name, 'loss')):.2f}", ppl]
        cells += [_delta(found, name, "loss"), f"{found.mean(name, 'bleu'):.2f}", bleu, _delta(found, name, "bleu")]
        rows.append(cells)
    numbers = ["seeds", "steps", "M parameters", "paper", "PPL", "paper's", "BLEU", "paper's"]
    columns = ["row", "change", *numbers[:4], "PPL", "paper", "Δ ln PPL (paper)", "BLEU", "paper", "Δ BLEU (paper)"]
    return markdown_table(columns, rows, right=numbers)


def _delta(found: Comparison, name: str, measure: Measure) -> str:
    """Ours, and the paper's."""
    if name == "base" or "base" not in found.names:
        return ""
    return f"{difference_text(found.difference(name, 'base', measure))} ({_paper_difference(name, measure):+.3f})"


def _paper_difference(name: str, measure: Measure) -> float:
    (ppl, bleu), (base_ppl, base_bleu) = TABLE_3[name], TABLE_3["base"]
    return math.log(ppl / base_ppl) if measure == "loss" else bleu - base_bleu


def _noise(found: Comparison) -> list[str]:
    spreads = [found.spread(measure) for measure in ("loss", "bleu")]
    if not spreads[0][1]:
        return ["No row was trained twice, so nobody can say what chance does, and nothing is decided.\n"]
    return [
        f"From one seed to the next a row's loss differs by {spreads[0][0]:.4f} nats and its BLEU by "
        f"{spreads[1][0]:.2f} (standard deviation, {spreads[0][1]} degrees of freedom).\n"
    ]


def _conclusion_table(found: Comparison) -> str:
    rows = []
    for sentence, (verdict, why) in verdicts(found).items():
        shown_verdict = "not decided at this budget" if verdict == "not decided" else verdict
        rows.append([sentence, f"**{shown_verdict}**", why])
    return markdown_table(["the paper", "here", "why"], rows)


def _picture(found: Comparison, measure: Measure) -> str:
    """A line for each row: our difference from base with its interval, and the paper's."""
    names = [name for name in found.names if name != "base"]
    height = _TOP + _LINE * len(names) + _BOTTOM
    figure = new_figure(_WIDTH, height)
    unit = "ln PPL, nats: left is better" if measure == "loss" else "BLEU: right is better"
    add_words(figure, "Difference from base", (0, 16), size=15, kind="ink")
    add_words(figure, unit, (0, 36))
    box = (_LEFT, _TOP, _WIDTH - _LEFT - 12, _LINE * len(names))
    axes = add_axes(figure, box, ylim=(len(names) - 0.5, -0.5), yticks=[])
    axes.axvline(0, color=colour("soft"), linewidth=1)
    for kind, at, said in (("line-1", _LEFT, "ours"), ("line-4", _LEFT + 80, "the paper's")):
        sign = add_axes(figure, (at, 44, 10, 10), xlim=(-1, 1), ylim=(-1, 1))
        sign.set_axis_off()
        sign.plot([0], [0], marker="o" if said == "ours" else "D", markersize=6, color=colour(kind), markeredgewidth=0)
        add_words(figure, said, (at + 14, 53), size=11)
    for place, name in enumerate(names):
        ours = found.difference(name, "base", measure)
        axes.axhline(place, color=colour("rule"), linewidth=1, zorder=0)
        if ours.interval is not None:
            ends = [ours.interval.low, ours.interval.high]
            axes.plot(ends, [place, place], color=colour("line-1"), linewidth=2, alpha=0.55)
        paper = _paper_difference(name, measure)
        axes.plot([paper], [place], "D", color=colour("line-4"), markersize=5, markeredgewidth=0)
        axes.plot([ours.value], [place], "o", color=colour("line-1"), markersize=6.5, markeredgewidth=0)
        add_words(figure, short_name(name), (0, _TOP + _LINE * (place + 0.5) + 4), size=12, kind="ink")
    return svg_file(figure, label=f"Difference of each row from base in {unit}")
