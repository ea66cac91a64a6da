"""How good the translations are, in numbers that say how they were computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.evaluation.paper_bleu import NAME as PAPER_BLEU
from heedful.evaluation.paper_bleu import WHY_IT_DIFFERS
from heedful.evaluation.significance import ConfidenceInterval
from heedful.report.markup import Cell, Html, Section, breakable, facts, paragraph, table
from heedful.report.run_scores import RunScores

WATCHED = (
    "This is the text that the run was watched with, so settings may have been chosen to suit it: text that nobody has "
    "looked at (--source and --reference) gives a fairer score."
)


def scores_section(scores: RunScores | None, *, why_not: str) -> Section:
    """The scores with their intervals and signatures; without any, why."""
    if scores is None:
        return Section("Scores", paragraph(f"No text was translated: {why_not}.", kind="warning"))
    report = scores.report
    rows = [
        (
            f"{score.name} (lower is better)" if score.lower_is_better else score.name,
            Html(f"<b>{score.value:.2f}</b>"),
            _interval(score.interval),
            Html(f"<code>{breakable(score.signature)}</code>"),
        )
        for score in report.scores
    ]
    notes = [f"{name} is left out: {reason}." for name, reason in report.left_out.items()]
    notes += [f"Note: {note}." for note in report.notes]
    parts = [
        paragraph(f"{report.sentences:,} sentences: {scores.about}."),
        table(("score", "value", "95 % interval", "signature"), rows, numbers=(1, 2)),
        *(paragraph(note, kind="warning") for note in notes),
        facts(_facts(scores)),
        *([paragraph(WATCHED, kind="note")] if scores.is_validation else []),
        paragraph(_how_to_read(scores), kind="note"),
    ]
    return Section("Scores", "".join(parts))


def _interval(found: ConfidenceInterval | None) -> str:
    return "–" if found is None else f"{found.low:.2f} to {found.high:.2f}"


def _facts(scores: RunScores) -> dict[str, Cell]:
    speed = scores.speed
    found: dict[str, Cell] = {"weights": scores.weights, "search": _search(scores.search)}
    numbers = [(scores.perplexity.get(key), name) for key, name in (("per_subword", "subword"), ("per_word", "word"))]
    known = [f"{value:,.2f} a {name}" for value, name in numbers if value is not None]
    found["perplexity"] = f"{', '.join(known) or 'not finite'}, of the references"
    found["length"] = f"{scores.report.length_ratio:.3f} words for each word of the references"
    sentences, tokens = speed["sentences_per_second"], speed["target_tokens_per_second"]
    found["speed"] = f"{sentences:,.1f} sentences/s, {tokens:,.0f} target tokens/s on {speed['device']}"
    return found


def _search(search: Mapping[str, Any]) -> str:
    if search["method"] == "greedy":
        return "greedy: the most probable subword each time"
    if search["method"] == "sample":
        return f"samples, seed {search['seed']}, temperature {search['temperature']:g}"
    return f"beam of {search['beam_size']}, length penalty α = {search['length_penalty']:g} (section 6.1)"


def _how_to_read(scores: RunScores) -> str:
    interval = (
        "An interval is where 95 % of the scores lie when the sentences are drawn anew, with replacement: what another "
        "text of this kind might have given. It knows nothing of other seeds."
    )
    return interval if PAPER_BLEU in scores.report.left_out else f"{interval} {WHY_IT_DIFFERS}"
