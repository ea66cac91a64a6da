"""Histograms of two sides beside each other, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heedful.report.markup import text
from heedful.report.scales import Scale, tick_texts

WIDTH, HEIGHT = 460, 220
TOP, RIGHT, BOTTOM = 24, 10, 34
LETTER = 6.6


def bar_figure(title: str, groups: Sequence[str], sides: Mapping[str, Sequence[float]], *, x: str, y: str) -> str:
    """A figure with a bar of each side for each group; ``x`` and ``y`` name the axes."""
    values = [value for side in sides.values() for value in side]
    if not values or not max(values) > 0:
        return ""
    kinds = dict(zip(sides, ("train", "validation"), strict=False))
    legend = "".join(f'<span class="key bars {kinds[name]}">{text(name)}</span>' for name in sides)
    scale = Scale(0.0, 1.05 * max(values), HEIGHT - BOTTOM, TOP)
    left = 12 + LETTER * max(len(tick) for tick in tick_texts(scale.ticks()))
    return (
        f'<figure class="chart"><figcaption><b>{text(title)}</b>{legend}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(f"{title}: {y} by {x}")}">'
        + _frame(scale, left, x=x, y=y)
        + _bars(groups, sides, kinds, scale, left)
        + "</svg></figure>"
    )


def _frame(scale: Scale, left: float, *, x: str, y: str) -> str:
    parts = [f'<text x="4" y="13" class="axis-name">{text(y)}</text>']
    for tick, name in zip(scale.ticks(), tick_texts(scale.ticks()), strict=True):
        at = f"{scale.place(tick):.1f}"
        parts.append(f'<path class="grid" d="M{left:.1f} {at}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{left - 6:.1f}" y="{at}" dy="4" class="tick end">{text(name)}</text>')
    parts.append(f'<path class="axis" d="M{left:.1f} {scale.begin}H{WIDTH - RIGHT}"/>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" class="axis-name end">{text(x)} →</text>')
    return "".join(parts)


def _bars(
    groups: Sequence[str], sides: Mapping[str, Sequence[float]], kinds: Mapping[str, str], scale: Scale, left: float
) -> str:
    room = (WIDTH - RIGHT - left) / len(groups)
    wide = min(0.8 * room / len(sides), 34.0)
    parts: list[str] = []
    for group, name in enumerate(groups):
        middle = left + (group + 0.5) * room
        for place, (side, values) in enumerate(sides.items()):
            begin, top = middle + (place - len(sides) / 2) * wide, scale.place(values[group])
            parts.append(
                f'<rect class="bar {kinds[side]}" x="{begin:.1f}" y="{top:.1f}" width="{wide - 1:.1f}" '
                f'height="{scale.begin - top:.1f}"><title>{text(f"{name}: {values[group]:,} ({side})")}</title></rect>'
            )
        parts.append(f'<text x="{middle:.1f}" y="{scale.begin + 15}" class="tick middle">{text(name)}</text>')
    return "".join(parts)
