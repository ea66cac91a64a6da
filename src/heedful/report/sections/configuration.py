"""Every setting of the run, those marked that its preset has otherwise."""

from __future__ import annotations

import dataclasses

from heedful.config import SECTIONS, toml_value
from heedful.presets import BY_NAME
from heedful.report.markup import Cell, Html, Section, paragraph, table, text
from heedful.runs.record import RunRecord


def configuration_section(record: RunRecord) -> Section:
    """A table for each part of the configuration."""
    differing = changed_settings(record)
    against = preset_name(record)
    about = f"Compared with the preset {against}: "
    about += f"what differs is marked, {len(differing)} of the settings." if differing else "nothing differs."
    parts = [paragraph(about, kind="note")]
    for name, kind in SECTIONS.items():
        rows: list[list[Cell]] = []
        for item in dataclasses.fields(kind):
            path = f"{name}.{item.name}"
            value = text(toml_value(getattr(getattr(record.config, name), item.name)))
            was = differing.get(path)
            shown = Html(
                value if was is None else f'<mark>{value}</mark> <span class="soft">preset: {text(was)}</span>'
            )
            rows.append([Html(f"<code>{text(item.name)}</code>"), shown, item.metadata["rule"].help])
        parts.append(f"<h3>{text(name)}</h3>" + table(("setting", "value", "what it is"), rows))
    prepared = "The corpus was prepared with its own settings, which stand under Data and To repeat it."
    parts.append(paragraph(prepared, kind="note"))
    return Section("Configuration", "".join(parts))


def preset_name(record: RunRecord) -> str:
    """The preset that the run began from; where none is recorded, or it is not known here, ``base``."""
    name = record.description.get("preset")
    return name if isinstance(name, str) and name in BY_NAME else "base"


def changed_settings(record: RunRecord) -> dict[str, str]:
    """The settings that differ from the preset, as ``section.key``, and what the preset has."""
    preset = BY_NAME[preset_name(record)].make()
    found: dict[str, str] = {}
    for name, kind in SECTIONS.items():
        for item in dataclasses.fields(kind):
            ours, theirs = (getattr(getattr(config, name), item.name) for config in (record.config, preset))
            if ours != theirs:
                found[f"{name}.{item.name}"] = toml_value(theirs)
    return found
