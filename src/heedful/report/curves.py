"""A picture of how a run went: its metrics over its steps, drawn into ``curves.png`` in its folder."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import ReportError
from heedful.runs.metrics import Metrics, TrainLine, ValidationLine, number, read_metrics, read_object
from heedful.runs.run_folder import RUN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVES = "curves.png"
TRAIN, VALIDATION = "#4878a8", "#d1603d"
Line = TrainLine | ValidationLine
FEW_POINTS = 40
"""A line of fewer points shows each of them."""


def write_curves(run_folder: Path) -> Path:
    """Draw loss, perplexity, BLEU where there is one, learning rate, gradient norm and speed; returns the picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    metrics = sound_metrics(run_folder)
    figure = Figure(figsize=(12, 10), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_title(run_folder, metrics), fontsize=13)
    axes: list[Axes] = list(figure.subplots(3, 2).flat)
    _draw_loss(axes[0], metrics)
    _draw_perplexity(axes[1], metrics)
    _draw_learning_rate(axes[2], metrics)
    _draw_gradient_norm(axes[3], metrics)
    _draw_speed(axes[4], metrics)
    _draw_last(axes[5], metrics)
    _share_steps(axes)
    return _written(figure, run_folder / CURVES)


def sound_metrics(run_folder: Path) -> Metrics:
    """The metrics of a run; raises where a line is broken, or none has been written yet."""
    if not run_folder.is_dir():
        raise ReportError(f"there is no run folder {run_folder}")
    metrics = read_metrics(run_folder)
    if metrics.problems:
        raise ReportError("\n".join(metrics.problems))
    if not metrics.train and not metrics.validation:
        raise ReportError(f"{run_folder} has no metrics yet; the first come after training.log_steps steps")
    return metrics


def _draw_loss(axis: Axes, metrics: Metrics) -> None:
    _draw(axis, metrics.train, "loss", TRAIN, label="training (smoothed, with dropout)")
    _draw(axis, metrics.validation, "loss", VALIDATION, label="validation (not smoothed)")
    _mark_best(axis, metrics.validation, "loss", best=min)
    _leave_out_the_fall(axis, metrics.train)
    _finish(axis, "loss a token")


def _draw_perplexity(axis: Axes, metrics: Metrics) -> None:
    _draw(axis, metrics.train, "perplexity", TRAIN, label="training")
    _draw(axis, metrics.validation, "perplexity", VALIDATION, label="validation")
    _mark_best(axis, metrics.validation, "perplexity", best=min)
    _logarithmic(axis)
    _finish(axis, "perplexity a subword")


def _draw_learning_rate(axis: Axes, metrics: Metrics) -> None:
    _draw(axis, metrics.train, "learning_rate", TRAIN)
    axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    _finish(axis, "learning rate")


def _draw_gradient_norm(axis: Axes, metrics: Metrics) -> None:
    _draw(axis, metrics.train, "gradient_norm", TRAIN)
    skipped = [line.step for line in metrics.train if line.skipped > 0]
    for place, step in enumerate(skipped):
        axis.axvline(step, color=VALIDATION, linewidth=0.8, label="skipped steps" if not place else None)
    _logarithmic(axis)
    _finish(axis, "gradient norm")


def _draw_speed(axis: Axes, metrics: Metrics) -> None:
    from matplotlib.ticker import EngFormatter

    _draw_wall(axis, metrics.train, "tokens_per_second")
    _from_zero(axis)
    axis.yaxis.set_major_formatter(EngFormatter(sep=""))
    _finish(axis, "target tokens a second")


def _draw_last(axis: Axes, metrics: Metrics) -> None:
    """BLEU where it was measured, else memory where that was; else nothing."""
    if any(math.isfinite(number(line, "bleu")) for line in metrics.validation):
        _draw(axis, metrics.validation, "bleu", VALIDATION, label="validation")
        _mark_best(axis, metrics.validation, "bleu", best=max)
        _finish(axis, "BLEU")
    elif any(math.isfinite(number(line.wall, "memory_gib")) for line in metrics.train):
        _draw_wall(axis, metrics.train, "memory_gib")
        _from_zero(axis)
        _finish(axis, "memory, GiB")
    else:
        axis.set_axis_off()


