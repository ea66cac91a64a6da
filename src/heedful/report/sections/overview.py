"""What was trained, how far it is, and how good."""

from __future__ import annotations

from heedful.report.markup import Cell, Section, facts, paragraph
from heedful.report.run_scores import RunScores
from heedful.runs.record import RunRecord


def overview_section(record: RunRecord, scores: RunScores | None) -> Section:
    """The run in a few lines, and everything that could not be read."""
    notes = "".join(paragraph(f"Note: {problem}.", kind="warning") for problem in record.problems)
    return Section("The run", notes + facts(_facts(record, scores)))


def duration(minutes: float) -> str:
    """Minutes as a person says them.

    >>> duration(0.5), duration(12.34), duration(200)
    ('30 seconds', '12.3 minutes', '3 h 20 min')
    """
    if minutes < 1:
        return f"{60 * minutes:.0f} seconds"
    return f"{minutes:.1f} minutes" if minutes < 90 else f"{int(minutes) // 60} h {int(minutes) % 60} min"


def _facts(record: RunRecord, scores: RunScores | None) -> dict[str, Cell]:
    run, description = record.run, record.description
    found: dict[str, Cell] = {"state": run.state + (f": {run.why}" if run.why else "")}
    if run.step is not None:
        of = f" of {run.steps:,}" if run.steps is not None else ""
        found["steps"] = f"{run.step:,}{of}"
    if run.minutes is not None:
        found["time"] = duration(run.minutes)
    found["begun"] = str(description.get("started", "not recorded")).replace("T", " ").replace("+00:00", " UTC")
    model = record.config.model
    sizes = (
        f"{model.encoder_layers} + {model.decoder_layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.num_heads} heads"
    )
    found["model"] = f"{run.model}: {sizes}" if isinstance(description.get("preset"), str) else sizes
    if run.parameters is not None:
        found["parameters"] = run.parameters
    found["data"] = _data(record)
    if description.get("init"):
        found["began with"] = f"the weights of {description['init']}"
    if record.environment.get("device"):
        found["on"] = str(record.environment["device"])
    if run.best is not None:
        found["best validation"] = f"{run.best.metric} {run.best.value:.4g} at step {run.best.step:,}"
    if scores is not None:
        best = scores.report.scores[0]
        found[best.name] = f"{best.value:.2f} on {scores.about}"
    return found


def _data(record: RunRecord) -> str:
    if record.corpus is not None:
        return f"{record.corpus.manifest.splits['train'].pairs:,} pairs of {record.corpus.folder}"
    data = record.description.get("data")
    return str(data.get("folder")) if isinstance(data, dict) else "not recorded"