def _draw(axis: Axes, lines: Sequence[Line], key: str, colour: str, *, label: str | None = None) -> None:
    _draw_points(axis, [(line.step, number(line, key)) for line in lines], colour, label)


def _draw_wall(axis: Axes, lines: Sequence[TrainLine], key: str) -> None:
    _draw_points(axis, [(line.step, number(line.wall, key)) for line in lines], TRAIN, None)


def _draw_points(axis: Axes, points: Sequence[tuple[int, float]], colour: str, label: str | None) -> None:
    if not points:
        return
    marker = "o" if len(points) < FEW_POINTS else None
    axis.plot(*zip(*points, strict=True), color=colour, linewidth=1.4, marker=marker, markersize=3, label=label)


def _mark_best(axis: Axes, lines: Sequence[Line], key: str, *, best: Any) -> None:
    points = [(line.step, number(line, key)) for line in lines]
    points = [point for point in points if math.isfinite(point[1])]
    if not points:
        return
    step, value = best(points, key=lambda point: point[1])
    label = f"best: {value:.4g} at step {step:,}"
    axis.plot([step], [value], linestyle="", marker="*", markersize=11, color=VALIDATION, label=label)


def _finish(axis: Axes, title: str) -> None:
    from matplotlib.ticker import EngFormatter

    axis.set_ylabel(title, fontsize=11)
    axis.set_xlabel("step")
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.grid(visible=True, color="#e4e4e4", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    if axis.get_legend_handles_labels()[1]:
        axis.legend(frameon=False, fontsize=9)


def _leave_out_the_fall(axis: Axes, lines: Sequence[Line]) -> None:
    """A long run's first twentieth falls so far that nothing could be seen of the rest: let it leave at the top."""
    if len(lines) < FEW_POINTS:
        return
    drawn = _drawn(axis)
    later = [number(line, "loss") for line in lines[len(lines) // 20 :]]
    later = [value for value in later if math.isfinite(value)]
    if later:
        margin = 0.05 * (max(later) - min(drawn))
        axis.set_ylim(min(drawn) - margin, max(later) + margin)


def _from_zero(axis: Axes) -> None:
    axis.set_ylim(0, 1.1 * max(_drawn(axis), default=1.0))


def _logarithmic(axis: Axes) -> None:
    """A logarithmic scale with plain numbers, where there is something above zero to draw."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if not any(value > 0 for value in _drawn(axis)):
        return
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _drawn(axis: Axes) -> list[float]:
    """The finite numbers that an axis shows."""
    lines = [line for line in axis.get_lines() if line.get_transform() == axis.transData]
    values = [float(value) for line in lines for value in line.get_ydata(orig=True)]  # pyright: ignore
    return [value for value in values if math.isfinite(value)]


def _share_steps(axes: Sequence[Axes]) -> None:
    """The same steps at the same place in every panel, from 0."""
    last = max((axis.get_xlim()[1] for axis in axes if axis.axison and axis.get_lines()), default=1.0)
    for axis in axes:
        axis.set_xlim(0, last)


def _title(run_folder: Path, metrics: Metrics) -> str:
    description, _ = read_object(run_folder / RUN)
    preset = (description or {}).get("preset")
    last = max(line.step for line in (*metrics.train, *metrics.validation))
    name = run_folder.absolute().name
    return f"{name}{f' ({preset})' if preset else ''}, {last:,} steps"


def _written(figure: Any, path: Path) -> Path:
    """The picture under its name once it is whole: somebody may be looking at the old one."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        figure.savefig(hidden, format="png", dpi=120)
        hidden.replace(path)
    except OSError as error:
        hidden.unlink(missing_ok=True)
        raise ReportError(f"{path} cannot be written: {error.strerror}") from None
    return path
